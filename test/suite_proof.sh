#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What is proved, not tried: CBMC looks at all values of all inputs at once. The
# harnesses are test/proof/*.c; each must hold, reach its end, and fail for
# single faults in what it is about. CBMC is Debian 13's, where here is none.
# usage: suite_proof.sh BUILD_DIR [quick|ci|full]
# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"
set -u

CHROOT=$TEST_DIR/../contrib/chroot.sh

# ------------------------------------------------------------ the tool

# Debian 12 has no CBMC: Debian 13's archives are unpacked in the build, with the
# libraries that it was built for. (In there it would miss the compiler, whose
# preprocessor it asks for its own models of memcpy and malloc.)
tool_unpack() {
    local tool=$BUILD/proof/tool
    "$CHROOT" --made 13 || skip_here "CBMC is not installed, and Debian 13," \
        "which has it, is not made here: contrib/chroot.sh 13 makes it"
    rm -rf "$tool" && mkdir -p "$tool"
    # shellcheck disable=SC2016 # for the shell in there
    "$CHROOT" --bind "$BUILD" 13 -- sh -c 'cd "$0" && apt-get -q update &&
        apt-get -q download cbmc minisat libc6 libstdc++6 libgcc-s1 &&
        for deb in *.deb; do dpkg -x "$deb" . || exit 1; done' "$tool" ||
        skip_here "no CBMC from Debian 13: does its mirror answer?"
}

# Sets CBMC; fails where there is none.
cbmc_find() {
    local tool=$BUILD/proof/tool loader libraries
    CBMC=(cbmc)
    ! command -v cbmc >/dev/null || return 0
    loader=$(find "$tool/usr" -name 'ld-linux*.so.*' 2>/dev/null | head -n 1)
    libraries=$tool/usr/lib:${loader%/*}
    CBMC=("$loader" --library-path "$libraries" "$tool/usr/bin/cbmc")
    [ -n "$loader" ]
}

tool() {
    need gcc
    cbmc_find || tool_unpack
    cbmc_find || fail "no loader among the archives"
    "${CBMC[@]}" --version || fail "CBMC does not run: status $?"
}

# ------------------------------------------------------------ a proof

# Sources of the core that a harness needs beside headers
sources_of() {
    case $1 in
    wire) echo ctl_wire ;;
    esac
}

# cbmc_run DIR HARNESS [DEFINE]: with the core's files in DIR/flow. CBMC knows
# memcpy, not the compiler's own name of it. Its words: $CHECK_LOG.cbmc.
cbmc_run() {
    local dir=$1 harness=$2 name files=()
    local cpp=(gcc -E -P -std=gnu11 -D__builtin_memcpy=memcpy "-I$dir"
        "-I$TEST_DIR/proof")
    cbmc_find || skip_here "no CBMC, see the check of the tool"
    "${cpp[@]}" ${3+"-D$3"} "$TEST_DIR/proof/$harness.c" \
        -o "$dir/$harness.i" || fail "the harness: status $?"
    files=("$dir/$harness.i")
    for name in $(sources_of "$harness"); do
        "${cpp[@]}" "$dir/flow/$name.c" -o "$dir/$name.i" ||
            fail "$name.c: status $?"
        files+=("$dir/$name.i")
    done
    "${CBMC[@]}" "${files[@]}" --no-malloc-may-fail --pointer-overflow-check \
        --unwind 70 --unwinding-assertions >"$CHECK_LOG.cbmc" 2>&1
}

# cbmc_said PATTERN: those of its lines; fails, with its last ones, if none is so.
cbmc_said() {
    grep -E "$1" "$CHECK_LOG.cbmc" || {
        tail -n 20 "$CHECK_LOG.cbmc"
        return 1
    }
}

# copy_of NAME: sets `dir` to a folder with a copy of the core.
copy_of() {
    dir=$BUILD/proof/$1
    rm -rf "$dir" && mkdir -p "$dir" && cp -r "$TEST_DIR/../src/flow" "$dir/"
}

# holds HARNESS: it does, of the core as it is; and it looks at something.
holds() {
    local dir missing
    copy_of "$1"
    cbmc_run "$dir" "$1" || {
        cbmc_said ': (FAILURE|ERROR)|ERROR' || :
        fail "not proved"
    }
    grep -q '^VERIFICATION SUCCESSFUL' "$CHECK_LOG.cbmc" || fail "no verdict"
    missing=$(grep -o 'no body for .*' "$CHECK_LOG.cbmc" | grep -v nondet_)
    [ -z "$missing" ] || fail "taken for any value: $missing"
    note "$(grep -c ': SUCCESS' "$CHECK_LOG.cbmc") properties"
    ! cbmc_run "$dir" "$1" PROOF_REACHED || fail "it never gets to its end"
    grep 'the end is reached.*: FAILURE' "$CHECK_LOG.cbmc" ||
        fail "it fails before its end"
    at_most "other failures" "$(grep ': FAILURE' "$CHECK_LOG.cbmc" |
        grep -vc 'the end is reached')" 0
}

# fault HARNESS FILE SED-SCRIPT: the proof notices that fault in src/flow/FILE.
fault() {
    local dir
    copy_of "$1.fault"
    sed -i "$3" "$dir/flow/$2"
    ! cmp -s "$dir/flow/$2" "$TEST_DIR/../src/flow/$2" ||
        fail "$2 has no such place any more: $3"
    ! cbmc_run "$dir" "$1" || fail "proved with a fault: $2: $3"
    cbmc_said ': FAILURE' || fail "it does not fail for a property"
}

suite_run() {
    check tool 120 tool
    check psn 60 holds psn
    check wire 120 holds wire
    check fault_short_packet 60 fault wire ctl_wire.c \
        's/if (len < 2)/if (len < 1)/'
    check fault_length_of_type 60 fault wire ctl_wire.c \
        's/if (len != flow_ctl_lens/if (len > flow_ctl_lens/'
    check fault_type_beyond_table 60 fault wire ctl_wire.c \
        's/(msg->type >= FLOW_CTL_TYPE_LAST) ||/(msg->type > 12) ||/'
    check fault_window_of_hello 60 fault wire ctl_wire.c \
        's/(msg->window > FLOW_INIT_WINDOW_MAX) ||//'
    check fault_token_of_answer 60 fault wire ctl_wire.c \
        's/((msg->token > FLOW_WIRE_TOKEN_MASK) ||/(/'
    check fault_psn_unsigned 60 fault psn psn.h \
        's/return (int16_t)(uint16_t)(a - b)/return (uint16_t)(a - b)/'
    check fault_psn_not_wrapped 60 fault psn psn.h \
        's/return (int16_t)(uint16_t)(a - b)/return a - b/'
    check fault_psn_rotate 60 fault psn psn.h \
        's/(FLOW_WINDOW_MAX - n) % FLOW_WINDOW_MAX/FLOW_WINDOW_MAX - n/'
}

suite_main proof "$@"
