#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The emulated device under the real libibverbs and libefa: its engine, verbs
# programs of ours, and the command line. Foreign programs: efasim-clients.
# usage: suite_efasim.sh BUILD_DIR [quick|ci|full]
# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/efasim_hosts.sh
. "$TEST_DIR/efasim_hosts.sh"
# shellcheck source=test/efasim_fuse.sh
. "$TEST_DIR/efasim_fuse.sh"
# shellcheck source=test/efasim_scripts.sh
. "$TEST_DIR/efasim_scripts.sh"
# shellcheck source=test/efasim_limits.sh
. "$TEST_DIR/efasim_limits.sh"
set -u

# ------------------------------------------------------------ our programs

engine_check() {
    need test/gtest_efasim_engine
    "$BUILD/test/gtest_efasim_engine" --gtest_brief=1 \
        --gtest_filter='-engine_soak.*' || exit 1
    tests_ran
}

# hostile_check [TEST...]: efapci, and machines and guests that mean harm.
hostile_check() {
    need python3 bin/efapci
    python3 -B "$TEST_DIR/pci/hostile.py" "$BUILD/bin/efapci" "$@" || exit 1
}

# Huge pages under efapci, which this machine lends for it.
huge_check() {
    local pages=/proc/sys/vm/nr_hugepages before
    before=$(<"$pages")
    # shellcheck disable=SC2064 # of now
    trap "echo $before >$pages" EXIT
    { echo $((before + 8)) >"$pages"; } 2>/dev/null
    [ "$(awk '/HugePages_Free/ { print $2 }' /proc/meminfo)" -ge 8 ] ||
        skip_here "this kernel gives no huge pages"
    hostile_check HugeMemory
    ! grep -q 'skipped=' "$CHECK_LOG" || fail "a test was skipped"
}

# soak SECONDS: random plans of faults in virtual time, from a new seed.
soak() {
    need test/gtest_efasim_engine
    local seed=${SOAK_SEED:-$RANDOM}
    echo "SOAK_SEED=$seed"
    SOAK_SEED=$seed SOAK_SECONDS=$1 "$BUILD/test/gtest_efasim_engine" \
        --gtest_brief=1 --gtest_filter='engine_soak.*' || exit 1
    tests_ran
}

# verbs_check FILTER [EFASIM_OPTION...]
verbs_check() {
    local filter=$1
    shift
    need test/gtest_verbs
    with_stat "$@" -- "$BUILD/test/gtest_verbs" --gtest_brief=1 \
        --gtest_filter="$filter" || exit 1
    tests_ran
}

