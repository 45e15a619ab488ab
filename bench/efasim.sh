#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# How fast the emulated device is, by its engine alone and by foreign programs
# on two of its hosts. Rates need two cores that are free.
# usage: efasim.sh BUILD_DIR
set -u
build=$(cd "${1:?usage: efasim.sh BUILD_DIR}" && pwd -P) || exit 2
efasim=$build/bin/efasim
port=$((20000 + RANDOM % 12000))

"$build/bench/efasim_cost" || exit 1

# pair PROGRAM [OPTION]...: perftest's last line, and the CPU time of both.
pair() {
    local options=(-c SRD -d rdmap0s6 -x 0 -p "$port" "${@:2}")
    # shellcheck disable=SC2016 # for the inner shell
    "$efasim" run --fabric "bench$$" -- bash -c '
        efasim=$1
        shift
        TIMEFORMAT="server: %U s user, %S s system"
        time "$efasim" run --node 0 -- "$@" >/dev/null 2>&1 &
        sleep 1
        TIMEFORMAT="client: %U s user, %S s system"
        time "$efasim" run --node 1 -- "$@" 127.0.0.1
        wait' bash "$efasim" timeout 120 "$1" "${options[@]}" 2>&1 |
        grep -E '^ (#bytes|[0-9])|user'
    port=$((port + 1))
}

command -v ib_send_bw >/dev/null || {
    echo "perftest is missing: only the engine was measured"
    exit 0
}
echo "== messages of 16 bytes (target: 2 million a second)"
pair ib_send_bw -s 16 -n 2000000 -Q 1 -r 4096 -t 1024
echo "== RDMA read of 1 MB"
pair ib_read_bw -s 1048576 -n 4000
echo "== latency of 16 bytes"
pair ib_send_lat -s 16 -n 100000
