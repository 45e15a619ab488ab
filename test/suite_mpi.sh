#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# MPI over srd on emulated nodes: Open MPI (pml/ucx, osc/ucx), MPICH, HPCC;
# contents checked, and the device's counters tell which bytes crossed it.
# usage: suite_mpi.sh BUILD_DIR [quick|ci|full]
# shellcheck source=test/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=test/openmpi.sh
. "$TEST_DIR/openmpi.sh"
# shellcheck source=test/record.sh
. "$TEST_DIR/record.sh"
# shellcheck source=test/top.sh
. "$TEST_DIR/top.sh"
set -u

# mpi RANKS PER_NODE TLS ARG...: mpi_check.
mpi() {
    local ranks=$1 per_node=$2 tls=$3
    shift 3
    need test/mpi_check
    openmpi "$ranks" "$per_node" "$tls" "$BUILD/test/mpi_check" "$@"
    grep -q "^ok $ranks ranks" "$CHECK_LOG" || fail "no ok line"
}

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

# record_mpi RANKS MAX EFASIM_OPTION...: each rank is recorded, and replays.
record_mpi() {
    record_begin
    export UCX_EFA_RECORD=$RECORDED
    mpi_between "$@"
    record_same "$1" 1000
}

# The same, and the network between rank 0 and the others is cut for seconds.
record_mpi_cut() {
    local plan=$CHECK_LOG.plan began=$SECONDS
    record_cut "$plan"
    record_mpi "$@" --timeout-ms 60000 --plan "$plan"
    record_words 2
    record_span $((SECONDS - began + 1))
    at_least "seconds, most of them cut off" $((SECONDS - began)) 6
}

# mpi_ud RANKS MAX EFASIM_OPTION...: by datagrams, which the network loses.
mpi_ud() {
    local ranks=$1 max=$2
    shift 2
    EFASIM_OPTIONS=("$@")
    mpi "$ranks" 1 ud,self all "$max"
    at_least payload "$(stat_payload "$STAT")" $((ranks * max * 4))
    at_least "packets lost" "$(stat_sum "$STAT" lost_pkts)" 100
    at_most "bytes read by the device" "$(stat_sum "$STAT" rdma_read_bytes)" 0
}

# mpi_cut TLS: the network between rank 0 and the others is cut for good in
# mid-job. Nobody has set an error handler, so the job ends, with a line that
# says why; none of its ranks waits for ever. The check's limit of time has two
# of the device's time-outs (UD: of UCX_EFA_UD_TRIES) and the start of the job.
mpi_cut() {
    local plan=$CHECK_LOG.plan out=$CHECK_LOG.out
    printf 'after 300 partition 0 1,2,3\n' >"$plan"
    EFASIM_OPTIONS=(--timeout-ms 2000 --plan "$plan")
    export UCX_HANDLE_ERRORS=none UCX_EFA_UD_TRIES=16
    ! (openmpi 4 1 "$1,self" "$BUILD/test/mpi_check" all 300000) \
        >"$out" 2>&1 || fail "the job ended well"
    grep -E 'endpoint to fe80[0-9a-f:]+ QPN [0-9]+ failed: Endpoint timeout' \
        "$out" || fail "no line says why: $(tail -n 5 "$out")"
    ! grep '^FAIL rank' "$out" || fail "a rank got wrong bytes"
    at_least "bytes sent before" \
        "$(stat_sum "$CHECK_LOG.stat" tx_bytes)" 1000
}

# mpi_unused PML...: UCX_TLS names srd, and the MPI uses no UCX: one line says so,
# of all ranks; with pml ucx there is none.
mpi_unused() {
    local out=$CHECK_LOG.out pml lines
    for pml in ob1 ucx; do
        mpirun -np 2 --oversubscribe --allow-run-as-root --mca pml $pml \
            --mca btl ^openib,ofi --mca pml_ucx_tls any \
            --mca pml_ucx_devices any -x UCX_TLS=srd,self "$EFASIM" run \
            --fabric "t$$" --per-node 1 -- "$SRDRUN" "$BUILD/test/mpi_check" \
            ring 1000 >"$out" 2>&1 || { cat "$out"; fail "pml $pml: $?"; }
        grep 'WARN' "$out"
        lines=$(grep -c "did not use UCX, .* for Open MPI add --mca pml ucx" \
            "$out")
        [ "$lines" -eq "$([ $pml = ucx ] && echo 0 || echo 1)" ] ||
            fail "pml $pml: $lines lines"
    done
}

