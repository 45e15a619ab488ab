#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Fuzzers of the protocol core (libFuzzer, ASan, UBSan), built by clang.
# usage: test/suite_fuzz.sh BUILD_DIR [ci|full]
source=$(cd "$(dirname "$0")/.." && pwd)
build=$1
seconds=20
[ "${2:-ci}" = full ] && seconds=60
work=$build/fuzz
passed=0
failed=0
clang=${CLANG:-clang}

if ! command -v "$clang" >/dev/null; then
    echo "skip fuzz: clang is not installed (Debian: clang libclang-rt-dev)"
    echo "suite fuzz: 0 passed, 0 failed, 1 skipped"
    exit 0
fi
mkdir -p "$work"
flags="-g -O1 -I$source/src -fsanitize=address,undefined,fuzzer-no-link \
       -fno-sanitize-recover=undefined"
for file in "$source"/src/flow/*.c; do
    # shellcheck disable=SC2086
    "$clang" $flags -std=gnu11 -c "$file" \
        -o "$work/$(basename "$file").o" || exit 1
done
for name in wire rx net; do
    target=$work/fuzz_$name
    corpus=$work/corpus_$name
    mkdir -p "$corpus"
    start=$(date +%s)
    # shellcheck disable=SC2086
    if "$clang"++ $flags -fsanitize=fuzzer -std=gnu++17 \
            "$source/test/fuzz/fuzz_$name.cc" "$source/test/fuzz/fuzz.cc" \
            "$work"/*.c.o -o "$target" >"$target.log" 2>&1 &&
       timeout $((seconds + 60)) "$target" -max_total_time=$seconds \
            -max_len=2048 -artifact_prefix="$target-" "$corpus" \
            "$source/test/fuzz/corpus/$name" >>"$target.log" 2>&1; then
        runs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$target.log")
        echo "ok fuzz_$name $(($(date +%s) - start)) ($runs inputs)"
        passed=$((passed + 1))
    else
        echo "FAIL fuzz_$name: the end of its output follows"
        tail -n 40 "$target.log"
        failed=$((failed + 1))
    fi
done
echo "suite fuzz: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
