#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# suite_tidy.sh BUILD_DIR PROFILE: what can be told by looking at the sources
# and at the built files. Each check is a program test/tidy/check_*; selftest.sh
# shows that each can fail.

set -u
top=$(cd "$(dirname "$0")/.." && pwd -P) || exit 1
build=$(cd "${1:?usage: suite_tidy.sh BUILD_DIR PROFILE}" && pwd -P) || exit 1
passed=0 failed=0 skipped=0

# check NAME COMMAND...: status 77 is a skip, with the last line as reason.
check() {
    local name=$1 start=$SECONDS output status
    shift
    if [[ $1 = *.py ]] && ! command -v python3 >/dev/null; then
        output='python3 is not installed' status=77
    else
        output=$("$@" 2>&1 </dev/null)
        status=$?
    fi
    case $status in
    0)
        [ -z "$output" ] || sed 's/^/   /' <<<"$output"
        echo "ok $name $((SECONDS - start))"
        passed=$((passed + 1))
        ;;
    77)
        echo "skip $name: ${output##*$'\n'}"
        skipped=$((skipped + 1))
        ;;
    *)
        head -n 60 <<<"$output" | sed 's/^/   /'
        echo "FAIL $name: $(grep -c . <<<"$output") lines above"
        failed=$((failed + 1))
        ;;
    esac
}

[ "${2-}" = quick ] || check selftest "$top/test/tidy/selftest.sh"
for program in "$top"/test/tidy/check_*; do
    name=${program##*/check_}
    # One builds everything once more, the others are about scripts of ours.
    case ${2-}:$name in
    quick:clang.sh | quick:shell.sh | quick:testsh.sh) continue ;;
    esac
    check "${name%.*}" "$program" "$top" "$build"
done
echo "suite tidy: $passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
