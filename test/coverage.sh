#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Branch coverage of src/flow (gcov) by its unit tests, the simulator, the
# explorer and the inputs that the fuzzers keep. Not counted: flow_assert, and
# check.c, whose branches are there to be never taken; image.c, which
# refuses damaged recordings (suite sim, record.sh). A missing branch is printed unless
# it stands in test/coverage.txt, with a reason; less than the minimum in there fails.
# usage: test/coverage.sh BUILD_DIR
source=$(cd "$(dirname "$0")/.." && pwd)
work=$1/coverage
rm -rf "$work"
mkdir -p "$work" || exit 1
cd "$work" || exit 1
export CCACHE_DISABLE=1
include="-I$source/src -I$source/test"

objects() {
    find "$source/src/flow" -name '*.c' | while read -r file; do
        echo "gcc -std=gnu11 -O0 -g --coverage -ffreestanding" \
             "$include -c $file -o $(basename "$file" .c).o"
    done
    for kind in sim model driver fuzz gtest/flow; do
        for file in "$source/test/$kind"/*.cc; do
            echo "g++ -std=gnu++17 -O1 $include -c $file" \
                 "-o $(echo "$kind" | tr / _)_$(basename "$file" .cc).oo"
        done
    done
}

objects | xargs -P 2 -d '\n' -n 1 sh -c || exit 1
rm -f sim_scale.oo sim_timed.oo sim_rate*.oo sim_link*.oo # other programs
g++ gtest_flow_*.oo driver_*.oo ./*.o --coverage -lgtest -lgtest_main -lpthread \
    -o gtest_flow || exit 1
g++ sim_*.oo driver_*.oo ./*.o --coverage -o flow_sim || exit 1
g++ model_*.oo ./*.o --coverage -o flow_model || exit 1
./gtest_flow --gtest_brief=1 >gtest.log || { tail gtest.log; exit 1; }
./flow_sim --plan small --count 8 >sim.log || { tail sim.log; exit 1; }
./flow_sim --plan small --count 2 --wrap >sim.log || { tail sim.log; exit 1; }
./flow_model srd 2 2 0 1 1 >model.log || { tail model.log; exit 1; }
./flow_model ud 2 2 0 1 1 >model.log || { tail model.log; exit 1; }
for name in wire rx net; do
    g++ "fuzz_fuzz_$name.oo" fuzz_fuzz.oo fuzz_replay.oo driver_*.oo ./*.o \
        --coverage -o "replay_$name" || exit 1
    "./replay_$name" "$source/test/fuzz/corpus/$name" || exit 1
done
gcov -b -c ./*.o >/dev/null 2>&1
for file in ./*.c.gcov; do
    awk -v file="$(basename "$file" .gcov)" '
        file == "check.c" || file ~ /^image/ { exit }
        /^ *[#=0-9*-]+: *[0-9]+:/ {
            line = $0
            sub(/^ *[^:]*: *[0-9]+: */, "", line)
            skip = line ~ /^flow_assert\(/
        }
        /^branch / && !skip {
            print ($0 ~ /never executed|taken 0/) ? "missed" : "taken", \
                  file ": " line
        }' "$file"
done >branches
awk -v list="$source/test/coverage.txt" '
    BEGIN {
        while ((getline text <list) > 0) {
            if (text ~ /^[a-z_]*\.[ch]: /) {
                known[text] = 1
            }
            if (text ~ /^minimum /) {
                minimum = substr(text, 9) + 0
            }
        }
    }
    { ++total }
    /^missed/ {
        ++missed
        sub(/^missed /, "")
        if (!($0 in known)) {
            print "not taken, and no reason in test/coverage.txt: " $0
        }
        seen[$0] = 1
    }
    END {
        for (text in known) {
            if (!(text in seen)) {
                print "taken now, remove it from test/coverage.txt: " text
            }
        }
        share = 100 * (total - missed) / total
        printf "branch coverage of src/flow: %.2f %% (%d of %d), at least " \
               "%.1f\n", share, total - missed, total, minimum
        exit (share < minimum)
    }' branches
