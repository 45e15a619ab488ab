#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# srd_info --top: who stalls whom. Sourced by suite_info.sh and suite_mpi.sh.
# shellcheck shell=bash

TOP_PIDS=()

# top_pair NODE_OPTIONS... -- ARGUMENT...: ucx_perftest on two nodes, which goes on
# until the check ends; the processes of both are TOP_PIDS, the server's first. The
# client's node has the options of TOP_CLIENT, too.
TOP_CLIENT=()
top_pair() {
    local sim=() port
    while [ "$1" != -- ]; do sim+=("$1"); shift; done
    shift
    need python3
    need_perftest
    rm -f "$CHECK_LOG".{server,client} # of a run before: it is looked at below
    port=$(random_port)
    top_start "$CHECK_LOG.server" "${sim[@]}" --node 0 -- \
        "${STOCK_PERFTEST[@]}" -p "$port"
    wait_listen "$port" "${TOP_PIDS[0]}" || fail "no server: $(cat "$CHECK_LOG.server")"
    top_start "$CHECK_LOG.client" "${sim[@]}" "${TOP_CLIENT[@]}" --node 1 -- \
        "${STOCK_PERFTEST[@]}" -p "$port" 127.0.0.1 "$@"
    # a second of it
    wait_until "${TOP_PIDS[1]}" grep -q '^\[thread 0\]' "$CHECK_LOG.client" ||
        fail "no client: $(cat "$CHECK_LOG.client")"
}

# top_start LOG OPTION... -- COMMAND...: in the background; its process, which
# efasim and srdrun become, goes to TOP_PIDS.
top_start() {
    local log=$1 sim=()
    shift
    while [ "$1" != -- ]; do sim+=("$1"); shift; done
    shift
    "$EFASIM" run --fabric "t$$" "${sim[@]}" -- "$SRDRUN" "$@" >"$log" 2>&1 &
    TOP_PIDS+=($!)
    trap 'kill -9 "${TOP_PIDS[@]}" 2>/dev/null' EXIT
}

# top_pid LAUNCHER: the process of the program that it started, or itself.
top_pid() {
    local child
    child=$(ps -o pid=,comm= --ppid "$1" | awk '$2 != "efasim-standby" { print $1; exit }')
    if [ -n "$child" ]; then top_pid "$child"; else echo "$1"; fi
}

# top_json: into $CHECK_LOG.json.
top_json() {
    "$BUILD/bin/srd_info" --top --json - >"$CHECK_LOG.json" ||
        fail "status $?: $(cat "$CHECK_LOG.json")"
}

# top_says EXPRESSION [ARGUMENT...]: true of $CHECK_LOG.json, as `top`; `mine`
# are the interfaces of process a[0].
top_says() {
    python3 - "$CHECK_LOG.json" "$@" <<'PY' || fail "not so: $*"
import json
import sys
with open(sys.argv[1], encoding='utf-8') as file:
    top = json.load(file)
a = [int(word) for word in sys.argv[3:]]
mine = [one for one in top['interfaces'] if a and one['pid'] == a[0]]
if not eval(f'({sys.argv[2]})'):
    print(json.dumps([top['headline'], top['waits'], top['peers'], mine], indent=1))
    sys.exit(1)
PY
}

# top_becomes EXPRESSION [ARGUMENT...]: looks until it is true.
top_becomes() {
    local pid
    until (top_json && top_says "$@") >/dev/null 2>&1; do
        for pid in "${TOP_PIDS[@]}"; do
            kill -0 "$pid" || fail "a program ended before: $*"
        done
        sleep 0.1
    done
}

