#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The checks of suite ucp, for the transport $TL (srd where it is not set). In
# each check with a foreign program the device's counters prove that the bytes
# crossed it. To be read by a suite, after lib.sh.
TL=srd

# shellcheck disable=SC2034 # for the suite
perftests='tag_lat tag_bw tag_sync_lat stream_bw stream_lat ucp_am_lat
           ucp_am_bw ucp_get ucp_put_bw'

# ------------------------------------------------------------ ucx_perftest

# "SIZE ITERATIONS" per line.
perftest_sizes() {
    if full; then
        printf '%s\n' '1 2000' '2 500' '7 500' '8 2000' '24 500' '64 1000' \
            '255 500' '1024 1000' '4096 500' '8191 300' '8880 300' '8900 300' \
            '8929 300' '17801 200' '65536 200' '65537 100' '262144 100' \
            '1048576 50' '4194305 20' '16777216 10'
    else
        printf '%s\n' '1 500' '8 500' '1000 200' '8900 200' '8929 100' \
            '65537 50' '1048576 20' '16777216 4'
    fi
}

# perftest TEST [EFASIM_OPTION...]: all sizes in one run, by a batch file.
perftest() {
    local test=$1 batch=$CHECK_LOG.batch payload lines
    shift
    need_perftest
    perftest_sizes | awk '{ print "size_" $1 " -s " $1 " -n " $2 }' >"$batch"
    payload=$(perftest_sizes | awk '{ n += $1 * $2 } END { printf "%.0f", n }')
    export UCX_TLS=$TL
    two_nodes "$@" -- \
        "${PERFTEST[@]}" -p @PORT@ -b "$batch" -- \
        "${PERFTEST[@]}" 127.0.0.1 -p @PORT@ -t "$test" -w 5 \
        -b "$batch" || exit 1
    # ucx_perftest ends with status 0 after some failures: count results.
    lines=$(grep -c '^Final:' "$CHECK_LOG")
    [ "$lines" -eq "$(wc -l <"$batch")" ] ||
        fail "$lines results, expected $(wc -l <"$batch")"
    at_least "payload over the device" "$(stat_payload "$STAT")" "$payload"
}

# 1 MB messages move by RDMA READ, not by fragments.
perftest_rdma() {
    need_perftest
    rendezvous
    export UCX_TLS=$TL
    two_nodes -- "${PERFTEST[@]}" -p @PORT@ -- \
        "${PERFTEST[@]}" 127.0.0.1 -p @PORT@ -t "$1" -s 1048576 -n 100 \
        -w 5 || exit 1
    at_least rdma_read_bytes "$(stat_sum "$STAT" rdma_read_bytes)" \
        $((100 * 1048576))
    # (Messages would have carried the payload.)
    at_most tx_bytes "$(stat_sum "$STAT" tx_bytes)" $((10 * 1048576))
}

# gtest_ucp FILTER PAYLOAD [EFASIM_OPTION...]: these tests, which move so many bytes.
gtest_ucp() {
    [ -x "$BUILD/test/gtest_ucp" ] || skip_here "gtest_ucp was not built"
    with_stat "${@:3}" -- "$SRDRUN" "$BUILD/test/gtest_ucp" --gtest_brief=1 \
        --gtest_filter="$1" || exit 1
    tests_ran
    at_least payload "$(stat_payload "$STAT")" "$2"
}

# threshold Y_OR_N [EFASIM_OPTION...]: where UCX changes its protocol, in its new
# protocols or in the old ones, which its file names.
threshold() {
    mkdir -p "$CHECK_LOG.conf"
    echo "UCX_PROTO_ENABLE=$1" >"$CHECK_LOG.conf/ucx.conf"
    export UCX_TLS=srd UCX_CONFIG_DIR=$CHECK_LOG.conf THRESHOLD_PROTOCOLS=$1
    gtest_ucp 'Threshold.*' 1000000 "${@:2}"
}

# 8 B messages go as sends, one packet each, not by RDMA.
perftest_eager() {
    need_perftest
    export UCX_TLS=$TL
    two_nodes -- "${PERFTEST[@]}" -p @PORT@ -- \
        "${PERFTEST[@]}" 127.0.0.1 -p @PORT@ -t tag_lat -s 8 -n 2000 \
        -w 5 || exit 1
    at_least tx_pkts "$(stat_sum "$STAT" tx_pkts)" 4000
    at_most tx_pkts "$(stat_sum "$STAT" tx_pkts)" 10000
    at_most rdma_read_bytes "$(stat_sum "$STAT" rdma_read_bytes)" 100000
}

