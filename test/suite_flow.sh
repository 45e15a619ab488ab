#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The protocol core: its unit tests. (test/tidy/check_objects.py looks at the symbols
# that its objects need.)
# usage: test/suite_flow.sh BUILD_DIR [quick|ci|full]

# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"

coverage() {
    sh "$TEST_DIR/coverage.sh" "$BUILD" || exit 1
    note "$(tail -n 1 "$CHECK_LOG")"
}

suite_run() {
    local gtest=$BUILD/test/gtest_flow suite suites

    suites=$("$gtest" --gtest_list_tests | sed -n 's/^\([^ ].*\)\.$/\1/p')
    check gtest_flow 10 test -n "$suites"
    for suite in $suites; do
        check "$suite" 120 "$gtest" --gtest_filter="$suite.*"
    done
    if full; then
        check shuffled 300 "$gtest" --gtest_shuffle --gtest_repeat=20
        check coverage 900 coverage
    fi
}

suite_main flow "$@"