# Rates, an estimate of bytes, text as JSON; the page is its user's, and gone with
# a process that is killed.
top_shows() {
    local client server path
    export UCX_TLS=srd
    OMPI_COMM_WORLD_RANK=7 top_pair -- -t tag_bw -s 2000 -n 1000000000
    server=$(top_pid "${TOP_PIDS[0]}") client=$(top_pid "${TOP_PIDS[1]}")
    top_becomes 'len(mine) == 1 and mine[0]["rank"] == 7 and
        mine[0]["transport"] == "srd" and mine[0]["does"] == "works" and
        mine[0]["counters"]["messages_sent"] > 1000' "$client"
    # of a message that many bytes, headers with it
    top_becomes 'any(peer["messages_out_per_second"] > 0 and
        2000 <= peer["bytes_per_second"] / peer["messages_out_per_second"] < 2100
        for peer in top["peers"])'
    top_becomes 'any(peer["messages_in_per_second"] > 0 for peer in top["peers"])'
    "$BUILD/bin/srd_info" --top >"$CHECK_LOG.text" || fail "to a file: $?"
    cat "$CHECK_LOG.text"
    grep -Eq "^ +7 +$client ucx_perftest +srd +rdmap" "$CHECK_LOG.text" ||
        fail "the process is not in the text"
    "$BUILD/bin/srd_info" --top --json "$CHECK_LOG.file" || fail "to a file: $?"
    cp "$CHECK_LOG.file" "$CHECK_LOG.json"
    top_says 'len(mine) == 1' "$client"
    [ ! -e "$CHECK_LOG.file.new" ] || fail "a file was left"
    python3 -B "$TEST_DIR/../contrib/examples/efa_top_prom.py" \
        "$CHECK_LOG.json" "$CHECK_LOG.prom" || fail "not for Prometheus"
    grep -Eq "^efa_messages_sent_total\{.*pid=\"$client\".*\} [1-9][0-9]+\$" \
        "$CHECK_LOG.prom" || fail "no counter for Prometheus"
    path=$(python3 "$TEST_DIR/top_pages.py" find "$client") || exit 1
    [ "$(grep -c ' 0o600$' <<<"$path")" = 1 ] || fail "not one page of 0600: $path"
    ! grep -q '^written' <<<"$path" || fail "another process could write it"
    kill -9 "$client"
    wait "${TOP_PIDS[1]}"
    top_json
    top_says 'not mine' "$client"
    top_says 'mine' "$server"
}

# top_network_at LOSS EXPECTED: --top, --counters and the line at the close say what the
# device sent again; the first of a program that goes on, the others of one that ends.
top_network_at() {
    local inside=("$EFASIM" run --fabric "t$$" --loss "$1" --node 1 --)
    local out=$CHECK_LOG.out words="the network retransmitted $2" port pid
    export UCX_TLS=srd
    top_pair --loss "$1" -- -t tag_bw -s 1000 -n 1000000000
    "${inside[@]}" "$BUILD/bin/srd_info" --top --once >"$out" || fail "--once: $?"
    grep -Eq "within [1-9.]+ s $words" "$out" || fail "--top: $(cat "$out")"
    "${inside[@]}" "$BUILD/bin/srd_info" --top --json - >"$CHECK_LOG.json" ||
        fail "--json: $?"
    top_says 'len(top["devices"]) == 1 and (a[0] > 0) ==
        (top["devices"][0]["counters"]["retrans_pkts"] > 0) ==
        (top["devices"][0]["packets_retransmitted_per_second"] > 0)' "${1#0.}"
    kill -9 "$(top_pid "${TOP_PIDS[0]}")" "$(top_pid "${TOP_PIDS[1]}")"
    port=$(random_port)
    UCX_LOG_LEVEL=info top_start "$out" --loss "$1" --node 0 -- \
        "${STOCK_PERFTEST[@]}" -p "$port"
    pid=${TOP_PIDS[-1]}
    wait_listen "$port" "$pid" || fail "no server: $(cat "$out")"
    UCX_LOG_LEVEL=info "${inside[@]}" bash -c '"${@:2}" && "$1" --counters 0' - \
        "$BUILD/bin/srd_info" "${PERFTEST[@]}" -p "$port" 127.0.0.1 -t tag_lat -n 1000 \
        >"$out.client" 2>&1 || fail "$(tail -n 3 "$out.client")"
    wait "$pid" || fail "$(tail -n 3 "$out")"
    [ "$(cat "$out" "$out.client" | grep -Ec "EFA  INFO  .* $words")" = 2 ] &&
        grep -E "^rdmap0s6 .*; $words" "$out.client" || fail "not both: $words"
}

