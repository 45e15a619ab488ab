# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Transport srd_gpu, by the UCX 1.23 of NIXL's wheel and the emulated GPU: threads of
# ucp_device are the kernels. Sourced by suite_gpu.sh. In another Debian, whose
# rdma-core has RDMA write: 13 by libefa, sid on the direct data path.

# nixl_ucx: a folder with the wheel's UCX under the names that programs want.
nixl_ucx() {
    local libs file name to=$BUILD/gpu/nixl
    environment nixl
    libs=$("$PYTHON" -c 'import nixl_cu12, os; print(os.path.dirname(nixl_cu12.__file__))')
    libs=${libs%/*}/nixl_cu12.libs
    [ -d "$libs/ucx" ] || fail "NIXL's wheel has no UCX in $libs"
    mkdir -p "$to/ucx"
    for name in ucp uct ucs ucm; do
        ln -sf "$libs/lib$name"-*.so.* "$to/lib$name.so.0"
    done
    for file in "$libs"/ucx/*.so.0.0.0; do
        name=${file##*/}
        ln -sf "$file" "$to/ucx/${name%.0.0}"
    done
    NIXL_LIBS=$BUILD/test/gpu:$to:$libs
    # shellcheck disable=SC2034 # for with_release
    RELEASE_BINDS=("${libs%/lib/python*}")
}

# device_in RELEASE FUNCTION [ARG...]: the function gets libraries, and those.
device_in() {
    nixl_ucx
    with_release "$1" "${CALL[@]}" "$2" "$NIXL_LIBS" "${@:3}" || exit
}

# device_pair [EFASIM_OPTION...] -- [UCP_DEVICE_OPTION...]: two processes; SERVER has
# options of the one alone, TOOL stands before the other.
device_pair() {
    local options=()
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    # as NIXL EP has it; srd_gpu is there since the program calls the device API
    export UCX_TLS=${DEVICE_TLS-^cuda_ipc,sm}
    # shellcheck disable=SC2034 # for the suite
    GPU_LOG=$CHECK_LOG.pair
    # shellcheck disable=SC2086
    two_nodes --gpus 2 --device efa2 "${options[@]}" -- \
        "$SRDRUN" "${PROGRAM:-$BUILD/test/ucp_device}" --port @PORT@ ${SERVER-} "$@" -- \
        "$SRDRUN" ${TOOL-} "${PROGRAM:-$BUILD/test/ucp_device}" --port @PORT@ --client "$@" \
        >"$GPU_LOG" 2>&1 || { cat "$GPU_LOG"; exit 1; }
    cat "$GPU_LOG"
    [ "${GPU_TROUBLE-}" = allowed ] || gpu_no_trouble
    grep -q '^ok ' "$GPU_LOG" || fail "the program did not end"
}

# By the device's own numbers all of it was written by RDMA.
device_puts_inside() {
    export LD_LIBRARY_PATH=$1
    local bytes=$((8 * 100 * 65536))
    device_pair -- --rounds 100 --still
    at_least "written by RDMA" "$(stat_sum "$STAT" rdma_write_bytes 1)" $bytes
    at_most "written by RDMA" "$(stat_sum "$STAT" rdma_write_bytes 1)" $bytes
}

# device_episodes_inside LIBS OPTIONS VARIABLE=VALUE...: every counter exact, no counter before
# its data, every byte right, while endpoints are closed and opened anew.
device_episodes_inside() {
    # (UCP itself makes an endpoint fail whose twin the peer closed)
    export LD_LIBRARY_PATH=$1 UCX_KEEPALIVE_INTERVAL=inf "${@:3}"
    # shellcheck disable=SC2086
    device_pair --reorder 0.3 -- $2
}

# Two workers in a process, of one context or of two, with a proxy each; one of them
# comes and goes.
device_two_inside() {
    device_episodes_inside "$1" "$2 --other-port $(random_port)" "${@:3}"
}

# device_tsan OPTIONS: episodes, the module and the program built for
# ThreadSanitizer: threads of kernels, of proxies and of hosts meet.
device_tsan() {
    local dir=$BUILD/tsan
    [ -z "${SRD_SANITIZE-}" ] || skip_here "other sanitizers are on"
    mkdir -p "$dir"
    (cd "$dir" && { [ config.status -nt "$TEST_DIR/../configure" ] ||
        "$TEST_DIR/../configure" -q CFLAGS='-g -O1 -fno-builtin'; } &&
        make -j2 SANITIZE_CFLAGS=-fsanitize=thread lib/libuct_srd.so.0 bin/srdrun \
            test/ucp_device) >"$CHECK_LOG.make" 2>&1 || {
        tail -n 20 "$CHECK_LOG.make"
        fail "no build for ThreadSanitizer"
    }
    ldd "$dir/lib/libuct_srd.so.0" | awk '/libtsan/ { print $3 }' |
        xargs cp -uLt "$dir/lib" || fail "no libtsan"
    device_in sid device_tsan_inside "$1"
}

