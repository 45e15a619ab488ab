#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check_purity.sh ROOT BUILD: the objects of the protocol core need nothing but
# the four mem functions and the assertion hook: no clock, no malloc, no UCX.
set -u
build=$2
objects=0
status=0
defined=$(nm --defined-only "$build"/obj/flow/*.o 2>/dev/null |
    awk 'NF == 3 { print $3 }')
for object in "$build"/obj/flow/*.o; do
    [ -f "$object" ] || continue
    objects=$((objects + 1))
    for symbol in $(nm -u "$object" | awk '{ print $NF }'); do
        case $symbol in
        memcpy | memset | memmove | memcmp | flow_assert_failed) continue ;;
        _GLOBAL_OFFSET_TABLE_) continue ;;
        esac
        # One object of the core may use another.
        printf '%s\n' "$defined" | grep -qx -- "$symbol" && continue
        echo "${object##*/}: needs $symbol"
        status=1
    done
done
if [ "$objects" = 0 ]; then
    echo "nothing to check was found: $build/obj/flow/*.o"
    status=1
fi
exit $status
