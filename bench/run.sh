#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Measures this transport beside others on one emulated device, in one run: a
# table and JSON, with the machine, the versions, and what was not
# measured and why. In a fresh clone on 2 cores it takes at most 20 minutes, with
# --quick 7, its build included.
# usage: bench/run.sh [--quick] [--no-install] [--only STUDY,...] [--out DIR]
#                     [--page PAGE] [BUILD_DIR]
# --page docs/BENCH.md renews the tables that this page has of the same heading.
# Studies: ratios host sizes instructions floors instructions_direct
# floors_direct intree network collectives intree_floors cpu shapes kernels. Files go to
# BUILD_DIR/bench/results.
set -u
program=run.sh
top=$(cd "$(dirname "$0")/.." && pwd -P) || exit 1
# shellcheck source=contrib/ci/common.sh
. "$top/contrib/ci/common.sh"
# shellcheck source=contrib/ci/packages.sh
. "$top/contrib/ci/packages.sh"
# shellcheck source=contrib/ci/build.sh
. "$top/contrib/ci/build.sh"

install=yes build='' arguments=()
while [ $# -gt 0 ]; do
    case $1 in
    --quick) arguments+=("$1") ;;
    --no-install) install=no ;;
    --only | --out | --page)
        [ $# -ge 2 ] || die "$1 wants a value"
        arguments+=("$1" "$2")
        shift
        ;;
    -h | --help)
        sed -n '3,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
        exit 0
        ;;
    -*) die "unknown option $1 (--help lists them)" ;;
    *) build=$1 ;;
    esac
    shift
done

# Programs that are missing after that are named under "not measured".
packages_require "$PACKAGES_BUILD$PACKAGES_RUN" "$install" "to build" || exit 1
packages_require "$PACKAGES_BENCH" "$install" "to compare" ||
    warn "going on without"

if [ -z "$build" ]; then
    build=$top/build
    say "building in build"
    build_tree "$build" --enable-werror || die "the build failed"
fi
build=$(cd "$build" && pwd -P) || exit 1
make -C "$build" bench/pair-ucp bench/twins bench/instr \
    >/dev/null || die "make failed"

# The same program over libfabric, where that is there.
"${CC:-gcc}" -O2 -I"$top/test" -o "$build/bench/pair-ofi" \
    "$top"/bench/pair/{pair,ofi}.c "$top/test/apps/oob.c" -lfabric 2>/dev/null ||
    rm -f "$build/bench/pair-ofi"

exec python3 -B "$top/bench/run/main.py" "${arguments[@]}" "$build"
