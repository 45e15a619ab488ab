#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Single-line faults of the protocol core must be caught by its tests; in the
# shorter profiles a few of them.
# usage: test/suite_mutants.sh BUILD_DIR [quick|ci|full]

# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"

# caught N: about one mutant of N.
caught() {
    local status=0
    need python3 gcc g++
    python3 "$TEST_DIR/mutants/run.py" --one-of "$1" flow "${TEST_DIR%/*}" \
        "$BUILD" || status=$?
    if [ "$status" -ne 0 ]; then
        grep '^SURVIVES' "$CHECK_LOG" || tail -n 3 "$CHECK_LOG"
        fail "not all were caught: status $status"
    fi
    grep -q '^[1-9][0-9]* mutants, 0 survive$' "$CHECK_LOG" || fail "none tried"
    # not each: how mutants end would read like what failed here
    note_all ' survive$'
}

suite_run() {
    if full; then
        check mutants 1800 caught 25
    elif ci; then
        check mutants 240 caught 100
    else
        check mutants 90 caught 1000
    fi
}

suite_main mutants "$@"
