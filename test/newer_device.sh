# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Newer devices, drivers and rdma-core: speeds, service levels, many devices. Sourced
# by suite_uct.sh.

# A service level reaches the queue pair where libefa knows it (rdma-core 55); here
# one line says that it does not, and the transport opens all the same.
uct_service_level() {
    local trace=$CHECK_LOG.trace open=("$SRDRUN" "$BUILD/test/gtest_uct"
        --gtest_filter=UctAm.query__capabilities_are_true)
    export UCX_SRD_SL=8
    "$EFASIM" run --fabric "t$$" --trace "$trace" -- "${open[@]}" \
        >"$CHECK_LOG.out" 2>&1 || fail "status $?: $(<"$CHECK_LOG.out")"
    grep -q ' qp [0-9]* sl=8$' "$trace" || {
        grep -q ' qp [0-9]* sl=0$' "$trace" || fail "not the usual level"
        grep 'WARN .*service level 8 (UCX_SRD_SL): .*the usual level is used' \
            "$CHECK_LOG.out" || fail "no line says that it has no effect"
    }
    UCX_SRD_SL=16 UCX_TLS=srd "$EFASIM" run --fabric "t$$" -- "$SRDRUN" \
        ucx_info -e -u t >"$CHECK_LOG.out" 2>&1
    grep -q "SL: '16'.* from 0 to 15 (variable UCX_SRD_SL)" "$CHECK_LOG.out" ||
        fail "nobody says that 16 is too much: $(<"$CHECK_LOG.out")"
    ci || return 0
    rm -f "$trace"
    in_release 13 --trace "$trace" -- "${open[@]}" >"$CHECK_LOG.out" 2>&1 ||
        fail "status $?: $(<"$CHECK_LOG.out")"
    tests_ran "$CHECK_LOG.out"
    grep -q ' qp [0-9]* sl=8$' "$trace" || fail "the level does not arrive"
    ! grep 'service level' "$CHECK_LOG.out" || fail "a line of trouble"
}

# uct_link GBPS COMMAND...: what srd_info says of a port of that speed.
uct_link() {
    local gbps=$1
    shift
    "$@" "$EFASIM" run --fabric "t$$" --port-gbps "$gbps" -- \
        "$BUILD/bin/srd_info" >"$CHECK_LOG.out" || fail "status $?"
    sed -nE 's/^  link +([0-9]+) Gbit.*/\1/p' "$CHECK_LOG.out"
}

# The port's speed; a code that the libibverbs at hand cannot tell, or that nobody
# knows, is not slow. Newer ones ask the driver for the number.
uct_port_speed() {
    local gbps
    for gbps in 25 100 400 800; do
        [ "$(uct_link $gbps)" = $gbps ] || fail "$gbps: $(grep link "$CHECK_LOG.out")"
    done
    for gbps in 1600 3200; do
        at_least "told of $gbps" "$(uct_link $gbps)" 800
    done
    ci || return 0
    [ "$(uct_link 1600 with_release 13)" = 1600 ] || fail "no active_speed_ex"
    [ "$(uct_link 3200 with_release sid)" = 3200 ] || fail "the driver is not asked"
}

# locked_most TRACE: bytes that were registered at a time, at most; then the same
# since there were none last, so without the trials that come before.
locked_most() {
    awk '/ mr bytes=/ { sub(/.*bytes=/, ""); now += $0
            if (now > all) all = now
            if (ended) most = ended = 0
            if (now > most) most = now
            if (now == 0) ended = 1 }
        END { printf "%.0f %.0f\n", all, most }' "$1"
}

# pages_of DEVICES: pages that a program touches which opens all of them, and the
# system calls of memory with them are most of what that costs.
pages_of() {
    "$EFASIM" run --fabric "t$$" --devices "$1" -- /usr/bin/python3 -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt)' \
        "$SRDRUN" ucx_info -w -u t
}

# Trials touch 1 MB of a device, not the 4 MB or more that they register, and what a
# device that serves nobody has is small.
uct_pages() {
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers have pages of their own"
    need ucx_info /usr/bin/python3
    export UCX_TLS=srd UCX_MAX_COMPONENT_MDS=64 UCX_EFA_HUGE_PAGES=n
    local few many
    few=$(pages_of 4) && many=$(pages_of 32) || fail "no count"
    note "pages: $few of 4 devices, $many of 32"
    at_most "pages of 4 devices" "$few" 7000
    at_most "pages of each of 28 more" $(((many - few) / 28)) 85
    # UCX looks after its hooks once for its own caches, if any, and once for ours
    at_most "times that UCX tried its hooks" "$(UCX_MEM_LOG_LEVEL=debug \
        "$EFASIM" run --fabric "t$$" --devices 4 -- "$SRDRUN" ucx_info -e -u t \
        2>&1 | grep -c 'mmap hooks are ready')" 2
}

