#!/bin/bash
# SPDX-License-Identifier: MIT
#
# thunk_symbols.sh OURS [STOCK]: exports, symbol versions and soname of our
# libhsakmt.so.1 are those of Debian's. TAP.
set -euo pipefail

ours=$1
stock=${2:-}
if [[ -z $stock ]]; then
	for stock in /usr/lib/*/libhsakmt.so.1; do
		[[ -e $stock ]] && break
	done
fi

echo "TAP version 13"
if [[ ! -e $stock ]]; then
	echo "1..0 # SKIP no stock libhsakmt.so.1 to compare with"
	exit 0
fi

failed=0
n=0
check() { # DESCRIPTION OURS STOCK
	n=$((n + 1))
	if [[ $2 == "$3" ]]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		diff <(echo "$3") <(echo "$2") | sed 's/^/# /' || :
		failed=1
	fi
}

exports() {
	nm -D --defined-only --with-symbol-versions "$1" | awk '{ print $(NF - 1), $NF }' | LC_ALL=C sort
}
soname() {
	readelf -dW "$1" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p'
}
nodes() {
	readelf -VW "$1" | sed -n '/\.gnu\.version_d/,/\.gnu\.version_r/s/.*Index: \([0-9]*\).*Name: \(.*\)/\1 \2/p'
}
# Types and sizes of what is called; the addresses differ of course.
check "exported symbols and their versions" "$(exports "$ours")" "$(exports "$stock")"
check "soname" "$(soname "$ours")" "$(soname "$stock")"
check "version nodes" "$(nodes "$ours" | sed 1d)" "$(nodes "$stock" | sed 1d)"
[[ -n $(exports "$stock") ]] || {
	n=$((n + 1))
	failed=1
	echo "not ok $n - the stock library has no exports: wrong file?"
}
echo "1..$n"
exit "$failed"
