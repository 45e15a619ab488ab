# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Mixed traffic under random plans of faults, for as long as asked, in one
# fabric of eight hosts. Sourced by suite_efasim-clients.sh, after lib.sh.
#
# A round is a plan of faults and up to four pairs of programs at once, which
# start one after the other; the next round begins when all have ended. Host 0
# belongs to a process that lives through all rounds. Programs check their own
# contents or counts; the device's counters must agree with their sum.
#
# A round is made of seed and number alone, so SOAK_SEED and SOAK_ROUND replay
# it (again and again); the scheduling between processes is the kernel's.

SOAK_PROGRAMS='read send ud write verbs bytes bytes bytes killed'

# ------------------------------------------------------------ what a round is

# soak_share NAME MAX: NAME and a random share of up to MAX thousandths. (Not in a subshell, which
# would seed RANDOM anew.)
soak_share() {
    printf '%s 0.%03d\n' "$1" $((RANDOM % ($2 + 1)))
}

# soak_plan MS: faults that hold traffic up, from MS after the fabric's start
# on, and lose nothing that SRD may not lose: none lasts as long as the
# device's time-out of 5 s. Hosts 6 and 7, with datagrams and RDMA write, are
# not held up.
soak_plan() {
    local at=$(($1 + 50)) rule
    local a=$((1 + RANDOM % 5)) b=$((RANDOM % 6))
    [ $a != $b ] || b=0
    soak_share reorder 500
    echo "jitter-us $((RANDOM % 200))"
    [ $((RANDOM % 3)) != 0 ] || echo "delay-us $((RANDOM % 100))"
    [ $((RANDOM % 3)) != 0 ] || echo "on $a receive-us $((1 + RANDOM % 20))"
    [ $((RANDOM % 3)) != 0 ] || echo "rate-mbps $((1000 + RANDOM % 20000))"
    [ $((RANDOM % 3)) != 0 ] || echo "rnr-us $((10 + RANDOM % 1000))"
    for rule in "clog $a $b" "partition $a $b" "on $a absent" \
        "clog $b 1,2,3" "partition 1,2 3,4,5"; do
        [ $((RANDOM % 2)) = 0 ] || continue
        at=$((at + RANDOM % 1000))
        echo "at ${at}ms $rule"
        at=$((at + 20 + RANDOM % 800))
        echo "at ${at}ms heal"
    done
}

# Lines "PROGRAM SERVER_HOST CLIENT_HOST PORT SIZE NUMBER SEED".
soak_choose() {
    local programs a b port i
    read -r -d '' -a programs <<<"$SOAK_PROGRAMS"
    port=$((20000 + RANDOM % 11000))
    for ((i = 0; i <= RANDOM % 4; ++i)); do
        a=$((1 + RANDOM % 5))
        b=$((1 + (a + RANDOM % 4) % 5))
        port=$((port + 1 + RANDOM % 50))
        until ! port_listens $port; do port=$((port + 1)); done
        echo "${programs[RANDOM % ${#programs[@]}]} $a $b $port" \
            "$((1 << (RANDOM % 15 + 6)))" "$((RANDOM % 50))" "$RANDOM"
    done
}

# ------------------------------------------------------------ its programs

# soak_two SERVER_HOST CLIENT_HOST PORT COMMAND...: the client's command gets
# 127.0.0.1, or what is in $SOAK_CLIENT, as its last arguments.
soak_two() {
    local a=$1 b=$2 port=$3 pid status=0 served=0
    shift 3
    "${SOAK_RUN[@]}" --node "$a" -- "$@" &
    pid=$!
    wait_listen "$port" "$pid" || {
        kill "$pid" 2>/dev/null
        fail "the server did not listen"
    }
    "${SOAK_RUN[@]}" --node "$b" -- "$@" "${SOAK_CLIENT:-127.0.0.1}" ||
        status=$?
    [ $status -eq 0 ] || kill "$pid" 2>/dev/null
    wait "$pid" || served=$?
    # (a client that is killed says nothing, and its server that it cannot read)
    [ "$status $served" = "0 0" ] ||
        fail "client: status $status, server: status $served"
}

# A client that is killed while it sends: nobody else may notice.
soak_killed() {
    local pid
    (soak_two "$@" 2>&1) >/dev/null &
    pid=$!
    sleep "0.$((RANDOM % 90 + 10))"
    pkill -KILL -f -- "ib_send_bw .*-p $3 " # it alone has this port
    wait $pid
    true
}

