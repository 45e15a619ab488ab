#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The module itself: how it joins a UCX, and UCT's own interface of srd.
# usage: suite_uct.sh BUILD_DIR [quick|ci|full]
# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/newer_device.sh
. "$TEST_DIR/newer_device.sh"
# shellcheck source=test/direct.sh
. "$TEST_DIR/direct.sh"
set -u

hooks_check() {
    local script=$TEST_DIR/gtest/uct/hooks_suite.sh
    [ -x "$script" ] || skip_here "no hooks_suite.sh"
    "$script" "$BUILD" "$PROFILE"
}

efa_check() {
    [ -x "$BUILD/test/gtest_efa" ] || skip_here "gtest_efa was not built"
    "$BUILD/test/gtest_efa" --gtest_brief=1 || exit 1
    tests_ran
}

# uct_check FILTER [EFASIM_OPTION...]
uct_check() {
    local filter=$1
    shift
    [ -x "$BUILD/test/gtest_uct" ] || skip_here "gtest_uct was not built"
    with_stat "$@" -- "$SRDRUN" "$BUILD/test/gtest_uct" --gtest_brief=1 \
        --gtest_filter="$filter" || exit 1
    tests_ran
    at_least packets "$(stat_sum "$STAT" tx_pkts)" 1
}

# uct_ud FILTER [EFASIM_OPTION...]: tests of SRD's over ud; those of what ud lacks
# are skipped. A closed peer is dead for it after a second, not half a minute.
uct_ud() {
    UCT_TRANSPORT=ud UCX_EFA_UD_TRIES=${UD_TRIES:-8} \
        UCX_EFA_UD_FIRST_WINDOW=$(whole_window) uct_check "$@"
}

# All of them. On networks that lose nothing: a loss shrinks the window, and a test
# posts many at once. Losses are for UctUd.storm*, and bytes_bad of suite ucp.
uct_ud_check() {
    uct_ud '-UctUd*' "$@"
}

# The tests about ud alone.
ud_check() {
    UCT_TRANSPORT=ud uct_check "$@"
}

# fault_ran STATUS PACKETS: the run whose output is $CHECK_LOG.out passed, and sent at
# least PACKETS. Its lines about the faults are expected; too many for a log.
fault_ran() {
    grep -vE ' EFA +(ERROR|WARN) ' "$CHECK_LOG.out"
    [ "$1" -eq 0 ] || fail "status $1"
    tests_ran "$CHECK_LOG.out"
    at_least packets "$(stat_sum "$STAT" tx_pkts)" "$2"
}

# Every allocation and every verb of the module fails once; its data path
# allocates and calls nothing.
uct_fault() {
    local program=$BUILD/test/gtest_uct_fault
    [ -x "$program" ] || skip_here "gtest_uct_fault was not built"
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers stand before libc, too"
    # direct_fault has the path on which fewer calls may fail
    SRD_INFO=$BUILD/bin/srd_info UCX_EFA_DIRECT=n with_stat "$@" -- "$SRDRUN" \
        "$program" --gtest_brief=1 >"$CHECK_LOG.out" 2>&1
    fault_ran $? 1
}

