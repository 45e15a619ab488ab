#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The flight recorder (docs/RECORD.md): what is recorded replays the same.
# Sourced by suite_ucp.sh, after ucp_checks.sh, by suite_mpi.sh and suite_sim.sh.

# record_begin: RECORDED is a folder for recordings, gone with the check.
record_begin() {
    rm -f "$CHECK_LOG.out"
    need bin/srd_replay
    RECORDED=$(mktemp -d "$CHECK_LOG.rec.XXXXXX")
    trap 'rm -rf "$RECORDED"' EXIT
}

# record_cut FILE: a plan for four hosts: the first is cut off from the others for
# seconds. (Times are those of the fabric, which the first rank makes: on a slow
# machine the ranks begin with the cut.)
record_cut() {
    printf 'at 200ms partition 0 1,2,3\nat 6s heal\n' >"$1"
}

# record_same LEAST_FILES LEAST_CALLS: every recording replays, some of LEAST_CALLS.
record_same() {
    local file said files=0 most=0 calls
    for file in "$RECORDED"/*.srdrec; do
        [ -f "$file" ] || fail "nothing was recorded"
        said=$("$BUILD/bin/srd_replay" "$file" 2>&1) || {
            trap - EXIT # the file stays
            fail "$file: $said"
        }
        calls=$(sed -n 's/^\([0-9]*\) calls, the same$/\1/p' <<<"$said")
        [ "${calls:-0}" -le "$most" ] || most=$calls
        files=$((files + 1))
    done
    at_least recordings "$files" "$1"
    at_least calls "$most" "$2"
}

# record_words LEAST: in each recording, at a few calls, what --why says of peers is
# of each its own, though all have the same QPN: no token is of two. LEAST
# recordings have two peers of which it says something.
record_words() {
    local file calls part two=0
    for file in "$RECORDED"/*.srdrec; do
        calls=$("$BUILD/bin/srd_replay" "$file" | sed -n 's/ calls, the same$//p')
        for part in {1..39}; do
            "$BUILD/bin/srd_replay" --why --until $((calls * part / 40)) "$file" ||
                fail "$file: --why"
        done >"$CHECK_LOG.why"
        awk '/^flow / { match($0, /fe80:[0-9a-f:]*/); gid = substr($0, RSTART, RLENGTH) }
            / calls, the same$/ { delete of }
            match($0, /token [0-9a-f]*/) {
                token = substr($0, RSTART, RLENGTH)
                if ((token in of) && (of[token] != gid)) { exit 2 }
                of[token] = gid
                for (other in of) { two += of[other] != gid }
            }
            END { exit two == 0 }' "$CHECK_LOG.why"
        case $? in
        0) two=$((two + 1)) ;;
        2) cat "$CHECK_LOG.why"; fail "$file: two peers said the same" ;;
        esac
    done
    at_least "recordings that tell two peers" "$two" "$1"
}