# It sees no locks of UCX, so what UCX's own thread runs is left out: ud's timer, and
# the page of srd_info --top.
device_tsan_inside() {
    export LD_LIBRARY_PATH=$1:$BUILD/tsan/lib UCX_EFA_TOP=n UCX_KEEPALIVE_INTERVAL=inf
    export UCX_MEM_MMAP_HOOK_MODE=none # a thread that ends calls those hooks
    printf '%s\n' called_from_lib:lib{efasim,ucp,ucs,uct,ucm,cuda}.so \
        race:watchdog_ >"$CHECK_LOG.tsan"
    export TSAN_OPTIONS="report_mutex_bugs=0 suppressions=$CHECK_LOG.tsan"
    # shellcheck disable=SC2086
    SRDRUN=$BUILD/tsan/bin/srdrun PROGRAM=$BUILD/tsan/test/ucp_device \
        DEVICE_TLS=^cuda_ipc,sm,ud device_pair --reorder 0.3 -- $2 \
        --other-port "$(random_port)"
}

# Descriptors that no right kernel writes: they are dropped, here or at the peer, and
# all others go on.
device_hostile_inside() {
    export LD_LIBRARY_PATH=$1
    GPU_TROUBLE=allowed device_pair -- --rounds 50 --hostile
    grep -q 'increment of a counter at 0x[0-9a-f]* is refused' "$GPU_LOG" ||
        fail "nobody tells of the peer's wrong increments"
}

# A peer's increments of memory that was unmapped, and kernels' writes from memory
# that cannot be, end no process and no other endpoint.
device_wrong_inside() {
    local memory what
    export LD_LIBRARY_PATH=$1 PROGRAM=$BUILD/test/ucp_device_wrong
    for memory in h d; do
        GPU_TROUBLE=allowed device_pair -- --memory $memory
        grep -q 'increment of a counter at 0x[0-9a-f]* is refused' "$CHECK_LOG.server" ||
            fail "nobody tells of increments where no memory is"
    done
    device_pair -- --do beside
    for what in y n; do
        UCX_SRD_GPU_THREAD=$what GPU_TROUBLE=allowed device_pair -- --do anew
    done
    for what in key beyond; do
        GPU_TROUBLE=allowed device_pair -- --do $what
    done
    device_pair -- --do capture
    GPU_TROUBLE=allowed FAKE_GPU_PINNED=20 \
        UCX_SRD_GPU_CHANNELS=32 device_pair -- --do pinned
}

# The peer is killed: the endpoint's error handler is told, and kernels that go on
# find room in their rings.
device_killed_inside() {
    export LD_LIBRARY_PATH=$1 UCX_SRD_GPU_THREAD
    export SERVER_MAY_DIE=y
    for UCX_SRD_GPU_THREAD in y n; do
        SERVER="--die" GPU_TROUBLE=allowed device_pair --timeout-ms 1000 -- --killed
        grep -q '^the endpoint failed: ' "$GPU_LOG" || fail "nobody was told"
        grep -q '^ok survived$' "$GPU_LOG" || fail "the other one did not survive"
    done
}

# One descriptor, from its ring to the device's queue: so many instructions of the
# module's, on the direct data path, of one endpoint or of more; and a doorbell for
# several. (bench/run.sh reads the notes.)
device_cost_inside() {
    export LD_LIBRARY_PATH=$1 UCX_SRD_GPU_THREAD=n
    TOOL="valgrind -q --tool=callgrind --callgrind-out-file=$CHECK_LOG.cg
        --toggle-collect=srd_gpu_handle" \
        device_pair -- --rounds 40 --slot 4096 --puts 64 --memory hh --slots 1 \
        --eps "$2"
}

device_cost() {
    need callgrind_annotate
    local total writes bells eps
    for eps in 1 64 $(full && echo 4096 || echo 1000); do
        (device_in sid device_cost_inside $eps) || exit
        total=$(callgrind_annotate --threshold=100 --auto=no "$CHECK_LOG.cg" |
            awk '/^ *[0-9,]+ \(/ && !/efasim|\.so\.[0-9].*lib\/|PROGRAM/ {
                    gsub(",", "", $1)
                    total += $1
                }
                END { print total }')
        writes=$(stat_sum "$CHECK_LOG.stat" rdma_write_wrs 1)
        bells=$(stat_sum "$CHECK_LOG.stat" doorbells 1)
        note "$eps endpoints: $((total / writes)) instructions a write," \
            "$writes writes, $bells doorbells"
        at_most "instructions" "$total" $((writes * 300)) # those in vain, too
        [ $eps -gt 1 ] || at_most "doorbells" "$bells" $((writes / 2))
    done
    (device_in sid device_alone_inside) || exit
    note "one at a time: $(($(stat_sum "$CHECK_LOG.stat" doorbells) / 400)) doorbells," \
        "$(($(stat_sum "$CHECK_LOG.stat" tx_pkts) / 400)) packets"
}