# A user's log: one line when an interface opens, one when it closes, and each packet at
# level data.
uct_trace() {
    local out=$CHECK_LOG.out word
    UCX_LOG_LEVEL=data "$EFASIM" run --fabric "t$$" -- "$SRDRUN" \
        "$BUILD/test/gtest_uct" \
        --gtest_filter='UctGet.get_bcopy*:Get/UctRma.nothing*' \
        >"$out" 2>&1 || fail "status $?"
    [ "$(grep -c 'EFA .* TX nothing, 0 bytes' "$out")" -eq 2 ] ||
        fail "reads of no byte: $(grep -c 'TX nothing' "$out") lines, not 2"
    for word in 'srd interface open: QPN 1, 512 sends' 'TX hello, endpoint 1' \
        'RX hello, endpoint 1' 'TX answer, ' 'TX read, 100 bytes' \
        'TX goodbye psn 0' 'srd interface closed: '; do
        grep -m 1 "EFA .*$word" "$out" || fail "no line with '$word'"
    done
    UCX_LOG_LEVEL=data "$EFASIM" run --fabric "t$$" -- "$SRDRUN" \
        "$BUILD/test/gtest_uct" --gtest_filter='UctFailure.simultaneous*' \
        >"$out" 2>&1
    NEED_TRACER=y UCX_LOG_LEVEL=data "$EFASIM" run --fabric "t$$" -- \
        "$SRDRUN" "$BUILD/test/gtest_uct" --gtest_filter='*am_tracer*' \
        >"$out.tracer" 2>&1 || { cat "$out.tracer" && fail "the tracer"; }
    grep -q '^\[  PASSED  \] 1' "$out.tracer" || fail "no test of the tracer"
    [ "$(grep -c ' EFA .* am 5 .*(tracer was here)' "$out.tracer")" -eq 8 ] ||
        fail "the log has not what the tracer says"
    grep -m 1 ' TX ' "$out" | grep ' TX hello' ||
        fail "the hello is not ahead of the first message"
    UCX_LOG_LEVEL=info "$EFASIM" run --fabric "t$$" -- "$SRDRUN" \
        "$BUILD/test/gtest_uct" --gtest_filter='UctGet.get_bcopy*' \
        >"$out" 2>&1
    [ "$(grep -c ' EFA .* interface closed: ' "$out")" -eq 2 ] && # two interfaces
        [ "$(grep -c ' EFA .* the network retransmitted no packet' "$out")" -eq 2 ] &&
        [ "$(grep -c ' EFA ' "$out")" -eq 4 ] ||
        fail "level info should show two lines for each interface"
}

# dead_lines STATUS LINES LEVEL TEST [COMMAND...]: the lines of a peer that dies, at
# that UCX_SRD_FAILURE, in a program that COMMAND starts; out.
dead_lines() {
    local status=0
    out=$CHECK_LOG.$3
    UCX_SRD_FAILURE=$3 UCX_HANDLE_ERRORS=none "${@:5}" "$EFASIM" run --fabric "t$$" -- \
        "$SRDRUN" "$BUILD/test/gtest_uct" --gtest_also_run_disabled_tests \
        --gtest_filter="UctFailure.$4" >"$out" 2>&1 || status=$?
    grep -m 3 'endpoint to ' "$out"
    [ $status -eq "$1" ] || { tail "$out"; fail "status $status, not $1"; }
    [ "$(grep -c 'endpoint to ' "$out")" -eq "$2" ] || fail "not $2 lines"
}

# A peer that dies brings a line, not one for each endpoint to it, at the level
# of UCX_SRD_FAILURE; where nobody handles it, it ends the process (SIGABRT). Where UCX
# hides that, which is from 1.21 on, what is lost with it brings one at any level.
uct_dead_lines() {
    local native=(with_release sid env -u LD_LIBRARY_PATH)
    dead_lines 0 $(($(ucx_minor) >= 21)) diag '*closed_peer__is_reported*'
    ! ci || ! "$TEST_DIR/../contrib/ci/chroot.sh" --made sid ||
        dead_lines 0 1 diag '*closed_peer__is_reported*' "${native[@]}"
    dead_lines 0 0 diag 'closed_peer__with_many*'
    dead_lines 0 1 error 'closed_peer__with_many*'
    grep 'to fe80:.* failed: .* (and 1999 more endpoints to it): that' "$out" ||
        fail "the line has not all of them"
    dead_lines 134 1 diag '*closed_peer__nobody_handles'
    ! grep -q '^lives on' "$out" || fail "the other test ran"
    dead_lines 134 1 error '*closed_peer__nobody_handles_until_it_is_used'
    grep '^lives on' "$out" || fail "an endpoint that nobody used ended it"
}