# record_span SECONDS: no trace spans more than the run took.
record_span() {
    local file
    for file in "$RECORDED"/*.srdrec; do
        "$BUILD/bin/srd_replay" --trace "$CHECK_LOG.json" "$file" || fail "--trace"
        python3 - "$CHECK_LOG.json" "$1" <<'PY' || fail "$file: the times of its trace"
import json
import sys
with open(sys.argv[1], encoding='utf-8') as file:
    times = [event['ts'] for event in json.load(file)['traceEvents'] if 'ts' in event]
sys.exit(0 if max(times) - min(times) < float(sys.argv[2]) * 1e6 else
         f'{min(times)} to {max(times)}')
PY
    done
}

# record_perftest SIZE COUNT LEAST_CALLS [EFASIM_OPTION...]: by $TL, in a ring
# that turns where that is more than fits.
record_perftest() {
    local size=$1 count=$2 least=$3
    shift 3
    need_perftest
    record_begin
    export UCX_TLS=$TL UCX_EFA_RECORD=$RECORDED:4M
    two_nodes "$@" -- "${PERFTEST[@]}" -p @PORT@ -- "${PERFTEST[@]}" 127.0.0.1 \
        -p @PORT@ -t tag_bw -s "$size" -n "$count" -w 5 || exit 1
    grep -q '^Final:' "$CHECK_LOG" || fail "no result"
    at_least "payload over the device" "$(stat_payload "$STAT")" \
        $((size * count))
    record_same 2 "$least"
}

# A program that waits records the time once in a millisecond, and no more calls that
# find nothing than others.
record_waits() {
    local file
    need_perftest
    record_begin
    export UCX_TLS=$TL UCX_EFA_RECORD=$RECORDED:64M
    two_nodes -- "${PERFTEST[@]}" -p @PORT@ -- "${PERFTEST[@]}" 127.0.0.1 \
        -p @PORT@ -t tag_lat -s 8 -n 5000 -w 5 || exit 1
    record_same 2 10000
    for file in "$RECORDED"/*.srdrec; do
        "$BUILD/bin/srd_replay" --text "$file" | awk '
            $2 == "timer_now" { last = $4; if (!first) { first = last } }
            ($2 == "timer_now") || ($2 == "tx_repost_next" && $3 == 0) { waits++; next }
            $1 ~ /^[0-9]+$/ { calls++ }
            END {
                span = (last - first) / 1000
                printf "%d calls, %d waits in %d ms\n", calls, waits, span
                exit !(calls > 0 && waits > 0 && waits <= calls + span + 1)
            }' || fail "$file: too many"
    done
}

# record_busy [MORE]: until the client of perftest that writes to the check's .out
# has sent enough messages, and MORE. It and wait_listen are for shells inside, too.
record_busy() {
    until awk -v least="$((500 + ${1-0}))" '$1 == "[thread" { sent = $3 }
        END { exit sent < least }' "$CHECK_LOG.out" 2>/dev/null; do sleep 0.1; done
}
export -f record_busy wait_listen wait_until port_listens

# A program that is killed leaves what it did; its peer, too.
record_killed() {
    local pid file said port killed=$CHECK_LOG.pid
    need_perftest
    record_begin
    port=$(random_port)
    export UCX_TLS=$TL UCX_EFA_RECORD=$RECORDED:4M
    # shellcheck disable=SC2016 # for the shells inside
    "$EFASIM" run --fabric "rk$$" -- bash -c '
        pidfile=$1 port=$2
        shift 2
        "$@" -p "$port" & server=$!
        wait_listen "$port" "$server" || exit
        "$@" 127.0.0.1 -p "$port" -t tag_lat -s 8 -n 100000000 &
        echo $! >"$pidfile"
        wait $!
        kill -KILL "$server"' bash "$killed" "$port" "${PERFTEST[@]}" \
        >"$CHECK_LOG.out" 2>&1 &
    pid=$!
    record_busy
    kill -KILL "$(cat "$killed")" || fail "it was not running"
    wait "$pid" 2>/dev/null
    for file in "$RECORDED"/*.srdrec; do
        [ -f "$file" ] || fail "nothing was recorded"
        said=$("$BUILD/bin/srd_replay" "$file" 2>&1) || fail "$file: $said"
        grep -q 'not closed$' <<<"$said" || fail "it was not killed: $said"
        "$BUILD/bin/srd_replay" --why "$file" >/dev/null ||
            fail "status $? with --why"
    done
    record_same 2 1000
}

# record_two SRDRUN SIZE [EFASIM_OPTION...]: messages from one host to another, in
# the background, until record_two_kill kills both programs; recordings in sender/
# and receiver/.
record_two() {
    local srdrun=$1 size=$2 port
    shift 2
    port=$(random_port)
    mkdir "$RECORDED/sender" "$RECORDED/receiver"
    # shellcheck disable=SC2016 # for the shell inside
    UCX_TLS=$TL "$EFASIM" run --fabric "rt$$" "$@" -- bash -c '
        dir=$1 port=$2 size=$3
        shift 3
        EFASIM_NODE=0 UCX_EFA_RECORD=$dir/receiver:4M "$@" -p "$port" & server=$!
        wait_listen "$port" "$server" || exit
        EFASIM_NODE=1 UCX_EFA_RECORD=$dir/sender:4M "$@" 127.0.0.1 -p "$port" \
            -t tag_bw -s "$size" -n 100000000 & client=$!
        wait_until $client [ -e "$dir/told" ]
        kill -KILL $server $client' bash "$RECORDED" "$port" "$size" \
        "$srdrun" "${STOCK_PERFTEST[@]}" >"$CHECK_LOG.out" 2>&1 &
    record_run=$!
}

record_two_kill() {
    : >"$RECORDED/told" && wait "$record_run"
}

# record_said PATTERN OPTION SRD_REPLAY: until the replay of what is being written
# says so.
record_said() {
    until "$3" "$2" "$RECORDED"/*/*.srdrec 2>/dev/null | grep -Eq "$1"; do
        kill -0 "$record_run" && sleep 0.2 || fail "the run ended before '$1'"
    done
}

