#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# srd_info --selftest: it finds nothing on the emulated device as it is, and
# names what a knob of efasim makes different, that alone.
# usage: suite_selftest.sh BUILD_DIR [quick|ci|full]
# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/selftest_deploy.sh
. "$TEST_DIR/selftest_deploy.sh"
# shellcheck source=test/selftest_plan.sh
. "$TEST_DIR/selftest_plan.sh"
# shellcheck source=test/selftest_cut.sh
. "$TEST_DIR/selftest_cut.sh"
set -u

SELFTEST_TIME=250 # ms until an absent host is told of

# verdict: the report's line of it; what it ended with, where it has none.
verdict() {
    grep -E '^[0-9]+ same, [0-9]+ not asked, [0-9]+ differ' "$OUT" ||
        tail -n 1 "$OUT"
}

# selftest [KNOB...] : [OPTION...]: on an emulated node; what it says is in $OUT,
# the JSON in $OUT.json, the status in $STATUS.
selftest() {
    local knobs=()
    while [ "$1" != : ]; do knobs+=("$1"); shift; done
    shift
    OUT=$CHECK_LOG.out STATUS=0
    rm -f "$OUT.json"
    "$EFASIM" run --timeout-ms $SELFTEST_TIME "${knobs[@]}" -- \
        "$BUILD/bin/srd_info" --selftest --all --json "$OUT.json" "$@" \
        >"$OUT" 2>"$OUT.progress" || STATUS=$?
    grep -E '^(DIFFERS|not asked) ' -A 4 "$OUT"
    verdict
    grep -vE '^srd_info: [a-z-]+, between ' "$OUT.progress"
}

# named PROBE: it alone was named, in text, JSON and status.
named() {
    grep -qE "^[0-9]+ same, [0-9]+ not asked, [0-9]+ differ: $1\$" "$OUT" ||
        fail "not $1 alone: $(verdict)"
    grep -A 4 "^DIFFERS   $1," "$OUT" | grep -qE '^  adapt +.' ||
        fail "not said what to do"
    [ "$STATUS" = 1 ] || fail "status $STATUS"
    ! command -v python3 >/dev/null || python3 - "$OUT.json" "$1" <<'END' ||
import json
import sys
told = json.load(open(sys.argv[1]))
names = {fact['name'] for fact in told['facts'] if fact['verdict'] == 'differs'}
sys.exit(names != {sys.argv[2]} or told['differ'] == 0)
END
        fail "the JSON says something else"
}

# differs PROBE KNOB...: with these knobs exactly this probe is named. Data that
# comes late does so for others, too, where the device gets no processor: only that
# is asked.
differs() {
    local probe=$1 only=()
    shift
    [[ $probe != *-placed ]] || only=(--only "$probe")
    selftest "$@" : --facts "${only[@]}"
    named "$probe"
}

# newer RELEASE PROBE KNOB...: the same with the rdma-core of Debian RELEASE; PROBE
# "none": nothing differs.
newer() {
    local release=$1 probe=$2
    shift 2
    OUT=$CHECK_LOG.out STATUS=0
    with_release "$release" "$EFASIM" run --timeout-ms $SELFTEST_TIME "$@" -- \
        "$BUILD/bin/srd_info" --selftest --facts >"$OUT" 2>"$OUT.progress" ||
        STATUS=$?
    [ "$STATUS" != "$SKIPPED" ] || skip_here "$(tail -n 1 "$OUT")"
    grep -E '^(DIFFERS|not asked) ' -A 4 "$OUT"
    verdict
    if [ "$probe" = none ]; then
        [ "$STATUS" = 0 ] && grep -qE '^[0-9]+ same, 0 not asked, 0 differ$' \
            "$OUT" || fail "status $STATUS: $(verdict)"
    else
        grep -qE "same, [0-9]+ not asked, [0-9]+ differ: $probe\$" "$OUT" ||
            fail "not $probe alone: $(verdict)"
    fi
}

# As differs; a queue overruns on purpose.
differs_overrun() {
    overruns_expected
    differs "$@"
}

