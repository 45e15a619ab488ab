# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Dask on four emulated nodes, by the example as it stands: the scheduler and the
# client on node 0, workers on the others. Sourced by suite_python.sh.

dask_megabytes() {
    if full; then echo 1024; else echo 48; fi
}

# Time for a check: two busy cores starve eight processes for a minute.
dask_seconds() {
    if full; then echo 1200; else echo 600; fi
}

# dask_cluster PROTOCOL CLIENT [ARG...]: scheduler, three workers, then CLIENT of
# the examples or tests; all of them end with it.
dask_cluster() {
    dask_environment "$1"
    DEVICE_MAY_IDLE=1 with_stat -- "${CALL[@]}" dask_inside "$@"
}

dask_environment() {
    ucxx_environment
    export UCXPY_PROGRESS_MODE=thread UCXPY_ENABLE_PYTHON_FUTURE=1 # docs/PYTHON.md
    export PYTHONPATH=$PYTHON_DIR/stacks:$PYTHONPATH
    [ "$1" != tcp ] || export UCX_TLS=tcp
    [ -z "${DASK_TLS-}" ] || export UCX_TLS=$DASK_TLS
}

dask_inside() {
    local protocol=$1 example=$PYTHON_EXAMPLES/dask_cluster.py client=$2 node
    local port pids=() log=$CHECK_LOG status=0
    shift 2
    dask_environment "$protocol"
    port=$(random_port)
    local common=(--port "$port" --protocol "$protocol")
    export TMPDIR=$log.tmp # in which another may have made what Dask calls its own
    rm -rf "$TMPDIR" && mkdir -p "$TMPDIR" || fail "mkdir: status $?"
    "$EFASIM" run --node 0 -- "$SRDRUN" "$PYTHON" "$example" scheduler \
        "${common[@]}" --host 127.0.0.1 >"$log.scheduler" 2>&1 &
    pids=($!)
    for node in 1 2 3; do
        "$EFASIM" run --node "$node" -- "$SRDRUN" "$PYTHON" "$example" worker \
            127.0.0.1 "${common[@]}" --host 127.0.0.1 --name "w$node" \
            >"$log.worker$node" 2>&1 &
        pids+=($!)
    done
    timeout -s KILL $(($(dask_seconds) - 20)) "$EFASIM" run --node 0 -- \
        "$SRDRUN" "$PYTHON" "$client" client 127.0.0.1 \
        "${common[@]}" --workers 3 --megabytes "$(dask_megabytes)" --shutdown \
        "$@" || status=$?
    for node in {1..150}; do # they end by themselves
        kill -0 "${pids[@]}" 2>/dev/null || break
        [ "$status" -eq 0 ] || break
        sleep 0.1
    done
    [ "$status" -eq 0 ] || dask_states "${pids[@]}"
    kill "${pids[@]}" 2>/dev/null
    wait
    [ ! -e "$TMPDIR/dask-scratch-space" ] || fail "modules are taken from a folder for all"
    if [ "$status" = 0 ] && [ "$client" = "$example" ]; then
        dask_again "${common[@]}" || status=$?
    fi
    if [ "$status" -ne 0 ]; then
        tail -n 15 "$log.scheduler" "$log".worker?
        note "the client, status $status: $(
            grep -aE '^[A-Za-z_.]*(Error|Exception|exit)\b|^dask_cluster.py' \
                "$log" | tail -n 3)"
    fi
    return "$status"
}

# dask_again --port PORT --protocol PROTOCOL: the scheduler starts once more, at once and on
# the same port, for this host alone.
dask_again() {
    "$SRDRUN" "$PYTHON" "$PYTHON_EXAMPLES/dask_cluster.py" scheduler "$@" \
        >"$CHECK_LOG.again" 2>&1 &
    wait_until $! grep -q '^scheduler at' "$CHECK_LOG.again" ||
        { tail -n 15 "$CHECK_LOG.again"; return 1; }
    [ "$4" != tcp ] || # ucxx opens its ports on all addresses
        ! grep -qi "^ *[0-9]*: 0*:$(printf %04x "$2") .* 0A " /proc/net/tcp{,6} ||
        fail "other hosts reach a scheduler without --host"
    kill $!
    wait
}

descendants() { # PID...
    local pid
    for pid in "$@"; do
        echo "$pid"
        # shellcheck disable=SC2046 # numbers
        descendants $(pgrep -P "$pid")
    done
}