# soak_perftest HOST HOST PROGRAM KIND BYTES COUNT: for soak_program, whose port it has,
# and whose payload it sets.
soak_perftest() {
    soak_two "$1" "$2" "$port" "$3" -F -c "$4" -d rdmap0s6 -x 0 -p "$port" -s "$5" -n "$6"
    payload=$(($5 * $6))
}

# soak_program PROGRAM HOST HOST PORT SIZE NUMBER SEED: one line of the choice.
# Its last line of output is "payload BYTES", which must have crossed at least.
soak_program() {
    local name=$1 a=$2 b=$3 port=$4 size=$5 number=$6 seed=$7
    local bytes=$((size % 8192 + 2)) payload=0
    # others may have taken it since the choice
    until ! port_listens "$port"; do port=$((port + 1)); done
    case $name in
    read) soak_perftest "$a" "$b" ib_read_bw SRD "$size" 200 ;;
    send) soak_perftest "$a" "$b" ib_send_bw SRD $bytes 2000 ;;
    ud)
        SOAK_RUN+=(--device efa2)
        soak_perftest 6 7 ib_send_lat UD $((bytes / 2)) 300
        ;;
    write)
        if ! "$CHROOT" --made 13 || [ -n "${SRD_SANITIZE-}" ]; then
            echo "payload 0"
            return
        fi
        SOAK_RUN=(with_release 13 "${SOAK_RUN[@]}" --device efa2)
        soak_perftest 6 7 ib_write_bw SRD "$size" 200
        ;;
    verbs)
        "${SOAK_RUN[@]}" --node "$a" -- "$BUILD/test/gtest_verbs" \
            --gtest_brief=1 --gtest_filter='Data.*' || fail "status $?"
        # an absent device loses datagrams: they are for hosts not held up
        "${SOAK_RUN[@]}" --node 6 --device efa2 -- "$BUILD/test/gtest_verbs" \
            --gtest_brief=1 --gtest_filter='ud.*' || fail "status $?"
        payload=10000
        ;;
    bytes)
        SOAK_CLIENT=--client soak_two "$a" "$b" "$port" "$SRDRUN" \
            "$BUILD/test/ucp_bytes" --port "$port" --seed "$seed" \
            --window $((1 + seed % 64)) --iters "$number" --max "$size"
        payload=$(bytes_checked "$SOAK_OUT")
        ;;
    killed)
        soak_killed "$a" "$b" "$port" ib_send_bw -c SRD -d rdmap0s6 -x 0 \
            -p "$port" -s $bytes -D 20
        ;;
    esac || exit 1
    echo "payload $payload"
}

# ------------------------------------------------------------ rounds

# Bytes that crossed between hosts, without those of host 0's own process.
soak_crossed() {
    "$EFASIM" stat --raw | awk '
        $1 == "pair" && ($2 != "src=0" || $3 != "dst=0") {
            sub("bytes=", "", $4); sum += $4 }
        END { printf "%.0f\n", sum }'
}