# record_lost [EFASIM_OPTION...]: --lost of both names the packets that the sender
# had out, less those that the receiver holds, from the one on that it waits for.
record_lost() {
    local said out wanted held lost plan=$CHECK_LOG.plan trace=$CHECK_LOG.trace
    need_perftest
    record_begin
    # from its 100th packet, a limit, on the receiver takes one in ten seconds
    echo 'after 100 on 0 receive-us 10000000' >"$plan"
    rm -f "$trace"
    record_two "$SRDRUN" 1000 --timeout-ms 600000 --plan "$plan" --trace "$trace" "$@"
    wait_until "$record_run" grep -q ' node=0 .* plan line=1' "$trace" ||
        fail "the run ended before"
    record_said 'sender.* sent and not received: ' --lost "$BUILD/bin/srd_replay"
    record_two_kill
    said=$("$BUILD/bin/srd_replay" --lost "$RECORDED"/{sender,receiver}/*.srdrec) ||
        fail "--lost: $said"
    tail -n 3 <<<"$said"
    lost=$(sed -n 's/.*sender.* sent and not received: \([0-9, -]*\).*/\1/p' <<<"$said")
    out=$("$BUILD/bin/srd_replay" --text "$RECORDED"/sender/*.srdrec |
        sed -n 's/.* tx_commit .* psn \([0-9]*\).*/\1/p' | tail -n 1)
    said=$("$BUILD/bin/srd_replay" --why "$RECORDED"/receiver/*.srdrec)
    wanted=$(sed -n 's/.*: packet \([0-9]*\) did not come.*/\1/p' <<<"$said")
    held=$(sed -n 's/.* did not come, \([0-9]*\) later ones did/\1/p' <<<"$said")
    echo "sent to $out, waits for ${wanted:=${lost%%[-,]*}}, holds ${held:=0}"
    python3 - "$lost" "$out" "$wanted" "$held" <<'PY' || fail "lost: $lost"
import sys
lost, out, wanted, held = sys.argv[1], *map(int, sys.argv[2:])
ranges = [[int(end) for end in part.split('-')] for part in lost.split(', ')]
count = sum(one[-1] - one[0] + 1 for one in ranges)
sys.exit(not (count == out + 1 - wanted - held > 0 and ranges[0][0] == wanted))
PY
    # a recording of another run has no flow to it
    said=$("$BUILD/bin/srd_replay" --lost "$RECORDED"/sender/*.srdrec{,}) || fail "$said"
    grep -q '^no flow is open from one .*closed in order lost nothing; --until' <<<"$said" ||
        fail "to itself: $said"
}

# A recording that is still written replays, however often its ring turns.
record_live() {
    local file said status same=0
    need_perftest
    record_begin
    record_two "$SRDRUN" 8
    record_busy 100000 # the ring turns
    while [ $same -lt 6 ]; do
        for file in "$RECORDED"/*/*.srdrec; do
            [ -f "$file" ] || fail "nothing was recorded"
            status=0
            said=$("$BUILD/bin/srd_replay" "$file" 2>&1) || status=$?
            case $status:$said in
            0:*) same=$((same + 1)) ;;
            2:*'nothing in it was recorded'*) ;; # each segment was begun anew
            *) fail "$file: $said" ;;
            esac
        done
        kill -0 "$record_run" 2>/dev/null || fail "nobody wrote any more"
    done
    record_two_kill
}

# Faults of the core: FILE OLD NEW.
CORE_FAULTS=(
    flow/ctl_rx.c $'    } else {\n        flow_tx_limit(core, tx, msg->limit);\n' $'    } else {\n'
    flow/rx.c '(word & FLOW_WIRE_LIMIT) && (pair != 0)) {'
    '(word & FLOW_WIRE_LIMIT) && (pair == UINT32_MAX)) {'
    flow/pool.c '(flow_rx_token(rx) >> FLOW_INDEX_BITS) + 1;'
    '(flow_rx_token(rx) >> FLOW_INDEX_BITS) + 0;')

# broken FOLDER {FILE OLD NEW}...
broken() {
    python3 -B "$TEST_DIR/mutants/broken.py" "${TEST_DIR%/*}" "$BUILD" "$@" || exit 1
}

# A deadlock: a module whose core loses the limits that it is told. The recording
# of either end names it.
record_why() {
    local dir=$CHECK_LOG.why role file said
    need_perftest
    need python3 gcc
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers are on"
    record_begin
    rm -rf "$dir"
    # those of a pair's headers, too: else traffic the other way saves the flow
    broken "$dir" "${CORE_FAULTS[@]:0:6}"
    record_two "$dir/bin/srdrun" 8
    record_said '^  its peer said last: .* 64, endpoint' --why "$dir/bin/srd_replay"
    record_two_kill
    ! grep '^Final:' "$CHECK_LOG.out" || fail "no deadlock"
    for role in receiver sender; do
        file=$(echo "$RECORDED/$role"/*.srdrec)
        said=$("$dir/bin/srd_replay" --why "$file") || fail "$role: $said"
        sed "s/^/$role: /" <<<"$said" | tee -a "$CHECK_LOG.said"
    done
    grep -Eq '^sender: flow 1 to .* waits for a limit: its receiver has allowed no more' \
        "$CHECK_LOG.said" || fail "the sender does not name it"
    grep -q '^sender:   its peer said last: .* 64, endpoint' "$CHECK_LOG.said" ||
        fail "nor what it was told"
    grep -Eq '^receiver: flow from .* at its last but one limit, 16; limit 64 was sent' \
        "$CHECK_LOG.said" || fail "the receiver does not name it"
    "$dir/bin/srd_replay" --lost "$RECORDED"/{sender,receiver}/*.srdrec |
        grep 'sender/.*, flow 1 to .*receiver/.*: limit 64 was sent to it, and it has 16$' ||
        { "$dir/bin/srd_replay" --lost "$RECORDED"/{sender,receiver}/*.srdrec
            fail "--lost does not name the limit"; }
    # the sound core would have gone on
    said=$("$BUILD/bin/srd_replay" "$RECORDED"/sender/*.srdrec) && fail "the same"
    grep -q 'replayed: tx_ready flow 1 yes' <<<"$said" || fail "another call: $said"
    rm -rf "$dir" "$CHECK_LOG.said"
}

# Since when, of a flow that was blocked when the oldest segment of a ring began: it
# may be longer than that, and is not since the clock began. Simulated, so that a
# seed decides where a segment begins.
record_since() {
    local file first seed call said=''
    record_begin
    for seed in {1..99}; do
        rm -f "$RECORDED"/*
        "$BUILD/test/flow_sim" --plan stream --messages 100000 --seed "$seed" \
            --record "$RECORDED" || exit 1
        for file in "$RECORDED"/*.srdrec; do
            first=$("$BUILD/bin/srd_replay" --text "$file" |
                awk 'NR == 2 { print $1; exit }')
            at_least "the oldest call" "$first" 1000
            for call in {0..60..6}; do
                "$BUILD/bin/srd_replay" --why --until $((first + call)) "$file" ||
                    fail "--why"
            done >"$CHECK_LOG.why"
            said=$(grep 'blocked since .* or before this' "$CHECK_LOG.why") || continue
            echo "$said"
            ! grep -vq ', 0\.0000[0-9]* s or more before' <<<"$said" || fail "$said"
            return 0
        done
    done
    fail "in none was it blocked from the beginning"
}

# record_line DIR TEXT: it cannot be recorded, which one line says; the program
# goes on.
record_line() {
    local out
    out=$(UCX_EFA_RECORD=$1 "$EFASIM" run --fabric "rl$$" -- "$SRDRUN" ucx_info -d \
        2>&1) || fail "status $? with UCX_EFA_RECORD=$1"
    grep -q 'Transport: srd' <<<"$out" || fail "no srd with UCX_EFA_RECORD=$1"
    [ "$(grep -c 'UCX_EFA_RECORD' <<<"$out")" = 1 ] ||
        fail "not one line with UCX_EFA_RECORD=$1: $out"
    grep -q "UCX_EFA_RECORD.*$2" <<<"$out" ||
        fail "UCX_EFA_RECORD=$1: no '$2' in: $(grep UCX_EFA_RECORD <<<"$out")"
}

record_disks() {
    record_begin
    record_line /nonexistent 'No such file.*make the folder'
    record_line "$RECORDED:3k" 'the size is not from 4M'
    record_line :8M 'no folder'
    record_line "$RECORDED:99999999G" 'the size is not'
    (
        ulimit -f 8000000 || fail "ulimit"
        record_line "$RECORDED:64G" 'File too large.*(ulimit -f)'
    ) || exit 1
    [ -z "$(ls "$RECORDED")" ] || fail "a file beyond the limit on file sizes"
    export EFASIM SRDRUN
    unshare -m true 2>/dev/null || skip_here "no mount namespaces here"
    # shellcheck disable=SC2016 # for the shell inside
    unshare -m bash -c 'mount -t tmpfs -o size=6m none "$1" || exit 77
        . "$2"; RECORDED=$1
        fail() { echo "$*"; exit 1; }
        record_line "$1" "No space left"
        [ -z "$(ls "$1")" ] || fail "a file stayed on the full disk"
        mount -o remount,ro "$1" || exit 77
        record_line "$1" "Read-only"' bash "$RECORDED" "$TEST_DIR/record.sh" ||
        fail "on a small or read-only disk: status $?"
}

# record_spoiled COMMAND...: that, done to the files of two programs that record,
# ends neither of them.
record_spoiled() {
    need_perftest
    record_begin
    record_two "$SRDRUN" 8
    record_busy
    find "$RECORDED" -name '*.srdrec' -exec "$@" {} \; || fail "$*"
    record_busy "$(awk '$1 == "[thread" { sent = $3 } END { print sent }' "$CHECK_LOG.out")"
    record_two_kill || fail "one had ended: $(tail -n 3 "$CHECK_LOG.out")"
    ! grep -E 'Caught signal|Bus error|Segmentation' "$CHECK_LOG.out" || fail "$*"
}

# A recording's file that is cut off, and one whose head says another size.
record_cut_off() {
    record_spoiled truncate -s 0
    grep 'RECORD: its file was cut off.*nothing more is recorded' "$CHECK_LOG.out" ||
        fail "no line says so"
    record_spoiled bash -c 'printf "\0\0\0\0\1" | dd of="$0" bs=1 seek=16 conv=notrunc \
        status=none'
}

# A SIGBUS that is no recording's fault goes where it went without one.
record_bus() {
    local status=0 port
    need_perftest
    record_begin
    export CHECK_LOG
    port=$(random_port)
    # shellcheck disable=SC2016 # for the shell inside
    UCX_TLS=$TL UCX_EFA_RECORD=$RECORDED:4M "$EFASIM" run --fabric "rb$$" -- bash -c '
        port=$1
        shift
        "$@" -p "$port" & server=$!
        wait_listen "$port" "$server" || exit
        "$@" 127.0.0.1 -p "$port" -t tag_bw -s 8 -n 100000000 & client=$!
        record_busy
        kill -BUS "$server"
        wait "$server"
        status=$?
        kill -KILL "$client"
        exit $status' bash "$port" "${PERFTEST[@]}" >"$CHECK_LOG.out" 2>&1 ||
        status=$?
    [ "$status" = 135 ] || fail "status $status, not 135"
    grep 'Caught signal 7' "$CHECK_LOG.out" || fail "UCX did not get it"
    record_same 2 1000
}

# Signals of a profiler, which come faster than the disk makes room for a file.
record_signals() {
    local shim=$CHECK_LOG.so
    need "${CC:-gcc}" ucx_info
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers are on"
    record_begin
    ${CC:-gcc} -shared -fPIC -w -x c -o "$shim" - -ldl <<'END' || fail "no shim"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int posix_fallocate(int fd, long at, long size)
{
    int (*real)(int, long, long) = dlsym(RTLD_NEXT, "posix_fallocate");
    char link[64], path[256] = "";
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    readlink(link, path, sizeof(path) - 1);
    return (strstr(path, ".srdrec") && (size > 1 << 20)) ? EINTR :
                                                          real(fd, at, size);
}
int posix_fallocate64(int fd, long at, long size)
{
    return posix_fallocate(fd, at, size);
}
END
    LD_PRELOAD=$shim UCX_EFA_RECORD=$RECORDED "$EFASIM" run \
        --fabric "rs$$" -- "$SRDRUN" ucx_info -d -t srd >"$CHECK_LOG.out" 2>&1 ||
        fail "status $?: $(tail -n 3 "$CHECK_LOG.out")"
    record_same 1 1
}

# srd_replay's lines about a file that is no recording, or a broken one; and its
# options.
record_files() {
    local file=$RECORDED said status bad option
    record_begin
    file=$RECORDED/good.srdrec bad=$RECORDED/$'bad\e.srdrec'
    mkdir "$RECORDED/sim"
    "$BUILD/test/flow_sim" --plan stream --record "$RECORDED/sim" || exit 1
    cp "$(find "$RECORDED/sim" -name '*.srdrec' | head -n 1)" "$file"
    rm -r "$RECORDED/sim"
    # damaged STATUS TEXT: of $bad
    damaged() {
        status=0
        said=$("$BUILD/bin/srd_replay" "$bad" 2>&1) || status=$?
        [ "$status" = "$1" ] || fail "status $status, not $1: $said"
        grep -q "$2" <<<"$said" || fail "no '$2' in: $said"
    }
    # poke OFFSET BYTES: in a copy
    poke() {
        cp "$file" "$bad"
        printf '%b' "$2" | dd of="$bad" bs=1 seek="$1" conv=notrunc status=none
    }
    echo text >"$bad" && damaged 2 'is no recording'
    : >"$bad" && damaged 2 'is no recording'
    poke 0 'X' && damaged 2 'is no recording'
    poke 8 '\t' && damaged 2 'recorded by version .*(format 9'
    poke 24 'XXXX' && damaged 2 'recorded by version .* on .*layout'
    poke 16 '\0\0\0\0\0\0\0\0' && damaged 2 'cut off.*copy it anew'
    head -c 2000000 "$file" >"$bad" && damaged 2 'cut off'
    status=0
    said=$("$BUILD/bin/srd_replay" "$file" "$bad" "$file" 2>&1) || status=$?
    [ $status = 2 ] && [ "$(grep -c ' calls, the same$' <<<"$said")" = 2 ] &&
        [ "$(grep -c '/bad?.srdrec' <<<"$said")" = 2 ] ||
        fail "of three recordings, one cut off: status $status: $said"
    "$BUILD/bin/srd_replay" --why --json - "$file" "$bad" 2>/dev/null | python3 -c '
import json, sys
good, bad = json.load(sys.stdin)["recordings"]
assert good["result"] == "same" and good["calls"] > 0 and good["waiting"] == [], good
assert bad["result"] == "not replayed", bad' || fail "--json"
    said=$("$BUILD/bin/srd_replay" --why 2>&1) && fail "no file was taken"
    grep -q '^srd_replay: no recording is given: name one' <<<"$said" || fail "$said"
    said=$("$BUILD/bin/srd_replay" --text "$file") || fail "status $? with --text"
    grep -q ' hello, endpoint' <<<"$said" || fail "no hello in --text"
    grep -q ' am [0-9]* psn [0-9]' <<<"$said" || fail "no message in --text"
    [ "$("$BUILD/bin/srd_replay" --text --until 20 "$file" | wc -l)" = 22 ] ||
        fail "--until 20 does not end there"
    "$BUILD/bin/srd_replay" --until 999999999 "$file" >"$bad" || fail "--until beyond"
    grep -q '^its last call is [0-9]*, before --until 999999999$' "$bad" ||
        fail "--until beyond the end: $(cat "$bad")"
    said=$("$BUILD/bin/srd_replay" --why --flow 9999 "$file")
    grep -q '^no sending flow 9999 is there' <<<"$said" || fail "--flow 9999: $said"
    said=$("$BUILD/bin/srd_replay" --why --peer 12345 "$file")
    grep -q '^no flow to or from QPN 12345 is there' <<<"$said" ||
        fail "--peer 12345: $said"
    said=$("$BUILD/bin/srd_replay" "$file" 2>&1 >/dev/full) && fail "onto a full disk"
    grep -q 'srd_replay: .*No space left.*make room' <<<"$said" || fail "full: $said"
    said=$("$BUILD/bin/srd_replay" --text "$file" 2>&1 | head -n 1)
    [ "$(wc -l <<<"$said")" = 1 ] && ! grep damaged <<<"$said" || fail "a pipe: $said"
    (ulimit -f 1 && "$BUILD/bin/srd_replay" --trace "$RECORDED/trace.json" "$file") \
        >"$bad" 2>&1 && fail "beyond the limit on file sizes"
    grep -q 'trace=.*: not all could be written: File too large' "$bad" || fail "$(cat "$bad")"
    mkfifo "$RECORDED/fifo"
    said=$("$BUILD/bin/srd_replay" "$RECORDED/fifo" 2>&1)
    [ $? = 2 ] && grep -q 'cannot read .*fifo' <<<"$said" || fail "a FIFO: $said"
    poke 144 '\x1b]0;x\x07n\0' # the program's name
    said=$("$BUILD/bin/srd_replay" "$bad") || fail "a name with escapes: $said"
    grep -q '^?]0;x?n' <<<"$said" || fail "a name with escapes: $said"
    poke 4112 '\x09' # the first segment's first call
    said=$("$BUILD/bin/srd_replay" --until 5 "$bad" 2>&1) && fail "--until too early"
    grep -q 'until 5: .* begins with call 9: name that or a later' <<<"$said" ||
        fail "--until too early: $said"
    # a forgotten name: the first of two files is that of the trace
    for option in --trace --json; do
        said=$("$BUILD/bin/srd_replay" $option "$file" "$file" 2>&1) && fail "over a recording"
        grep -q -e "$option=.*: this is a recording" <<<"$said" || fail "$said"
        "$BUILD/bin/srd_replay" "$file" >/dev/null || fail "$option was written over it"
    done
    # holes take neither memory nor time: 128 GiB of them
    poke 16 '\0\0\0\0\10\0\0\0' && truncate -s 137438957568 "$bad"
    said=$(ulimit -t 10 && "$BUILD/bin/srd_replay" "$bad" 2>&1) || fail "with holes: $said"
    damaged 0 ' calls, the same$'
    # nor 1 GiB of them that is used, as its segment says
    printf '\0\0\0\100' | dd of="$bad" bs=1 seek=4104 conv=notrunc status=none
    said=$(python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$BUILD/bin/srd_replay" "$bad" 2>&1)
    grep -q 'damaged at call' <<<"$said" || fail "with used holes: $said"
    at_most "KB of memory with used holes" "${said##*$'\n'}" 500000
    truncate -s 0 "$bad" && truncate -s 64G "$bad"
    said=$(ulimit -t 10 && "$BUILD/bin/srd_replay" "$bad" 2>&1)
    grep -q 'is no recording' <<<"$said" || fail "a hole: $said"
}

# Recordings of the simulator, of every kind of network and of peer.
record_sim() {
    local plan
    for plan in stream alltoall churn chaos scarce dead ud_storm ud_reorder \
        ud_quiet_chaos; do
        record_begin
        "$BUILD/test/flow_sim" --plan "$plan" --seed 3 --record "$RECORDED" || exit 1
        record_same 2 500
        rm -rf "$RECORDED"
    done
}

# Traces of simulated networks are what Perfetto loads: rows with their names, stalls,
# counters.
record_perfetto() {
    local plan files
    record_begin
    need python3
    for plan in alltoall churn chaos ud_storm; do
        "$BUILD/test/flow_sim" --plan "$plan" --seed 3 --record "$RECORDED" || exit 1
        files=("$RECORDED"/*.srdrec)
        "$BUILD/bin/srd_replay" --trace "$RECORDED/$plan.json" "${files[0]}" ||
            fail "$plan: --trace"
        rm "${files[@]}"
    done
    "$TEST_DIR/trace_events.py" "$RECORDED"/*.json || fail "no trace"
}

# A fault of one line in the core shows at the call where it acts.
record_mutants() {
    local dir=$CHECK_LOG.broken at file status
    local differs='call [0-9]+ (the core )?differs|in call [0-9]+ an assertion'
    record_begin
    need python3 gcc
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers are on"
    "$BUILD/test/flow_sim" --plan churn --seed 3 --record "$RECORDED" || exit 1
    for at in 0 3 6; do
        rm -rf "$dir"
        broken "$dir" "${CORE_FAULTS[@]:at:3}"
        for file in "$RECORDED"/*.srdrec; do
            status=0
            "$dir/bin/srd_replay" "$file" >"$CHECK_LOG.said" || status=$?
            [ "$status" != 1 ] || grep -Eo "$differs" "$CHECK_LOG.said" ||
                fail "${CORE_FAULTS[at]}: no call is named"
            [ "$status" -le 1 ] || fail "status $status"
            echo "status $status"
        done >"$CHECK_LOG.$at"
        grep -q '^status 1$' "$CHECK_LOG.$at" ||
            fail "${CORE_FAULTS[at]}: the fault does not show"
    done
    rm -rf "$dir"
}
