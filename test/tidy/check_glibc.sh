#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check_glibc.sh ROOT BUILD: one binary for all distributions: no symbol version
# of glibc newer than 2.34. Prints the newest one that each object needs.
set -u
limit=2.34
status=0
for name in lib/libuct_srd.so.0 lib/libefasim.so lib/srd_shim.so bin/srd_info \
    bin/efasim; do
    object=$2/$name
    case $name in
    lib/lib*) ;;
    *) [ -f "$object" ] || continue ;;
    esac
    newest=$(nm -D -u "$object" 2>/dev/null | grep -v ' __isoc23_' |
        grep -o '@GLIBC_[0-9][0-9.]*' | sed 's/@GLIBC_//' | sort -uV | tail -n 1)
    if [ -z "$newest" ]; then
        echo "nothing to check was found: $name needs no glibc symbol"
        status=1
        continue
    fi
    echo "$name needs glibc $newest (at most $limit)"
    if [ "$(printf '%s\n' "$limit" "$newest" | sort -V | tail -n 1)" != \
         "$limit" ]; then
        echo "$name: needs glibc $newest, newer than $limit:" \
             "$(nm -D -u "$object" | grep "GLIBC_$newest" |
                awk '{ printf "%s ", $NF }')"
        status=1
    fi
done
exit $status