# same: nothing is named.
same() {
    selftest : --facts
    [ "$STATUS" = 0 ] || fail "status $STATUS"
    grep -qE '^[0-9]+ same, [0-9]+ not asked, 0 differ$' "$OUT" ||
        fail "something differs: $(verdict)"
}

# Without --all the verdict comes first, then what differs, and nothing else.
brief() {
    OUT=$CHECK_LOG.out
    "$EFASIM" run --timeout-ms $SELFTEST_TIME --qkey-status 7 -- \
        "$BUILD/bin/srd_info" --selftest --facts >"$OUT" 2>/dev/null &&
        fail "status 0"
    cat "$OUT"
    [ "$(grep -m 1 -E '^([0-9]+ same|same|DIFFERS|not asked) ?' "$OUT")" = \
        "$(verdict)" ] || fail "the verdict is not the first"
    grep -qE '^DIFFERS +wrong-qkey,' "$OUT" || fail "the difference is not there"
    ! grep -E '^same ' "$OUT" || fail "what is the same is there"
    tail -n 1 "$OUT" | grep -q '^--all also shows' || fail "--all is not named"
    [ "$(wc -l <"$OUT")" -lt 40 ] || fail "too long"
}

# Nothing differs; every probe was asked, but for what this rdma-core lacks.
plain() {
    same
    local probe
    # shellcheck disable=SC2013 # words
    for probe in $(sed -nE '/^const st_probe_t/,/^};/s/^    \{"([a-z-]+)",.*/\1/p' \
        "$TEST_DIR"/../src/tools/selftest/*.c); do
        [ "$probe" != overrun ] || continue # only when it is named
        grep -qE "^(same|not asked) +$probe, between" "$OUT" ||
            fail "$probe was not asked"
    done
    ! grep -E '^not asked' "$OUT" | grep -vE ' (write-placed|written-once),' ||
        fail "something was not asked"
    reorder
}

# A probe that may harm others runs only when it is named.
overrun() {
    overruns_expected
    selftest : --only overrun
    [ "$STATUS" = 0 ] || fail "status $STATUS"
    grep -E '^  it does +a queue of 64 entries: 96 of 96 .*; another queue pair works$' \
        "$OUT" || fail "$(tail -n 8 "$OUT")"
    selftest --answer overrun:8 : --only overrun
    named overrun
    grep -E '^  it does +a queue of 64 entries: 64 of 96 ' "$OUT" || fail "how many?"
}

# Messages that overtake others are shown, and are no difference.
reorder() {
    selftest --reorder 0.3 : --only order
    [ "$STATUS" = 0 ] || fail "status $STATUS: reordering is no difference"
    grep -E 'it does +overtaken by later ones, [1-9].* by [48] to ' "$OUT" ||
        fail "no histogram"
}

# The bandwidth of a device that is not slow, asked by a process that is, or that
# shares its CPU: the CPU is named, not the device; a slow device is told of all
# the same.
bandwidth_cpu() {
    bandwidth_bound --post-us 50
    one_cpu
    local busy=()
    for _ in 1 2 3; do
        (while :; do :; done) &
        busy+=($!)
    done
    # shellcheck disable=SC2064 # now
    trap "kill ${busy[*]}" EXIT
    bandwidth_bound --post-us 20
}

# bandwidth_bound KNOB...: which keep the CPU busy
bandwidth_bound() {
    selftest "$@" : --only bandwidth
    grep -E '^  it does +this CPU is the bound.*: 0\.[0-9]+ Gbit/s .*, and .* for [0-9]+ % ' \
        "$OUT" || fail "$*: $(grep 'it does' "$OUT")"
    [ "$STATUS" = 0 ] || fail "$*: status $STATUS"
    selftest "$@" --rate-mbps 20 : --only bandwidth
    named bandwidth
}

# Measurements of verbs, of several devices and of UCX, in text and JSON.
measures() {
    # (the program's own variables do not spoil it)
    UCX_LOG_LEVEL=debug selftest --devices 3 :
    local what
    for what in 'queue pairs +latency of a send +1 +8 +[0-9.]+ us' \
        'processes +bandwidth of sends +1 +8928 +[0-9.]+ MB/s' \
        'queue pairs +bandwidth of sends +2 +8928' \
        'queue pairs +bandwidth of sends +3 +8928' \
        'queue pairs +bandwidth of reads +1 +1048576'; do
        grep -qE "^$what" "$OUT" || fail "not measured: $what"
    done
    if command -v ucx_perftest >/dev/null; then
        grep -E '^processes +UCX over srd: tag bandwidth +1 +1048576' "$OUT" ||
            fail "UCX was not measured: $(grep 'not measured' "$OUT")"
    fi
    python3 -m json.tool "$OUT.json" >/dev/null || fail "no JSON"
}

# Nothing that tells one host from another is in what people paste.
secrets() {
    selftest --trace "$CHECK_LOG.trace" :
    local word words
    machine_names
    words=$(hostname; hostname -f 2>/dev/null; id -un | grep -vx root
        # (a number of a process may be a size that the page has anyway)
        sed -n 's/.*pid=\([0-9]*\).*/\1/p' "$CHECK_LOG.trace" | sort -u |
            grep -vxE '4|16|64|256|1024|4096|8192|16384|32768|65536|[0-9]+000'
        ip -o addr 2>/dev/null | sed -nE 's/.* inet6? ([^/ ]+).*/\1/p'
        cat /sys/class/net/*/address 2>/dev/null)
    [ "$(grep -c . <<<"$words")" -ge 3 ] || fail "nothing to look for"
    for word in $words; do
        # (digits behind a figure's point, or before it, are no process)
        ! grep -hwF -e "$word" "$OUT" "$OUT.json" |
            grep -P "(?<![\\w.])\\Q$word\\E(?!\\w|\\.[0-9])" ||
            fail "it tells $word"
    done
    ! grep -iE 'fe80|([0-9a-f]{2}:){5}' "$OUT" "$OUT.json" ||
        fail "it tells an address"
}

# The JSON is JSON, and the page text, whatever the machine's files hold.
machine_names() {
    need python3 unshare
    local page=$CHECK_LOG.names
    # shellcheck disable=SC2016 # for the inner shell
    unshare -m bash -c 'mount -t tmpfs none /sys &&
        mkdir -p /sys/module/efa /sys/devices/virtual/dmi/id &&
        printf "1\"\\\\\t\033[2J\377\303\nx" >/sys/module/efa/version &&
        echo "Amazon EC2" >/sys/devices/virtual/dmi/id/sys_vendor &&
        printf "p5\\\\\302\240\"}" >/sys/devices/virtual/dmi/id/product_name &&
        exec "$@"' - "$EFASIM" run --timeout-ms $SELFTEST_TIME -- \
        "$BUILD/bin/srd_info" --selftest --only latency --json "$page.json" \
        >"$page" || fail "status $?"
    ! LC_ALL=C grep -aP '[^\x20-\x7e]' "$page" || fail "not all of it is text"
    grep -F 'p5\??"}, kernel' "$page" || fail "the machine's type"
    python3 - "$page.json" <<'END' || fail "no JSON, strictly"
import json
import sys
told = json.load(open(sys.argv[1], encoding='ascii'),
                 parse_constant=lambda word: sys.exit(word))
sys.exit(told['machine'] != {'type': 'p5\\??"}', 'efa_driver': '1"\\??[2J??',
                             'kernel': told['machine']['kernel']})
END
}

# refused TEXT OPTION...: one line of this text, and status 2.
refused() {
    local text=$1 status=0
    shift
    "$BUILD/bin/srd_info" "$@" >"$OUT" 2>&1 || status=$?
    cat "$OUT"
    [ $status = 2 ] || fail "srd_info $*: status $status"
    [ "$(wc -l <"$OUT")" = 1 ] && grep -q -e "$text" "$OUT" || fail "$*: no $text"
}

# An option that would have no effect is refused, and the line names what it needs.
options() {
    OUT=$CHECK_LOG.out
    local option
    for option in --peer=h --listen --device=d --only=latency --facts; do
        refused "^srd_info: ${option%=*} has no effect without --selftest: add" $option
    done
    for option in --ranks=2 --hosts=2 --devices=1 --peers=1 --table; do
        refused "^srd_info: ${option%=*} has no effect without --plan: add" --check $option
    done
    for option in --once --interval=2; do
        refused "^srd_info: ${option%=*} has no effect without --top: add" $option
    done
    refused '^srd_info: --check and --plan are two reports' --check --plan --ranks=2 \
        --hosts=2
    refused '^srd_info: --selftest and --top are two reports' --top --selftest
    refused '^srd_info: --listen and --peer are the two sides' --selftest --listen --peer=h
}

errors() {
    local port side
    OUT=$CHECK_LOG.out
    "$BUILD/bin/srd_info" --selftest >"$OUT" 2>&1 && fail "no device: status 0"
    grep -q '^srd_info: no self-test: this machine has no EFA' "$OUT" ||
        fail "not said"
    selftest : --only wrong-qkey,nosuch && [ "$STATUS" = 2 ] || fail "no such probe"
    grep -q "^srd_info: --only: no probe is named 'nosuch'" "$OUT.progress" ||
        fail "not said"
    selftest : --only latency --json "$CHECK_LOG.none/x"
    grep -q 'json=.*: No such file.*name a file' "$OUT.progress" ||
        fail "not said"
    selftest : --only latency --device nosuch
    [ "$STATUS" = 1 ] && grep -q "device=nosuch: .* there are: rdmap0s6$" \
        "$OUT.progress" || fail "no such device: not said"
    "$EFASIM" run -- "$BUILD/bin/srd_info" --selftest --only latency >/dev/full \
        2>"$OUT" && fail "a full disk: status 0"
    grep -q '^srd_info: the report could not all be written' "$OUT" || fail "full"
    for port in 70000 0 x ''; do
        for side in --listen=$port --peer=localhost:$port; do
            "$EFASIM" run -- "$BUILD/bin/srd_info" --selftest "$side" >"$OUT" 2>&1
            [ $? = 1 ] && grep -q 'port .*: allowed is a number from 1 to 65535$' "$OUT" ||
                fail "$side: $(cat "$OUT")"
        done
    done
    # enough for one side alone: not all was asked
    ulimit -l 8192 || fail "ulimit"
    selftest --memlock 2 : --facts
    [ "$STATUS" = 1 ] &&
        grep -q '12288 KiB of memory, the limit is 8192 KiB: .*ulimit -l' "$OUT.progress" ||
        fail "little memory: not said"
    selftest --fail-command reg-mr:1 : --facts
    [ "$STATUS" = 1 ] && grep -q 'cannot be registered.*--check' "$OUT.progress" ||
        fail "no memory: not said"
}

# peers [KNOB...] : [OPTION...]: the self-test between two emulated hosts; what
# that of host 0 says is in $OUT, the status in $STATUS.
peers() {
    local knobs=() port=$((20000 + $$ % 30000)) listener
    while [ "$1" != : ]; do knobs+=("$1"); shift; done
    shift
    OUT=$CHECK_LOG.out STATUS=0
    rm -f "$OUT.listen" # of the peers before: it is looked at below
    "$EFASIM" run --node 1 --timeout-ms $SELFTEST_TIME "${knobs[@]}" -- \
        "$BUILD/bin/srd_info" --selftest --listen=$port >"$OUT.listen" 2>&1 &
    listener=$!
    wait_until $listener grep -qs '^waiting for' "$OUT.listen"
    "$EFASIM" run --node 0 --timeout-ms $SELFTEST_TIME "${knobs[@]}" -- \
        "$BUILD/bin/srd_info" --selftest --peer "localhost:$port" \
        --all --json "$OUT.json" "$@" >"$OUT" 2>"$OUT.progress" || STATUS=$?
    wait "$listener" || fail "the listener ended with status $?"
    cat "$OUT.listen"
    verdict
}

# Nothing differs between two hosts, but perhaps how fast two processes that
# share these cores are; a knob is noticed there, too.
two_hosts() {
    peers :
    local probe
    verdict | grep -qE \
        '^[0-9]+ same, [0-9]+ not asked, [0-9]+ differ(: (latency|bandwidth)(, bandwidth)?)?$' ||
        fail "something differs: $(verdict)"
    for probe in wrong-qkey absent-host receiver-not-ready unknown-reader \
        delivery order read-placed; do
        grep -qE "^same +$probe, between hosts" "$OUT" || fail "$probe?"
    done
    grep -qE '^hosts +latency of a send +1 +8 ' "$OUT" || fail "not measured"
    with_knob() {
        peers "$@" : --only "$PROBE"
        grep -qE "[^0] differ: $PROBE\$" "$OUT" || fail "$PROBE is not named"
    }
    PROBE=wrong-qkey with_knob --qkey-status 7
    PROBE=delivery with_knob --srd-loss 1500
}

# No words of a peer can end the listener: unknown words, lines without end, numbers out
# of range; a peer that says no hello is not the one it waits for.
bad_peers() {
    need python3
    local port=$((20000 + $$ % 30000)) mode
    LISTENER=$CHECK_LOG.listen
    listener_starts "$port"
    for mode in early garbage long numbers; do
        python3 "$TEST_DIR/selftest_peer.py" "$port" "$mode" ||
            fail "$mode: the listener did not answer as it should"
    done
    listener_ends 0
    [ "$(grep -c 'is no srd_info --selftest --peer; waiting on$' "$LISTENER")" = 3 ] ||
        fail "who is no peer is not told of"
    no_ipv6
    python3 "$TEST_DIR/selftest_peer.py" "$port" vanish || fail "vanish"
    listener_ends 1
    grep -q '^srd_info: --listen: the peer went away before' "$LISTENER" ||
        fail "vanish: not said"
}

# A listener whose kernel has no IPv6.
no_ipv6() {
    need cc
    cc -shared -fPIC -x c -o "$CHECK_LOG.so" - <<'END' || fail "the stand-in"
#define _GNU_SOURCE
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
int socket(int family, int type, int protocol)
{
    if (family == AF_INET6) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    return syscall(SYS_socket, family, type, protocol);
}
END
    (
        [ -n "${SRD_SANITIZE-}" ] || export LD_PRELOAD="$CHECK_LOG.so"
        exec "$EFASIM" run --node 1 --timeout-ms $SELFTEST_TIME -- \
            "$BUILD/bin/srd_info" --selftest --listen="$port" >"$LISTENER" 2>&1
    ) &
    LISTENER_PID=$!
}

listener_starts() {
    "$EFASIM" run --node 1 --timeout-ms $SELFTEST_TIME -- "$BUILD/bin/srd_info" \
        --selftest --listen="$1" >"$LISTENER" 2>&1 &
    LISTENER_PID=$!
}

listener_ends() {
    local status=0
    wait "$LISTENER_PID" || status=$?
    cat "$LISTENER"
    [ "$status" = "$1" ] || fail "the listener's status is $status, not $1"
}

# A listener that says nonsense, or ends in the middle: one line, status 1, and the
# device is not blamed.
bad_listeners() {
    need python3
    local port=$((20000 + $$ % 30000)) serve mode
    # peer_fails MODE TEXT
    peer_fails() {
        python3 "$TEST_DIR/selftest_peer.py" "$port" "$1" >"$CHECK_LOG.serve" &
        serve=$!
        wait_listen "$port" "$serve" || fail "$1: nobody listens"
        "$EFASIM" run --timeout-ms $SELFTEST_TIME -- "$BUILD/bin/srd_info" \
            --selftest --only delivery,read-placed --peer "localhost:$port" >"$CHECK_LOG.page" \
            2>"$CHECK_LOG.peer"
        [ $? = 1 ] || fail "$1: not status 1"
        cat "$CHECK_LOG.page" "$CHECK_LOG.peer"
        grep -q "^srd_info: $2" "$CHECK_LOG.peer" || fail "not said: $2"
        wait "$serve"
    }
    for mode in nonsense endless; do
        peer_fails $mode "the far side: it does not answer as srd_info does: start '.* --listen'"
    done
    peer_fails newer 'the far side: its srd_info is newer: .* the same on both$'
    LISTENER=$CHECK_LOG.listen
    listener_starts $((port + 1))
    peer_fails between 'the far side: it does not answer any more$'
    listener_ends 1
    grep -qE '^[1-9][0-9]* same, [1-9][0-9]* not asked, 0 differ$' "$CHECK_LOG.page" ||
        fail "what was asked: $(tail -n 1 "$CHECK_LOG.page")"
    [ "$(grep -c 'does not answer any more$' "$CHECK_LOG.peer")" = 1 ] ||
        fail "said more than once"
    "$EFASIM" run -- "$BUILD/bin/srd_info" --selftest --peer "localhost:$port" \
        2>&1 | grep "Connection refused; start 'srd_info --selftest --listen=$port' there" ||
        fail "nobody listens: not said"
}

# deviations: a knob each, and the probe that is to notice it.
deviations() {
    local probe knobs words number=0
    while read -r probe knobs; do
        [ -n "$probe" ] || continue
        read -ra words <<<"$knobs"
        number=$((number + 1))
        case $probe in
        completion-queue)
            check "$probe-$number" 30 differs_overrun "$probe" "${words[@]}"
            ;;
        latency | bandwidth) # others' load would be measured, too
            alone "$probe-$number" 60 differs "$probe" "${words[@]}"
            ;;
        *) check "$probe-$number" 60 differs "$probe" "${words[@]}" ;;
        esac
    done <<'END'
capabilities --no-rdma-read
send-queue --accept send-queue:1024
receive-queue --accept receive-queue:4096
send-pieces --accept send-sge:1
receive-pieces --accept receive-sge:1
inline --accept inline:16
handles --accept handles:64
queue-pairs --accept queue-pairs:20
events --fail-command create-channel:1:EOPNOTSUPP
registration --accept registration:16777216
registration-cost --reg-us 5000
dma-buf --fail-command reg-dmabuf-mr:1:EOPNOTSUPP
read-size --accept read:1048576
fork --no-copy-on-fork
message --accept message:4096
datagram --ud-mtu 4096
datagram-prefix --ud-prefix 24
completion-queue --cq-divide 2
doorbell-batch --accept batch:64
number-reuse --no-reuse-qpn
shared-workers --no-share-ah
shared-handle --no-strict-ah
shared-handle --answer handle:3
wrong-qkey --qkey-status 7
wrong-qkey --qkey-status 0
dead-number --answer dead:8
absent-host --answer absent:13
absent-host --timeout-ms 140
receiver-not-ready --answer rnr:12
retry-interval --rnr-us 30000
retry-endless --rnr-endless 2
long-message --answer long:12
unknown-reader --answer unknown:0
wrong-key --answer key:254
delivery --srd-loss 1500
delivery --srd-duplicate 1500
order --reorder 0.2 --reorder-reach 1000
message-placed --late send:3000
read-placed --late read:3000
killed-process --killed-status 13
latency --delay-us 500
bandwidth --rate-mbps 900
END
}

suite_run() {
    if ! ci; then
        check plain 30 plain
    check brief 30 brief
        check wrong-qkey 15 differs wrong-qkey --qkey-status 7
        return
    fi
    check plain 40 plain
    check measures 60 measures
    check bandwidth_cpu 60 bandwidth_cpu
    check secrets 60 secrets
    check errors 30 errors
    check options 30 options
    check overrun 30 overrun
    check two_hosts 60 two_hosts
    check cut_link 60 cut_link
    check bad_peers 30 bad_peers
    check bad_listeners 40 bad_listeners
    check plans 30 plans
    check plan_memory 30 plan_memory
    check plan_counts 150 plan_counts "$(full && echo 8 || echo 4)" 8
    check deploy_planted 30 deploy_planted
    check deploy_slurm 120 deploy_slurm
    check deploy_container 120 deploy_container
    check deploy_kubernetes 30 deploy_kubernetes
    check newest 40 newer sid none --device efa4
    check write-placed 40 newer 13 write-placed --device efa2 --late write:3000
    check written-once 40 newer 13 written-once --device efa2 --write-again-us 2000
    check mr-pages-few 40 newer 13 registration --device efa2 --mr-pages 65536
    [ "$(awk '/^MemTotal/ { print $2 }' /proc/meminfo)" -lt 8400000 ] ||
        check mr-pages-many 40 newer 13 registration --device efa2 --mr-pages 4194304
    at_once 2
    deviations
    at_once 1
}

suite_main selftest "$@"
