#!/bin/bash
# SPDX-License-Identifier: MIT
#
# qemu-device/build.sh: build QEMU with the vkfd overlay into build/qemu/.
#
# The overlay: qemu-device/hw/vkfd and include/vkfd are linked into the tree at
# the same places, so are the files of qemu-device/tests/qtest (and libqos/);
# then every qemu-device/patches/*.patch is applied with -p1.
#
# One build tree per QEMU version and set of flags lives in the cache and is
# rebuilt incrementally; build/qemu-tree links to it. Checkouts share it: it is
# locked while the links point to this one, and what a run uses is the copy in
# build/qemu/. QEMU_SRC=DIR builds a tree of your own instead: the overlay is
# linked and patched into it in place, and the products go to DIR/build-vkfd.

. "$(dirname "$0")/../scripts/lib.sh"

FLAGS=(
	--target-list=x86_64-softmmu --without-default-features
	--enable-kvm --enable-tcg --enable-fdt=system --enable-attr
	--enable-cap-ng --enable-virtfs --disable-docs --disable-tools
	--disable-install-blobs --enable-trace-backends=log --disable-werror
)
TARGETS=(qemu-system-x86_64 tests/qtest/qos-test)
OVERLAY=$VKFD_TOP/qemu-device
OUT=$VKFD_BUILD/qemu

inputs=$(hash_of "$OVERLAY" "$VKFD_TOP/include/vkfd" "$VKFD_TOP/images/qemu-tested")
inputs=$(hash_text "$inputs" "${QEMU_SRC:-}" "$VKFD_CACHE")
[[ -z ${QEMU_SRC:-} && $(cat "$OUT/stamp" 2>/dev/null || :) == "$inputs" ]] && exit 0

if [[ -n ${QEMU_SRC:-} ]]; then
	[[ -f $QEMU_SRC/meson.build && -f $QEMU_SRC/VERSION ]] || die "QEMU_SRC=$QEMU_SRC is not a QEMU source tree"
	[[ $(<"$QEMU_SRC/VERSION") == 10.0.* ]] || die "QEMU_SRC is QEMU $(<"$QEMU_SRC/VERSION"); the overlay is for 10.0.x"
	"$VKFD_TOP/scripts/setup-host"
	pristine=
	src=$(cd "$QEMU_SRC" && pwd -P)
	build=$src/build-vkfd
	tree=$src/build-vkfd/vkfd
	aux=$("$VKFD_TOP/scripts/setup-qemu-source")/aux
	lock "qemu-tree-$(hash_text "$src")"
else
	source=$("$VKFD_TOP/scripts/setup-qemu-source")
	pristine=$source/src
	aux=$source/aux
	tree=$VKFD_CACHE/qemu-tree/$(basename "$source")-$(hash_text "${FLAGS[@]}" "$(gcc --version | head -n 1)")
	src=$tree/src
	build=$tree/build
	lock "qemu-tree-$(basename "$tree")"
	if [[ ! -d $src ]]; then
		mkdir -p "$tree"
		need_space "$tree" 3000 "the QEMU build"
		rm -rf "$tree/src.tmp"
		cp -a --reflink=auto "$pristine" "$tree/src.tmp"
		mv -T "$tree/src.tmp" "$src"
	fi
	mkdir -p "$VKFD_BUILD"
	ln -sfn "$tree" "$VKFD_BUILD/qemu-tree"
fi
mkdir -p "$tree" "$build" "$OUT"

# Products are dated against sources, and another checkout's sources may be
# older than its predecessor's products: when the owner changes, drop our objects
# and what is generated from our trace-events, and let meson read its files again.
if [[ $(cat "$tree/owner" 2>/dev/null || :) != "$VKFD_TOP" ]]; then
	# Relative, because the path of the cache says vkfd too.
	(cd "$build" && find . -path '*vkfd*' -name '*.[och]' -delete)
	touch "$src/meson.build"
	printf '%s\n' "$VKFD_TOP" >"$tree/owner"
fi