top_network() {
    (top_network_at 0 'no packet$') && (top_network_at 0.2 '[1-9][0-9]* packets ') ||
        exit 1
}

# The bytes that a receiver reads by rendezvous.
top_rma() {
    export UCX_TLS=srd
    top_pair -- -t tag_bw -s 1000000 -n 1000000000
    top_json
    top_says 'max(peer["bytes_per_second"] for peer in top["peers"]) > 1e6'
    top_says 'mine[0]["counters"]["rma_posted"] > 10' \
        "$(top_pid "${TOP_PIDS[0]}")"
}

# A receiver without buffers for half of what comes, which reads all the same: ranks
# that wait for its buffers, most of the time, are stalled by it.
top_rnr() {
    export UCX_TLS=srd
    TOP_CLIENT=(--inject send:10:0.5)
    OMPI_COMM_WORLD_RANK=7 top_pair -- -t tag_bw -s 2000 -n 1000000000
    top_becomes 'any(wait["stalled"] and wait["pid"] == a[0] and
            wait["wants"].endswith("receiver\x27s buffers") for wait in top["waits"]) and
        any(cause.endswith(f" receiver\x27s buffers: rank 7, process {a[1]} works")
            for cause in top["causes"] if " stalls 1 rank, waiting for " in cause) and
        max(peer["receiver_not_ready"] for peer in top["peers"]) > 0.5' \
        "$(top_pid "${TOP_PIDS[1]}")" "$(top_pid "${TOP_PIDS[0]}")"
}

# Sent again and again, to a host that is cut off: that is no traffic.
top_again() {
    export UCX_TLS=ud UCX_EFA_UD_TRIES=127 # so that it lasts longer than a slow look
    echo 'after 3000 on 1 absent' >"$CHECK_LOG.plan"
    TOP_CLIENT=(--plan "$CHECK_LOG.plan" --delay-us 30000)
    top_pair -- -t tag_bw -s 2000 -n 1000000000
    top_becomes 'mine and mine[0]["does"] == "polls" and mine[0]["moved_seconds_ago"] > 8 and
        mine[0]["counters"]["messages_resent"] > 10' "$(top_pid "${TOP_PIDS[1]}")"
}

top_off() {
    local pid
    export UCX_TLS=srd
    UCX_EFA_TOP=n top_pair -- -t tag_lat -n 1000000000
    for pid in "$(top_pid "${TOP_PIDS[0]}")" "$(top_pid "${TOP_PIDS[1]}")"; do
        find "/proc/$pid/fd" -lname '*uverbs*' | grep -q . || fail "no device"
        [ -z "$(python3 "$TEST_DIR/top_pages.py" find "$pid")" ] ||
            fail "a page with UCX_EFA_TOP=n"
    done
}

# The first line: a process that is stopped, amidst its messages, for longer than the
# device waits for an answer; it costs nobody an endpoint. Then the line of pages.
top_worst() {
    local stopped pids
    need python3
    export UCX_TLS=srd
    OMPI_COMM_WORLD_RANK=7 top_pair --timeout-ms 2000 -- -t tag_bw -s 2000 -n 1000000000
    pids=("$(top_pid "${TOP_PIDS[0]}")" "$(top_pid "${TOP_PIDS[1]}")")
    for stopped in "${pids[@]}"; do
        kill -STOP "$stopped"
        top_becomes '(top["headline"] or "").startswith(f"rank 7 (process {a[0]}, "
            "ucx_perftest) is stopped; ") and
            float(top["headline"].split()[-3]) > 4 and
            (a[0] != a[1] or "; 1 rank waits; last" in top["headline"])' "$stopped" "${pids[0]}"
        kill -CONT "$stopped"
        top_becomes 'mine and f"process {a[0]}," not in (top["headline"] or "") and
            any(peer["messages_out_per_second"] > 0 for peer in top["peers"])' "$stopped"
    done
    kill -9 "${TOP_PIDS[@]}" "${pids[@]}"
    python3 -B "$TEST_DIR/top_keys.py" "$BUILD/bin/srd_info" states || fail "status $?"
}