# memory_alone: what goes within a node uses shared memory alone. UCX from 1.16 on
# would fetch a part of large messages over srd, as a second lane beside cma, and
# from 1.19 on all of them, as the device has more bandwidth than it says of cma. (It
# opens that lane all the same, and connects it.)
memory_alone() {
    [ "$(ucx_minor)" -lt 16 ] || export UCX_MAX_RNDV_RAILS=1 UCX_CMA_BW=40000MBs
}

# Four ranks on two nodes with sm: payload between the nodes, none within.
mpi_mixed() {
    local max=$1 within between
    shift
    memory_alone
    EFASIM_OPTIONS=("$@")
    mpi 4 2 srd,sm,self all "$max"
    within=$(($(pair_bytes "$STAT" 0 0) + $(pair_bytes "$STAT" 1 1)))
    between=$(($(pair_bytes "$STAT" 0 1) + $(pair_bytes "$STAT" 1 0)))
    at_least "bytes between the nodes" "$between" $((max * 8))
    # UCP connects every lane that it opened: packets, but no payload.
    at_most "bytes within a node" "$within" 65536
}

# All ranks on one node with sm: the device sends not one packet.
mpi_one_node() {
    local ranks=$1 greetings=0
    shift
    memory_alone
    [ "$(ucx_minor)" -lt 16 ] || greetings=65536
    mpi "$ranks" "$ranks" srd,sm,self "$@"
    at_most "bytes sent" "$(stat_sum "$STAT" tx_bytes)" $greetings
    at_most reads "$(stat_sum "$STAT" rdma_read_wrs)" 0
}

# 100,000 messages before the first receive, between nodes: the receiver's
# queue never runs empty.
mpi_flood() {
    mpi 2 1 srd,self flood 200
    at_least "bytes from node 1 to 0" "$(pair_bytes "$STAT" 1 0)" 9000000
    at_most receiver-not-ready "$(stat_sum "$STAT" rnr)" 0
}

# mpich RANKS MAX [EFASIM_OPTION...]: one rank per node. MPICH takes all ranks
# with one host name for processes that share memory: NOLOCAL.
mpich() {
    local ranks=$1 max=$2 program=$BUILD/test/mpi_check_mpich
    local apps=$TEST_DIR/apps
    shift 2
    need mpiexec.mpich mpicc.mpich
    [ -z "${SRD_SANITIZE-}" ] || skip_here "sanitizers are on"
    mpicc.mpich -O2 -g -w -o "$program" "$apps"/{mpi_check,mpi_window}.c \
        "$apps"/{mpi_flood,fill}.c || fail "mpicc.mpich"
    export UCX_TLS=srd,self MPIR_CVAR_NOLOCAL=1
    with_stat "$@" -- mpiexec.mpich -n "$ranks" "$EFASIM" run --per-node 1 -- \
        "$SRDRUN" "$program" all "$max" || fail "mpiexec.mpich: status $?"
    grep -q "^ok $ranks ranks" "$CHECK_LOG" || fail "no ok line"
    at_least payload "$(stat_payload "$STAT")" $((ranks * max * 4))
}

