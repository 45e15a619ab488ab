#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Each single-line fault of the protocol core must be caught by its tests; in
# the shorter profiles a few of them.
# usage: test/suite_mutants.sh BUILD_DIR [quick|ci|full]

# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"

# caught EVERY: of all mutants each EVERYth.
caught() {
    local status=0 survive
    need python3
    python3 "$TEST_DIR/mutants/run.py" "${TEST_DIR%/*}" "$BUILD" "$1" ||
        status=$?
    if [ "$status" -ne 0 ]; then
        survive=$(grep '^ *[0-9]* SURVIVES' "$CHECK_LOG")
        echo "$survive"
        fail "not all were caught: status $status"
    fi
    grep -q '^[1-9][0-9]* mutants, 0 survive$' "$CHECK_LOG" || fail "none tried"
    # not the table: how mutants end would read like what failed here
    note_all ' survive$'
}

suite_run() {
    if full; then
        check mutants 3400 caught 1
    elif ci; then
        check mutants 280 caught 11
    else
        check mutants 110 caught 26
    fi
}

suite_main mutants "$@"
