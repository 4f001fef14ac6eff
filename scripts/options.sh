# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
#
# Options of every command that boots. parse_options ARGS... sets VKFD_OPT_*
# (exported, for scripts/boot) and leaves the rest in the array REST.

VKFD_OPT_ACCEL=auto VKFD_OPT_CPUS=2 VKFD_OPT_MEMORY=2G VKFD_OPT_VRAM=1G
VKFD_OPT_SHARE='' VKFD_OPT_SHARE_MODE=ro VKFD_OPT_THUNK=own VKFD_OPT_DRIVER=own
VKFD_OPT_KERNEL=stock VKFD_OPT_APPEND='' VKFD_OPT_QEMU='' VKFD_OPT_TIMEOUT=''
VKFD_OPT_INJECT='' VKFD_OPT_VERBOSE=0 VKFD_OPT_GPUS=1
export "${!VKFD_OPT_@}"

OPTIONS_HELP='  --accel auto|kvm|tcg     auto (default): KVM where it really works
  --cpus N                 processors of the guest (2)
  --memory SIZE            memory of the guest (2G)
  --gpus N                 GPUs of the guest, 0 to 8 (1)
  --vram SIZE[,SIZE...]    memory of the GPU, or of each; the last size is for the rest (1G)
  --share DIR[:rw]         DIR at /mnt/share in the guest, read-only without :rw
  --thunk own|stock        our libhsakmt (default) or that of Debian
  --driver own|none|PATH   vkfd.ko (default), no driver, or a module of yours
  --kernel stock|PATH      kernel of Debian (default), or an image of yours
  --append ARGS            added to the kernel command line
  --qemu ARGS              words added to the command line of QEMU
  --inject SPECS           faults of the (first) GPU: point:action[:arg]@first[/every][*count],
                           ";" between them (docs/injection.md)
  --timeout SECONDS        end the guest after that time, 0: never
  --verbose                show the command line of QEMU and the console'

# match VALUE REGEX OPTION WHAT: VALUE is fine, or one line and status 2.
match() { [[ $1 =~ ^($2)$ ]] || die "$3 $1: not $4"; }

# size VALUE OPTION MIN-MIB MAX-MIB WHAT: leaves the size in MiB in REPLY.
size() {
	local n unit
	match "$1" '[1-9][0-9]{0,9}[KMGkmg]' "$2" "$5"
	n=${1%?} unit=${1: -1}
	case ${unit^} in
	K) REPLY=$((n % 1024 ? 0 : n / 1024)) ;;
	M) REPLY=$n ;;
	G) REPLY=$((n * 1024)) ;;
	esac
	((REPLY >= $3 && REPLY <= $4)) || die "$2 $1: not $5"
}

parse_options() {
	local opt value
	REST=()
	while (($#)); do
		opt=$1
		shift
		case "$opt" in
		--) REST+=("$@"); return ;;
		--verbose) VKFD_OPT_VERBOSE=1; continue ;;
		--accel | --cpus | --memory | --gpus | --vram | --share | --thunk | --driver | \
			--kernel | --append | --qemu | --inject | --timeout)
			(($#)) || die "$opt needs a value"
			value=$1
			shift
			;;
		--*=*)
			set -- "${opt%%=*}" "${opt#*=}" "$@"
			continue
			;;
		-*) die "unknown option $opt (./run.sh --help lists them)" ;;
		*) REST+=("$opt"); continue ;;
		esac
		case "$opt" in
		--accel) match "$value" 'auto|kvm|tcg' "$opt" 'auto, kvm or tcg'; VKFD_OPT_ACCEL=$value ;;
		--cpus) match "$value" '[1-9][0-9]?' "$opt" 'a number from 1 to 99'; VKFD_OPT_CPUS=$value ;;
		--memory)
			size "$value" "$opt" 256 1048576 'a size from 256M to 1024G'
			VKFD_OPT_MEMORY=$value
			;;
		--vram)
			local one
			[[ $value != *, ]] || die "$opt $value: not sizes with commas between them"
			for one in ${value//,/ }; do
				size "$one" "$opt" 64 16384 'a power of two from 64M to 16G'
				(((REPLY & (REPLY - 1)) == 0)) || die "$opt $one: not a power of two"
			done
			VKFD_OPT_VRAM=$value
			;;
		--gpus)
			match "$value" '[0-8]' "$opt" 'a number from 0 to 8'
			VKFD_OPT_GPUS=$value
			;;
		--share)
			VKFD_OPT_SHARE_MODE=ro
			[[ $value != *:rw ]] || VKFD_OPT_SHARE_MODE=rw
			value=${value%:r[ow]}
			[[ -d $value ]] || die "--share $value: no such directory"
			VKFD_OPT_SHARE=$(cd "$value" && pwd -P)
			;;
		--thunk) match "$value" 'own|stock' "$opt" 'own or stock'; VKFD_OPT_THUNK=$value ;;
		--driver)
			case $value in
			own | none) VKFD_OPT_DRIVER=$value ;;
			*)
				[[ -f $value ]] || die "--driver $value: no such file"
				# A module is a relocatable ELF file.
				[[ $(head -c 18 "$value" | od -An -tx1 | tr -d ' \n') == 7f454c46*0100 ]] ||
					die "--driver $value: not a kernel module"
				VKFD_OPT_DRIVER=$(realpath "$value")
				;;
			esac
			;;
		--kernel)
			case $value in
			stock | debug) VKFD_OPT_KERNEL=$value ;;
			*)
				[[ -f $value ]] || die "--kernel $value: no such file"
				VKFD_OPT_KERNEL=$(realpath "$value")
				;;
			esac
			;;
		--append)
			VKFD_OPT_APPEND+=${VKFD_OPT_APPEND:+ }$value
			# The kernel cuts its command line off at 2048 bytes.
			((${#VKFD_OPT_APPEND} <= 1600)) || die "--append: longer than 1600 bytes"
			;;
		--qemu) VKFD_OPT_QEMU+=${VKFD_OPT_QEMU:+ }$value ;;
		--inject) VKFD_OPT_INJECT+=${VKFD_OPT_INJECT:+;}$value ;; # QEMU knows the grammar
		--timeout) match "$value" '0|[1-9][0-9]{0,7}' "$opt" 'a number of seconds'; VKFD_OPT_TIMEOUT=$value ;;
		esac
	done
}
