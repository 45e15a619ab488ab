#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# How fast the emulated device is, by its engine alone and by foreign programs
# on two of its hosts. Rates need two cores that are free; instructions and CPU
# time do not.
# usage: efasim.sh BUILD_DIR
set -u
build=$(cd "${1:?usage: efasim.sh BUILD_DIR}" && pwd -P) || exit 2
efasim=$build/bin/efasim
port=$((20000 + RANDOM % 12000))

"$build/bench/efasim_cost" || exit 1

# instructions SIZE: of the engine, sender and receiver, per message: they
# repeat exactly, on any machine. (In larger messages callgrind counts the bytes that
# `rep movsb` copies.)
instructions() {
    local bursts count=()
    for bursts in 200 400; do
        valgrind --tool=callgrind --callgrind-out-file=/dev/null \
            "$build/bench/efasim_cost" "$1" $bursts 2>&1 |
            awk '/Collected/ { print $NF }' >"$work"
        count+=("$(cat "$work")")
    done
    echo "engine $1 bytes: $(((count[1] - count[0]) / (200 * 32)))" \
        "instructions per message"
}

work=$(mktemp) || exit 1
trap 'rm -f "$work"' EXIT
if command -v valgrind >/dev/null; then
    instructions 16
    instructions 1024
fi

# The kernel may well leave two processes that wake each other on one core, where
# all is in one cache: each gets a core of its own, if there are two.
mapfile -t cores < <(taskset -cp $$ 2>/dev/null | sed 's/.*: //' | tr , '\n' |
    awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }')
export on_server='' on_client=''
if [ ${#cores[@]} -ge 2 ]; then
    on_server="taskset -c ${cores[0]}"
    on_client="taskset -c ${cores[1]}"
fi

# pair NUMBER PROGRAM [OPTION]...: perftest's last line for so many messages, the
# CPU time of both, and the rate that the busier of them would reach with a core
# of its own, which tells more where the machine has other work.
pair() {
    local number=$1
    shift
    local options=(-c SRD -d rdmap0s6 -x 0 -p "$port" -n "$number" "${@:2}")
    # shellcheck disable=SC2016 # for the inner shell
    "$efasim" run --fabric "bench$$" -- bash -c '
        efasim=$1
        shift
        TIMEFORMAT="server: %U s user, %S s system"
        time $on_server "$efasim" run --node 0 -- "$@" >/dev/null 2>&1 &
        sleep 1
        TIMEFORMAT="client: %U s user, %S s system"
        # in a shell of its own, which waits for no server
        (time $on_client "$efasim" run --node 1 -- "$@" 127.0.0.1)
        wait' bash "$efasim" timeout 120 "$1" "${options[@]}" 2>&1 |
        grep -E '^ (#bytes|[0-9])|user' | tee "$work"
    awk -v n="$number" '/user/ { sub(/.*(server|client): /, "")
            t = $1 + $4; max = (t > max) ? t : max }
        END { if (max) printf "by CPU time: %.0f a second\n", n / max }' "$work"
    port=$((port + 1))
}

command -v ib_send_bw >/dev/null || {
    echo "perftest is missing: only the engine was measured"
    exit 0
}
echo "== messages of 16 bytes (target: 2 million a second)"
for _ in 1 2 3; do
    pair 2000000 ib_send_bw -s 16 -Q 1 -r 4096 -t 1024
done
echo "== RDMA read of 1 MB"
pair 4000 ib_read_bw -s 1048576
echo "== latency of 16 bytes"
pair 100000 ib_send_lat -s 16
