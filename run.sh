#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh: the one command. It parses and calls scripts/; docs/running.md is the
# contract. Status 2: what was asked does not exist or cannot be done here.

. "$(dirname "${BASH_SOURCE[0]}")/scripts/lib.sh"
. "$VKFD_TOP/scripts/options.sh"

usage() {
	cat <<EOF
usage: ./run.sh [OPTIONS]                      boot, run the multi-queue demo
       ./run.sh exec [OPTIONS] -- CMD [ARGS]   boot, run CMD, exit with its status
       ./run.sh shell [OPTIONS]                interactive guest, Ctrl-D ends it
       ./run.sh test [--full] [PATTERN...]     all tests, or those matching
       ./run.sh test --list                    names of all tests
       ./run.sh bench [OPTIONS] [NAME...]      benchmarks
       ./run.sh doctor                         what is here, what is missing
       ./run.sh clean                          remove build products
options:
$OPTIONS_HELP
EOF
}

# boot_guest DEFAULT-TIMEOUT MODE [CMD...]: build, choose the accelerator, boot.
boot_guest() {
	: "${VKFD_OPT_TIMEOUT:=$1}"
	shift
	"$VKFD_TOP/scripts/prepare" qemu guest
	VKFD_OPT_ACCEL=$("$VKFD_TOP/scripts/accel" "$VKFD_OPT_ACCEL")
	exec "$VKFD_TOP/scripts/boot" "$@"
}

command=demo
case ${1:-} in
-h | --help | help) usage; exit 0 ;;
-* | '') ;;
*) command=$1; shift ;;
esac

case $command in
demo)
	parse_options "$@"
	((${#REST[@]} == 0)) || die "unexpected argument ${REST[0]}"
	boot_guest 600 exec multi_queue --method all
	;;
exec)
	parse_options "$@"
	((${#REST[@]})) || die "exec needs a command: ./run.sh exec -- CMD [ARGS]"
	boot_guest 600 exec "${REST[@]}"
	;;
shell)
	parse_options "$@"
	((${#REST[@]} == 0)) || die "unexpected argument ${REST[0]}"
	boot_guest 0 shell
	;;
test) exec "$VKFD_TOP/scripts/test" "$@" ;;
bench)
	parse_options "$@"
	((${#REST[@]})) || REST=(event queue memory)
	for name in "${REST[@]}"; do
		[[ $name == @(event|queue|memory) ]] ||
			die "there is no benchmark $name (only: event, queue, memory)"
	done
	: "${VKFD_OPT_TIMEOUT:=1800}"
	exec "$VKFD_TOP/scripts/bench" "${REST[@]}"
	;;
doctor) exec "$VKFD_TOP/scripts/doctor" ;;
clean)
	(($# == 0)) || die "clean takes no arguments"
	exec "$VKFD_TOP/scripts/clean"
	;;
*) die "unknown command $command (./run.sh --help lists them)" ;;
esac
