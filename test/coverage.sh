#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Branch coverage of src/flow by the unit tests and the simulator (gcov). The
# branches of flow_assert and of flow_core_check are not counted: they are there
# to be never taken.
# usage: test/coverage.sh BUILD_DIR
source=$(cd "$(dirname "$0")/.." && pwd)
work=$1/coverage
rm -rf "$work"
mkdir -p "$work" || exit 1
cd "$work" || exit 1
flags="-O0 -g --coverage -I$source/src"
for file in "$source"/src/flow/*.c; do
    # shellcheck disable=SC2086
    gcc $flags -std=gnu11 -ffreestanding -c "$file" \
        -o "$(basename "$file" .c).o" || exit 1
done
cxx="-O0 -g -I$source/src -std=gnu++17"
# shellcheck disable=SC2086
g++ $cxx "$source"/test/gtest/flow/*.cc ./*.o --coverage -lgtest \
    -lgtest_main -lpthread -o gtest_flow || exit 1
# shellcheck disable=SC2086
g++ $cxx "$source"/test/sim/sim.cc "$source"/test/sim/node.cc \
    "$source"/test/sim/node_report.cc \
    "$source"/test/sim/plans.cc "$source"/test/sim/main.cc ./*.o --coverage -o flow_sim || exit 1
./gtest_flow --gtest_brief=1 >/dev/null || exit 1
./flow_sim --plan small --count 10 >/dev/null || exit 1
./flow_sim --plan small --count 3 --wrap >/dev/null || exit 1
gcov -b -c ./*.o >/dev/null 2>&1
awk '
    FNR == 1 { check = FILENAME ~ /check\.c\.gcov/ }
    check { next }
    /^ *[#=0-9*-]+: *[0-9]+:/ {
        line = $0
        skip = line ~ /flow_assert\(/
    }
    /^branch / && !skip {
        total++
        if ($0 ~ /never executed|taken 0/) {
            missed++
            sub(/^ *[^:]*:/, "", line)
            print FILENAME ":" line
        }
    }
    END {
        printf "branch coverage of src/flow: %.1f %% (%d of %d)\n",
               100 * (total - missed) / total, total - missed, total
    }' ./*.c.gcov
