#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Fuzzers of the protocol core, of its recordings and of efapci (libFuzzer, ASan, UBSan), built by
# clang; all at the same time. Their findings lie in BUILD_DIR/fuzz.
# usage: test/suite_fuzz.sh BUILD_DIR [ci|full]

# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"

FUZZERS='wire rx net record pci'

# Inputs that each of them tries, its corpus included: about 8 s of CPU.
declare -A INPUTS=([wire]=4000000 [rx]=4000 [net]=3500 [record]=8000 [pci]=10000)
CLANG=${CLANG:-clang}

# Two compilers at a time.
build() {
    local source=${TEST_DIR%/*} flags name
    command -v "$CLANG" >/dev/null ||
        skip_here "clang is not installed (Debian: clang libclang-rt-dev)"
    flags="-g -O1 -D_GNU_SOURCE -I$BUILD -I$source/src -I$source/test -fsanitize=address,undefined
        -fsanitize=fuzzer-no-link -fno-sanitize-recover=undefined"
    mkdir -p "$BUILD/fuzz" && cd "$BUILD/fuzz" || exit 1
    # shellcheck disable=SC2016,SC2086
    {
        find "$source"/src/flow "$source"/src/record "$source"/src/tools/replay \
            "$source"/src/files "$source"/src/command -name '*.c' ! -name srd_replay.c \
            -printf '-std=gnu11 %p %f.o\n'
        # names that no file of the core has
        find "$source"/src/efasim/engine -name '*.c' \
            -printf '-std=gnu11 %p engine-%f.pci.o\n'
        find "$source"/src/efasim/pci \
            "$source"/test/fuzz/fuzz_pci_guest.c -name '*.c' \
            ! -name main.c ! -name server.c -printf '-std=gnu11 %p %f.pci.o\n'
        find "$source"/test/fuzz "$source"/test/driver -name '*.cc' \
            -printf '-std=gnu++17 %p %f.o\n'
    } | xargs -P 2 -L 1 sh -c '"$0" '"${flags//$'\n'/ }"' "$1" -c "$2" -o "$3"' \
        "$CLANG" || exit 1
    local objects=()
    for name in $FUZZERS; do
        objects=(fuzz.cc.o driver.cc.o ./*.c.o)
        [ "$name" != pci ] || objects=(./*.pci.o)
        # shellcheck disable=SC2086
        "$CLANG"++ $flags -fsanitize=fuzzer "fuzz_$name.cc.o" \
            "${objects[@]}" -o "fuzz_$name" || exit 1
    done
}

# fuzz NAME INPUTS
fuzz() {
    local work=$BUILD/fuzz
    need "$CLANG"
    mkdir -p "$work/corpus_$1"
    "$work/fuzz_$1" -runs="$2" -max_len=2048 \
        -artifact_prefix="$work/fuzz_$1-" "$work/corpus_$1" \
        "$TEST_DIR/fuzz/corpus/$1" || exit 1
    grep -q '^Done [1-9][0-9]* runs' "$CHECK_LOG" || fail "no input was tried"
    note "$(grep '^Done ' "$CHECK_LOG")"
}

suite_run() {
    local name times=1
    ! full || times=20
    CHECKS='' check build 150 build
    at_once 3
    for name in $FUZZERS; do
        check "fuzz_$name" $((120 * times)) fuzz "$name" $((INPUTS[$name] * times))
    done
}

suite_main fuzz "$@"