# newer_check RELEASE FILTER DEVICE [EFASIM_OPTION...]: verbs_check of tests
# that need a newer rdma-core than Debian 12's. They run here where ours is new
# enough, or with the one in folder RDMA_CORE; else in the chroot of RELEASE.
newer_check() {
    local release=$1 filter=$2 device=$3
    shift 3
    [ -z "${RDMA_CORE-}" ] ||
        export LD_LIBRARY_PATH=$RDMA_CORE${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    if (verbs_check "$filter" --device "$device" "$@") &&
        ! grep -q 'rdma-core' "$CHECK_LOG"; then
        return # no test found this rdma-core too old
    fi
    ! grep -q 'FAILED' "$CHECK_LOG" ||
        grep -q 'no device: run this' "$CHECK_LOG" || exit 1
    echo "this rdma-core is too old for $filter: that of Debian $release"
    in_release "$release" --device "$device" "$@" -- "$BUILD/test/gtest_verbs" \
        --gtest_brief=1 --gtest_filter="$filter" || exit 1
    sed '1,/^this rdma-core/d' "$CHECK_LOG" | grep -q '^\[  PASSED  \] [1-9]' ||
        fail "no test ran"
}

# Completion queues that overrun on purpose. A check that does not announce it,
# like overrun_unexpected, fails for it, though its program ends well.
overrun_check() {
    local out
    (
        overruns_expected
        verbs_check 'Overrun.*'
    ) || exit 1
    at_least cq_overruns "$(stat_sum "$CHECK_LOG.stat" cq_overruns)" 1
    out=$(unset EFASIM_STAT && CHECKS='^overrun_unexpected$' \
        OVERRUN_UNEXPECTED=y "$SUITE_SCRIPT" "$BUILD" quick) &&
        fail "nobody noticed the overruns: $out"
    sed 's/^/    /' <<<"$out"
    grep -q '^FAIL overrun_unexpected: status 1 ' <<<"$out" || fail "no FAIL"
    grep -q '| FAIL: a completion queue overran' <<<"$out" || fail "no reason"
}

# threads_with NAME CFLAG... [-- COMMAND...]: test/apps/verbs_threads.c, built
# so, under COMMAND. Its posts and polls must be in order for the sanitizer.
threads_with() {
    local program=$BUILD/test/verbs_threads.$1 flags=() cc
    read -r -a cc <<<"${CC:-cc}"
    need "${cc[0]}"
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers are on"
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        flags+=("$1")
        shift
    done
    [ $# = 0 ] || shift
    "${cc[@]}" -g -O1 "${flags[@]}" -o "$program" \
        "$TEST_DIR"/{apps/verbs_threads,kernel/device}.c -lefa -libverbs -lpthread ||
        fail "${cc[*]}: status $?"
    echo 'called_from_lib:libefasim.so' >"$CHECK_LOG.tsan"
    export TSAN_OPTIONS=suppressions=$CHECK_LOG.tsan
    with_stat -- "$@" "$program" 2>&1 || fail "status $?"
    grep -q '^ok 2000 messages' "$CHECK_LOG" || fail "no ok line"
    ! grep -E 'SUMMARY: |ERROR SUMMARY: [1-9]' "$CHECK_LOG" ||
        fail "the sanitizer complained"
    at_least bytes "$(stat_sum "$STAT" tx_bytes)" 2000000
}

threads_valgrind() {
    need valgrind
    threads_with valgrind -- valgrind --error-exitcode=9
}

# UCX replaces mmap, munmap and others by patching their code: the emulator, which
# replaces some, too, must not disturb it, nor a UCX that does not patch. (Its third mode, reloc,
# hangs UCX 1.13 by itself, in ucm_dlmalloc, over tcp and without efasim too.)
memory_hooks() {
    local mode tests=(--tests "tag,am_rndv,get" --iters 10 --max 300000)
    need ucx_info test/ucp_bytes
    for mode in bistro none; do
        UCX_TLS=srd UCX_MEM_MMAP_HOOK_MODE=$mode two_nodes -- \
            "$SRDRUN" "$BUILD/test/ucp_bytes" "${tests[@]}" --port @PORT@ -- \
            "$SRDRUN" "$BUILD/test/ucp_bytes" "${tests[@]}" --port @PORT@ \
            --client >"$CHECK_LOG.$mode" 2>&1 || {
            cat "$CHECK_LOG.$mode"
            fail "UCX_MEM_MMAP_HOOK_MODE=$mode"
        }
        at_least "$mode: payload" "$(stat_payload "$STAT")" \
            "$(bytes_checked "$CHECK_LOG.$mode")"
    done
}

# ------------------------------------------------------------ plans, kinds

# A bad plan is refused before anything runs; a good one reaches the command.
plans() {
    local out
    printf 'loss 0.1\nat 5 kill\n' >"$CHECK_LOG.plan"
    out=$("$EFASIM" run --plan "$CHECK_LOG.plan" -- true 2>&1) &&
        fail "a bad plan was taken"
    echo "$out"
    grep -q "$CHECK_LOG.plan, line 2: '5': allowed is a time" <<<"$out" ||
        fail "no line"
    out=$("$EFASIM" run --plan /nonexistent -- true 2>&1) && fail "no plan"
    grep -q '/nonexistent: No such file' <<<"$out" || fail "no line: $out"
    printf 'clog 0 0,1\non 1 absent\nat 1s partition 0 0\n' >"$CHECK_LOG.plan"
    out=$("$EFASIM" run --plan "$CHECK_LOG.plan" -- true 2>&1) && fail "0 from 0"
    grep -q "line 3: '0': allowed is another host than .*: there is no network" <<<"$out" ||
        fail "a host from itself: $out"
    echo 'at 1s absent' >"$CHECK_LOG.plan"
    out=$("$EFASIM" run --plan "$CHECK_LOG.plan" -- true 2>&1) && fail "all absent"
    grep -q "line 1: 'absent': allowed is that behind 'on HOSTS'.*nobody is left" <<<"$out" ||
        fail "absent without hosts: $out"
    printf 'refuse-open EPERM # nobody\n' >"$CHECK_LOG.plan"
    out=$("$EFASIM" run --fabric "t$$" --plan "$CHECK_LOG.plan" -- \
        ibv_devinfo 2>&1) && fail "the plan was not kept"
    grep -q 'Operation not permitted\|Failed to open' <<<"$out" ||
        fail "not refused: $out"
}

# Counters once, per queue pair, and as a table that renews itself.
stat_command() {
    need ib_send_bw
    "$EFASIM" run --fabric "t$$" -- "${CALL[@]}" stat_rounds "t$$" || exit
    ! "$EFASIM" stat --fabric "t$$" --json=- >"$CHECK_LOG.json" 2>"$CHECK_LOG.line" ||
        fail "no fabric: status 0"
    [ "$(python3 -c 'import json, sys; print("efasim:", json.load(sys.stdin)["error"])' \
        <"$CHECK_LOG.json")" = "$(<"$CHECK_LOG.line")" ] || fail "without a fabric, the JSON"
}

stat_moved() {
    "$EFASIM" stat --fabric "$1" | grep -qE '^   1  rdmap0s6 +[1-9][0-9]+ +[1-9]'
}

stat_twice() {
    [ "$(grep -cE '^host 1 rdmap0s6 tx_pkts +[1-9]' "$CHECK_LOG.watch")" -ge 2 ]
}

stat_rounds() {
    local port out watch
    port=$(random_port)
    killed_pair "$port" ib_send_bw -s 4096 -D 600
    wait_until "$client_pid" stat_moved "$1" || fail "the client ended"
    "$EFASIM" stat --fabric "$1" --watch >"$CHECK_LOG.watch" &
    watch=$!
    wait_until "$watch" stat_twice || fail "the table did not renew itself"
    kill "$watch"
    "$EFASIM" stat --fabric "$1" | tee "$CHECK_LOG.table"
    "$EFASIM" stat --fabric "$1" --raw | tee "$CHECK_LOG.raw"
    "$EFASIM" stat --fabric "$1" --qps | tee "$CHECK_LOG.qps"
    "$EFASIM" stat --fabric "$1" --json - >"$CHECK_LOG.json" || fail "--json: status $?"
    kill "$client_pid" "$server_pid"
    python3 - "$CHECK_LOG.json" <<'PY' || fail "the JSON"
import json
import sys
one, = [d for d in json.load(open(sys.argv[1]))['devices'] if d['host'] == 1]
assert one['tx_pkts'] > 0 and one['bytes_to']['0 rdmap0s6'] > 0, one
PY
    grep -qE '^qp node=1 device=rdmap0s6 qpn=[0-9]+ pid=[0-9]+ state=rts sent=[1-9]' \
        "$CHECK_LOG.qps" || fail "no line of a queue pair"
    grep -E '^host  device +packets sent +bytes sent ' "$CHECK_LOG.table" &&
        grep -E '^   1  rdmap0s6 +[1-9][0-9]+ +[1-9]' "$CHECK_LOG.table" &&
        grep -E '^host 1 rdmap0s6 +to host 0 rdmap0s6 +[1-9][0-9]* bytes$' \
            "$CHECK_LOG.table" || fail "the table"
    ! grep '=' "$CHECK_LOG.table" || fail "scripts' lines in the table"
    grep -E '^node=1 device=rdmap0s6 tx_pkts=[1-9]' "$CHECK_LOG.raw" &&
        grep -E '^pair src=1 dst=0 bytes=[1-9]' "$CHECK_LOG.raw" ||
        fail "the lines for scripts"
    for out in --watch=0 --watch=x --nonsense; do
        "$EFASIM" stat "$out" 2>&1 && fail "$out was taken"
    done
    true
}

# The help of a command is about it alone: a screen of common options, faults
# apart; all of them once with --help=all.
help_pages() {
    local command lines
    for command in run stat clean; do
        "$EFASIM" $command --help >"$CHECK_LOG.$command" || fail "$command --help"
        head -n 1 "$CHECK_LOG.$command" | grep "^Usage: efasim $command " ||
            fail "$command --help: its usage"
        ! sed 1d "$CHECK_LOG.$command" | grep "^ *efasim [a-z]* \[" ||
            fail "$command --help: another command's usage"
        lines=$(wc -l <"$CHECK_LOG.$command")
        at_most "lines of $command --help" "$lines" 40
        "$EFASIM" --help | grep -q "^  $command " || fail "$command is not in --help"
    done
    at_most "lines of --help" "$("$EFASIM" --help | wc -l)" 24
    ! grep -E 'inject|fail-command|srd-loss' "$CHECK_LOG.run" || fail "faults in --help"
    "$EFASIM" run --help=all >"$CHECK_LOG.all"
    grep -A 1 '^Faults:$' "$CHECK_LOG.all" | grep -e ' --inject ' || fail "faults"
    if [ -x "$BUILD/bin/efapci" ]; then
        "$BUILD/bin/efapci" --help=all >"$CHECK_LOG.efapci" || fail "efapci --help"
        grep -q -e ' --no-strict-batch ' "$CHECK_LOG.efapci" &&
            grep -q -e ' --loss P' "$CHECK_LOG.efapci" &&
            ! grep -e ' --strict-batch' "$CHECK_LOG.efapci" ||
            fail "efapci --help: an option that is on has no --no-"
    fi
    for command in all efapci; do
        ! grep -E '.{84}' "$CHECK_LOG.$command" || fail "$command: lines too long"
    done
}

# The manual page is well formed.
manual() {
    local page
    page=$(cd "$(dirname "$SUITE_SCRIPT")/.." && pwd)/src/efasim/efasim.1
    [ -e "$page" ] || skip_here "no sources here"
    help_pages
    ! command -v man >/dev/null ||
        [ -z "$(man --warnings -l "$page" 2>&1 >/dev/null)" ] ||
        fail "the page is malformed"
}

# A host has one generation of the device; another is refused with a line.
generations() {
    need ibv_devinfo
    local got out
    for got in efa0:61344 efa1:61345 efa2:61346; do
        "$EFASIM" run --fabric "t$$" --device "${got%:*}" -- ibv_devinfo |
            grep "vendor_part_id:.*${got#*:}" || fail "$got"
    done
    out=$("$EFASIM" run --fabric "t$$" --device efa1 -- \
        "$EFASIM" run --device efa2 -- true 2>&1) && fail "efa2 beside efa1"
    echo "$out"
    grep -q 'host 0 has --devices=1 --device=efa1 .*--device=efa2' <<<"$out" ||
        fail "no line"
    "$EFASIM" run --fabric "t$$" --device efa1 -- \
        "$EFASIM" run --device efa2 --node 1 -- true || fail "node 1"
}

# The devices of a host: names, PCI addresses, how many; a plan of faults may name
# one of them.
devices() {
    need ibv_devinfo
    local out number
    for number in 1 2 3 4 5 32; do
        out=$("$EFASIM" run --fabric "t$$" --devices $number -- ibv_devinfo -l)
        [ "$(grep -c rdmap <<<"$out")" -eq $number ] || fail "$number: $out"
    done
    out=$("$EFASIM" run --fabric "t$$" --devices 2 -- sh -c \
        'for d in rdmap0s6 rdmap16s6; do
            ibv_devinfo -d $d >/dev/null && readlink -f \
                /sys/class/infiniband/$d "$SYSFS_PATH/class/infiniband/$d/device"
        done')
    echo "$out"
    grep -q 'pci0000:10/0000:10:06.0$' <<<"$out" || fail "no place"
    out=$("$EFASIM" run --fabric "t$$" --devices 2 -- \
        "$EFASIM" run --devices 3 -- true 2>&1) && fail "3 devices beside 2"
    echo "$out"
    grep -q 'host 0 has --devices=2 .*--devices=3' <<<"$out" || fail "no line"
    out=$("$EFASIM" run --devices 33 -- true 2>&1) && fail "33 devices"
    grep -q -e '--devices=33: allowed is a whole number from 1 to 32' \
        <<<"$out" || fail "no line: $out"
    printf 'on 0.1 refuse-open EPERM\n' >"$CHECK_LOG.plan"
    "$EFASIM" run --fabric "t$$" --devices 2 --plan "$CHECK_LOG.plan" -- \
        ibv_devinfo -d rdmap0s6 >/dev/null || fail "the wrong one is refused"
    "$EFASIM" run --fabric "t$$" --devices 2 --plan "$CHECK_LOG.plan" -- \
        ibv_devinfo -d rdmap16s6 >/dev/null 2>&1 && fail "0.1 is not refused"
    printf 'on 0.32 delay-us 1\n' >"$CHECK_LOG.plan"
    out=$("$EFASIM" run --plan "$CHECK_LOG.plan" -- true 2>&1) && fail "0.32"
    grep -q "line 1: '0.32': allowed is hosts" <<<"$out" || fail "no line: $out"
}

# ------------------------------------------------------------ command line

exit_status() {
    local want=$1 got=0
    shift
    "$@" || got=$?
    [ "$got" -eq "$want" ] || fail "status $got, expected $want: $*"
}

# The command's status passes through, signals as shells do.
statuses() {
    local run=("$EFASIM" run --fabric "t$$" --)
    exit_status 0 "${run[@]}" true
    exit_status 7 "${run[@]}" sh -c 'exit 7'
    exit_status 143 "${run[@]}" sh -c 'kill -TERM $$'
    exit_status 137 "${run[@]}" sh -c 'kill -KILL $$'
    exit_status 127 "${run[@]}" /nonexistent/program
}

# Each bad value: not 0, and one line that names it.
bad_options() {
    local option out
    for option in '--node 8' '--node -1' '--node x' '--reorder 2' \
        '--seed x' '--inject jump:1' '--inject send:256' '--max-ah 0x' \
        '--timeout-ms -5' '--device efa9' '--inject send:7:1.5' \
        '--fail-command reg-mr:0' '--rnr-retry 8' \
        '--nonsense' '--per-node 0'; do
        # shellcheck disable=SC2086 # an option and its value
        if out=$("$EFASIM" run $option -- true 2>&1); then
            fail "$option was taken"
        fi
        echo "$option -> $out"
        [ -n "$out" ] || fail "$option: no message"
    done
    if out=$(EFASIM_REORDER=2 "$EFASIM" run -- true 2>&1); then
        fail "EFASIM_REORDER=2 was taken"
    fi
    grep -q 'EFASIM_REORDER=2' <<<"$out" || fail "EFASIM_REORDER=2: $out"
    # Set for one process only, it may not end that process.
    out=$("$EFASIM" run --fabric "t$$" -- env EFASIM_REORDER=2 \
        ibv_devinfo 2>&1 >/dev/null) || fail "EFASIM_REORDER=2 ended it"
    grep -q 'EFASIM_REORDER=2' <<<"$out" || fail "EFASIM_REORDER=2: no line"
}

# Programs without verbs run as ever, output and status.
foreign_programs() {
    local out
    need python3 git
    out=$("$EFASIM" run --fabric "t$$" -- bash -c 'echo $((6 * 7))')
    [ "$out" = 42 ] || fail "bash: $out"
    out=$("$EFASIM" run --fabric "t$$" -- python3 -c 'print(42)')
    [ "$out" = 42 ] || fail "python3: $out"
    out=$("$EFASIM" run --fabric "t$$" -- git --version)
    [ "$out" = "$(git --version)" ] || fail "git: $out"
}

# The caller's LD_PRELOAD comes behind ours and stays.
keeps_preload() {
    local out
    out=$(LD_PRELOAD=libpthread.so.0 "$EFASIM" run --fabric "t$$" -- \
        sh -c 'echo "$LD_PRELOAD"')
    echo "$out"
    [[ $out =~ libefasim.*libpthread\.so\.0 ]] || fail "LD_PRELOAD=$out"
}

# Each node is a host of its own: nodes share no System V or POSIX memory, the
# processes of one node do.
nodes_are_hosts() {
    local script='ls -i /dev/shm | head -n 5; readlink /proc/self/ns/ipc'
    local one two three
    "$EFASIM" run --fabric "t$$" -- bash -c "
        '$EFASIM' run --node 0 -- sh -c '$script' >'$CHECK_LOG.0'
        '$EFASIM' run --node 1 -- sh -c '$script' >'$CHECK_LOG.1'
        '$EFASIM' run --node 0 -- sh -c '$script' >'$CHECK_LOG.2'"
    one=$(tail -n 1 "$CHECK_LOG.0")
    two=$(tail -n 1 "$CHECK_LOG.1")
    three=$(tail -n 1 "$CHECK_LOG.2")
    echo "$one $two $three"
    [ "$one" != "$two" ] || fail "nodes 0 and 1 share $one"
    [ "$one" = "$three" ] || fail "node 0 is not itself: $one, $three"
}

# Ranks of a launcher: K per node.
per_node() {
    local rank got
    for rank in 0 1 2 3; do
        got=$(OMPI_COMM_WORLD_LOCAL_RANK=$rank "$EFASIM" run \
            --fabric "t$$" --per-node 2 -- sh -c 'echo "$EFASIM_NODE"')
        [ "$got" = $((rank / 2)) ] || fail "rank $rank on node $got"
    done
}

# After the death of everything (kill -9) `efasim clean`, and the next run by
# itself, leave nothing behind.
killed_leaves_nothing() {
    local fabric=t$$ pid
    "$EFASIM" run --fabric $fabric -- sleep 300 &
    pid=$!
    until shm_list | grep -q "$fabric" && pgrep -x -P $pid sleep; do sleep 0.05; done
    kill -KILL "$(pgrep -P $pid | head -n 1)" $pid
    wait $pid 2>/dev/null
    "$EFASIM" "$@" || fail "efasim $*"
    ! shm_list | grep -q "$fabric" || fail "left: $(shm_list)"
}

# A pair of processes, on hosts 0 and 1, of which one is killed (kill -9) at a
# moment that chance chooses; the fabric must then serve another pair.
killed_at_random() {
    local rounds=$1
    need ib_send_bw
    nothing_left "$EFASIM" run --fabric "k$$" -- "${CALL[@]}" killed_rounds "$rounds"
}

killed_rounds() {
    local round pids victim port
    for ((round = 1; round <= $1; ++round)); do
        port=$(random_port)
        killed_pair "$port" ib_send_bw -s 4096 -D 30
        pids=("$(pgrep -P "$server_pid" -x ib_send_bw)" \
            "$(pgrep -P "$client_pid" -x ib_send_bw)" "$server_pid" "$client_pid")
        sleep "0.$((RANDOM % 50 + 10))"
        victim=${pids[RANDOM % 2]}
        [ -z "$victim" ] || kill -KILL "$victim"
        sleep 0.1
        kill -KILL "${pids[@]}" 2>/dev/null
        wait "$server_pid" "$client_pid" 2>/dev/null
        [ $((round % 5)) -eq 0 ] || continue
        port=$(random_port)
        killed_pair "$port" ib_send_lat -s 16 -n 100
        wait "$client_pid" || fail "round $round: the next pair, status $?"
        wait "$server_pid" || fail "round $round: the next server, status $?"
        echo "round $round"
    done
}

# Starts PROGRAM on host 0 and 1; sets server_pid and client_pid.
killed_pair() {
    local port=$1
    shift
    local command=("$@" -c SRD -d rdmap0s6 -x 0 -p "$port")
    [ "$1" != ib_send_bw ] || command+=(-Q 1)
    "$EFASIM" run --node 0 -- "${command[@]}" >"$CHECK_LOG.server" 2>&1 &
    server_pid=$!
    wait_listen "$port" "$server_pid" || fail "the server ended"
    "$EFASIM" run --node 1 -- "${command[@]}" 127.0.0.1 \
        >"$CHECK_LOG.client" 2>&1 &
    client_pid=$!
}

# Two fabrics at the same time, with the same host numbers, do not meet.
several_fabrics() {
    need ib_send_lat
    local a=a$$ b=b$$ port pids=() pid
    for name in "$a" "$b"; do
        "$EFASIM" run --fabric "$name" --stat="$CHECK_LOG.$name" -- \
            "$SUITE_SCRIPT" --call "$SUITE" "$BUILD" "$PROFILE" \
            "$CHECK_LOG.$name" latency_pair &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || fail "a pair: status $?"
    done
    for name in "$a" "$b"; do
        at_most "bytes of $name" "$(pair_bytes "$CHECK_LOG.$name" 1 0)" 32000
        at_least "bytes of $name" "$(pair_bytes "$CHECK_LOG.$name" 1 0)" 32000
    done
}

latency_pair() {
    local port
    port=$(random_port)
    killed_pair "$port" ib_send_lat -s 32 -n 1000
    wait "$client_pid" || fail "the client: status $?"
    wait "$server_pid" || fail "the server: status $?"
}

left_by_verbs() {
    nothing_left verbs_check 'process.*' || exit 1
}

suite_run() {
    local seed

    check engine 60 engine_check
    check hostile_guests 120 hostile_check
    alone_begin
    alone huge_pages 60 huge_check
    alone verbs_keeps_up 60 verbs_check 'keeps_up.*'
    alone verbs_event 60 verbs_check 'Event.*:event.*'
    alone_end
    check soak "$(full && echo 2000 || echo 60)" soak \
        "$(full && echo 1800 || { ci && echo 15 || echo 3; })"

    at_once 2 # they wait, mostly; those below look at all fabrics
    check verbs_device 60 verbs_check \
        'device.*:ah.*:mr.*:counters.*'
    check pages_64k 60 pages_64k
    check verbs_qp 60 verbs_check 'qp*:post.*'
    check verbs_data 60 verbs_check 'Data.*'
    check verbs_ud 60 verbs_check 'ud.*'
    check verbs_ud_efa0 60 verbs_check 'ud.*' --device efa0
    check verbs_dmabuf 60 verbs_check 'Dmabuf.*:GpuMemory.*'
    check verbs_gpu_peer 60 verbs_check 'GpuMemory.*' --peer-memory --no-dmabuf
    check verbs_overrun 60 overrun_check
    [ -z "${OVERRUN_UNEXPECTED-}" ] ||
        check overrun_unexpected 60 verbs_check 'Overrun.*'
    check verbs_status 120 verbs_check 'Status.*:status_rnr.*'
    ci && check verbs_write_efa2 60 newer_check 13 'Write.*:ud*' efa2
    ci && check verbs_write_efa3 60 newer_check sid 'Write.*:Data.*:ud.*' efa3
    ci && check verbs_newer_efa2 60 newer_check sid 'Newer.*cq*' efa2
    ci && check verbs_newer_efa4 60 newer_check sid 'Newer.*:Counters.*' efa4 --ic-id 5
    ci && check verbs_direct 60 newer_check sid 'Direct.*' efa2
    check verbs_rails 120 verbs_check 'rails.*' --devices 4
    check verbs_control 30 verbs_check 'control.*'
    check cli_generations 30 generations
    check cli_devices 30 devices
    check verbs_fault 60 verbs_check 'fault.*'
    check cli_plans 20 plans
    check cli_stat 30 stat_command
    check as_p5 20 as_p5
    check cli_manual 20 manual
    check cli_joins 20 joins
    check class_infiniband 20 class_infiniband
    check verbs_share 30 verbs_check 'Share.*:share.*'
    check verbs_process 120 verbs_check 'process.*'
    check verbs_stopped 60 verbs_check 'stopped.*'
    ci && check verbs_stopped_efa2 60 newer_check 13 'stopped.*' efa2
    check verbs_fork 60 verbs_check 'fork.*'
    at_once 1
    check memory_hooks 90 memory_hooks
    check threads_tsan 100 threads_with tsan -fsanitize=thread
    ci && check threads_asan 100 threads_with asan -fsanitize=address,undefined
    ci && check threads_valgrind 100 threads_valgrind
    check verbs_signal 60 verbs_check 'Signal.*'
    for seed in $(seeds 1 20); do
        check "verbs_data_reorder_$seed" 60 verbs_check \
            'Data.*:Event.*:process.*' --reorder 0.3 --seed "$seed"
    done

    check cli_statuses 20 statuses
    check cli_bad_options 20 bad_options
    check file_limit 20 file_limit
    check cli_foreign_programs 20 foreign_programs
    check cli_keeps_preload 20 keeps_preload
    check cli_nodes_are_hosts 20 nodes_are_hosts
    check cli_gids_differ 20 gids_differ
    check cli_per_node 20 per_node
    check other_container 60 other_container
    check rdma_between_containers 60 rdma_between_containers
    check killed_then_clean 30 killed_leaves_nothing clean
    check killed_then_run 30 killed_leaves_nothing run -- true
    check nothing_left 120 left_by_verbs
    ci && check killed_at_random 600 killed_at_random "$(full && echo 200 || echo 5)"
    check several_fabrics 60 several_fabrics
    check two_users 30 two_users
    check planted 30 planted
    check planted_outputs 30 planted_outputs
    check planted_unseen 30 planted_unseen
    check planted_later 20 planted_later
    check planted_fuse 60 planted_fuse
    check planted_cache 40 planted_cache
    check planted_python 30 planted_python
    check planted_bench 60 planted_bench
    check user_namespaces 30 user_namespaces
    ci && check shm_full 120 shm_full
}

suite_main efasim "$@"