# A p5's 32 devices: before there is traffic a rank locks at most 40 MB, as the plan
# says; four devices have all their buffers at once. Messages go by some of more
# than four.
uct_many_devices() {
    local trace=$CHECK_LOG.trace number planned locked all
    export UCX_TLS=srd UCX_MAX_COMPONENT_MDS=64
    for number in 4 32; do
        rm -f "$trace"
        "$EFASIM" run --fabric "t$$" --devices $number --gpus 8 --trace "$trace" -- \
            "$SRDRUN" ucx_info -w -u t >"$CHECK_LOG.out" 2>&1 ||
            fail "status $?: $(<"$CHECK_LOG.out")"
        ! grep -E 'WARN|ERROR' "$CHECK_LOG.out" || fail "lines of trouble"
        read -r all locked < <(locked_most "$trace")
        planned=$("$EFASIM" run --fabric "t$$" --devices $number -- \
            "$BUILD/bin/srd_info" --plan --ranks 1 --hosts 2 --devices $number |
            sed -nE 's/.*locked memory, at first +([0-9.]+) MiB.*/\1/p')
        note "$number devices: $all bytes locked, without trials $locked, planned $planned MiB"
        awk "BEGIN { p = $planned * 1048576
            exit !($locked <= p * 1.02 && $locked >= p * 0.95) }" ||
            fail "not as planned"
    done
    at_most "locked of 32 devices" "$all" 40000000
    at_most "locked of 32 that nobody uses" "$locked" 10500000
    need_perftest
    two_nodes --devices 8 -- "${PERFTEST[@]}" -p @PORT@ -- "${PERFTEST[@]}" \
        -p @PORT@ 127.0.0.1 -t tag_bw -s 1000000 -n 100 || exit 1
    at_least payload "$(stat_payload "$STAT")" 100000000
}

# A host of 32 devices beside other transports: UCX before 1.19 gets 16 of them, with
# a line, since more would end the program; with any UCX the last one can be chosen.
uct_devices_beside_others() {
    local out=$CHECK_LOG.out minor told=0 count=32
    local run=("$EFASIM" run --fabric "t$$" --devices 32 -- "$SRDRUN")
    minor=$(ucx_info -v | grep -oE -m 1 '1\.[0-9]+\.' | cut -d. -f2)
    [ "${minor:-0}" -gt 0 ] || fail "which UCX is this?"
    [ "$minor" -ge 19 ] || told=1 count=16
    env -u UCX_TLS "${run[@]}" ucx_info -w -u t >"$out" 2>&1 ||
        fail "status $?: $(tail -5 "$out")"
    [ "$(grep -c "WARN  32 EFA devices, of which UCX 1.$minor gets 16" "$out")" = $told ] ||
        fail "not told $told times: $(cat "$out")"
    env -u UCX_TLS "${run[@]}" ucx_info -d >"$out" 2>&1 || fail "status $?"
    [ "$(grep -c 'Memory domain: rdmap' "$out")" = $count ] || fail "not $count domains"
    # p5's are by the four at a GPU, on a bus each
    [ $count = 32 ] || [ "$(grep -cE 'domain: rdmap(80|82|97|99|113|193|195)s0' "$out")" = 7 ] ||
        fail "not spread: $(grep domain: "$out")"
    env UCX_TLS=srd,tcp UCX_NET_DEVICES=rdmap196s0:1,lo "${run[@]}" \
        ucx_info -e -u t >"$out" 2>&1 || fail "status $?: $(tail -5 "$out")"
    grep 'srd/rdmap196s0:1' "$out" || fail "the last device is not taken: $(cat "$out")"
    ! grep -E 'WARN.*EFA devices' "$out" || fail "told of his own choice"
}

newer_device_checks() {
    check uct_service_level 40 uct_service_level
    check uct_port_speed 40 uct_port_speed
    check uct_many_devices 60 uct_many_devices
    check uct_pages 30 uct_pages
    check uct_devices_beside_others 60 uct_devices_beside_others
}