# link FROM TO: TO in the tree becomes a link to FROM.
link() {
	[[ -L $2 || ! -e $2 ]] || die "$2 exists and is no link of ours"
	[[ $(readlink "$2" || :) == "$1" ]] || ln -sfn "$1" "$2"
}
link_overlay() {
	local f dir
	find "$src/tests/qtest" "$src/hw" "$src/include" -maxdepth 2 -type l -lname '*/qemu-device/*' ! -exec test -e {} \; -delete
	for dir in hw/vkfd include/vkfd; do
		f=$OVERLAY/$dir
		[[ $dir == include/* ]] && f=$VKFD_TOP/$dir
		[[ ! -d $f ]] || link "$f" "$src/$dir"
	done
	for f in "$OVERLAY"/tests/qtest/*.c "$OVERLAY"/tests/qtest/*.h \
		"$OVERLAY"/tests/qtest/libqos/*.c "$OVERLAY"/tests/qtest/libqos/*.h; do
		[[ ! -f $f ]] || link "$f" "$src/${f#"$OVERLAY/"}"
	done
}

# Patched files are made afresh from the pristine source in a scratch directory
# and replace those in the tree only where they differ, so an unchanged patch
# rebuilds nothing and a changed one no more than it must.
patch_overlay() {
	local scratch files f
	scratch=$(mktemp -d "$tree/patch.XXXXXX")
	files=$(find "$OVERLAY" -path '*/patches/*.patch' -exec cat {} + |
		sed -n 's|^+++ b/\([^\t]*\).*|\1|p; s|^--- a/\([^\t]*\).*|\1|p' | sort -u)
	for f in $files; do
		mkdir -p "$scratch/$(dirname "$f")"
		[[ ! -e $pristine/$f ]] || cp -p "$pristine/$f" "$scratch/$f"
	done
	for f in "$OVERLAY"/patches/*.patch; do
		[[ -f $f ]] || continue
		patch -d "$scratch" -p1 -s --no-backup-if-mismatch <"$f" >"$tree/patch.log" 2>&1 ||
			{ rm -rf "$scratch"; die "$(basename "$f") does not apply; see $tree/patch.log"; }
	done
	for f in $files $(cat "$tree/patched" 2>/dev/null || :); do
		if [[ -e $scratch/$f ]]; then
			cmp -s "$scratch/$f" "$src/$f" || { mkdir -p "$(dirname "$src/$f")"; cp "$scratch/$f" "$src/$f"; }
		elif [[ -e $pristine/$f ]]; then
			cmp -s "$pristine/$f" "$src/$f" || cp "$pristine/$f" "$src/$f"
		else
			rm -f "$src/$f"
		fi
	done
	printf '%s\n' "$files" >"$tree/patched"
	rm -rf "$scratch"
}
patch_own_tree() {
	local f
	for f in "$OVERLAY"/patches/*.patch; do
		[[ -f $f ]] || continue
		patch -d "$src" -p1 -R --dry-run -sf <"$f" >/dev/null 2>&1 && continue
		patch -d "$src" -p1 -s <"$f" >"$tree/patch.log" 2>&1 ||
			die "$(basename "$f") does not apply to $src; see $tree/patch.log"
	done
}

link_overlay
if [[ -n $pristine ]]; then patch_overlay; else patch_own_tree; fi

# A host whose meson is too old for this QEMU uses the suite's, unpacked.
if ! command -v meson >/dev/null || ! printf '1.5\n%s\n' "$(meson --version)" | sort -VC; then
	export PYTHONPATH=$aux/usr/lib/python3/dist-packages PATH=$aux/usr/bin:$PATH
fi
configure() {
	cd "$build" && "$src/configure" "${FLAGS[@]}" && touch "$build/vkfd-configured"
}
compile() { ninja -C "$build" "${TARGETS[@]}"; }

say_time=
[[ -f $build/qemu-system-x86_64 ]] || say_time=" (4 minutes on two cores)"
if [[ ! -f $build/vkfd-configured ]]; then
	rm -rf "${build:?}"/{meson-private,build.ninja,pyvenv}
	logged "$VKFD_CACHE/log/qemu-configure.log" "configuring QEMU" configure || exit 2
fi
logged "$VKFD_BUILD/log/qemu.log" "building QEMU$say_time" compile || exit 2

# Replaced by rename: a QEMU that runs from the old file goes on.
install_file() { cp -f "$1" "$2.new" && mv -f "$2.new" "$2"; }
rm -f "$OUT/stamp"
for f in "${TARGETS[@]}"; do install_file "$build/$f" "$OUT/$(basename "$f")"; done
mkdir -p "$OUT/pc-bios"
for f in bios-256k.bin linuxboot_dma.bin pvh.bin kvmvapic.bin multiboot_dma.bin; do
	rom=$(find "$aux/usr/share" -name "$f" ! -type l | head -n 1)
	[[ -n $rom ]] || die "no $f among the firmware of the suite"
	cmp -s "$rom" "$OUT/pc-bios/$f" || install_file "$rom" "$OUT/pc-bios/$f"
done
# Where a QEMU that is not installed looks for them without being told.
data=$(sed -n 's/^#define CONFIG_QEMU_DATADIR "\(.*\)"$/\1/p' "$build/config-host.h")
mkdir -p "$OUT/qemu-bundle$(dirname "$data")"
ln -sfn "$OUT/pc-bios" "$OUT/qemu-bundle$data"
printf '%s\n' "$inputs" >"$OUT/stamp"
