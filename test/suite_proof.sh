#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Proofs, not trials: CBMC looks at all values of all inputs at once. The harnesses are
# test/proof/*.c; each must hold, reach its end, and fail for single faults in its
# subject. CBMC is Debian 13's, where here is none.
# usage: suite_proof.sh BUILD_DIR [quick|ci|full]
# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"
set -u

CHROOT=$TEST_DIR/../contrib/ci/chroot.sh

# ------------------------------------------------------------ the tool

# Debian 12 has no CBMC: Debian 13's archives are unpacked in the build, with the
# libraries that it was built for. (In there it would miss the compiler, whose
# preprocessor it asks for its own models of memcpy and malloc.)
tool_unpack() {
    local tool=$BUILD/proof/tool
    "$CHROOT" --made 13 || skip_here "CBMC is not installed, and Debian 13," \
        "which has it, is not made here: contrib/ci/chroot.sh 13 makes it"
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

# A harness's needs beside headers: files of the core, and of its own.
sources_of() {
    case $1 in
    wire) echo flow/ctl_wire ;;
    rx) echo flow/rx flow/ring flow/rx_record flow/rx_life flow/drop flow/due world stubs ;;
    ctl) echo flow/ctl_rx flow/ctl_wire world stubs ;;
    esac
}

# small_core DIR: few enough indices, and records by functions of the harness,
# for proofs about its state (test/proof/world.h).
small_core() {
    local kind
    sed -i 's/\(FLOW_INDEX_BITS *= \)17,/\12,/; s/\(FLOW_GEN_BITS *= \)7,/\122,/' \
        "$1/flow/limits.h"
    grep -q 'FLOW_INDEX_BITS *= 2,' "$1/flow/limits.h" ||
        fail "limits.h: no number of index bits"
    for kind in rx tx peer ring; do
        sed -i "/^static inline flow_${kind}_t \*flow_core_$kind(/{
                i flow_${kind}_t *world_get_$kind(uint32_t index);
                :body
                n
                /return/{
                    :rest
                    /;/!{
                        N
                        b rest
                    }
                    s/.*/    (void)core; return world_get_$kind(index);/
                    b
                }
                b body
            }" "$1/flow/state_priv.h"
        grep -q "return world_get_$kind(index)" "$1/flow/state_priv.h" ||
            fail "state_priv.h: no flow_core_$kind"
    done
}

# cbmc_run DIR HARNESS[:ENTRY] [DEFINE [OPTION...]]: with the core's files in
# DIR/flow. CBMC knows memcpy, not the compiler's own name of it. Its output:
# $CHECK_LOG.cbmc.
cbmc_run() {
    local dir=$1 harness=${2%:*} name file files=()
    local cpp=(gcc -E -P -std=gnu11 -D__builtin_memcpy=memcpy "-I$dir"
        "-I$TEST_DIR/proof")
    cbmc_find || skip_here "no CBMC, see the check of the tool"
    [ "$harness" = "$2" ] || cpp+=("-DPROOF_ENTRY=prove_${2#*:}")
    [ -z "${3-}" ] || cpp+=("-D$3")
    for name in "$harness" $(sources_of "$harness"); do
        file=$TEST_DIR/proof/$name.c
        [ "${name%%/*}" != flow ] || file=$dir/$name.c
        "${cpp[@]}" "$file" -o "$dir/${name//\//_}.i" ||
            fail "$name.c: status $?"
        files+=("$dir/${name//\//_}.i")
    done
    "${CBMC[@]}" "${files[@]}" --no-malloc-may-fail --pointer-overflow-check \
        --unwind 70 --unwindset flow_rx_find.0:4 --unwinding-assertions \
        --sat-solver cadical "${@:4}" >"$CHECK_LOG.cbmc" 2>&1
}

# cbmc_said PATTERN: those of its lines; fails, with its last ones, if none is so.
cbmc_said() {
    grep -E "$1" "$CHECK_LOG.cbmc" || {
        tail -n 20 "$CHECK_LOG.cbmc"
        return 1
    }
}

# copy_of HARNESS[:ENTRY] [SUFFIX]: sets `dir` to a folder with a copy of the core.
copy_of() {
    dir=$BUILD/proof/${1/:/_}${2-}
    rm -rf "$dir" && mkdir -p "$dir" && cp -r "$TEST_DIR"/../src/{flow,util} "$dir/" &&
        mkdir -p "$dir/uct/ib" && cp -r "$TEST_DIR/../src/uct/ib/srd_gpu" "$dir/uct/ib/"
    case $1 in
    rx:* | ctl:*) small_core "$dir" ;;
    esac
}

# holds HARNESS[:ENTRY]: it does, of the core as it is; and it looks at something.
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
    ! cbmc_run "$dir" "$1" PROOF_REACHED --property main.assertion.1 ||
        fail "it never gets to its end"
    grep 'the end is reached.*: FAILURE' "$CHECK_LOG.cbmc" ||
        fail "it fails before its end"
}

# fault HARNESS[:ENTRY] FILE SED-SCRIPT: the proof notices that fault in src/flow/FILE.
fault() {
    local dir
    copy_of "$1" .fault
    sed -i "$3" "$dir/flow/$2"
    ! cmp -s "$dir/flow/$2" "$TEST_DIR/../src/flow/$2" ||
        fail "$2 has no such place any more: $3"
    ! cbmc_run "$dir" "$1" '' --stop-on-fail ||
        fail "proved with a fault: $2: $3"
    cbmc_said '^VERIFICATION FAILED' || fail "it does not fail for a property"
    grep -A 4 '^Violated property' "$CHECK_LOG.cbmc"
}

suite_run() {
    CHECKS='' check tool 120 tool
    check psn 60 holds psn
    check gpu_ring 60 holds gpu_ring
    check fault_gpu_ring_lap 60 fault gpu_ring ../uct/ib/srd_gpu/srd_gpu_ring.h \
        's/(ring->taken >> ring->log_depth) & 1/ring->taken \& 1/'
    check fault_gpu_ring_begin 60 fault gpu_ring ../uct/ib/srd_gpu/srd_gpu_ring.h \
        's/= UINT8_MAX;/= 0;/'
    check wire 120 holds wire
    check receive 150 holds rx:accept
    check receive_held 150 holds rx:accept_held
    check receive_run 150 holds rx:run
    check control 100 holds ctl:control
    check fault_short_header 100 fault rx:accept rx.h \
        's/if (flow_unlikely(len < FLOW_SHORT_HDR)) {/if (0) {/'
    check fault_long_header 100 fault rx:accept rx.c \
        's/if (len < FLOW_LONG_HDR) {/if (0) {/'
    check fault_acknowledging_header 100 fault rx:accept rx.c \
        's/if (len < FLOW_ACK_HDR) {/if (0) {/'
    check fault_index 100 fault rx:accept rx.h \
        's/if (flow_unlikely(index >= core->rx_count)) {/if (0) {/'
    check fault_early_at_the_limit 100 fault rx:accept rx.h \
        's/(flow_psn_diff(psn, rx->limit) >= 0) ||/(0) ||/'
    check fault_run_beyond_max 100 fault rx:run ring.c \
        's/count = (count < max) ? count : max;//'
    check fault_grant_of_a_dead_flow 60 fault ctl:control ctl_rx.c \
        's/} else if (rx->state == FLOW_RX_ACTIVE) {/} else if (1) {/'
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
        's/(FLOW_MAP_BITS - n) % FLOW_MAP_BITS/FLOW_MAP_BITS - n/'
}

suite_main proof "$@"
