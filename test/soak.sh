# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Minutes of large messages both ways (ucp_soak, which compares every byte) while
# memory, endpoints and workers come and go, processes are stopped and killed,
# and the network is cut, for a moment or until endpoints fail. Sourced by
# suite_ucp.sh, after lib.sh.
#
# Each disturbance is noted with its time; the processes tell their waits, with their
# records; soak_waits.py names the waits that nothing explains. SOAK_SEED replays
# disturbances and messages; the scheduling is the kernel's.

SOAK_TIMEOUT=8 # seconds of silence until the device gives up

# soak_event KIND BEGIN END: what was done, by time of day.
soak_event() {
    echo "$1 $2 $3" >>"$CHECK_LOG.events"
}

# soak_plan SECONDS: cuts of the network, noted as events. Short ones harm nobody,
# each fourth outlasts the device's patience.
soak_plan() {
    local at=4000 began=$EPOCHREALTIME long count=0
    while [ $at -lt $(($1 * 1000 - 15000)) ]; do
        count=$((count + 1))
        long=$((100 + RANDOM % 1900))
        [ $((count % 4)) != 0 ] || long=$((SOAK_TIMEOUT * 1000 + 2000))
        echo "at ${at}ms partition 0 1"
        echo "at $((at + long))ms heal"
        soak_event "$([ $long -lt 3000 ] && echo moment || echo cut)" \
            "$(awk "BEGIN { printf \"%.3f\", $began + $at / 1e3 }")" \
            "$(awk "BEGIN { printf \"%.3f\", $began + ($at + $long) / 1e3 }")"
        at=$((at + long + 7000 + RANDOM % 5000))
    done
}

# soak_pid LOG RUN: of the program whose output that is, once RUN has started it.
soak_pid() {
    wait_until "$2" grep -q '^[0-9.]* [0-9]* begins' "$1" || echo 0
    awk '$3 == "begins" { print $2; exit }' "$1"
}

# soak_client PORT SECONDS: another one; sets `client`, `client_run`.
soak_client() {
    number=$((number + 1))
    "$EFASIM" run --node 1 -- "${SOAK_RUN[@]}" "$BUILD/test/ucp_soak" --client \
        --port "$1" --seconds "$2" --seed "$seed" \
        >"$CHECK_LOG.client$number" 2>&1 &
    client_run=$!
    client=$(soak_pid "$CHECK_LOG.client$number" $client_run)
}

soak_stop() {
    local began=$EPOCHREALTIME
    kill -STOP "$1" 2>/dev/null || return 0
    sleep "$((RANDOM % 3)).$((RANDOM % 5))"
    kill -CONT "$1"
    soak_event stop "$began" "$EPOCHREALTIME"
}

soak_kill() {
    local began=$EPOCHREALTIME
    kill -KILL "$client"
    wait "$client_run"
    soak_event kill "$began" "$EPOCHREALTIME"
    soak_client "$1" $((end - SECONDS))
}

# soak_inside PORT SECONDS
soak_inside() {
    local server server_run client client_run number=0 status=0
    local end=$((SECONDS + $2)) seed=${SOAK_SEED:-1}
    read -r -a SOAK_RUN <<<"${SOAK_RUN-$SRDRUN}"
    RANDOM=$seed
    "$EFASIM" run --node 0 -- "${SOAK_RUN[@]}" "$BUILD/test/ucp_soak" \
        --port "$1" --seed "$seed" >"$CHECK_LOG.server" 2>&1 &
    server_run=$!
    server=$(soak_pid "$CHECK_LOG.server" $server_run)
    soak_client "$1" "$2"
    # (the last 12 s are quiet: the client ends by itself)
    while [ $SECONDS -lt $((end - 12)) ] && kill -0 "$client_run" "$server_run"
    do
        sleep "$((1 + RANDOM % 3)).$((RANDOM % 9))"
        case $((RANDOM % 8)) in
        0 | 1) soak_stop "$server" ;;
        2 | 3) soak_stop "$client" ;;
        4) soak_kill "$1" ;;
        esac
    done
    wait "$client_run" || status=$?
    [ $status -eq 0 ] || fail "client $number: status $status"
    wait "$server_run" || fail "server: status $?"
}

# soak_failed: what they said, before the check fails.
soak_failed() {
    tail -n 40 "$CHECK_LOG.server" "$CHECK_LOG".client*
    fail "$* (SOAK_SEED=${SOAK_SEED:-1}; all of it: $CHECK_LOG.*)"
}

# soak_check SECONDS [EFASIM_OPTION...]
soak_check() {
    local seconds=$1 plan=$CHECK_LOG.plan said checked
    shift
    need python3
    rendezvous
    export UCX_TLS=$TL UCX_KEEPALIVE_INTERVAL=2s
    RANDOM=${SOAK_SEED:-1}
    soak_plan "$seconds" >"$plan"
    with_stat --timeout-ms $((SOAK_TIMEOUT * 1000)) --plan "$plan" \
        --reorder 0.2 "$@" -- "${CALL[@]}" soak_inside "$(random_port)" "$seconds" ||
        soak_failed "it ended with status $?"
    said=$(python3 -B "$TEST_DIR/soak_waits.py" "$CHECK_LOG.events" \
        "$CHECK_LOG.server" "$CHECK_LOG".client*) || soak_failed "$said"
    note "$said"
    checked=$(awk '$1 == "ok" { n += $4 } END { printf "%.0f", n }' \
        "$CHECK_LOG.server" "$CHECK_LOG".client*)
    at_least "bytes checked" "$checked" $((seconds * 2000000))
    at_least "payload over the device" "$(stat_payload "$STAT")" "$checked"
}

# soak_there RELEASE SECONDS: under that release's UCX and rdma-core.
soak_there() {
    "$CHROOT" --made "$1" || skip_here "Debian $1 is not made here:" \
        "contrib/ci/chroot.sh $1 makes it"
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers are on"
    in_system "$1" ucp soak_check "$2"
}

# soak_judges: a wait that nothing explains, and a session that breaks without a
# cause, are noticed, and others are not.
soak_judges() {
    local log=$CHECK_LOG.made waits=(python3 -B "$TEST_DIR/soak_waits.py")
    need python3
    echo "cut 100.000 110.000" >"$log.events"
    echo "107.000 1 wait 6.500 s, of them 0.100 without a CPU, in a test" >"$log.good"
    echo "150.000 1 wait 6.500 s, of them 6.100 without a CPU, in a test" >>"$log.good"
    echo "109.000 1 broken session 7: ours: x; the peer's word: 98" >>"$log.good"
    echo "150.000 1 wait 6.500 s, of them 0.100 without a CPU, in a test" >"$log.wait"
    echo "150.000 1 broken session 7: ours: x; the peer's word: 98" >"$log.broken"
    "${waits[@]}" "$log.events" "$log.good" || fail "a sound log is refused"
    for log in "$log.wait" "$log.broken"; do
        ! "${waits[@]}" "$CHECK_LOG.made.events" "$log" || fail "$log passes"
    done
}