# HPC Challenge validates its own results.
hpcc_check() {
    local input=/usr/share/doc/hpcc/examples/_hpccinf.txt
    local dir=$CHECK_LOG.hpcc
    need hpcc
    [ -f "$input" ] || skip_here "no $input"
    rm -rf "$dir" && mkdir -p "$dir"
    cd "$dir" || exit 1
    sed -e "6s/.*/$(full && echo 1000 || echo 400) Ns/" -e '8s/.*/40 NBs/' \
        "$input" >hpccinf.txt
    openmpi 4 1 srd,self hpcc
    grep -E 'PASSED|FAILED|residual=|Errors|passed|failed' hpccoutf.txt
    # PTRANS counts 5 and HPL 1; of lines with PASSED, one whose CPU time is 0 is not written.
    at_least "residual checks passed" "$(awk \
        '/tests completed and passed residual checks/ { n += $1 } END { print n + 0 }' \
        hpccoutf.txt)" 6
    ! grep -q FAILED hpccoutf.txt || fail "a residual check failed"
    at_least "kinds of RandomAccess without an error" \
        "$(grep -cE '^MPIRandomAccess(_LCG)?_Errors=0$' hpccoutf.txt)" 2
    grep -q '^PTRANS_residual=0$' hpccoutf.txt || fail "PTRANS"
    at_least payload "$(stat_payload "$STAT")" 100000000
}

mpi_outside() {
    OUTSIDE=yes mpi_mixed "$@"
}

# page PAGE PATTERN: the lines of that page behind the one with the pattern, to the
# letter, where build/ and contrib/ stand as in this tree; but nothing is installed.
page() {
    need mpirun
    local dir=$CHECK_LOG.dir
    rm -rf "$dir" && mkdir -p "$dir/build" && cd "$dir" || exit 1
    ln -s "$TEST_DIR/../contrib" contrib || exit 1
    page_block "$1" "$2" | grep -v '^sudo apt-get' >lines
    at_least "lines" "$(grep -c . lines)" 3
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export PATH=$BUILD/bin:$PATH UCX_LOG_LEVEL=info
    bash -eu lines || fail "status $?"
    grep -q '^[24] ranks, .* bytes compared on each' "$CHECK_LOG" ||
        fail "no ranks"
    grep -q 'srd interface closed: [1-9][0-9]* messages sent' "$CHECK_LOG" ||
        fail "nothing over srd"
    rm -rf "$dir"
}

suite_run() {
    local seed ranks max=4194304

    check mpi_2_srd 60 mpi_between 2 $max
    ci && check mpi_4_srd 90 mpi_between 4 $max
    check mpi_4_srd_sm 90 mpi_mixed $max
    ci && check mpi_4_outside 90 mpi_outside $max
    check mpi_4_one_node_sm 90 mpi_one_node 4 all $max
    ci && check mpi_one_node_sm_flood 60 mpi_one_node 2 flood 200
    check page_mpi 60 page docs/MPI.md '^.contrib/examples/mpi_ring'
    check mpi_flood 60 mpi_flood
    ci && check mpi_8_srd_small 120 mpi_between 8 65536
    # its first line tells what any program of this host waits for
    ci && alone top_sleeper_4 60 top_sleeper 4
    ci && alone top_hangs 240 top_hangs
    check mpi_cut_srd 15 mpi_cut srd
    ci && check record_mpi_4_cut 60 record_mpi_cut 4 300000 --reorder 0.3
    check mpi_unused 30 mpi_unused
    ci && check mpi_cut_ud 20 mpi_cut ud
    check mpich_2 60 mpich 2 300000
    ci && check mpich_4 90 mpich 4 300000
    ci && check mpich_2_reorder 60 mpich 2 300000 --reorder 0.3
    ci && check mpi_4_eager 120 mpi_between 4 $max --eager --reorder 0.3
    ci && check hpcc_4 120 hpcc_check
    ci && check mpi_4_ud_loss 120 mpi_ud 4 300000 --loss 0.05 --reorder 0.2
    for seed in $(seeds 1 10); do
        ci && check "mpi_2_reorder_$seed" 120 mpi_between 2 $max \
            --reorder 0.3 --seed "$seed"
        check "mpi_4_reorder_$seed" 120 mpi_between 4 $max \
            --reorder 0.3 --seed "$seed"
        ci && check "mpi_4_sm_reorder_$seed" 120 mpi_mixed $max \
            --reorder 0.3 --seed "$seed"
    done
    if full; then
        for ranks in 3 5 6 7; do
            check "mpi_${ranks}_srd" 300 mpi_between "$ranks" 65536
        done
        check mpi_8_srd 300 mpi_between 8 1048576
    fi
}

suite_main mpi "$@"
