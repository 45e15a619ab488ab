#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The protocol core: purity of its objects, unit tests.
# usage: test/suite_flow.sh BUILD_DIR [ci|full]
build=$1
profile=${2:-ci}
passed=0
failed=0
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

# check NAME TIMEOUT PROGRAM..., or a function of ours with TIMEOUT 0
check() {
    name=$1
    limit=$2
    shift 2
    start=$(date +%s)
    [ "$limit" = 0 ] || set -- timeout "$limit" "$@"
    if "$@" >"$log" 2>&1; then
        echo "ok $name $(($(date +%s) - start))"
        passed=$((passed + 1))
    else
        echo "FAIL $name: exit status $?, the end of its output follows"
        tail -n 40 "$log"
        failed=$((failed + 1))
    fi
}

# The objects may need nothing but these (DESIGN.md, decision 2).
pure() {
    foreign=$(nm -u "$build"/obj/flow/*.o | awk '$1 == "U" { print $2 }' |
              grep -vE '^(memcpy|memset|memmove|memcmp|flow_.*)$' |
              grep -vE '^(__(asan|ubsan|sanitizer)_|_GLOBAL_OFFSET_TABLE_)')
    if [ -n "$foreign" ]; then
        echo "the core needs foreign symbols: $foreign"
        return 1
    fi
}

objects_exist() {
    ls "$build"/obj/flow/*.o
}

# Every symbol that one object needs from the core is in another one.
complete() {
    nm "$build"/obj/flow/*.o | awk '
        $1 == "U" && $2 ~ /^flow_/ { need[$2] = 1 }
        $2 ~ /^[TDRB]$/ { have[$3] = 1 }
        END {
            delete need["flow_assert_failed"]
            for (s in need) if (!(s in have)) { print "undefined " s; bad = 1 }
            exit bad
        }'
}

check objects 0 objects_exist
check gtest_flow 0 test -x "$build/test/gtest_flow"
check purity 0 pure
check complete 0 complete
for suite in $("$build"/test/gtest_flow --gtest_list_tests |
               sed -n 's/^\([^ ].*\)\.$/\1/p'); do
    check "$suite" 120 "$build"/test/gtest_flow --gtest_filter="$suite.*"
done
if [ "$profile" = full ]; then
    check shuffled 300 "$build"/test/gtest_flow --gtest_shuffle \
        --gtest_repeat=20
    check coverage 900 sh "$(dirname "$0")/coverage.sh" "$build"
    tail -n 1 "$log"
fi

echo "suite flow: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