# On a terminal: keys, the interval, signals.
top_keys() {
    need python3
    python3 -B "$TEST_DIR/top_keys.py" "$BUILD/bin/srd_info" early || fail "status $?"
    python3 -B "$TEST_DIR/top_keys.py" "$BUILD/bin/srd_info" || fail "status $?"
}

# A limit on file sizes that has no room for the page: one line says so, and the
# program goes on. Files of the emulated device come before the page, so the limit
# does, too, when the module tries to record just before it shows its page.
top_limit() {
    local shim=$CHECK_LOG.so status
    need "${CC:-gcc}" ucx_info
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers are on"
    ${CC:-gcc} -shared -fPIC -w -x c -o "$shim" - -ldl <<'END' || fail "no shim"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/resource.h>
int openat(int folder, const char *path, int flags, int mode)
{
    int (*real)(int, const char *, int, int) = dlsym(RTLD_NEXT, "openat");
    if (!strcmp(path, "nonexistent")) {
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0});
    }
    return real(folder, path, flags, mode);
}
int openat64(int folder, const char *path, int flags, int mode)
{
    return openat(folder, path, flags, mode);
}
END
    LD_PRELOAD=$shim UCX_EFA_RECORD=/nonexistent UCX_LOG_LEVEL=debug "$EFASIM" run \
        --fabric "t$$" -- "$SRDRUN" ucx_info -d -t srd 2>&1 | cat >"$CHECK_LOG.out"
    status=${PIPESTATUS[0]}
    [ "$status" = 0 ] || fail "status $status: $(tail -n 3 "$CHECK_LOG.out")"
    grep -q 'Transport: srd' "$CHECK_LOG.out" || fail "no srd"
    [ "$(grep -c 'not shown by srd_info --top: File too large' "$CHECK_LOG.out")" = 1 ] ||
        fail "not one line: $(grep -e --top "$CHECK_LOG.out")"
}

# Datagrams that are lost.
top_ud() {
    export UCX_TLS=ud
    top_pair --loss 0.05 -- -t tag_bw -s 1000 -n 1000000000
    top_json
    top_says 'max(peer["lost"] for peer in top["peers"]) > 0.01'
    top_says 'mine[0]["counters"]["messages_resent"] > 10' \
        "$(top_pid "${TOP_PIDS[1]}")"
}