# uct_put RELEASE DEVICE: RDMA WRITE needs a newer rdma-core than Debian 12's;
# UCX is still 12's.
uct_put() {
    [ -x "$BUILD/test/gtest_uct" ] || skip_here "gtest_uct was not built"
    in_release "$1" --device "$2" "${@:3}" -- env NEED_PUT=y \
        "$SRDRUN" "$BUILD/test/gtest_uct" --gtest_brief=1 \
        --gtest_filter='*Put*:*write*:*Get*:UctAgain*:*UctFence*:*UctList*' ||
        exit 1
    tests_ran
    at_least writes "$(stat_sum "$STAT" rdma_write_bytes)" 1000000
}

# uct_native RELEASE DEVICE FILTER [EFASIM_OPTION...]: UCT of the UCX of that
# release, of which the program knows nothing: what it calls has not changed.
uct_native() {
    [ -x "$BUILD/test/gtest_uct" ] || skip_here "gtest_uct was not built"
    in_release "$1" --device "$2" "${@:4}" -- env -u LD_LIBRARY_PATH \
        NEED_PUT=y NEED_DMABUF=y "$SRDRUN" "$BUILD/test/gtest_uct" \
        --gtest_brief=1 --gtest_filter="$3" || exit 1
    tests_ran
    at_least "bytes read" "$(stat_sum "$STAT" rdma_read_bytes)" 1000000
}

# ucp_put RELEASE [EFASIM_OPTION...]: UCP over it, two processes: rendezvous by
# put and UCP's own puts, every byte compared by its receiver.
ucp_put() {
    local port bytes release=$1
    shift
    [ -x "$BUILD/test/ucp_bytes" ] || skip_here "ucp_bytes was not built"
    port=$(random_port)
    bytes=("$SRDRUN" "$BUILD/test/ucp_bytes" --port "$port" --max 1000000
        --tests "tag,tag_sync,am,stream,put,get,amo64" --iters 20)
    export UCX_TLS=srd,self UCX_RNDV_SCHEME=put_zcopy UCX_RNDV_THRESH=8k
    in_release "$release" --device efa2 "$@" -- \
        "${CALL[@]}" two_nodes_inside "$port" "${bytes[@]}" -- "${bytes[@]}" --client ||
        exit 1
    at_least writes "$(stat_sum "$STAT" rdma_write_bytes)" 5000000
}

# Receivers that do not keep up: the window holds, so the device never says
# receiver-not-ready.
uct_load() {
    uct_check 'UctLoad*' "$@"
    at_most receiver-not-ready "$(stat_sum "$STAT" rnr)" 0
}

uct_overran() {
    "$EFASIM" stat --fabric "t$$" --raw | grep -q ' cq_overruns=[1-9]'
}

# A module whose completion queues are 16 times too small does not pass: what
# overruns is lost, and what waits for it waits for ever.
uct_small_cqs() {
    need test/gtest_uct
    overruns_expected
    "$EFASIM" run --fabric "t$$" --cq-divide 16 --stat="$CHECK_LOG.stat" -- "$SRDRUN" \
        "$BUILD/test/gtest_uct" --gtest_brief=1 --gtest_filter='Get/UctRma.many*' &
    wait_until $! uct_overran && sleep 2 # in which it would be done
    kill $!
    ! wait $! || fail "it passed"
    at_least cq_overruns "$(stat_sum "$CHECK_LOG.stat" cq_overruns)" 1
}

# Blocks of a list that take several work requests.
uct_list_split() {
    uct_check '*UctList.longer*' --max-rdma 70000
    ci || return 0
    in_release 13 --device efa2 --max-rdma 70000 -- env NEED_PUT=y "$SRDRUN" \
        "$BUILD/test/gtest_uct" --gtest_brief=1 \
        --gtest_filter='*UctList.longer*' || exit 1
    ! grep 'takes .* bytes$' "$CHECK_LOG" || fail "nothing was split"
}

# Queues as deep as the device has them: the variables ask for more.
uct_max_cqe() {
    local entries
    for entries in 1024 3000 700; do
        UCX_SRD_TX_QUEUE_LEN=4000 UCX_SRD_RX_BUFFERS_MAX=16384 \
            uct_check 'UctLoad.s*:*Get*' --max-cqe "$entries"
    done
}

