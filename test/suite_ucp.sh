#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# UCP over srd and over ud between two processes on two emulated nodes: stock
# ucx_perftest and ucx_info, and programs of ours that check every byte
# (ucp_checks.sh).
# usage: suite_ucp.sh BUILD_DIR [quick|ci|full]
# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/ucp_checks.sh
. "$(dirname "$0")/ucp_checks.sh"
# shellcheck source=test/soak.sh
. "$(dirname "$0")/soak.sh"
# shellcheck source=test/matrix/system.sh
. "$(dirname "$0")/matrix/system.sh"
# shellcheck source=test/record.sh
. "$TEST_DIR/record.sh"
set -u

nothing_left_check() {
    nothing_left "$@" || exit 1
}

# over_ud NAME SECONDS COMMAND...: a check by ud.
over_ud() {
    check "ud_$1" "$2" with_ud "${@:3}"
}

with_ud() {
    TL=ud
    "$@"
}

# A network that loses, doubles and reorders datagrams.
BAD='--loss 0.05 --duplicate 0.05 --reorder 0.3'

# That what bench/run.sh measures is what it says.
bench_selftest() {
    need python3 valgrind
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers are on"
    local said
    said=$(python3 -B "$TEST_DIR/../bench/run/selftest.py" "$BUILD" 2>&1) ||
        fail "$said"
    note "$said"
}

# bench/run.sh starts, and measures a study; what it cannot it names.
bench_run() {
    need python3 valgrind
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers are on"
    local out
    out=$(mktemp -d "$BUILD/bench_run.XXXXXX") # on the disk that chroots see
    trap 'rm -rf "$out"' EXIT
    bash "$TEST_DIR/../bench/run.sh" --quick --no-install --only host,intree_floors \
        --out "$out" "$BUILD" || fail "status $?"
    grep -A 6 '^## Within a host' "$out/bench.txt" | grep -q '^| 8 B, us .*[0-9] |$' ||
        fail "no figures within a host"
    grep -q '^| tag:8:16:1 ' "$out/bench.txt" ||
        grep -qE '^- intree_floors: (it comes with|Debian sid is not)' "$out/bench.txt" ||
        fail "neither figures of in-tree srd nor why there are none"
    note "$(grep '^| tag:8:16:1 ' "$out/bench.txt")"
}

# A run of all messages is short in the quick profile.
quick_max() {
    ci || echo --max 1000000
}

# The checks of suite_run, by ud as far as that goes: no RDMA.
run_ud() {
    local test seed mode loss

    over_ud perftest_sleep_8 60 perftest_sleep 8
    for test in $perftests; do
        ci || [ "$test" = tag_bw ] || continue
        # shellcheck disable=SC2086 # several words
        over_ud "perftest_$test" 120 perftest "$test" $BAD
    done
    ci && over_ud bytes_peer 120 bytes_check "" --peer-err
    ci && over_ud bytes_wakeup 120 bytes_check "" --wakeup --dense 1000 \
        --iters 20
    # shellcheck disable=SC2046 # none, or two words
    over_ud bytes_bad 180 bytes_check "$BAD" $(quick_max)
    # shellcheck disable=SC2086 # several words
    ci && over_ud record_turns 60 record_perftest 8 50000 50000 $BAD
    ci && over_ud record_waits 60 record_waits
    ci && over_ud bytes_many_in_flight 120 bytes_check "--reorder 0.3" \
        --window 256 --max 20000
    ci && over_ud bytes_sockaddr 120 sockaddr_check "--loss 0.01" --max 1000000
    ci && over_ud bytes_hold 60 hold_check "$BAD" --hold-unexpected 2000
    ci && over_ud peer_computes 150 computes_check "$(full && echo 60 || echo 6)"
    ci && over_ud order_am 200 order_check am --reorder 0.5
    for mode in send recv both; do
        ci || [ "$mode" = both ] || continue
        UCX_EFA_UD_TRIES=9 over_ud "killed_${mode}_64" 60 killed_check \
            "$mode" 64
    done
    ci && over_ud valgrind 240 valgrind_check
    if full; then
        for loss in 0 0.01 0.1 0.3; do
            for seed in {1..10}; do
                over_ud "bytes_loss_${loss}_$seed" 400 bytes_check \
                    "--loss $loss --duplicate 0.1 --reorder 0.3 --seed $seed" \
                    --seed "$seed" --max 200000
            done
        done
    fi
}

