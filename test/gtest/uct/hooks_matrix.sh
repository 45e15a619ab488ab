#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The tables of each UCX minor against a real UCX of that minor: how it finds
# us, and every callback through UCT's API.
#
#   hooks_matrix.sh BUILD_DIR UCX_PREFIX...
#
# A UCX_PREFIX holds lib/libucp.so.0, its companions, and include/: an
# installed release, or the libucx folder of an unpacked libucx-cu12 wheel.
# hooks_glue_*.cc are compiled for its minor. Prints "ok NAME" or "FAIL NAME:
# reason", and last a sum; exits 1 if one failed.
set -u
build=$(cd "${1:?usage: hooks_matrix.sh BUILD_DIR UCX_PREFIX...}" && pwd) || exit 2
shift
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
module=$build/obj/hooks/libuct_hooktest.so.0
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0
: "${CXX:=c++}"
for v in $(compgen -e UCX_); do unset "$v"; done

check() {
    if [ "$2" = "$3" ]; then
        echo "ok $1"
        passed=$((passed + 1))
    else
        echo "FAIL $1: expected '$2', got '$(echo "$3" | tail -c 600 | tr '\n' '|')'"
        failed=$((failed + 1))
    fi
}

# Prints MAJOR.MINOR.RELEASE of the libucp in $1.
version_of() {
    cat >"$tmp/version.cc" <<'END'
#include <cstdio>
extern "C" void ucp_get_version(unsigned*, unsigned*, unsigned*);
int main()
{
    unsigned major, minor, release;

    ucp_get_version(&major, &minor, &release);
    std::printf("%u.%u.%u\n", major, minor, release);
}
END
    $CXX -o "$tmp/version" "$tmp/version.cc" "$1/libucp.so.0" \
        -Wl,--allow-shlib-undefined && LD_LIBRARY_PATH=$1 "$tmp/version"
}

hooked() {
    timeout 120 env LD_LIBRARY_PATH="$lib" LD_PRELOAD="$module" "$@" 2>&1
}

for prefix; do
    [ -e "$prefix/include/uct/api/uct.h" ] ||
        { echo "FAIL $prefix: no include/: a whole wheel or installation"; exit 1; }
    lib=$(cd "$prefix/lib" && pwd) || exit 2
    version=$(version_of "$lib") || { echo "FAIL $prefix: no version"; exit 1; }
    minor=$(echo "$version" | cut -d. -f2)
    check "UCX $version: found late" "libucp.so.0: 1 md" \
        "$(hooked "$build/obj/hooks/hooks_late" local "$lib/libucp.so.0")"
    check "UCX $version: eight threads at once" 8 \
        "$(hooked "$build/obj/hooks/hooks_late" threads "$lib/libucp.so.0" |
           grep -c ': 1 md$')"
    check "UCX $version: no variable of ours is called unknown" 0 \
        "$(hooked env UCX_HOOKTL_DEPTH=99 UCX_HOOKMD_DEPTH=77 \
           "$build/obj/hooks/hooks_late" local "$lib/libucp.so.0" |
           grep -c HOOK)"
    if $CXX -std=gnu++17 -Wall -Wextra -DUCX_MINOR="$minor" -I"$lib/../include" -I"$top/src" \
        ${UCX_CFLAGS:-} -o "$tmp/glue" "$here"/hooks_glue_*.cc \
        "$lib/libuct.so.0" "$lib/libucs.so.0" -Wl,--allow-shlib-undefined \
        -lgtest -lgtest_main -lpthread >"$tmp/log" 2>&1; then
        out=$(hooked "$tmp/glue")
        check "UCX $version: every callback" \
            "$(echo "$out" | sed -n 's/.*Running \([0-9]*\) tests.*/\1 passed/p')" \
            "$(echo "$out" | sed -n 's/.*PASSED.* \([0-9]*\) tests\.*$/\1 passed/p')$(
               echo "$out" | grep -B1 -A3 Failure | head -5)"
    else
        check "UCX $version: hooks_glue_*.cc compile" "" "$(cat "$tmp/log")"
    fi
done
echo "hooks matrix: $passed passed, $failed failed"
[ "$failed" = 0 ]