perftest_error_mode() {
    need_perftest
    rendezvous
    export UCX_TLS=$TL
    two_nodes -- "${PERFTEST[@]}" -p @PORT@ -e -- \
        "${PERFTEST[@]}" 127.0.0.1 -p @PORT@ -e -t "$1" -s 1048576 \
        -n 50 -w 5 || exit 1
    # With error handling the rendezvous must still be a read.
    at_least rdma_read_bytes "$(stat_sum "$STAT" rdma_read_bytes)" \
        $((50 * 1048576))
}

# perftest_sleep SIZE [EFASIM_OPTION...]
perftest_sleep() {
    need_perftest
    export UCX_TLS=$TL
    two_nodes "${@:2}" -- "${PERFTEST[@]}" -p @PORT@ -I -E sleep -- \
        "${PERFTEST[@]}" 127.0.0.1 -p @PORT@ -I -E sleep -t tag_lat \
        -s "$1" -n 200 -w 5 || exit 1
    at_least payload "$(stat_payload "$STAT")" $((200 * $1))
}

# ------------------------------------------------------------ ucx_info

# info_value SECTION-FILE NAME: the number after "NAME:" with its bounds.
info_line() {
    grep -E "^# +$2:" "$1" | head -n 1
}

# "<= 8K" and the like in bytes.
info_bytes() {
    info_line "$1" "$2" | sed -E 's/.*[< ]= *([0-9.]+[KMG]?).*/\1/' |
        awk '/K$/ { print $1 * 1024; next } /M$/ { print $1 * 1048576; next }
             /G$/ { print $1 * 1073741824; next } { print $1 + 0 }'
}

ucx_info_values() {
    local out=$CHECK_LOG.info srd=$CHECK_LOG.srd
    need ucx_info
    "$EFASIM" run --fabric "t$$" -- "$SRDRUN" ucx_info -d >"$out" 2>&1 ||
        { tail -n 20 "$out"; fail "ucx_info"; }
    grep -qE '^# +Component: efa$' "$out" || fail "no component efa"
    awk '/^# *Transport: / { on = ($3 == "srd") } on' "$out" >"$srd"
    [ -s "$srd" ] || fail "no transport srd"
    cat "$srd"
    grep -q 'Device: rdmap0s6:1' "$srd" || fail "no device rdmap0s6:1"
    at_least am_bcopy "$(info_bytes "$srd" am_bcopy)" 8900
    at_least am_zcopy "$(info_bytes "$srd" am_zcopy)" 8900
    at_least am_short "$(info_bytes "$srd" am_short)" 24
    info_line "$srd" get_zcopy | grep -qE '<= (32M|32768K)' ||
        fail "get_zcopy is not 32 MiB: $(info_line "$srd" get_zcopy)"
}

# Every configuration variable of ours is listed.
ucx_info_config() {
    local out=$CHECK_LOG.config
    need ucx_info
    "$EFASIM" run --fabric "t$$" -- "$SRDRUN" ucx_info -c >"$out" 2>&1 ||
        fail "ucx_info -c"
    grep '^UCX_SRD_' "$out"
    at_least "variables UCX_SRD_" "$(grep -c '^UCX_SRD_' "$out")" 3
}

# ------------------------------------------------------------ our programs

# bytes_check "EFASIM OPTIONS" [UCP_BYTES OPTION...]
bytes_check() {
    local extra
    read -r -a extra <<<"$1"
    shift
    export UCX_TLS=${WITH_TLS-$TL}
    two_nodes "${extra[@]}" -- \
        "$SRDRUN" "$BUILD/test/ucp_bytes" --port @PORT@ "$@" -- \
        "$SRDRUN" "$BUILD/test/ucp_bytes" --client --port @PORT@ "$@" ||
        exit 1
    # All bytes that the client says it received came over the device.
    at_least "payload over the device" "$(stat_payload "$STAT")" \
        "$(awk '$1 == "ok" { n += $4 } END { printf "%.0f", n }' \
            "$CHECK_LOG")"
}

# A receiver that sleeps and then holds what came unexpected: nobody is told
# "receiver not ready" and nothing is lost.
hold_check() {
    bytes_check "$@"
    at_most receiver-not-ready "$(stat_sum "$STAT" rnr)" 0
}

# The server computes without a call into UCX for SECONDS, asked for all the
# time by keepalive: it is not dead. (A process of its own, that sleeps.)
computes_check() {
    export UCX_KEEPALIVE_INTERVAL=500ms
    hold_check "" --hold-unexpected 500 --hold-seconds "$1" --peer-err \
        --max 4000
}

