# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# The direct data path, which takes the rdma-core of Debian sid. Sourced by suite
# uct, after lib.sh.

# The largest window of a flow: so many packets may be out at once from the start
# over ud, as the tests post so many.
whole_window() {
    sed -nE 's/^ +FLOW_WINDOW_MAX += ([0-9]+),.*/\1/p' "$TEST_DIR/../src/flow/limits.h"
}

# uct_in_sid QUEUES TRANSPORT [EFASIM_OPTION...]: all tests with sid's rdma-core,
# the queues "direct" or "by libefa".
uct_in_sid() {
    [ -x "$BUILD/test/gtest_uct" ] || skip_here "gtest_uct was not built"
    local queues=$1 transport=$2 filter='*' env=(NEED_PUT=y)
    [ "$transport" = srd ] ||
        { filter='-UctUd*' && env=("UCX_EFA_UD_FIRST_WINDOW=$(whole_window)"); }
    # Where the device works by itself waiting for time-outs takes its time, and
    # rounds of progress say nothing of how far it is.
    case $transport:${3-} in
    ud:--eager) filter+=':*UctStatus*:UctWaiting*:UctFailure*:*after_progress_in*' ;;
    srd:--eager) filter='-UctWaiting*:*after_progress_in*' ;;
    esac
    [ "$queues" = direct ] || env+=(UCX_EFA_DIRECT=n)
    in_release sid --device efa2 "${@:3}" -- env "${env[@]}" \
        "UCT_TRANSPORT=$transport" UCX_EFA_UD_TRIES=8 UCX_LOG_LEVEL=debug \
        "$SRDRUN" "$BUILD/test/gtest_uct" --gtest_brief=1 \
        --gtest_filter="$filter" >"$CHECK_LOG.out" 2>&1
    local status=$?
    grep -v ' DEBUG ' "$CHECK_LOG.out"
    [ "$status" -eq 0 ] || fail "status $status"
    tests_ran "$CHECK_LOG.out"
    at_least "interfaces with queues $queues" \
        "$(grep -c "interface open: .*queues: $queues" "$CHECK_LOG.out")" 100
    [ "$queues" = direct ] || ! grep 'queues: direct' "$CHECK_LOG.out" ||
        fail "not by libefa"
    at_least packets "$(stat_sum "$STAT" tx_pkts)" 1
}

# UCP's tests, where the module does as on hardware.
direct_alone_ucp() {
    [ -x "$BUILD/test/gtest_ucp" ] || skip_here "gtest_ucp was not built"
    in_release sid --device efa2 --eager -- \
        "$SRDRUN" "$BUILD/test/gtest_ucp" --gtest_brief=1 >"$CHECK_LOG.out" 2>&1
    local status=$?
    [ "$status" -eq 0 ] || { cat "$CHECK_LOG.out" && fail "status $status"; }
    tests_ran "$CHECK_LOG.out"
    at_least packets "$(stat_sum "$STAT" tx_pkts)" 10000
}

# direct_says TEXT RELEASE DEVICE [ENV...]: what an interface says of its way to
# the device, and that a message then goes over it.
direct_says() {
    local text=$1 release=$2 out=$CHECK_LOG.out
    local run=(env UCX_LOG_LEVEL=debug "${@:4}" "$SRDRUN"
        "$BUILD/test/gtest_uct" --gtest_filter='UctAm.am_short__every*')
    if [ "$release" = 12 ]; then
        with_stat --device "$3" -- "${run[@]}" >"$out" 2>&1
    else
        in_release "$release" --device "$3" -- "${run[@]}" >"$out" 2>&1
    fi
    local status=$?
    grep -m 2 -E 'data path|queues: |EFA_DIRECT' "$out"
    grep -q "$text" "$out" || fail "no line with '$text'"
    return "$status"
}

