#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Work per event and bytes per peer must not depend on the number of peers, nor
# on the flows of one: flow_scale with 100 and 10,000 of them; instructions by
# callgrind, which repeat exactly. More than 160 bytes for a peer of 10,000 fails;
# so does more than a tenth more instructions (with flows of one peer a quarter:
# chains of an index that is half full or full differ by that); so does a packet
# from 16 peers in turn that takes 1.2 times as many as from one.
# usage: test/scale.sh BUILD_DIR
# shellcheck source=test/callgrind.sh
. "$(dirname "$0")/callgrind.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

for run in r1 r16 100 10000 c100 c10000; do
    prefix=bench
    [ "${run#c}" = "$run" ] || prefix=crowd
    count_calls "$prefix" scale.cc "$1/test/flow_scale" "$run" "$work"
done

awk '
    {
        run = FILENAME
        sub(/.*\./, "", run)
    }
    $1 == "bytes" { bytes[run] = $2 }
    $1 == "calls" { calls[$2, run] = $3 }
    FILENAME ~ /count/ { cost[$1, run] = $2 / calls[$1, run] }
    function compare(name, few, many, times, plus) {
        printf "%-16s %8.1f (%s) %8.1f (%s) instructions each\n", name,
               cost[name, few], few, cost[name, many], many
        if ((cost[name, few] == 0) ||
            (cost[name, many] > times * cost[name, few] + plus)) {
            print "FAIL: " name " costs more with more, or was not counted"
            bad = 1
        }
    }
    END {
        n = split("connect send done receive hold next", names)
        for (i = 1; i <= n; ++i) {
            compare("bench_" names[i], 100, 10000, 1.1, 1)
        }
        n = split("open close receive", names)
        for (i = 1; i <= n; ++i) {
            compare("crowd_" names[i], "c100", "c10000", 1.25, 0)
        }
        compare("bench_turn", "r1", "r16", 1.2, 0)
        print bytes[10000] " bytes for a peer of 10,000, both directions"
        if ((bytes[10000] == 0) || (bytes[10000] > 160)) {
            print "FAIL: 160 are promised"
            bad = 1
        }
        exit bad
    }' "$work"/said.* "$work"/count.*