# UCX from 1.16 on has no protocol for atomics in error mode PEER, in which
# client and server are, whatever the transport (docs/UCX-VERSIONS.md).
sockaddr_check() {
    local tests=()
    export WITH_TLS=$TL,tcp
    [ "$(ucx_minor)" -lt 16 ] ||
        tests=(--tests "tag,tag_order,am,am_rndv,stream,put,get")
    bytes_check "$@" --sockaddr "${tests[@]}"
}

# killed_check TRAFFIC SIZE [OPTION...]
killed_check() {
    local traffic=$1 size=$2
    shift 2
    rendezvous
    export UCX_TLS=$TL UCX_KEEPALIVE_INTERVAL=1s SERVER_MAY_DIE=1
    two_nodes --timeout-ms 1000 -- \
        "$SRDRUN" "$BUILD/test/ucp_killed" --port @PORT@ --size "$size" \
        --traffic "$traffic" "$@" -- \
        "$SRDRUN" "$BUILD/test/ucp_killed" --client --port @PORT@ \
        --size "$size" --traffic "$traffic" "$@" || exit 1
    grep -q '^ok ' "$CHECK_LOG" || fail "no ok line"
}

# ------------------------------------------------------------ several devices

# device_name I: of the I-th device of a host.
device_name() {
    echo "rdmap$((16 * $1))s6"
}

# rails_check N CHECK ARG...: CHECK on hosts with N devices each; each device
# carries a part of large messages.
rails_check() {
    local count=$1 node i name
    shift
    rendezvous
    export UCX_MAX_RNDV_RAILS=$count UCX_MAX_EAGER_RAILS=$count
    "$@"
    for node in 0 1; do
        for ((i = 0; i < count; ++i)); do
            name=$(device_name "$i")
            at_least "bytes read by $name of node $node" \
                "$(stat_sum "$STAT" rdma_read_bytes "$node" "$name")" 1000000
            at_least "bytes sent by $name of node $node" \
                "$(stat_sum "$STAT" tx_bytes "$node" "$name")" 50
        done
    done
}

# One message is read in parts by the devices of the receiver; each device reads
# its share of it.
rails_share() {
    local count=$1 i read
    need_perftest
    rendezvous
    export UCX_TLS=$TL UCX_MAX_RNDV_RAILS=$count
    two_nodes --devices "$count" -- "${PERFTEST[@]}" -p @PORT@ -- \
        "${PERFTEST[@]}" 127.0.0.1 -p @PORT@ -t tag_bw -s 16777216 -n 10 \
        -w 1 || exit 1
    for ((i = 0; i < count; ++i)); do
        read=$(stat_sum "$STAT" rdma_read_bytes 0 "$(device_name "$i")")
        at_least "read by device $i" "$read" $((16777216 * 9 / count))
        at_most "read by device $i" "$read" $((16777216 * 13 / count))
    done
}

# UCX_NET_DEVICES chooses: one device here, another there, and only they work.
rails_chosen() {
    local taken
    rendezvous
    export UCX_TLS=$TL
    two_nodes --devices 4 -- \
        env "UCX_NET_DEVICES=$(device_name 1):1" \
        "$SRDRUN" "$BUILD/test/ucp_bytes" --port @PORT@ --max 1000000 -- \
        env "UCX_NET_DEVICES=$(device_name 3):1" \
        "$SRDRUN" "$BUILD/test/ucp_bytes" --client --port @PORT@ \
        --max 1000000 || exit 1
    # what arrived: a last goodbye may find its peer gone. The direct path's trial sends
    # to itself.
    taken=$(($(stat_sum "$STAT" rx_bytes) + $(stat_sum "$STAT" rdma_read_bytes)))
    at_least payload "$taken" 100000000
    at_least "bytes of the two" "$(awk -v a="$(device_name 1)" -v b="$(device_name 3)" '
        $1 == "rail" {
            from = $2 == "src=0" ? a : b
            to = $4 == "dst=0" ? a : b
            if ($3 == "src_device=" from && $5 == "dst_device=" to) {
                sub("bytes=", "", $NF)
                n += $NF
            }
        }
        END { printf "%.0f", n }' "$STAT")" "$taken"
}

