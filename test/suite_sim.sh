#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The simulator over the protocol core. A failing seed prints how to replay it.
# usage: test/suite_sim.sh BUILD_DIR [ci|full]
# A night's worth: BUILD_DIR/test/flow_sim --plan small --count 100000
sim=$1/test/flow_sim
passed=0
failed=0

run() {
    name=$1
    limit=$2
    shift 2
    start=$(date +%s)
    if out=$(timeout "$limit" "$sim" "$@" 2>&1); then
        echo "ok $name $(($(date +%s) - start))"
        passed=$((passed + 1))
    else
        echo "FAIL $name:"
        echo "$out" | tail -n 20
        failed=$((failed + 1))
    fi
}

if [ "${2:-ci}" = full ]; then
    seeds=1000 big=3
else
    seeds=100 big=1
fi
for plan in $("$sim" --list | awk '$2 <= 16 { print $1 }'); do
    run "$plan" 600 --plan "$plan" --count "$seeds"
    run "$plan/wrap" 600 --plan "$plan" --count $((seeds / 10)) --wrap \
        --trace-hash
done
run incast_10000 300 --plan incast_10000 --count "$big"
if [ "${2:-ci}" = full ]; then
    run mesh_1000 1500 --plan mesh_1000 --count "$big"
else
    run mesh_1000/200 100 --plan mesh_1000 --nodes 200
fi
echo "suite sim: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
