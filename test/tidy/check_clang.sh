#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check_clang.sh ROOT BUILD: everything that is installed builds without a warning
# with clang, in BUILD/clang. Says which file warned.
set -u
root=$1 build=$2
cc=$(command -v clang || command -v clang-14) || {
    echo "clang is not installed"
    exit 77
}
mkdir -p "$build/clang" || exit 1
cd "$build/clang" || exit 1
if [ ! -e Makefile ] || [ "$root/configure" -nt config.status ]; then
    CC=$cc CFLAGS='-O0' "$root/configure" -q \
        --enable-werror >configure.log 2>&1 || {
        tail -n 20 configure.log
        echo "configure fails with $cc"
        exit 1
    }
fi
make -k -s -j"$(nproc)" all >make.log 2>&1 || {
    grep -E '(error|warning):|\*\*\*' make.log | head -n 20
    echo "make fails with $cc (BUILD/clang/make.log)"
    exit 1
}
exit 0
