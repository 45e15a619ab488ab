#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Work per event and bytes per peer must not depend on the number of peers:
# flow_scale with 100, 1,000 and 10,000 of them; instructions by callgrind,
# which repeat exactly. More than 160 bytes at 10,000, or more than a tenth more
# instructions at 10,000 peers than at 100, fails; so does a packet from 16 peers
# in turn that takes 1.2 times as many as from one.
# usage: test/scale.sh BUILD_DIR
# shellcheck source=test/callgrind.sh
. "$(dirname "$0")/callgrind.sh"
scale=$1/test/flow_scale
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

for peers in 100 1000 10000; do
    count_calls bench scale.cc "$scale" "$peers" "$work"
    cat "$work/said.$peers"
done

for peers in r1 r16; do
    count_calls bench scale.cc "$scale" "$peers" "$work"
done
awk '
    $1 == "bench_turn" { sum[FILENAME ~ /r16$/] = $2 / 16384 }
    END {
        printf "a packet from one peer %.1f, from 16 in turn %.1f " \
               "instructions, limits included\n", sum[0], sum[1]
        if ((sum[0] == 0) || (sum[1] > 1.2 * sum[0])) {
            print "FAIL: a packet from 16 peers in turn costs too much"
            exit 1
        }
    }' "$work/count.r1" "$work/count.r16" || turns_failed=1

# Calls for each peer: as below, others one.
awk '
    BEGIN {
        calls["bench_receive"] = 3
        calls["bench_hold"]    = 15
        calls["bench_next"]    = 16
    }
    FILENAME ~ /said/ { bytes = $3 }
    FILENAME ~ /count/ {
        peers = FILENAME
        sub(/.*count\./, "", peers)
        cost[$1, peers] = $2 / peers / (($1 in calls) ? calls[$1] : 1)
        name[$1] = 1
    }
    END {
        printf "%-16s %8s %8s %8s instructions each\n", "", 100, 1000, 10000
        for (n in name) {
            printf "%-16s %8.1f %8.1f %8.1f\n", n, cost[n, 100],
                   cost[n, 1000], cost[n, 10000]
            if (cost[n, 10000] > 1.1 * cost[n, 100] + 1) {
                print "FAIL: " n " costs more with more peers"
                bad = 1
            }
            ++found
        }
        if (bytes > 160) {
            print "FAIL: " bytes " bytes for a peer, 160 promised"
            bad = 1
        }
        if (found < 6) {
            print "FAIL: callgrind counted " found " operations of 6"
            bad = 1
        }
        exit bad
    }' "$work/count.100" "$work/count.1000" "$work/count.10000" \
    "$work/said.10000" || exit 1
[ -z "${turns_failed-}" ]