# rails_lost DEVICE TRAFFIC: that device of host 1 is pulled out in the middle
# of traffic over two. Both sides are told, once, and all their requests end.
rails_lost() {
    local plan=$CHECK_LOG.plan
    rendezvous
    echo "after 3000 on 1.$1 remove" >"$plan"
    export UCX_TLS=$TL UCX_MAX_RNDV_RAILS=2 UCX_KEEPALIVE_INTERVAL=1s
    two_nodes --devices 2 --timeout-ms 1000 --plan "$plan" -- \
        "$SRDRUN" "$BUILD/test/ucp_killed" --port @PORT@ --lost \
        --size 300000 --traffic "$2" -- \
        "$SRDRUN" "$BUILD/test/ucp_killed" --client --port @PORT@ --lost \
        --size 300000 --traffic "$2" || exit 1
    grep -q '^ok ' "$CHECK_LOG" || fail "no ok line of the client"
    grep -q '^ok ' "$CHECK_LOG.server" || fail "no ok line of the server"
}

ORDER_TESTS='Order.*:Flag.*:FirstFlag.*:RmaReadOnly.*'
FLOW_TESTS='FlowControl.*:SevenToOne.*'

# flow_control_check [EFASIM_OPTION...]: receivers that do not consume, by the
# figures that the interfaces show; and by the device's.
flow_control_check() {
    export UCX_TLS=$TL
    full && export SLEEP_SECONDS=5 KEPT_MESSAGES=100000 SHARE_MESSAGES=20000
    gtest_ucp "$FLOW_TESTS" 1 "$@"
    grep -q '^\[  PASSED  \] 3' "$CHECK_LOG" || fail "not every test ran"
    while read -r line; do
        note "$line"
    done < <(grep -E '^(figures|shares|round)' "$CHECK_LOG")
    at_most receiver-not-ready "$(stat_sum "$STAT" rnr)" 0
}

# hold_line_check SECONDS OPTION...: hold_check of a server that sleeps first;
# its interface says at its end how many receives were posted at least.
hold_line_check() {
    local least
    export UCX_LOG_LEVEL=info
    hold_check "" --hold-seconds "$@"
    least=$(sed -nE 's/.* ([0-9]+) receives posted at least.*/\1/p' \
        "$CHECK_LOG.server" | sort -n | head -n 1)
    at_least "receives posted at least" "${least:-0}" 100
}

# order_check RNDV_SCHEME [EFASIM_OPTION...]: what may not overtake what.
order_check() {
    rendezvous
    export UCX_TLS=$TL UCX_RNDV_SCHEME=$1
    gtest_ucp "$ORDER_TESTS" 10000000 "${@:2}"
}

# order_check where device and library have RDMA WRITE (Debian 13's), by which
# puts and the rendezvous then go. UCX is still 1.13, whose fence does not wait;
# with OWN_UCX=y it is Debian 13's, whose fence flushes.
order_write_check() {
    local own=()
    [ -x "$BUILD/test/gtest_ucp" ] || skip_here "gtest_ucp was not built"
    rendezvous
    export UCX_TLS=$TL UCX_RNDV_SCHEME=put_zcopy
    [ -z "${OWN_UCX-}" ] || own=(env -u LD_LIBRARY_PATH)
    in_release 13 "$@" -- "${own[@]}" "$SRDRUN" "$BUILD/test/gtest_ucp" \
        --gtest_brief=1 --gtest_filter="$ORDER_TESTS" || exit 1
    tests_ran
    at_least "bytes written" "$(stat_sum "$STAT" rdma_write_bytes)" 100000000
}

valgrind_check() {
    need valgrind
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers are on"
    local log=$CHECK_LOG.valgrind
    local vg=(valgrind -q --leak-check=full --show-leak-kinds=definite
        --num-callers=30 "--log-file=$log.%p")
    export UCX_TLS=$TL
    two_nodes -- "$SRDRUN" "${vg[@]}" "$BUILD/test/ucp_bytes" --port @PORT@ \
        --iters 5 --dense 2000 --max 100000 -- \
        "$SRDRUN" "${vg[@]}" "$BUILD/test/ucp_bytes" --client --port @PORT@ \
        --iters 5 --dense 2000 --max 100000 || exit 1
    # An error is ours if one of our files is in its stack.
    if ! awk -v RS= '/libuct_srd|libefasim|uct_srd_|srd_|flow_|efasim/ {
            print; bad = 1 } END { exit bad }' "$log".*; then
        fail "valgrind found errors with our code in the stack"
    fi
}

# ------------------------------------------------------------ the module

# A program that does not use UCX runs under srdrun as without it.
no_ucx() {
    local plain loaded
    need "$1"
    plain=$("$@" 2>&1) || fail "$* without srdrun"
    loaded=$("$SRDRUN" "$@" 2>&1) || fail "status $? under srdrun: $loaded"
    [ "$plain" = "$loaded" ] || fail "output differs: '$loaded'"
}
