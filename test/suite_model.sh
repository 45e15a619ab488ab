#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Exhaustive exploration of the protocol core: two peers, small windows.
# usage: test/suite_model.sh BUILD_DIR [ci|full]
model=$1/test/flow_model
passed=0
failed=0

# explore WINDOW MESSAGES REFUSALS REPEATS MAX_STATES
explore() {
    if out=$(timeout 900 "$model" "$@" 2>&1); then
        echo "ok $out"
        passed=$((passed + 1))
    else
        echo "FAIL $*: $out"
        failed=$((failed + 1))
    fi
}

explore 1 1 0 0 1000000
explore 2 1 0 0 1000000
explore 1 2 0 0 1000000
explore 2 2 0 0 1000000
explore 2 1 1 0 1000000
explore 2 1 0 1 1000000
explore 1 2 1 1 100000
if [ "${2:-ci}" = full ]; then
    explore 2 1 1 1 3000000
    explore 2 1 2 0 3000000
    explore 4 6 0 0 3000000
    explore 4 6 2 2 3000000
    explore 3 3 0 0 3000000
fi
echo "suite model: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
