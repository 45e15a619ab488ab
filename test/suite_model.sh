#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Exhaustive exploration of the protocol core: two peers, small windows (P8).
# A run that does not reach every state within its bounds has failed.
# usage: test/suite_model.sh BUILD_DIR [ci|full]
model=$1/test/flow_model
passed=0
failed=0

# explore SECONDS [--eager] PROFILE WINDOW MESSAGES MESSAGES LOSSES REPEATS
explore() {
    limit=$1
    shift
    start=$(date +%s)
    out=$(timeout "$limit" "$model" "$@" 2>&1)
    status=$?
    case $status$out in
    0*", all of them")
        echo "ok $out, $(($(date +%s) - start)) s"
        passed=$((passed + 1))
        ;;
    *)
        echo "FAIL flow_model $*: exit status $status; $out"
        failed=$((failed + 1))
        ;;
    esac
}

explore 60 srd 1 1 1 0 0
explore 60 srd 1 2 2 0 0
explore 60 srd 2 1 1 1 0
explore 60 srd 4 6 0 2 0
explore 60 srd 4 6 0 0 2
explore 60 --eager srd 4 3 3 0 0
explore 60 --eager srd 2 2 2 1 0
explore 60 ud 1 1 0 2 2
explore 60 ud 2 2 0 1 1
explore 60 --eager ud 2 2 2 0 0
explore 60 --eager ud 4 6 0 0 0
explore 60 --eager ud 1 1 1 1 1
if [ "${2:-ci}" = full ]; then
    explore 300 srd 4 6 0 2 2
    explore 300 srd 2 1 1 1 1
    explore 300 srd 2 2 2 0 0
    explore 900 srd 4 3 3 0 0
    explore 300 --eager srd 4 3 3 2 0
    explore 300 --eager srd 4 3 3 0 2
    explore 900 --eager srd 4 3 3 1 1
    explore 300 ud 2 2 0 2 2
    explore 900 --eager ud 1 1 1 2 2
    explore 300 --eager ud 4 4 0 1 1
    explore 300 --eager ud 4 6 0 2 0
    explore 600 --eager ud 2 2 2 1 1
    explore 300 --eager ud 4 3 3 0 0
fi
echo "suite model: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
