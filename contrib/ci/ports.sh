# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# TCP ports of this machine, for programs that exchange addresses. They are looked up,
# not pinged: a server may take the first connection for its client's.

# port_listens PORT: does anything on this machine?
port_listens() {
    awk -v p="$(printf ':%04X' "$1")" '
        $4 == "0A" && substr($2, length($2) - 4) == p { f = 1 }
        END { exit !f }' /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

# A port that nobody listens on now; fails after a line if others listen on all.
random_port() {
    local port tries
    for tries in {1..100}; do
        port=$((20000 + RANDOM % 12000))
        port_listens "$port" || { echo "$port" && return; }
    done
    echo "no TCP port is free: others listen on $tries from 20000 to 31999 that were tried" >&2
    return 1
}

# wait_until PID COMMAND...: until it succeeds; fails if PID ends before. How long that
# takes says nothing but how busy the machine is.
wait_until() {
    local pid=$1
    shift
    until "$@"; do
        kill -0 "$pid" 2>/dev/null || return 1
        sleep 0.05
    done
}

# wait_listen PORT PID: until PORT listens; fails if PID ends before.
wait_listen() {
    wait_until "$2" port_listens "$1"
}
