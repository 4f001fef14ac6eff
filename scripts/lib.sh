# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Small helpers that every script here sources. A script that sources this
# file runs with `set -euo pipefail`, names the line that
# failed unexpectedly, and may use:
#
#   VKFD_TOP    the checkout            VKFD_BUILD  products, build/ in it
#   VKFD_CACHE  what outlives a checkout: sysroot, QEMU trees, host answers
#
# A problem that the user has to solve gets one line on stderr and status 2.

set -Eeuo pipefail
# A script of ours that ended with 2 has said why; one that was interrupted, ends us.
trap 'rc=$?; case $rc in 2 | 130 | 143) exit "$rc" ;; esac; printf "vkfd: internal error: %s:%s: %s\n" "${BASH_SOURCE[0]}" "$LINENO" "$BASH_COMMAND" >&2; exit 2' ERR

VKFD_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
VKFD_BUILD=$VKFD_TOP/build
VKFD_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/vkfd
VKFD_SUITE=trixie
# How much slower than the stock kernel the debug kernel is: limits grow with it.
# shellcheck disable=SC2034
VKFD_DEBUG_SCALE=6
# The program that the user started; steps end when it is gone.
: "${VKFD_OWNER:=$$}"
export VKFD_TOP VKFD_BUILD VKFD_CACHE VKFD_SUITE VKFD_OWNER LC_ALL=C.UTF-8

say() { printf 'vkfd: %s\n' "$*" >&2; }
die() { say "$*"; exit 2; }

# as_root CMD...: run CMD as root, or print the line that does and stop.
# need_root CMD...: stop with that line when as_root cannot work; else have sudo
# ask for its password now, before something behind `logged`, which is not in the
# terminal's foreground, needs it.
as_root() {
	if [[ $(id -u) == 0 ]]; then
		"$@"
	else
		need_root "$@"
		sudo "$@"
	fi
}
need_root() {
	[[ $(id -u) != 0 ]] || return 0
	if command -v sudo >/dev/null; then
		sudo -n true 2>/dev/null && return
		[[ -t 2 ]] && sudo -v && return
	fi
	local line
	printf -v line '%q ' "$@"
	line=${line% }
	die "this needs root; type: su -c ${line@Q}"
}

# hash_of FILE...: one short hash of names and contents (directories: all files
# below). Names count relative to the checkout, so a moved clone hashes alike.
hash_of() {
	local f
	for f; do
		[[ -e $f ]] || continue
		find -L "$f" -type f -print0
	done | LC_ALL=C sort -z | xargs -0 -r sha256sum |
		sed "s|  $VKFD_TOP/|  |" | sha256sum | cut -c1-16
}

# hash_text TEXT...: the same for strings.
hash_text() { printf '%s\0' "$@" | sha256sum | cut -c1-16; }

# lock NAME: hold an exclusive lock of that name until this shell ends. The
# descriptor is inherited by children, so no child may outlive the shell.
lock() {
	local fd
	mkdir -p "$VKFD_CACHE/lock"
	exec {fd}>"$VKFD_CACHE/lock/$1"
	if ! flock -n "$fd"; then
		say "waiting for another run ($1)"
		flock "$fd"
	fi
}

# need_space DIR MIB WHAT: stop early when DIR has less than MIB free.
need_space() {
	local free
	free=$(df -Pm "$1" | awk 'NR == 2 { print $4 }')
	((free >= $2)) || die "no disk space for $3: $1 has $free MiB free, $2 MiB are needed"
}

# end_group PGID: end a process group and wait until nothing of it runs.
end_group() {
	local t
	kill -TERM -- "-$1" 2>/dev/null || :
	for ((t = 0; t < 100; t++)); do
		kill -0 -- "-$1" 2>/dev/null || return 0
		((t != 50)) || kill -KILL -- "-$1" 2>/dev/null || :
		sleep 0.1
	done
}

# logged LOG WHAT CMD...: run CMD with all output in LOG and a progress line
# now and then; on failure name the log and return 2. CMD is a process group of
# its own and ends, with all that it started, when we are interrupted or the
# program that the user started is gone.
logged() {
	local log=$1 what=$2 pid rc=0 t=0 line
	shift 2
	mkdir -p "$(dirname "$log")"
	say "$what"
	set -m
	"$@" >"$log" 2>&1 </dev/null &
	pid=$!
	set +m
	# shellcheck disable=SC2064  # the pid of now is meant
	trap "end_group $pid; exit 130" INT
	# shellcheck disable=SC2064
	trap "end_group $pid; exit 143" TERM HUP
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.2
		kill -0 "$VKFD_OWNER" 2>/dev/null || { end_group "$pid"; exit 143; }
		if ((++t % 100 == 0)); then
			line=$(tail -c 400 "$log" | tr '\r' '\n' | grep -v '^$' | tail -n 1 | cut -c1-90 || :)
			say "  $((t / 5))s: $line"
		fi
	done
	wait "$pid" || rc=$?
	trap - INT TERM HUP
	((rc == 0)) && return 0
	if grep -qE 'No space left on device|enough free space' "$log"; then
		what+=": no disk space"
	elif grep -qE 'Failed to fetch|Could not (connect|resolve)|Temporary failure' "$log"; then
		what+=": the archive cannot be reached (no network?)"
	else
		tail -n 15 "$log" | sed 's/^/vkfd:   | /' >&2
	fi
	say "failed (status $rc): $what; see $log"
	return 2
}

# publish TMP DEST: make a finished directory visible in one step.
publish() {
	[[ ! -e $2 ]] || rm -rf "$2"
	mkdir -p "$(dirname "$2")"
	# What root made (the sysroot) only root can move.
	if [[ -O $1 ]]; then mv -T "$1" "$2"; else as_root mv -T "$1" "$2"; fi
}

# write_if_changed FILE: stdin to FILE, whose mtime moves only with its content.
write_if_changed() {
	local tmp
	mkdir -p "$(dirname "$1")"
	tmp=$(mktemp "$1.XXXXXX")
	cat >"$tmp"
	if cmp -s "$tmp" "$1"; then rm -f "$tmp"; else mv -f "$tmp" "$1"; fi
}