direct_chosen() {
    [ -x "$BUILD/test/gtest_uct" ] || skip_here "gtest_uct was not built"
    local two='not used: its completion queues are two rings each'
    direct_says 'queues: direct' sid efa2 || fail "status $?"
    direct_says 'queues: direct' sid efa1 UCX_EFA_DIRECT=y || fail "status $?"
    direct_says 'queues: by libefa' sid efa2 UCX_EFA_DIRECT=n ||
        fail "status $?"
    direct_says "$two" sid efa0 || fail "status $?"
    in_release sid --device efa2 -- "$BUILD/bin/srd_info" |
        grep '^  data path      direct, without libefa$' || fail "srd_info"
    in_release sid --device efa0 -- "$BUILD/bin/srd_info" |
        grep '^  data path      by libefa: its completion queues are two' ||
        fail "srd_info"
    ! direct_says 'UCX_EFA_DIRECT=y: .*two rings each; UCX_EFA_DIRECT=try' \
        sid efa0 UCX_EFA_DIRECT=y || fail "it opened"
}

# A library that tells the queues wrong, and a device whose completion queues are
# two rings without saying so: the trial notices, and libefa serves.
direct_lies() {
    [ -x "$BUILD/test/gtest_uct" ] || skip_here "gtest_uct was not built"
    "$TEST_DIR/../contrib/ci/chroot.sh" --made sid ||
        skip_here "Debian sid is not made here"
    local lie text lies=$BUILD/test/lies libefa
    libefa=$("$TEST_DIR/../contrib/ci/chroot.sh" sid -- \
        sh -c 'ls /usr/lib/*/libibverbs/libefa-rdmav*.so') || fail "sid has no libefa"
    mkdir -p "$lies"
    cc -shared -fPIC -o "$lies/libefa.so.1" "$TEST_DIR/apps/libefa_lies.c" -ldl ||
        fail "cc: status $?"
    lie() { # TEXT LIE
        direct_says "$1" sid efa2 "LIBEFA=$libefa" "LIE=$2" \
            "LD_LIBRARY_PATH=$lies:/opt/ucx-1.13/lib"
    }
    lie 'queues: direct' nothing || fail "status $?"
    while IFS='|' read -r lie text; do
        echo "== $lie"
        lie "data path: not used: $text" "$lie" || fail "$lie: status $?"
        grep -q 'queues: by libefa' "$CHECK_LOG.out" || fail "$lie: not by libefa"
    done <<<'sends-fewer|its send queue is of an unknown kind
sends-wider|the device refused a message to itself
sends-doorbell|messages to itself did not arrive in time
receives-doorbell|the device refused a message to itself
phase|messages to itself did not arrive in time
place|messages to itself did not arrive in time
size|its completion queue is of an unknown kind
one-ring|'
    echo "== two rings"
    EFASIM_SUB_CQS=2 direct_says 'not used: messages to itself did not arrive in time' \
        sid efa2 || fail "status $?"
}

# uct_fault where the module works directly: those calls of the data path that
# may fail are not made.
direct_fault() {
    local program=$BUILD/test/gtest_uct_fault
    [ -x "$program" ] || skip_here "gtest_uct_fault was not built"
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers stand before libc, too"
    in_release sid --device efa2 -- env DIRECT=y "$SRDRUN" "$program" \
        --gtest_filter='-*/post_*:*/poll_cq:*/req_notify_cq:*/wr_complete' \
        --gtest_brief=1 >"$CHECK_LOG.out" 2>&1
    fault_ran $? 1000
}

# A library that does not tell where its queues are.
direct_absent() {
    [ -x "$BUILD/test/gtest_uct" ] || skip_here "gtest_uct was not built"
    local old='does not tell where its queues are: rdma-core is older than 60'
    ! libefa_is_direct || skip_here "this libefa tells where its queues are"
    direct_says "$old" 12 efa2 || fail "status $?"
    with_stat -- "$BUILD/bin/srd_info" | grep "^  data path      by libefa: .*$old" ||
        fail "srd_info"
    with_stat -- env UCX_EFA_DIRECT=y "$BUILD/bin/srd_info" |
        grep "^  data path      none: UCX_EFA_DIRECT=y, but .*$old" || fail "srd_info"
    ! direct_says "UCX_EFA_DIRECT=y: .*$old" 12 efa2 UCX_EFA_DIRECT=y ||
        fail "it opened"
}

# uct_instructions on it.
direct_instructions() {
    "$TEST_DIR/../contrib/ci/chroot.sh" --made sid ||
        skip_here "Debian sid is not made here"
    uct_instructions --direct
}
