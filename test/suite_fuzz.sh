#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Fuzzers of the protocol core (libFuzzer, ASan, UBSan), built by clang; all at
# the same time. What they find lies in BUILD_DIR/fuzz.
# usage: test/suite_fuzz.sh BUILD_DIR [quick|ci|full]
source=$(cd "$(dirname "$0")/.." && pwd)
build=$1
case ${2:-ci} in
full) seconds=180 ;;
ci) seconds=60 ;;
*) seconds=10 ;;
esac
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
flags="-g -O1 -I$source/src -I$source/test -fsanitize=address,undefined \
       -fsanitize=fuzzer-no-link -fno-sanitize-recover=undefined"

# Two compilers at a time.
compile() {
    # shellcheck disable=SC2016,SC2086
    {
        find "$source"/src/flow -name '*.c' -printf '-std=gnu11 %p %f.o\n'
        find "$source"/test/fuzz "$source"/test/driver -name '*.cc' \
            -printf '-std=gnu++17 %p %f.o\n'
    } | (cd "$work" && xargs -P 2 -L 1 sh -c \
        '"$0" '"$flags"' "$1" -c "$2" -o "$3"' "$clang")
}

link() {
    # shellcheck disable=SC2086
    "$clang"++ $flags -fsanitize=fuzzer "$work/fuzz_$1.cc.o" \
        "$work/fuzz.cc.o" "$work/driver.cc.o" "$work"/*.c.o \
        -o "$work/fuzz_$1"
}

fuzz() {
    mkdir -p "$work/corpus_$1"
    timeout $((seconds + 300)) "$work/fuzz_$1" -max_total_time=$seconds \
        -max_len=2048 -artifact_prefix="$work/fuzz_$1-" \
        "$work/corpus_$1" "$source/test/fuzz/corpus/$1"
    echo "status $?"
}

if ! compile >"$work/compile.log" 2>&1; then
    echo "FAIL compile: the end of its output follows"
    tail -n 40 "$work/compile.log"
    echo "suite fuzz: 0 passed, 1 failed, 0 skipped"
    exit 1
fi
for name in wire rx net; do
    if link "$name" >"$work/fuzz_$name.log" 2>&1; then
        fuzz "$name" >>"$work/fuzz_$name.log" 2>&1 &
    fi
done
wait
for name in wire rx net; do
    log=$work/fuzz_$name.log
    runs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log")
    if [ -n "$runs" ] && [ "$(tail -n 1 "$log")" = "status 0" ]; then
        echo "ok fuzz_$name $seconds ($runs inputs)"
        passed=$((passed + 1))
    else
        echo "FAIL fuzz_$name: the end of its output follows"
        tail -n 40 "$log"
        failed=$((failed + 1))
    fi
done
echo "suite fuzz: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
