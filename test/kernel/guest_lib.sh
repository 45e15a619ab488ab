# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# The common part of the scripts that run in the guest. B is the build folder. Each
# prints a line per check, "ok NAME" or "FAIL NAME: why", which the suite reads.
# shellcheck disable=SC2034 # for the scripts
B=$(cat /srd/build)

# Seconds after which a program hangs, on a machine of any speed: the check's own
# limit counts quiet seconds, and comes first where nothing goes on.
SLOW=900
cd /tmp || exit 1

ok() {
    echo "ok $1"
}

bad() {
    echo "FAIL $1: ${*:2}"
    for log in /tmp/*.log; do
        [ ! -s "$log" ] || tail -n 15 "$log" | sed "s|^|  $log: |"
    done
}

# counted DEVICE COUNTER: of the kernel's, which asks the device
counted() {
    cat "/sys/class/infiniband/$1/ports/1/hw_counters/$2"
}

# within SECONDS COMMAND...: until it succeeds
within() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.2
    done
}

# Whether a server of perftest's or of UCX's is there.
listens() {
    ss -ltn | grep -qE ':(18515|13337) '
}

# pair SECONDS SERVER... -- CLIENT...: two programs; status of both.
pair() {
    local seconds=$1 server=() status=0
    shift
    while [ "$1" != -- ]; do
        server+=("$1")
        shift
    done
    shift
    timeout "$seconds" "${server[@]}" >/tmp/server.log 2>&1 &
    local pid=$!
    within 60 listens
    timeout "$seconds" "$@" >/tmp/client.log 2>&1 || status=$?
    wait "$pid" || status=$?
    return "$status"
}

# moved NAME DEVICE COUNTER LEAST COMMAND...: COMMAND works, and the device's
# counter has grown by LEAST at least.
moved() {
    local name=$1 device=$2 counter=$3 least=$4 before after
    shift 4
    rm -f /tmp/*.log
    before=$(counted "$device" "$counter")
    "$@" || {
        bad "$name" "status $?"
        return
    }
    sleep 0.05 # the kernel keeps counters for 10 ms
    after=$(counted "$device" "$counter")
    if [ $((after - before)) -ge "$least" ]; then
        ok "$name"
    else
        bad "$name" "$counter of $device grew by $((after - before)), not $least"
    fi
}
