#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Checks that look at the sources and at the files of "make test-programs". Each check
# is a program test/tidy/check_*; selftest.sh shows that each can fail.
# usage: test/suite_tidy.sh BUILD_DIR [quick|ci|full]

# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"

# tidy PROGRAM: what it says is shown also when it finds nothing wrong.
tidy() {
    [[ $1 != *.py ]] || need python3
    "$TEST_DIR/tidy/$1" "$(dirname "$TEST_DIR")" "$BUILD" || exit $?
    note_all
}

suite_run() {
    local program name
    ci && check selftest 120 tidy selftest.sh
    for program in "$TEST_DIR"/tidy/check_*; do
        name=${program##*/check_}
        # Two compile everything once more, the others are about scripts of ours.
        case $PROFILE:$name in
        quick:clang.sh | quick:headers.sh | quick:shell.sh | quick:testsh.sh) continue ;;
        esac
        check "${name%.*}" 300 tidy "check_$name"
    done
}

suite_main tidy "$@"
