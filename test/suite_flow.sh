#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The protocol core: purity of its objects, unit tests.
# usage: test/suite_flow.sh BUILD_DIR [quick|ci|full]

# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"

# The objects may need nothing but these (DESIGN.md, decision 2).
pure() {
    local foreign
    foreign=$(nm -u "$BUILD"/obj/flow/*.o | awk '$1 == "U" { print $2 }' |
              grep -vE '^(memcpy|memset|memmove|memcmp|flow_.*)$' |
              grep -vE '^(__(asan|ubsan|sanitizer)_|_GLOBAL_OFFSET_TABLE_)')
    [ -z "$foreign" ] || fail "the core needs foreign symbols: $foreign"
}

objects_exist() {
    ls "$BUILD"/obj/flow/*.o
}

# Every symbol that one object needs from the core is in another one.
complete() {
    nm "$BUILD"/obj/flow/*.o | awk '
        $1 == "U" && $2 ~ /^flow_/ { need[$2] = 1 }
        $2 ~ /^[TDRB]$/ { have[$3] = 1 }
        END {
            delete need["flow_assert_failed"]
            for (s in need) if (!(s in have)) { print "undefined " s; bad = 1 }
            exit bad
        }'
}

coverage() {
    sh "$TEST_DIR/coverage.sh" "$BUILD" || exit 1
    note "$(tail -n 1 "$CHECK_LOG")"
}

crowd() {
    need valgrind
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers are on"
    sh "$TEST_DIR/crowd.sh" "$BUILD" || exit 1
}

suite_run() {
    local gtest=$BUILD/test/gtest_flow suite

    check objects 10 objects_exist
    check gtest_flow 10 test -x "$gtest"
    check purity 10 pure
    check complete 10 complete
    check crowd 60 crowd
    for suite in $("$gtest" --gtest_list_tests |
                   sed -n 's/^\([^ ].*\)\.$/\1/p'); do
        check "$suite" 120 "$gtest" --gtest_filter="$suite.*"
    done
    if full; then
        check shuffled 300 "$gtest" --gtest_shuffle --gtest_repeat=20
        check coverage 900 coverage
    fi
}

suite_main flow "$@"
