#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check_exports.sh ROOT BUILD: each shared object exports what its list in
# test/tidy/exports.NAME says, no symbol more and none less.
set -u
root=$1 build=$2
status=0
for name in libuct_srd.so.0 libefasim.so; do
    list=$root/test/tidy/exports.$name
    object=$build/lib/$name
    if [ ! -f "$object" ]; then
        echo "nothing to check was found: lib/$name"
        status=1
        continue
    fi
    wanted=$(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$list" | sort)
    # A version node of a version script is of type A.
    found=$(nm -D --defined-only "$object" |
        awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort)
    for symbol in $found; do
        printf '%s\n' "$wanted" | grep -qx -- "$symbol" && continue
        echo "$name: exports $symbol, which test/tidy/exports.$name lacks"
        status=1
    done
    for symbol in $wanted; do
        printf '%s\n' "$found" | grep -qx -- "$symbol" && continue
        echo "$name: does not export $symbol of test/tidy/exports.$name"
        status=1
    done
done
exit $status
