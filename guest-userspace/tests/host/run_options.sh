#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run_options.sh OPTIONS.SH: what run.sh makes of its options, right and wrong ones. TAP.
set -euo pipefail

# shellcheck disable=SC1090 # an argument
. "$1"
# As in scripts/lib.sh.
die() {
	printf '%s\n' "$*"
	exit 2
}
n=0 failed=0
export VKFD_OPT_APPEND='' VKFD_OPT_QEMU='' VKFD_OPT_INJECT=''

# is DESCRIPTION WANT GOT
is() {
	n=$((n + 1))
	if [[ $2 == "$3" ]]; then
		echo "ok $n - $1"
	else
		printf 'not ok %d - %s\n# got "%s", want "%s"\n' "$n" "$1" "$3" "$2"
		failed=1
	fi
}

# gives WANT VARIABLE ARGUMENT...
gives() {
	local want=$1 var=$2 got rc=0
	shift 2
	got=$(parse_options "$@"; declare -n v=$var; printf '%s' "${v[*]}") || rc=$?
	is "$* sets $var" "0 $want" "$rc $got"
}

# refuses WANT ARGUMENT...: one line that begins so, and status 2
refuses() {
	local want=$1 args got rc=0
	shift
	args=$*
	got=$(parse_options "$@") || rc=$?
	is "${args::60}: $got" "2 $want" "$rc ${got:0:${#want}}"
	is "which is one line" 1 "$(wc -l <<<"$got")"
}

echo 'TAP version 13'
gives 4 VKFD_OPT_CPUS --cpus 4
gives 4 VKFD_OPT_CPUS --cpus=4
gives 4 VKFD_OPT_CPUS --cpus 2 --cpus 4
gives 512M VKFD_OPT_MEMORY --memory 512M
gives 8 VKFD_OPT_GPUS --gpus 8
gives 1 VKFD_OPT_VERBOSE --verbose
gives 'a=1 b c=2' VKFD_OPT_APPEND --append a=1 --cpus 1 --append 'b c=2'
gives '-trace x -D y' VKFD_OPT_QEMU --qemu '-trace x' --qemu '-D y'
gives 'ih:drop@1;msix:drop@2' VKFD_OPT_INJECT --inject ih:drop@1 --inject msix:drop@2
gives 'true --cpus 9' REST true -- --cpus 9

refuses 'unknown option --cpu ' --cpu 4
refuses '--cpus needs a value' --cpus
refuses '--cpus 0: not ' --cpus 0
refuses '--accel hvf: not ' --accel hvf
refuses '--memory 1M: not ' --memory 1M
refuses '--gpus 9: not ' --gpus 9
refuses '--vram 3G: not ' --vram 3G
refuses '--vram 1G,: not ' --vram 1G,
refuses '--thunk mine: not ' --thunk mine
refuses '--timeout -1: not ' --timeout -1
refuses '--share /nonexistent' --share /nonexistent
refuses '--driver /dev/null: ' --driver /dev/null
refuses '--kernel /nonexistent: ' --kernel /nonexistent
refuses '--append: longer ' --append "$(printf '%1000s' a)" --append "$(printf '%1000s' b)"
echo "1..$n"
exit $failed
