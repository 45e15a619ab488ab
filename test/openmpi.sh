# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Open MPI on emulated nodes. Sourced by the suites mpi and gpu, after lib.sh.

EFASIM_OPTIONS=()

# openmpi RANKS PER_NODE TLS COMMAND...: on RANKS ranks. With OUTSIDE=yes efasim
# starts mpirun instead of each rank.
openmpi() {
    local ranks=$1 per_node=$2 tls=$3
    shift 3
    need mpirun
    # srdrun chooses pml ucx, as a user has it
    local run=(mpirun -np "$ranks" --oversubscribe
        --mca osc ucx --mca btl '^openib,ofi' -x "UCX_TLS=$tls")
    [ "$(id -u)" -ne 0 ] || run+=(--allow-run-as-root)
    # Open MPI leaks at its end; that is not what is tested.
    export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
    if [ "${OUTSIDE-no}" = yes ]; then
        with_stat "${EFASIM_OPTIONS[@]}" --per-node "$per_node" -- \
            "${run[@]}" "$SRDRUN" "$@" || fail "mpirun: status $?"
    else
        with_stat "${EFASIM_OPTIONS[@]}" -- "${run[@]}" "$EFASIM" run \
            --per-node "$per_node" -- "$SRDRUN" "$@" ||
            fail "mpirun: status $?"
    fi
}
