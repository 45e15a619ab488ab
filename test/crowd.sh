#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Opening and closing an endpoint, and hearing of the peer's, must not depend on
# how many endpoints go to that peer: flow_crowd with 100 and 10,000 of them;
# instructions by callgrind, which repeat exactly. More than a quarter more at
# 10,000 fails (chains of an index that is half full or full differ by that).
# usage: test/crowd.sh BUILD_DIR
# shellcheck source=test/callgrind.sh
. "$(dirname "$0")/callgrind.sh"
crowd=$1/test/flow_crowd
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

for count in 100 10000; do
    count_calls crowd crowd.cc "$crowd" "$count" "$work"
done

awk '
    FILENAME ~ /said/ { file = FILENAME; sub(/.*said\./, "", file)
                        calls[$1, file] = $2 }
    FILENAME ~ /count/ {
        file = FILENAME
        sub(/.*count\./, "", file)
        cost[$1, file] = $2 / calls[$1, file]
        name[$1] = 1
    }
    END {
        printf "%-16s %8s %8s instructions each\n", "", 100, 10000
        for (n in name) {
            printf "%-16s %8.1f %8.1f\n", n, cost[n, 100], cost[n, 10000]
            if (cost[n, 10000] > 1.25 * cost[n, 100]) {
                print "FAIL: " n " costs more with more endpoints"
                bad = 1
            }
            ++found
        }
        if (found != 3) {
            print "FAIL: callgrind counted " found " operations of 3"
            bad = 1
        }
        exit bad
    }' "$work/said.100" "$work/said.10000" "$work/count.100" \
    "$work/count.10000"
