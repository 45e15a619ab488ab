#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The cost of losses on UD, and its repeats where nothing is lost: stock
# ucx_perftest between two emulated nodes whose datagrams have the 10 Gb/s of a
# flow on EC2, with buffers for all, and with 200 kB of them in the port. A busy
# machine lets receivers sleep beyond the time-outs, so wants two cores that are
# free; the simulator's plans say the same in virtual time (docs/RATE.md).
# usage: ud.sh BUILD_DIR [ROUNDS]
set -u
build=$(cd "${1:?usage: ud.sh BUILD_DIR [ROUNDS]}" && pwd -P) || exit 2
rounds=${2:-3}
link=1192.1 # 10 Gb/s, in ucx_perftest's MB of 2^20 bytes
buffer="--ud-buffer 200000"
efasim=$build/bin/efasim
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# node NUMBER OPTIONS COMMAND...
node() {
    local number=$1 options=$2
    shift 2
    # shellcheck disable=SC2086 # several words
    UCX_TLS=ud UCX_LOG_LEVEL=info timeout 100 "$efasim" run --stat \
        --fabric "ud$$" --node "$number" --ud-rate-mbps 10000 $options -- \
        "$build/bin/srdrun" "$@"
}

# measure OPTIONS: sets rate (MB/s), resent (messages) and lost (datagrams).
measure() {
    local options=$1 port=$((20000 + RANDOM % 12000))
    node 0 "$options" ucx_perftest -p $port >"$work/server" 2>&1 &
    sleep 1
    node 1 "$options" ucx_perftest 127.0.0.1 -p $port -t tag_bw -s 65536 \
        -n 5000 -w 100 -f -v >"$work/client" 2>&1
    wait
    rate=$(grep -E '^[0-9]+(,[0-9.]+){7}$' "$work/client" | cut -d, -f 6)
    resent=$(awk '/sent again after a time-out/ {
        sub(/.*: /, ""); print $1, "+", $8 }' "$work/client")
    lost=$(sed -n 's/^node=1 .*lost_pkts=\([0-9]*\).*/\1/p' "$work/client")
    if [ -z "$rate" ] || [ -z "$resent" ] || [ -z "$lost" ]; then
        tail "$work/server" "$work/client" >&2
        exit 1
    fi
}

# row OPTIONS: measures, and says it.
row() {
    measure "$1"
    printf '%-32s %10s %8s %12s %6s\n' "${1:-nothing lost}" "$rate" \
        "$(awk "BEGIN { printf \"%.2f\", $rate / $link }")" "$resent" "$lost"
}

printf '%-32s %10s %8s %12s %6s\n' "tag_bw, 64 KB" MB/s "of link" resent lost
for ((i = 0; i < rounds; i++)); do
    for options in "" "$buffer" "$buffer --loss 0.01" "--loss 0.01" \
        "--loss 0.1" "--reorder 0.3"; do
        row "$options"
    done
done
echo "(resent: after a time-out + since later ones had arrived)"