# The interrupts of two workers on each CPU: the CPU's, and the next.
uct_interrupts() {
    local cpu said trace=$CHECK_LOG.trace
    need taskset
    for cpu in $(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))'); do
        rm -f "$trace"
        taskset -c "$cpu" "$EFASIM" run --fabric "t$$" --comp-vectors 3 \
            --trace "$trace" -- "$SRDRUN" "$BUILD/test/gtest_uct" \
            --gtest_brief=1 --gtest_filter=UctInterrupt.two_workers ||
            fail "status $?"
        # the last: the trial of the direct path has queues, too
        said=$(sed -n 's/.* cq [0-9]* vector=//p' "$trace" | tail -n 4 | tr '\n' ' ')
        [ "$said" = "$((cpu % 3)) $((cpu % 3)) $(((cpu + 1) % 3)) $(((cpu + 1) % 3)) " ] ||
            fail "CPU $cpu: $said"
    done
}

# Receive buffers on huge pages: as many as fit, none if the user wants none, and
# small ones with one line where the host has none free.
uct_huge_pages() {
    local pages=/proc/sys/vm/nr_hugepages before out=$CHECK_LOG.out
    local size=/sys/kernel/mm/hugepages/hugepages-2048kB
    before=$(<"$pages")
    { [ -d "$size" ] && echo $((before + 4)) >"$pages"; } 2>/dev/null ||
        skip_here "this kernel gives no huge pages"
    # shellcheck disable=SC2064 # of now
    trap "echo $before >$pages" EXIT
    [ "$(<$size/free_hugepages)" -ge 4 ] ||
        skip_here "this kernel gives no huge pages"
    HUGE_KB=2048 uct_check 'UctHuge.*'
    HUGE_KB=0 UCX_EFA_HUGE_PAGES=n uct_check 'UctHuge.*'
    echo 0 >"$pages"
    HUGE_KB=0 uct_check 'UctHuge.*'
    HUGE_KB=0 UCX_EFA_HUGE_PAGES=y uct_check 'UctHuge.*' >"$out" 2>&1
    [ "$(grep -c 'UCX_EFA_HUGE_PAGES=y: no huge page of 2 MB: Cannot alloc' \
        "$out")" -eq 2 ] || fail "not one line for each interface"
}

# UCX's own UCT benchmark, between two nodes; over ud with TRANSPORT=ud.
uct_perftest() {
    local over=(-p @PORT@ -d rdmap0s6:1 -x "${TRANSPORT:-srd}")
    need_perftest
    two_nodes "${@:4}" -- "${PERFTEST[@]}" "${over[@]}" -- \
        "${PERFTEST[@]}" 127.0.0.1 "${over[@]}" \
        -t "$1" -D "$2" -s "$3" -n 2000 -w 10 || exit 1
    grep -q '^Final:' "$CHECK_LOG" || fail "no result"
    at_least payload "$(stat_payload "$STAT")" $((2000 * $3))
}

# says_for 'UCX_TLS...' PATTERN COMMAND...: with each of these one line warns, of PATTERN;
# with tcp, ud_verbs or all, where they are not among them, nothing warns.
says_for() {
    local asked=$1 pattern=$2 out lines tls
    shift 2
    for tls in $asked; do
        out=$(UCX_TLS=$tls "$@" 2>&1)
        lines=$(grep -cE 'EFA +(WARN|ERROR)' <<<"$out")
        grep "$pattern" <<<"$out"
        [ "$lines" -eq 1 ] || fail "UCX_TLS=$tls: $lines lines, expected 1"
        grep -E 'EFA +(WARN|ERROR)' <<<"$out" | grep -q "$pattern" ||
            fail "UCX_TLS=$tls: no line with '$pattern': $out"
    done
    for tls in tcp ud_verbs all; do
        [[ " $asked " != *" $tls "* ]] || continue
        out=$(UCX_TLS=$tls "$@" 2>&1)
        ! grep -E 'EFA +(WARN|ERROR)' <<<"$out" ||
            fail "UCX_TLS=$tls: not asked for, it warns"
    done
}

