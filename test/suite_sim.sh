#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The simulator over the protocol core, two plans at a time. A failing seed
# prints how to replay it.
# usage: test/suite_sim.sh BUILD_DIR [quick|ci|full]
# A night's worth: BUILD_DIR/test/flow_sim --plan small --count 100000
build=$1
profile=${2:-ci}
sim=$build/test/flow_sim
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# one NAME SECONDS ARGUMENTS...: a line in a file of its own
one() {
    name=$1
    limit=$2
    shift 2
    file=$work/$(echo "$name" | tr / _)
    start=$(date +%s)
    # of CPU: other programs may have the machine, too
    # shellcheck disable=SC3045 # Debian's sh has it
    if (ulimit -t "$limit" && exec "$sim" "$@") >"$file.log" 2>&1; then
        echo "ok $name $(($(date +%s) - start))" >"$file.out"
    else
        {
            echo "FAIL $name: exit status $?, the end of its output follows"
            tail -n 20 "$file.log" | sed 's/^/    /'
        } >"$file.out"
    fi
    cat "$file.out"
}

# What to run, longest first.
list() {
    if [ "$profile" = full ]; then
        seeds=1000
        echo "mesh_1000 2400 --plan mesh_1000 --count 3"
        echo "incast_10000 600 --plan incast_10000 --count 3"
        echo "reconnect_1000000 900 --plan reconnect_1000000"
    else
        seeds=100
        [ "$profile" = ci ] || seeds=20
        echo "mesh_1000/150 120 --plan mesh_1000 --nodes 150"
        echo "incast_10000 120 --plan incast_10000"
        echo "reconnect_20000 60 --plan reconnect_20000"
    fi
    echo "absent 60 --plan absent --count 3"
    echo "absent_endpoints 60 --plan absent_endpoints --count 2"
    echo "absent_later 60 --plan absent_later --count 3"
    echo "ud_reconnect_30000 300 --plan ud_reconnect_30000"
    "$sim" --list | awk -v seeds="$seeds" '$2 <= 16 && !/reconnect/ {
        print $1, 600, "--plan", $1, "--count", seeds
        print $1 "/wrap", 600, "--plan", $1, "--count", seeds / 10,
              "--wrap --trace-hash"
    }'
}

list >"$work/list"
half() {
    awk -v half="$1" 'NR % 2 == half' "$work/list" | while read -r line; do
        # shellcheck disable=SC2086
        one $line
    done
}
half 0 &
half 1
wait
passed=$(cat "$work"/*.out | grep -c '^ok ')
failed=$(cat "$work"/*.out | grep -c '^FAIL ')
skipped=0
if [ $((passed + failed)) -ne "$(wc -l <"$work/list")" ]; then
    echo "FAIL list: not every plan was run"
    failed=$((failed + 1))
fi
# Bytes per peer and instructions per event, for 100 to 10,000 peers; what idle
# peers cost the busy ones.
for table in scale rate; do
    sh "$(dirname "$0")/$table.sh" "$build" "$profile" >"$work/$table" 2>&1
    case $? in
    0)
        sed 's/^/    /' "$work/$table"
        echo "ok $table"
        passed=$((passed + 1))
        ;;
    77)
        echo "skip $table: $(tail -n 1 "$work/$table")"
        skipped=$((skipped + 1))
        ;;
    *)
        echo "FAIL $table: what is out of bounds, and the end of its output"
        grep FAIL "$work/$table"
        tail -n 20 "$work/$table"
        failed=$((failed + 1))
        ;;
    esac
done
echo "suite sim: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
