#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Each single-line fault of the protocol core must be caught by its tests; in CI
# a few of them.
# usage: test/suite_mutants.sh BUILD_DIR [quick|ci|full]
source=$(cd "$(dirname "$0")/.." && pwd)
case ${2:-ci} in
full) every=1 ;;
ci) every=9 ;;
*) every=13 ;;
esac
out=$(python3 "$source/test/mutants/run.py" "$source" "$1" "$every" 2>&1)
echo "$out"
passed=$(echo "$out" | grep -c '^ *[0-9]* caught')
failed=$(echo "$out" | grep -c '^ *[0-9]* SURVIVES')
if ! echo "$out" | grep -q '^[0-9]* mutants, [0-9]* survive$'; then
    failed=$((failed + 1))
fi
echo "suite mutants: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