# message_of_one EFASIM...: one of the two transports fails, at its trial or when
# ucx_info opens it, which opens all.
message_of_one() {
    local info=("$SRDRUN" ucx_info -d)
    says_for 'ud all' 'no UD queue pair: \|UCX can use ud on this EFA, but not srd' \
        "$@" --fail-command create-qp:1 -- "${info[@]}"
    says_for srd,ud 'no UD queue pair: ' \
        "$@" --fail-command create-qp:3 -- "${info[@]}"
    # left out, and opened all the same: no line
    says_for '' 'no UD' env UCX_TLS=srd \
        "$@" --fail-command create-qp:3 -- "${info[@]}"
    says_for '' 'no SRD' env UCX_TLS=ud \
        "$@" --fail-command create-qp:2 -- "${info[@]}"
    # both trials pass, both fail then; UCX ends a worker at the first
    says_for 'all srd,ud' 'no SRD queue pair: ' \
        "$@" --fail-command create-qp:4,create-qp:5 -- "${info[@]}"
}

# One line tells of an interface that cannot be opened, and of a library that lacks
# functions. Other ways in which the device can be missing: suite load, fallback_table.
messages() {
    need ucx_info
    local dir=$CHECK_LOG.old sim=("$EFASIM" run --fabric "t$$") libm
    export UCX_EFA_DIRECT=n # its trial has a queue pair, and those are counted here
    message_of_one "${sim[@]}"
    libm=$(ldconfig -p | awk '/libm\.so\.6.*x86-64/ { print $NF; exit }')
    [ -n "$libm" ] || return 0
    mkdir -p "$dir" && cp "$libm" "$dir/libefa.so.1" || fail "no copy"
    says_for 'srd ud srd,ud \ud' 'rdma-core is too old' \
        "${sim[@]}" -- env "LD_LIBRARY_PATH=$dir" "$SRDRUN" ucx_info -d
}