# soak_round SEED ROUND MS: MS is the fabric's age.
soak_round() {
    local plan=$CHECK_LOG.plan i=0 line pids=() payload=0 before seed=$1
    local words names=
    RANDOM=$((($1 + $2) % 32768))
    soak_plan "$3" >"$plan"
    soak_choose >"$CHECK_LOG.programs"
    SOAK_RUN=("$EFASIM" run --seed $((seed + $2)) --plan "$plan")
    before=$(soak_crossed)
    while read -r -a words; do
        SOAK_OUT=$CHECK_LOG.program$i
        (soak_program "${words[@]}") >"$SOAK_OUT" 2>&1 </dev/null &
        pids+=($!)
        names="$names ${words[0]}"
        i=$((i + 1))
        sleep "0.$((words[6] % 8))"
    done <"$CHECK_LOG.programs"
    for ((i = 0; i < ${#pids[@]}; ++i)); do
        wait "${pids[i]}" || soak_failed "$@" "$i" "status $?"
        line=$(tail -n 1 "$CHECK_LOG.program$i")
        [[ $line =~ ^payload\ ([0-9]+)$ ]] ||
            soak_failed "$@" "$i" "no payload"
        payload=$((payload + BASH_REMATCH[1]))
    done
    at_least "round $2:$names: payload" $(($(soak_crossed) - before)) \
        "$payload"
}

# soak_failed SEED ROUND MS PROGRAM REASON
soak_failed() {
    echo "the plan:"
    cat "$CHECK_LOG.plan"
    echo "the programs: $(tr '\n' ';' <"$CHECK_LOG.programs")"
    echo "what number $4 said:"
    # (both ends: the one that ends last prints its whole table)
    tail -n 100 "$CHECK_LOG.program$4"
    echo "again: SOAK_SEED=$1 SOAK_ROUND=$2 CHECKS='^soak\$'" \
        "$SUITE_SCRIPT $BUILD $PROFILE"
    fail "round $2: $(sed -n "$(($4 + 1))p" "$CHECK_LOG.programs"): $5"
}

# ------------------------------------------------------------ memory

# One process that lives through all of it, opens and closes workers and
# endpoints, and checks its contents: its memory must stay flat.
soak_resident() {
    # shellcheck disable=SC2016 # for the inner shell
    "$EFASIM" run --node 0 --reorder 0.2 -- sh -c 'echo $$ >"$0.pid"
        exec "$@"' "$CHECK_LOG" "$SRDRUN" "$BUILD/test/gtest_ucp" \
        --gtest_brief=1 --gtest_repeat=100000 --gtest_break_on_failure \
        >"$CHECK_LOG.resident" 2>&1
}

# A line per second, "ITERATION KILOBYTES", of the resident process.
soak_sample() {
    local pid iteration
    while sleep 1; do
        pid=$(cat "$CHECK_LOG.pid" 2>/dev/null) || continue
        iteration=$(grep -c '^\[  PASSED' "$CHECK_LOG.resident")
        awk -v i="$iteration" '$1 == "VmRSS:" { print i, $2 }' \
            "/proc/$pid/status" 2>/dev/null
    done >"$CHECK_LOG.rss"
}

# A line per round, "ROUND KILOBYTES", of the fabric's folder, when only the
# resident process has anything there.
soak_sample_folder() {
    echo "$1 $(du -sk "/dev/shm"/efasim*-"$EFASIM_FABRIC" | cut -f 1)" \
        >>"$CHECK_LOG.folder"
}

# soak_flat FILE WHAT SLACK_KB: the least of the later half of the turns
# against that of the second quarter: what leaks stays, while a peak tells of
# the machine's load, and the first turns touch what is touched once.
soak_flat() {
    local turns
    turns=$(tail -n 1 "$1" | cut -d ' ' -f 1)
    echo "$2: ${turns:=0} turns, kilobytes:" \
        "$(cut -d ' ' -f 2 "$1" | sort -n | sed -n '1p;$p' | xargs)"
    if [ "$turns" -lt 4 ]; then
        ! full || [ -n "${SOAK_ROUND-}" ] || fail "$2: $turns turns only"
        echo "memory not compared: this machine was too slow for four"
        return
    fi
    awk -v n="$turns" -v what="$2" -v slack="$3" '
        $1 >= n / 4 && $1 <= n / 2 && (!first || $2 < first) { first = $2 }
        $1 > n / 2 && $1 <= n && (!later || $2 < later) { later = $2 }
        END { printf "note: %s: %d KB in the second quarter, %d in the " \
                     "later half\n", what, first, later
              exit !(later <= first * 1.1 + slack) }' "$1" ||
        fail "$2 grows"
}

soak_inside() {
    local start=$SECONDS began=$EPOCHREALTIME round=0 seed=$2 now
    local resident sampler
    export UCX_TLS=srd
    rm -f "$CHECK_LOG.pid" "$CHECK_LOG.folder"
    soak_resident &
    resident=$!
    soak_sample &
    sampler=$!
    # shellcheck disable=SC2064 # now
    trap "kill $sampler \$(cat '$CHECK_LOG.pid') 2>/dev/null" EXIT
    while [ $((SECONDS - start)) -lt "$1" ]; do
        round=$((round + 1))
        now=$(awk "BEGIN { printf \"%d\", 1e3 * ($EPOCHREALTIME - $began) }")
        soak_round "$seed" "${SOAK_ROUND:-$round}" "$now"
        soak_sample_folder $round
        kill -0 $resident 2>/dev/null || {
            tail -n 30 "$CHECK_LOG.resident"
            fail "the resident process ended (SOAK_SEED=$seed)"
        }
    done
    echo "note: seed $seed, $round rounds"
    soak_flat "$CHECK_LOG.rss" "the resident process" 4096
    soak_flat "$CHECK_LOG.folder" "the fabric's folder" 256
}

# soak SECONDS
soak() {
    local seed=${SOAK_SEED:-$RANDOM}
    need ib_read_bw ib_send_bw ib_send_lat
    echo "SOAK_SEED=$seed"
    nothing_left "$EFASIM" run --fabric "s$$" -- "${CALL[@]}" soak_inside "$1" "$seed"
}