# top_shown ARG...: a process that shows pages (top_pages.py ARG...) is there, the
# last of TOP_PIDS; started by TOP_INSIDE.
TOP_INSIDE=()
top_shown() {
    local said=$CHECK_LOG.$1.${3##*/}
    rm -f "$said" # of a run before
    sleep 600 | "${TOP_INSIDE[@]}" python3 -B "$TEST_DIR/top_pages.py" "$@" >"$said" &
    TOP_PIDS+=($!)
    wait_until "${TOP_PIDS[-1]}" grep -qs ready "$said" ||
        fail "top_pages.py $* is not ready"
}

# Pages of a process that means no good: nothing of them does harm, and the good
# ones are shown.
top_hostile() {
    local server seed pid
    export UCX_TLS=srd
    top_pair -- -t tag_lat -n 1000000000
    server=$(top_pid "${TOP_PIDS[0]}")
    for seed in 1 2; do
        top_shown hostile "$server" $seed
        pid=${TOP_PIDS[-1]}
        top_json
        top_says 'mine' "$server"
        top_says 'len(mine) > 10' "$pid"
        "$BUILD/bin/srd_info" --top --once >"$CHECK_LOG.text" ||
            fail "--once: status $?"
        ! LC_ALL=C grep -q '[^ -~]' "$CHECK_LOG.text" ||
            fail "text that does something to a terminal"
        # those it has no descriptor for are told of
        (ulimit -n 12 && "$BUILD/bin/srd_info" --top --once >"$CHECK_LOG.text") ||
            fail "--once with few descriptors: status $?"
        grep -q '^[1-9][0-9]* interfaces more are not read' "$CHECK_LOG.text" ||
            fail "not all are read, and no word: $(head -n 3 "$CHECK_LOG.text")"
        kill -9 "$pid"
    done
    top_places
    [ "$(id -u)" = 0 ] || return 0
    top_shown setuid "$server" 4242
    top_json
    top_says 'not mine' "${TOP_PIDS[-1]}"
    top_shown foreign "$server" 4242
    unshare -m true 2>/dev/null || return 0
    mkdir -p "$CHECK_LOG.mnt"
    TOP_INSIDE=(unshare -m)
    top_shown fifo "$server" "$CHECK_LOG.mnt"
    top_json
    top_says 'not mine' "${TOP_PIDS[-2]}"
    ! grep opened "$CHECK_LOG.fifo.${CHECK_LOG##*/}.mnt" || fail "no page, and is opened"
}

# Interfaces of several processes, more together than are read of one: all are
# read, but for those beyond that. The program's own descriptors are none.
top_many() {
    local server pid count
    export UCX_TLS=srd
    top_pair -- -t tag_lat -n 1000000000
    server=$(top_pid "${TOP_PIDS[0]}")
    top_shown many "$server" 60
    top_shown many "$server" 61
    "$BUILD/bin/srd_info" --top --once >"$CHECK_LOG.text" || fail "--once: status $?"
    for pid in "${TOP_PIDS[@]: -2}"; do # other checks have pages, too
        at_least "interfaces of $pid" "$(grep -c "^ *- *$pid " "$CHECK_LOG.text")" 60
    done
    ! grep 'more are not read' "$CHECK_LOG.text" || fail "all are read"
    top_shown many "$server" 70
    "$BUILD/bin/srd_info" --top --once >"$CHECK_LOG.text" || fail "--once: status $?"
    grep '^6 interfaces more are not read' "$CHECK_LOG.text" ||
        fail "of one process: $(head -n 3 "$CHECK_LOG.text")"
    # nor does it take time for them that the hash of many is never right
    for count in {301..310}; do top_shown forged "$server" "$count"; done
    (ulimit -t 3 && "$BUILD/bin/srd_info" --top --once >"$CHECK_LOG.text") ||
        fail "forged: status $?"
    grep '^[1-9][0-9]* interfaces more are not read' "$CHECK_LOG.text" || fail "and no word"
}

# Where it writes: a link in its way is not followed, a full disk is told; what is
# no file is not replaced by one (/dev/null, of the system administrator).
top_places() {
    local json=$CHECK_LOG.place.json said place
    echo mine >"$CHECK_LOG.victim"
    ln -sf "$CHECK_LOG.victim" "$json.new"
    "$BUILD/bin/srd_info" --top --json="$json" || fail "--json: status $?"
    [ "$(cat "$CHECK_LOG.victim")" = mine ] || fail "it wrote behind a link"
    grep -q '"interfaces"' "$json" || fail "no page"
    said=$("$BUILD/bin/srd_info" --top --once 2>&1 >/dev/full) && fail "onto a full disk"
    grep -q 'srd_info: --top: not all was printed: No space left.*make room' <<<"$said" ||
        fail "onto a full disk: $said"
    rm -f "$json"
    mkfifo "$json.fifo" # whose name, from a folder for all, may be another's
    ln -s "$json.fifo" "$json"$'.\033x\ny'
    said=$("$BUILD/bin/srd_info" --top --json="$json"$'.\033x\ny' 2>&1)
    grep -q '\.?x?y: it is no file' <<<"$said" || fail "onto a name: $said"
    rm "$json"$'.\033x\ny'
    ln -sf /dev/null "$json.link"
    for place in "$json.fifo" "$json.link"; do
        said=$("$BUILD/bin/srd_info" --top --json="$place" 2>&1) && fail "onto $place"
        grep -q 'json=.*: it is no file' <<<"$said" || fail "onto $place: $said"
    done
    [ -p "$json.fifo" ] && [ -L "$json.link" ] || fail "it was replaced by a file"
    rm "$json.fifo" "$json.link"
    [ -z "${SRD_SANITIZE-}" ] || return 0
    # another takes away what was just written
    ${CC:-gcc} -shared -fPIC -w -x c -o "$json.so" - <<<'int renameat(int from, char *name)
    { unlinkat(from, name, 0); return openat(from, name, 0); }' || fail "no shim"
    said=$(LD_PRELOAD=$json.so "$BUILD/bin/srd_info" --top --json="$json" 2>&1) &&
        fail "of no file: $said"
    [ "$said" = "srd_info: --json=$json: No such file or directory" ] || fail "of no file: $said"
}

# The viewer runs by the system's Python and reads its own library alone, whatever the
# environment says. A line says what is not there: Python, or the viewer.
top_python() {
    local dir=$CHECK_LOG.odd said name
    [ -x /usr/bin/python3 ] || skip_here "no /usr/bin/python3"
    rm -rf "$dir" && mkdir -p "$dir"/{bin,lib}
    printf '#!/bin/sh\ntouch %q\n' "$dir/ran" | tee "$dir/bin/python3" >"$dir/bin/python"
    chmod +x "$dir"/bin/*
    said=$dir/lib/$(/usr/bin/python3 -c 'import sys
print("python%d.%d" % sys.version_info[:2])')
    mkdir -p "$said"
    for name in "${said#"$dir/"}/os" json sitecustomize usercustomize pages; do
        echo "open('$dir/ran', 'w')" >"$dir/$name.py"
    done
    said=$(cd "$dir" && PATH=$dir/bin:$PATH PYTHONPATH=$dir PYTHONHOME=$dir \
        "$BUILD/bin/srd_info" --top --json - 2>&1)
    grep -q '"headline"' <<<"$said" || fail "with another's environment: $said"
    [ ! -e "$dir/ran" ] || fail "it ran what the environment names"
    cp "$BUILD/bin/srd_info" "$dir/bin/" && cp "$BUILD/lib/libuct_srd.so.0" "$dir/lib/"
    said=$("$dir/bin/srd_info" --top --once 2>&1) && fail "without a viewer: status 0"
    grep -q '^srd_info: --top: no srd_top beside the module' <<<"$said" || fail "$said"
    unshare -rm true 2>/dev/null || return 0
    # shellcheck disable=SC2016 # the inner shell's
    said=$(unshare -rm sh -c 'for each in /usr/bin/python3 /usr/local/bin/python3; do
        [ ! -e $each ] || mount --bind /dev/null $each; done; exec "$0" --top --once' \
        "$BUILD/bin/srd_info" 2>&1) && fail "without Python: status 0"
    grep -q '^srd_info: --top: there is no /usr/bin/python3: install' <<<"$said" || fail "$said"
}

# top_sleeper RANKS: a rank that sleeps is named in each of the others.
top_sleeper() {
    local ranks=$1 sleeper=$(($1 / 2)) job stalls
    stalls='{wait["rank"] for wait in top["waits"] if wait["stalled"] and
        wait["for_rank"] == a[1] and wait["seconds"] > 1} == set(range(a[0])) - {a[1]}'
    export SLEEPER_UNTIL=$CHECK_LOG.until
    need mpirun python3 test/mpi_check
    {
        openmpi "$ranks" 1 srd,self "$BUILD/test/mpi_check" sleeper 1
        at_least packets "$(stat_sum "$STAT" tx_pkts)" 3000
    } >"$CHECK_LOG.mpi" 2>&1 &
    job=$!
    until (top_json && top_says "$stalls" "$ranks" "$sleeper") >/dev/null 2>&1; do
        kill -0 "$job" || fail "mpi_check: $(tail -n 3 "$CHECK_LOG.mpi")"
        sleep 0.2
    done
    "$BUILD/bin/srd_info" --top --once | tee "$CHECK_LOG.text"
    head -n 1 "$CHECK_LOG.text" | grep -Eq \
        "^rank $sleeper \(process [0-9]+, mpi_check\) sleeps; $((ranks - 1)) ranks wait; last" ||
        fail "the first line: $(head -n 1 "$CHECK_LOG.text")"
    : >"$SLEEPER_UNTIL"
    wait "$job" || fail "mpi_check: $(tail -n 3 "$CHECK_LOG.mpi")"
}

# top_names CAUSE HOW OPTION...: six ranks, or RANKS, hang in this way (test/apps/mpi_hang.c)
# amidst an all-to-all, and the first line is, in a while, of this pattern. Where AND
# is set, a line is of that pattern, and the last rank is stopped then.
top_names() {
    local want=$1 how=$2 ranks=${RANKS-6} job last looks=0
    shift 2
    # shellcheck disable=SC2034 # openmpi() uses it
    EFASIM_OPTIONS=(--timeout-ms 600000 "$@")
    TOP_PIDS=()
    export HANG_UNTIL=$CHECK_LOG.until
    rm -f "$CHECK_LOG.out" "$HANG_UNTIL" # of the job before
    (openmpi "$ranks" 1 "${TLS-srd}" "$BUILD/test/mpi_hang" "$how") >"$CHECK_LOG.out" 2>&1 &
    job=$!
    trap 'kill -9 "${TOP_PIDS[@]}" 2>/dev/null; kill $job 2>/dev/null' EXIT
    until [ "$(grep -cs '^hangs$' "$CHECK_LOG.out")" = "$ranks" ]; do
        kill -0 "$job" || fail "$how: it ended: $(tail -n 5 "$CHECK_LOG.out")"
        sleep 0.1
    done
    top_json
    mapfile -t TOP_PIDS < <(python3 -c '
import json, sys
ranks = {one["rank"]: one["pid"] for one in json.load(sys.stdin)["interfaces"]
         if one["program"] == "mpi_hang"}
print(*(pid for _, pid in sorted(ranks.items(), reverse=True)), sep="\n")' <"$CHECK_LOG.json")
    [ ${#TOP_PIDS[@]} = "$ranks" ] || fail "$how: ${#TOP_PIDS[@]} processes"
    last=${TOP_PIDS[0]}
    [ "$how" != stop ] || kill -STOP "$last"
    : >"$HANG_UNTIL"
    until top_json && grep -aqE "\"headline\": \"${want/PID/$last}" "$CHECK_LOG.json" &&
        grep -aqE "^ +\"${AND-}" "$CHECK_LOG.json"; do
        kill -0 "$job" || fail "$how: it ended: $(tail -n 5 "$CHECK_LOG.out")"
        [ $((looks += 1)) -lt 100 ] ||
            fail "$how: $(sed -n '/"headline"/,/\]/p' "$CHECK_LOG.json")"
        [ -z "${AND-}" ] || ! grep -aqE "^ +\"$AND" "$CHECK_LOG.json" || kill -STOP "$last"
    done
    sed -n '/"headline"/,/\]/p' "$CHECK_LOG.json"
    kill -9 "${TOP_PIDS[@]}"
    wait "$job"
    trap - EXIT
}

# A job that hangs: the first line alone tells the cause.
top_hangs() {
    need python3 test/mpi_hang
    local plan=$CHECK_LOG.plan rank='rank [0-5] .process [0-9]+, mpi_hang.'
    echo 'after 1000 partition 0,1,2,3,4 5' >"$plan"
    # its card acknowledges, so nobody's sends wait for it
    top_names 'rank 5 .process PID, mpi_hang. is stopped; last traffic' stop
    full && top_names 'rank 5 .process PID, mpi_hang. computes, outside of UCX; last traffic' \
        loop
    full && top_names 'rank 5 .process PID, mpi_hang. sleeps; last traffic' sleep
    top_names 'rank 5 .process PID, mpi_hang. computes, outside of UCX; 1 rank waits;' buffers
    TLS=srd,ud \
        top_names '6 ranks poll, and nothing has moved for .*not sent, or not received' send
    top_names "the network to $rank on .* does not answer: $rank and 4 more have waited" cut \
        --plan "$plan"
    echo 'after 1000 partition 0 1' >"$plan"
    AND="the network between $rank on .* and $rank on .* is cut" \
        top_names 'rank 5 .process PID, mpi_hang. is stopped' cut --plan "$plan"
    ! full || RANKS=2 top_names \
        "the network between $rank on .* and $rank on .* is cut" cut --plan "$plan"
}