# Instructions per message, each within its bound; of another gcc than 12, from
# which the bounds are, within 10 per cent of it (14 needed one). Those of writes
# need the rdma-core of sid, over which the others take as many.
uct_instructions() {
    need valgrind python3
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers are on"
    [ "$(uname -m)" = x86_64 ] || skip_here "the bounds are those of x86-64"
    if ! grep -q '^CC = .*gcc' "$BUILD/Makefile" ||
        ! grep -q '^CFLAGS = .*-O2' "$BUILD/Makefile"; then
        skip_here "the bounds are those of gcc -O2"
    fi
    [ "$(gcc -dumpversion)" = 12 ] || export INSTR_MARGIN=10
    [ $# -gt 0 ] || ! "$TEST_DIR/../contrib/ci/chroot.sh" --made sid ||
        set -- --sid
    "$TEST_DIR/../bench/instr.sh" --check "$@" "$BUILD" 16 10000 || exit 1
    note "$(grep 'a message of 8 B' "$CHECK_LOG")"
}

uct_valgrind() {
    need valgrind
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers are on"
    [ -x "$BUILD/test/gtest_uct" ] || skip_here "gtest_uct was not built"
    "$EFASIM" run --fabric "t$$" -- "$SRDRUN" valgrind -q \
        --num-callers=30 --log-file="$CHECK_LOG.valgrind" \
        "$BUILD/test/gtest_uct" --gtest_brief=1 \
        --gtest_filter="${1:--UctLoad*}" || exit 1 # (they measure memory)
    tests_ran
    ! grep -E 'libuct_srd|libefasim' "$CHECK_LOG.valgrind" ||
        fail "valgrind found errors with our code in the stack"
}

# ------------------------------------------------------------ accidents

# accident_check TEST [EFASIM_OPTION...]
accident_check() {
    local filter=$1
    shift
    [ -x "$BUILD/test/gtest_accident" ] ||
        skip_here "gtest_accident was not built"
    with_stat "$@" -- "$SRDRUN" "$BUILD/test/gtest_accident" \
        --gtest_brief=1 --gtest_filter="$filter" || exit 1
    tests_ran
    at_least packets "$(stat_sum "$STAT" tx_pkts)" 2
}

# The same, and the device never said "receiver not ready".
accident_ready_check() {
    accident_check "$@"
    at_most receiver-not-ready "$(stat_sum "$STAT" rnr)" 0
}

# Each variable that UCX lists for us has a test in which its effect shows.
# Variables of every UCX transport (allocation, failure level, number of endpoints) are
# UCX's own and work in its base class.
accident_variables_check() {
    local listed=$CHECK_LOG.listed tested=$CHECK_LOG.tested missing
    need ucx_info
    "$EFASIM" run --fabric "t$$" -- "$SRDRUN" ucx_info -c 2>/dev/null |
        sed -nE 's/^UCX_((SRD|EFA)_[A-Z_]+)=.*/\1/p' |
        grep -vxE '(SRD|EFA_UD)_(ALLOC|FAILURE|MAX_NUM_EPS)' | sort -u >"$listed"
    "$BUILD/test/gtest_accident" --gtest_list_tests \
        --gtest_filter='*Variable.*' | sed -n 's/^  //p' | sort >"$tested"
    at_least "variables of ours" "$(wc -l <"$listed")" 9
    missing=$(comm -13 "$listed" "$tested")
    [ -z "$missing" ] || fail "tests of variables that are gone: $missing"
    # Those that act before there is an interface: in a script of a suite.
    for missing in $(comm -23 "$listed" "$tested"); do
        grep -qE "\bUCX_$missing(=| in )" "$TEST_DIR"/*.sh "$TEST_DIR"/gpu/*.sh \
            "$TEST_DIR"/gtest/uct/*.sh || fail "UCX_$missing has no test"
    done
    inline_effect 0 0
    inline_effect 16 16
    accident_check '*Variable.*'
}

# inline_effect VALUE BYTES: UCT has no call that shows how bytes travel, so ask
# the log.
inline_effect() {
    env "UCX_SRD_TX_INLINE=$1" UCX_LOG_LEVEL=debug UCX_TLS=srd "$EFASIM" run \
        --fabric "t$$" -- "$SRDRUN" ucx_info -e -u t 2>/dev/null |
        grep -q "srd interface open: .*, $2 bytes inline" ||
        fail "UCX_SRD_TX_INLINE=$1: not $2 B inline"
}

run_accidents() {
    export CHURN_ENDPOINTS=20000 CHURN_OPENS=300
    if full; then
        CHURN_ENDPOINTS=1000000 CHURN_OPENS=10000
    fi
    alone_begin
    alone accident_starving_completions 60 accident_ready_check \
        Accident.starving_completions
    alone accident_starving_control 60 accident_ready_check \
        Accident.starving_control
    alone accident_absent 60 accident_check 'Absent.*' --timeout-ms 60000
    alone uct_huge_pages 30 uct_huge_pages
    alone_end
    # by the calls of libefa, of which the direct path has none that fails
    UCX_EFA_DIRECT=n check accident_failed_post 60 accident_check 'FailedPost.*'
    check accident_time_out 60 accident_check 'Lost.*'
    check accident_variables 60 accident_variables_check
    ci && check churn_endpoints 120 accident_check Churn.endpoints
    check churn_endpoints_reorder 120 accident_check Churn.endpoints \
        --reorder 0.3
    ci && check churn_opens 300 accident_check Churn.opens
}

# ------------------------------------------------------------ all

suite_run() {
    local seed sid="$TEST_DIR/../contrib/ci/chroot.sh --made sid"

    at_once 3
    check hooks 240 hooks_check
    check efa 30 efa_check
    check messages 60 messages
    ci && check uct 120 uct_check '*'
    # Where sid is made, its libraries do it: libefa_sid, direct_reorder, direct_alone.
    if ! ci || full || ! $sid; then
        for seed in $(seeds 1 20); do
            check "uct_reorder_$seed" 120 uct_check '*' --reorder 0.3 \
                --seed "$seed"
        done
        ci && check uct_eager 120 uct_check '*' --eager --reorder 0.3
    fi
    check uct_ud 80 uct_ud_check --duplicate 0.05 --reorder 0.3
    check ud 40 ud_check 'UctUd.*'
    if full; then
        UD_SEEDS=10 check ud_storms 120 ud_check 'UctUd.storm*'
        check uct_ud_eager 80 uct_ud_check --eager --duplicate 0.1 --reorder 0.3
    fi
    ci && check uct_small_cqs 30 uct_small_cqs
    ci && check uct_max_cqe 60 uct_max_cqe
    check uct_list_split 30 uct_list_split
    check uct_scarce 30 uct_check 'UctScarce*' --devices 4
    check uct_interrupts 30 uct_interrupts
    newer_device_checks
    check uct_fault 60 uct_fault
    ci && check uct_instructions 120 uct_instructions
    ci && check record_instructions 60 uct_instructions --recorded
    check uct_trace 30 uct_trace
    check uct_dead_lines 30 uct_dead_lines
    NO_EVENTS=y check uct_no_events 30 uct_check 'UctFailure.events__absent*' \
        --fail-command create-channel:1:EOPNOTSUPP
    UCX_EFA_FORK_INIT=n check uct_fork 30 uct_check 'UctMemory.fork*'
    ci && check uct_put 60 uct_put 13 efa2
    ci && check uct_put_reorder 60 uct_put 13 efa2 --reorder 0.5
    ci && check uct_ucx_1_18_memory 60 uct_native 13 efa2 'UctMemory*:*Put*'
    ci && check uct_ucx_1_23_lists 60 uct_native sid efa3 '*UctList*' \
        --reorder 0.3
    ci && check ucp_put 60 ucp_put 13
    ci && check ucp_put_reorder 60 ucp_put 13 --reorder 0.5
    ci && check direct_chosen 60 direct_chosen
    ci && check direct_lies 90 direct_lies
    ci && check direct_fault 60 direct_fault
    check direct_absent 30 direct_absent
    ci && check direct_reorder 120 uct_in_sid direct srd --reorder 0.3
    ci && check direct_ud 180 uct_in_sid direct ud
    ci && check libefa_sid 120 uct_in_sid 'by libefa' srd --reorder 0.3
    ci && check direct_alone 240 uct_in_sid direct srd --eager
    full && check direct_alone_ucp 600 direct_alone_ucp
    full && check direct_alone_ud 240 uct_in_sid direct ud --eager
    ci && check direct_instructions 240 direct_instructions
    ci && check direct_ucp 60 ucp_put sid --reorder 0.3
    if full; then
        check uct_fault_reorder 60 uct_fault --reorder 0.3
        check uct_ucx_1_18 120 uct_native 13 efa2 '*' --reorder 0.3
        check uct_ucx_1_23 120 uct_native sid efa3 '*' --reorder 0.3
        UCX_SRD_TX_INLINE=80 check uct_put_inline 60 uct_put sid efa3
        UCX_SRD_TX_INLINE=80 check uct_put_inline_reorder 60 uct_put sid efa3 \
            --reorder 0.5
    fi
    check uct_load 60 uct_load
    ci && check uct_am_lat_short 30 uct_perftest am_lat short 8
    check uct_am_lat_bcopy 30 uct_perftest am_lat bcopy 1000
    check uct_am_bw_zcopy 30 uct_perftest am_bw zcopy 8000
    ci && TRANSPORT=ud check ud_am_lat_short 30 uct_perftest am_lat short 8
    TRANSPORT=ud check ud_am_bw_loss 30 uct_perftest am_bw bcopy 4000 \
        --loss 0.05 --reorder 0.3
    ci && check uct_am_bw_reorder 30 uct_perftest am_bw bcopy 4000 --reorder 0.3
    check uct_get_zcopy 30 uct_perftest get zcopy 65536
    ci && check uct_get_bcopy 30 uct_perftest get bcopy 1000
    run_accidents
    full && check uct_valgrind 600 uct_valgrind
    full && UCT_TRANSPORT=ud check ud_valgrind 200 uct_valgrind \
        'UctUd.*:-*storm*'
}

suite_main uct "$@"
