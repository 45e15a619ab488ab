# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Mixed traffic under random plans of faults, for as long as asked. Sourced by
# suite_efasim-clients.sh, after lib.sh. SOAK_SEED=N replays a run's plans and
# programs; the scheduling between processes is the kernel's.

# A fraction of FROM to TO thousandths.
soak_share() {
    awk "BEGIN { printf \"%.3f\", ($1 + $RANDOM % ($2 - $1 + 1)) / 1000 }"
}

# Faults that hold traffic up, and lose nothing that SRD may not lose: nothing
# here lasts as long as the device's time-out of 5 s.
soak_plan() {
    local at=50 length rule
    echo "reorder $(soak_share 0 500)"
    echo "jitter-us $((RANDOM % 200))"
    [ $((RANDOM % 3)) != 0 ] || echo "delay-us $((RANDOM % 100))"
    [ $((RANDOM % 3)) != 0 ] || echo "on 1 receive-us $((1 + RANDOM % 20))"
    [ $((RANDOM % 3)) != 0 ] || echo "rate-mbps $((1000 + RANDOM % 20000))"
    for rule in 'clog 0 1' 'partition 0 1' 'on 1 absent' 'clog 1 0'; do
        [ $((RANDOM % 2)) = 0 ] || continue
        at=$((at + RANDOM % 1000))
        length=$((20 + RANDOM % 800))
        echo "at ${at}ms $rule"
        at=$((at + length))
        echo "at ${at}ms heal"
    done
}

# Sets SERVER and CLIENT, and PAYLOAD, the bytes that must cross at least; 0:
# what the client says it received and checked.
soak_program() {
    local size=$((1 << (6 + RANDOM % 15))) common
    case $((RANDOM % 5)) in
    0)
        common=(-c SRD -d rdmap0s6 -x 0 -p @PORT@ -s "$size" -n 200)
        SERVER=(ib_read_bw "${common[@]}")
        CLIENT=("${SERVER[@]}" 127.0.0.1)
        PAYLOAD=$((size * 200))
        ;;
    1)
        common=(-c SRD -d rdmap0s6 -x 0 -p @PORT@ -s $((size % 8192 + 1)))
        SERVER=(ib_send_bw "${common[@]}" -n 2000)
        CLIENT=("${SERVER[@]}" 127.0.0.1)
        PAYLOAD=$(((size % 8192 + 1) * 2000))
        ;;
    *)
        SERVER=("$SRDRUN" "$BUILD/test/ucp_bytes" --port @PORT@
            --seed "$RANDOM" --window $((1 + RANDOM % 64))
            --iters $((RANDOM % 50)) --max "$size" --timeout 60)
        CLIENT=("${SERVER[@]}" --client)
        PAYLOAD=0
        ;;
    esac
}

# One process that lives through all of it, opens and closes workers and
# endpoints, and checks its contents: its memory must stay flat.
soak_resident() {
    "$EFASIM" run --fabric "r$$" --reorder 0.2 -- sh -c 'echo $$ >"$0.pid"
        exec "$@"' "$CHECK_LOG" "$SRDRUN" "$BUILD/test/gtest_ucp" \
        --gtest_brief=1 --gtest_repeat=100000 --gtest_break_on_failure \
        >"$CHECK_LOG.resident" 2>&1
}

# A line per second, "ITERATION KILOBYTES".
soak_sample() {
    local pid iteration
    while sleep 1; do
        pid=$(cat "$CHECK_LOG.pid" 2>/dev/null) || continue
        iteration=$(grep -c '^\[  PASSED' "$CHECK_LOG.resident")
        awk -v i="$iteration" '$1 == "VmRSS:" { print i, $2 }' \
            "/proc/$pid/status" 2>/dev/null
    done >"$CHECK_LOG.rss"
}

# The least of the later half of the iterations against that of the first: what
# leaks stays, while a peak tells of the machine's load. Iteration 0 warms up.
soak_memory_flat() {
    local iterations
    iterations=$(tail -n 1 "$CHECK_LOG.rss" | cut -d ' ' -f 1)
    echo "the resident process: ${iterations:=0} iterations, kilobytes:" \
        "$(cut -d ' ' -f 2 "$CHECK_LOG.rss" | sort -n | sed -n '1p;$p' |
            xargs)"
    if [ "$iterations" -lt 3 ]; then
        ! full || fail "it came to $iterations iterations only"
        echo "memory not compared: this machine was too slow for three"
        return
    fi
    awk -v n="$iterations" '
        $1 >= 1 && $1 <= n / 2 && (!first || $2 < first) { first = $2 }
        $1 > n / 2 && $1 < n && (!later || $2 < later) { later = $2 }
        END { printf "least first %d, later %d KB\n", first, later
              exit !(later <= first * 1.1 + 4096) }' "$CHECK_LOG.rss" ||
        fail "memory grows"
}

# soak SECONDS
soak() {
    local end=$((SECONDS + $1)) round=0 resident sampler
    local seed=${SOAK_SEED:-$RANDOM}
    need ib_read_bw ib_send_bw
    echo "SOAK_SEED=$seed"
    rm -f "$CHECK_LOG.pid"
    export UCX_TLS=srd
    soak_resident &
    resident=$!
    soak_sample &
    sampler=$!
    # shellcheck disable=SC2064 # now
    trap "kill $sampler \$(cat '$CHECK_LOG.pid') 2>/dev/null" EXIT
    while [ $SECONDS -lt $end ]; do
        round=$((round + 1))
        RANDOM=$(((seed + round) % 32768))
        soak_plan >"$CHECK_LOG.plan"
        soak_program
        echo "--- round $round, plan: $(tr '\n' ';' <"$CHECK_LOG.plan")"
        two_nodes --seed "$((seed + round))" --plan "$CHECK_LOG.plan" -- \
            "${SERVER[@]}" -- "${CLIENT[@]}" >"$CHECK_LOG.round" 2>&1 || {
            cat "$CHECK_LOG.plan" "$CHECK_LOG.round"
            fail "round $round: ${SERVER[*]}"
        }
        [ "$PAYLOAD" != 0 ] || PAYLOAD=$(bytes_checked "$CHECK_LOG.round")
        at_least payload "$(stat_payload "$STAT")" "$PAYLOAD"
        kill -0 $resident 2>/dev/null || {
            tail -n 30 "$CHECK_LOG.resident"
            fail "the resident process ended"
        }
    done
    soak_memory_flat
    echo "rounds: $round"
}