# A put, an increment, and the peer's that answers it, 200 times from both ends.
device_alone_inside() {
    export LD_LIBRARY_PATH=$1 UCX_SRD_GPU_THREAD=n
    device_pair -- --rounds 200 --slot 8 --puts 1 --memory hh --slots 1 --blocks 1
}

# Counters in a GPU's memory whose increments come together are copied together: one
# by one the host would wait twice for each.
device_batches_inside() {
    export LD_LIBRARY_PATH=$1 FAKE_GPU_COPIES=$CHECK_LOG.copies
    rm -f "$FAKE_GPU_COPIES"
    device_pair -- --memory hd --blocks 32 --slot 8 --rounds 100
    at_most "waits for copies" "$(sed -n 's/.* waits=//p' "$FAKE_GPU_COPIES" |
        sort -n | tail -n 1)" $((32 * 100 * 2))
}

# A thread that finds nothing sleeps, unless it is told to poll.
device_idle_inside() {
    export LD_LIBRARY_PATH=$1 UCX_LOG_LEVEL=info
    UCX_SRD_GPU_IDLE=1000s device_pair -- --rounds 1 --idle
    grep -q 'operations slept 0 times' "$GPU_LOG" || fail "it sleeps all the same"
    UCX_SRD_GPU_IDLE=0s device_pair -- --rounds 1 --idle
    at_least "sleeps in a second" \
        "$(sed -n 's/.*operations slept \([0-9]*\) times/\1/p' "$GPU_LOG" | head -n 1)" 10
}

# Without the device API in the program, or with UCX_EFA_DEVICE_API=n, there is no
# such interface, and no thread.
device_unused_inside() {
    export LD_LIBRARY_PATH=$1 UCX_LOG_LEVEL=info UCX_TLS=^cuda_ipc,sm
    two_nodes --gpus 2 --device efa2 -- \
        "$SRDRUN" "$BUILD/test/ucp_gpu" --port @PORT@ --iters 1 -- \
        "$SRDRUN" "$BUILD/test/ucp_gpu" --port @PORT@ --client --iters 1 || exit 1
    ! grep srd_gpu "$CHECK_LOG" || fail "srd_gpu is open"
}

# UCX 1.22.0 has the API in an older form.
device_old() {
    gpu_ucx libucx-cu13 1.22.0
    unset LD_LIBRARY_PATH
    with_release 13 "${CALL[@]}" device_old_inside "$GPU_LIBS" || exit
}

device_old_inside() {
    export LD_LIBRARY_PATH=$1 UCX_RESOLVE_REMOTE_EP_ID=y # docs/GPU.md
    device_pair --reorder 0.3 -- --rounds 50 --slot 5000
    UCX_SRD_GPU_DEPTH=2 device_pair -- --rounds 20 --slot 500
}

device_api() {
    local release thread episodes="--episodes 10"
    ! ci || episodes="--episodes 40"
    ! full || episodes="--episodes 1000"
    episodes=${EPISODES:-$episodes} # of a failing one: --episodes 1 --seed N
    for release in 13 sid; do
        check "device_puts_$release" 120 device_in $release device_puts_inside
    done
    check device_old 60 device_old
    for release in 13 sid; do
        check "device_episodes_$release" 120 device_in $release device_episodes_inside \
            "$episodes"
    done
    # rings that are full all the time, few work requests, a window of one message
    for thread in y n; do
        check "device_episodes_full_$thread" 240 device_in sid device_episodes_inside \
            "$episodes" UCX_SRD_GPU_DEPTH=2 UCX_SRD_GPU_CHANNELS=1 UCX_SRD_TX_QUEUE_LEN=16 \
            UCX_SRD_WINDOW=1 UCX_SRD_GPU_THREAD=$thread
    done
    check device_two 120 device_in sid device_two_inside "$episodes"
    ci && check device_tsan 150 device_tsan "$episodes"
    check device_hostile 60 device_in sid device_hostile_inside
    check device_wrong 60 device_in sid device_wrong_inside
    check device_killed 60 device_in sid device_killed_inside
    check device_cost 90 device_cost
    check device_batches 60 device_in sid device_batches_inside
    check device_idle 60 device_in sid device_idle_inside
    check device_unused 60 device_in sid device_unused_inside
}
