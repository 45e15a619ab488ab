#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The simulator over the protocol core, two plans at a time. A failing seed
# prints how to replay it.
# usage: test/suite_sim.sh BUILD_DIR [quick|ci|full]
# A night's worth: BUILD_DIR/test/flow_sim --plan small --count 100000

# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"

# shellcheck source=test/record.sh
. "$TEST_DIR/record.sh"

# Simulations to run, longest first: NAME SECONDS ARGUMENTS.
list() {
    local seeds=20
    ! ci || seeds=100
    if full; then
        seeds=1000
        echo "mesh_1000 2400 --plan mesh_1000 --count 3"
        echo "incast_10000 600 --plan incast_10000 --count 3"
        echo "reconnect_1000000 900 --plan reconnect_1000000"
    else
        echo "mesh_1000/150 120 --plan mesh_1000 --nodes 150"
        echo "reconnect_20000 60 --plan reconnect_20000"
    fi
    if ci; then
        full || echo "incast_10000 120 --plan incast_10000"
        echo "absent_later 60 --plan absent_later --count 3"
        echo "ud_reconnect_30000 300 --plan ud_reconnect_30000"
    fi
    echo "absent 60 --plan absent --count 3"
    echo "absent_endpoints 60 --plan absent_endpoints --count 2"
    "$BUILD/test/flow_sim" --list | awk -v seeds="$seeds" '
        $2 <= 16 && !/reconnect/ {
            print $1, 600, "--plan", $1, "--count", seeds
            print $1 "/wrap", 600, "--plan", $1, "--count", seeds / 10,
                  "--wrap --trace-hash"
            ++plans
        }
        END { if (!plans) print "plans 10 --list" }'
}

# simulate ARGUMENT...: a plan over its seeds.
simulate() {
    "$BUILD/test/flow_sim" "$@" || exit 1
    grep -qE '^ok .*: [1-9][0-9]* seeds|^[a-z0-9_]+ seed [0-9]+: ' "$CHECK_LOG" ||
        fail "no seed was run"
}

# table SCRIPT: what it measures; each line has its bound.
table() {
    sh "$TEST_DIR/$1" "$BUILD" "$PROFILE" || exit $?
    [ -s "$CHECK_LOG" ] || fail "nothing was measured"
    note_all
}

suite_run() {
    local name limit arguments
    at_once 2
    while read -r name limit arguments; do
        # shellcheck disable=SC2086 # several words
        check "$name" "$limit" simulate $arguments
    done <<<"$(list)"
    check record_files 60 record_files
    check record_sim 120 record_sim
    ci && check record_since 120 record_since
    ci && check record_mutants 60 record_mutants
    ci && check record_perfetto 180 record_perfetto
    # Bytes per peer and instructions per event, for 100 to 10,000 peers or
    # flows of one; what idle peers cost the busy ones.
    check scale 300 table scale.sh
    check rate 300 table rate.sh
    # UD on a link that fills and loses.
    check link 120 table link.sh
}

suite_main sim "$@"
