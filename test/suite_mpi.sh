#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Open MPI's pml/ucx over srd on emulated nodes; contents checked, and the
# device's counters tell which bytes crossed it.
# usage: suite_mpi.sh BUILD_DIR [ci|full]
# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"
set -u

# mpi RANKS PER_NODE TLS ARG...: mpi_check on RANKS ranks. With OUTSIDE=yes
# efasim starts mpirun instead of each rank.
mpi() {
    local ranks=$1 per_node=$2 tls=$3
    shift 3
    need mpirun
    [ -x "$BUILD/test/mpi_check" ] || skip_here "mpi_check was not built"
    # pml/ucx looks for Mellanox names unless told otherwise.
    local run=(mpirun -np "$ranks" --oversubscribe
        --mca pml ucx --mca osc ucx --mca btl '^openib,ofi'
        --mca pml_ucx_tls any --mca pml_ucx_devices any
        -x "UCX_TLS=$tls")
    [ "$(id -u)" -ne 0 ] || run+=(--allow-run-as-root)
    # Open MPI leaks at its end; that is not what is tested.
    export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
    if [ "${OUTSIDE-no}" = yes ]; then
        with_stat "${EFASIM_OPTIONS[@]}" --per-node "$per_node" -- \
            "${run[@]}" "$SRDRUN" "$BUILD/test/mpi_check" "$@" ||
            fail "mpirun: status $?"
    else
        with_stat "${EFASIM_OPTIONS[@]}" -- "${run[@]}" "$EFASIM" run \
            --per-node "$per_node" -- "$SRDRUN" "$BUILD/test/mpi_check" "$@" ||
            fail "mpirun: status $?"
    fi
    grep -q "^ok $ranks ranks" "$CHECK_LOG" || fail "no ok line"
}

EFASIM_OPTIONS=()

# One rank per node, so everything crosses the device: at least the ring's
# bytes, 1 B to MAX in the sizes that mpi_check takes.
mpi_between() {
    local ranks=$1 max=$2
    shift 2
    EFASIM_OPTIONS=("$@")
    mpi "$ranks" 1 srd,self all "$max"
    at_least payload "$(stat_payload "$STAT")" $((ranks * max * 4))
    local node
    for node in $(seq 0 $((ranks - 1))); do
        at_least "bytes of node $node" \
            "$(($(pair_bytes "$STAT" "$node" $(((node + 1) % ranks))) +
                $(pair_bytes "$STAT" $(((node + 1) % ranks)) "$node")))" "$max"
    done
}

# Four ranks on two nodes with sm: payload between the nodes, none within.
mpi_mixed() {
    local max=$1 within between
    shift
    EFASIM_OPTIONS=("$@")
    mpi 4 2 srd,sm,self all "$max"
    within=$(($(pair_bytes "$STAT" 0 0) + $(pair_bytes "$STAT" 1 1)))
    between=$(($(pair_bytes "$STAT" 0 1) + $(pair_bytes "$STAT" 1 0)))
    at_least "bytes between the nodes" "$between" $((max * 8))
    # UCP may greet over every lane it made; that is no payload.
    at_most "bytes within a node" "$within" 65536
}

mpi_outside() {
    OUTSIDE=yes mpi_mixed "$@"
}

suite_run() {
    local seed max=4194304

    check mpi_2_srd 60 mpi_between 2 $max
    check mpi_4_srd 90 mpi_between 4 $max
    check mpi_4_srd_sm 90 mpi_mixed $max
    check mpi_4_outside 90 mpi_outside $max
    for seed in $(seeds 1 10); do
        check "mpi_2_reorder_$seed" 120 mpi_between 2 $max \
            --reorder 0.3 --seed "$seed"
        check "mpi_4_reorder_$seed" 120 mpi_between 4 $max \
            --reorder 0.3 --seed "$seed"
        check "mpi_4_sm_reorder_$seed" 120 mpi_mixed $max \
            --reorder 0.3 --seed "$seed"
    done
    if full; then
        check mpi_8_srd 300 mpi_between 8 1048576
    fi
}

suite_main mpi "$@"
