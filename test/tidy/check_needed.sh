#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check_needed.sh ROOT BUILD: the module links against libc alone, and leaves no
# symbol of UCX or verbs to the loader: else every other program that preloads
# it fails to start.
set -u
object=$2/lib/libuct_srd.so.0
status=0
if [ ! -f "$object" ]; then
    echo "nothing to check was found: lib/libuct_srd.so.0"
    exit 1
fi
for library in $(readelf -dW "$object" |
    sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
    case $library in
    libc.so.* | libpthread.so.* | libdl.so.* | ld-linux*) ;;
    *)
        echo "needs $library: look it up at run time instead"
        status=1
        ;;
    esac
done
for symbol in $(nm -D -u "$object" | awk '{ print $NF }'); do
    case $symbol in
    uct_* | ucs_* | ucp_* | ucm_* | ibv_* | efadv_*)
        echo "leaves $symbol undefined: look it up at run time instead"
        status=1
        ;;
    esac
done
exit $status