# dask_states PID...: what each thread of these and their children did until now, and
# waits for: a job that stood still as it had no CPU differs from one that lost a
# message. Python's processes write their stacks to their logs.
dask_states() {
    local pid task ran waited rest
    for pid in $(descendants "$@"); do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = python ] || continue
        for task in "/proc/$pid/task"/*; do
            read -r ran waited rest 2>/dev/null <"$task/schedstat" || continue
            note "process $pid, thread ${task##*/} ($(cat "$task/comm")):" \
                "ran $((ran / 1000000)) ms in ${rest:-?} turns, waited for a CPU" \
                "$((waited / 1000000)) ms, now in $(cat "$task/wchan")"
        done
        kill -USR1 "$pid"
    done 2>/dev/null
    sleep 1
}

# The result of each job, without times and bytes.
dask_results() {
    grep -aE '^(array sum|shuffle|data frame, [a-z0-9]*): ' "$1"
}

# The results that all others must have.
dask_reference() {
    local results=$SUITE_LOGS/dask_tcp.results
    ucxx_environment
    rm -f "$results"
    over_tcp "$results" "$PYTHON_EXAMPLES/dask_cluster.py" "$(dask_megabytes)" : \
        dask_over_tcp "$results"
    [ "$(wc -l <"$results")" = 4 ] || fail "not four results"
}

dask_over_tcp() {
    dask_cluster tcp "$PYTHON_EXAMPLES/dask_cluster.py" || fail "status $?"
    dask_results "$CHECK_LOG" >"$1"
    [ "$(wc -l <"$1")" = 4 ] || fail "not four results"
}

# dask_as_tcp: the results are those over tcp; between each two workers there were
# bytes over the device, and no fallback.
dask_as_tcp() {
    local source target bytes
    [ -s "$SUITE_LOGS/dask_tcp.results" ] || fail "there is no run over tcp"
    diff "$SUITE_LOGS/dask_tcp.results" <(dask_results "$CHECK_LOG") ||
        fail "other results than over tcp"
    no_trouble "$CHECK_LOG" "$CHECK_LOG".scheduler "$CHECK_LOG".worker?
    for source in 1 2 3; do
        for target in 1 2 3; do
            [ $source != $target ] || continue
            bytes=$(pair_bytes "$STAT" $source $target)
            at_least "bytes $source to $target" "$bytes" 1000000
        done
    done
    note "$(($(stat_payload "$STAT") >> 20)) MB over the device"
    at_least payload "$(stat_payload "$STAT")" $(($(dask_megabytes) * 2 << 20))
}

dask_shuffle_as_tcp() {
    diff <(grep '^shuffle:' "$SUITE_LOGS/dask_tcp.results") \
        <(dask_results "$CHECK_LOG" | grep '^shuffle:') ||
        fail "other results than over tcp"
}

dask_example() {
    dask_cluster ucxx "$PYTHON_EXAMPLES/dask_cluster.py" || fail "status $?"
    grep -q '^  node 1 to node 2 .* MB  #' "$CHECK_LOG" || fail "no plot"
    dask_as_tcp
}

# Without a transport of EFA on purpose: the same results, and nothing is amiss.
dask_without_efa() {
    DASK_TLS=tcp,sm,self dask_cluster ucxx "$PYTHON_EXAMPLES/dask_cluster.py" ||
        fail "status $?"
    diff "$SUITE_LOGS/dask_tcp.results" <(dask_results "$CHECK_LOG") ||
        fail "other results than over tcp"
    grep -q '^UCX_TLS=tcp,sm,self has neither srd nor ud' "$CHECK_LOG" || fail "not said"
}

# One worker is killed by kill -9 in the middle of the shuffle; its nanny starts
# another one.
dask_killed() {
    dask_cluster ucxx "$PYTHON_DIR/dask_accidents.py" --accident killed ||
        fail "status $?"
    grep -q '^killed ' "$CHECK_LOG" || fail "nobody was killed"
    grep -h 'Restarting worker' "$CHECK_LOG".worker? || fail "nobody was replaced"
    dask_shuffle_as_tcp
    at_least payload "$(stat_payload "$STAT")" $(($(dask_megabytes) << 18))
}

# A fourth worker comes in the middle of it, and takes its part.
dask_added() {
    dask_cluster ucxx "$PYTHON_DIR/dask_accidents.py" --accident added \
        --worker "$EFASIM run --node 4 -- $SRDRUN" || fail "status $?"
    dask_shuffle_as_tcp
    at_least "bytes to the new one" "$(($(pair_bytes "$STAT" 1 4) +
        $(pair_bytes "$STAT" 2 4) + $(pair_bytes "$STAT" 3 4)))" 1000000
}