suite_run() {
    local test seed mode count

    for test in true:true bash:'bash -c pwd' python3:'python3 -c print(42)' \
        ls:'ls /'; do
        # shellcheck disable=SC2086 # a command line
        check "no_ucx_${test%%:*}" 20 no_ucx ${test#*:}
    done
    at_once 3
    check ucx_info_d 30 ucx_info_values
    check ucx_info_c 30 ucx_info_config

    check perftest_8B_is_eager 60 perftest_eager
    # (UCX 1.13 makes gets of messages where the device has no write.)
    for test in tag_bw ucp_am_bw; do
        check "perftest_1MB_by_rdma_$test" 60 perftest_rdma "$test"
    done
    check threshold_new 30 threshold y
    check threshold_old 30 threshold n
    ci && check threshold_rails 30 threshold y --devices 4
    check bench_selftest 60 bench_selftest
    ci && check bench_run 90 bench_run
    check record_reorder 60 record_perftest 1000 5000 5000 --reorder 0.3
    ci && check record_turns 60 record_perftest 8 200000 100000 --reorder 0.3
    ci && check record_killed 60 record_killed
    ci && check record_why 60 record_why
    ci && check record_lost 30 record_lost
    ci && check record_lost_reorder 30 record_lost --reorder 0.3
    ci && check record_live 60 record_live
    check record_disks 60 record_disks
    ci && check record_cut_off 60 record_cut_off
    ci && check record_bus 30 record_bus
    ci && check record_signals 60 record_signals
    check perftest_error_mode 60 perftest_error_mode tag_bw
    check perftest_sleep_8 60 perftest_sleep 8
    check perftest_sleep_1M 60 perftest_sleep 1048576
    for test in $perftests; do
        ci || case $test in tag_bw | ucp_am_bw) ;; *) continue ;; esac
        check "perftest_$test" 120 perftest "$test"
        for seed in $(seeds 1 10); do
            check "perftest_${test}_reorder_$seed" 120 perftest "$test" \
                --reorder 0.3 --seed "$seed"
        done
    done

    ci && check bytes 120 bytes_check ""
    ci && check bytes_peer 120 bytes_check "" --peer-err
    ci && check bytes_wakeup 120 bytes_check "--reorder 0.3" --wakeup \
        --dense 1000 --iters 20
    for seed in $(seeds 1 10); do
        # shellcheck disable=SC2046 # none, or two words
        check "bytes_reorder_$seed" 180 bytes_check \
            "--reorder 0.3 --seed $seed" --seed "$seed" $(quick_max)
    done
    ci && check bytes_eager 180 bytes_check "--eager --reorder 0.3"
    check bytes_many_in_flight 120 bytes_check "--reorder 0.3" --window 256 \
        --max 20000
    ci && check bytes_64MB 120 bytes_check "" --min 16777217 --max 67108864 \
        --iters 0 --window 1 --tests tag,am,stream,put,get
    check bytes_sockaddr 120 sockaddr_check "" --max 1000000
    ci && check bytes_sockaddr_reorder 120 sockaddr_check "--reorder 0.3" \
        --max 1000000
    check bytes_hold 60 hold_check "" --hold-unexpected 2000
    ci && check bytes_hold_small 90 hold_check "--reorder 0.3" \
        --hold-unexpected 20000 --max 64
    check bytes_hold_asleep 60 hold_line_check "$(full && echo 5 || echo 2)" \
        --hold-unexpected 3000 --max 4000
    ci && check flow_control 120 flow_control_check
    check flow_control_reorder 120 flow_control_check --reorder 0.3
    ci && check peer_computes 150 computes_check "$(full && echo 60 || echo 6)"
    if full; then
        check bytes_dense 1200 bytes_check "" --dense 1 --iters 1000
        check bytes_dense_reorder 1200 bytes_check "--reorder 0.5" --dense 1
        check bytes_hold_100k 600 hold_check "" --hold-unexpected 100000 --max 2000
    fi

    check order_get_reorder 200 order_check get_zcopy --reorder 0.5
    ci && check order_put_reorder 200 order_write_check --device efa3 \
        --reorder 0.5 --delay-us 50
    ci && OWN_UCX=y check order_put_ucx_1_18 200 order_write_check \
        --device efa3 --reorder 0.5 --delay-us 50
    full && check order_am 200 order_check am

    check rails_2_bytes 120 rails_check 2 bytes_check "--devices 2" \
        --max 2000000
    ci && check rails_4_reorder 180 rails_check 4 bytes_check \
        "--devices 4 --reorder 0.3" --peer-err --max 4000000
    ci && check rails_2_share 60 rails_share 2
    check rails_4_share 60 rails_share 4
    check rails_chosen 120 rails_chosen
    if full; then
        check rails_2_wakeup 120 rails_check 2 bytes_check "--devices 2" \
            --wakeup --max 4000000
        check rails_2_sockaddr 120 rails_check 2 sockaddr_check \
            "--devices 2" --max 4000000
        check rails_4_64MB 300 rails_check 4 bytes_check "--devices 4" \
            --min 16777217 --max 67108864 --iters 0 --window 1 \
            --tests tag,am,stream,put,get
        for count in 2 4; do
            check "rails_${count}_sleep" 60 perftest_sleep 1048576 \
                --devices "$count"
            for test in $perftests; do
                check "rails_${count}_perftest_$test" 180 \
                    perftest "$test" --devices "$count" --reorder 0.3
            done
        done
    fi
    check rails_lost_second 90 rails_lost 1 both
    check rails_lost_first 90 rails_lost 0 both

    for mode in send recv both get; do
        ci || [ "$mode" = both ] || continue
        check "killed_${mode}_64" 60 killed_check "$mode" 64
        # By rendezvous. UCP 1.13 never completes the receive of a message in eager
        # fragments that a dead peer left half sent, whatever transport.
        check "killed_${mode}_2000000" 60 killed_check "$mode" 2000000
    done
    ci && check killed_wakeup 60 killed_check both 64 --wakeup
    check nothing_left 90 nothing_left_check killed_check both 1000
    ci && check valgrind 240 valgrind_check
    check soak_judges 10 soak_judges
    if full; then
        check soak 800 soak_check 600
        check soak_sid 800 soak_there sid 600
    elif ci; then
        check soak 200 soak_check 120
    fi
    run_ud
}

suite_main ucp "$@"
