# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Accidents: the CPU in device memory, memory that was freed, a peer that is killed,
# registrations that fail. Sourced by suite_gpu.sh.

# The program touches device memory with the CPU, and dies of it. Programs that pass
# here have not done it.
cpu_copy() {
    gpu_ucx "${NEW[@]}"
    rendezvous_direct
    ! gpu_pair -- --tests tag --min 65536 --iters 0 --cpu-copy ||
        fail "device memory was read by the CPU"
    grep -E 'Segmentation fault|SIGSEGV|signal 11|status 139' "$GPU_LOG" ||
        fail "nobody died of SIGSEGV"
}

# no_wrong_bytes WHAT: whatever else went wrong.
no_wrong_bytes() {
    ! grep -q 'FAIL: .*wrong at\|FAIL: .*beside them' "$GPU_LOG" ||
        fail "$1: wrong bytes"
}

# reuse PACKAGE VERSION HOW: memory is freed and allocated again at one address
# 1,000 times; each time it is other memory, and its bytes must come. (Our cache once
# did not hear of memory that a GPU's driver freed.)
reuse() {
    gpu_ucx "$1" "$2" "$3"
    rendezvous_direct
    gpu_pair "${HOW[@]}" -- --tests none --reuse 1000 --max 65536 \
        --whole-pages || exit 1
    gpu_no_trouble
    at_least "rounds at one address" \
        "$(awk '$1 == "reuse" { print $4; exit }' "$GPU_LOG")" 900
    at_least "read by RDMA" "$(stat_sum "$STAT" rdma_read_bytes)" \
        "$(gpu_checked)"
}

# killed PACKAGE VERSION HOW: a peer is killed while device memory is under way:
# the other's operations end, and its memory is its own.
killed() {
    gpu_ucx "$1" "$2" "$3"
    rendezvous_direct
    with_stat --gpus 2 "${HOW[@]}" -- "${CALL[@]}" killed_inside "$(random_port)" || exit 1
}

killed_inside() {
    local run=("$SRDRUN" "$BUILD/test/ucp_gpu" --port "$1" --max 16777216) pid
    local victim status=0
    export UCX_HANDLE_ERRORS=none
    "$EFASIM" run --node 0 -- "${run[@]}" --endless >"$CHECK_LOG.a" 2>&1 &
    pid=$!
    wait_listen "$1" "$pid" || fail "the server did not listen"
    "$EFASIM" run --node 1 -- "${run[@]}" --client --endless \
        >"$CHECK_LOG.b" 2>&1 &
    victim=$!
    wait_until $victim grep -q 'under way' "$CHECK_LOG.b" ||
        fail "no traffic: $(cat "$CHECK_LOG.b")"
    # the program is a child of efasim's
    pkill -KILL -P "$victim" -x ucp_gpu || fail "no process to kill"
    wait "$pid" || status=$?
    wait "$victim" # efasim ends after its child
    cat "$CHECK_LOG.a"
    [ "$status" = 0 ] || fail "the survivor ended with status $status"
    grep -q '^the endpoint failed: ' "$CHECK_LOG.a" || fail "nobody told it"
    grep -q '^ok survived ' "$CHECK_LOG.a" || fail "it did not go on"
}

# A dma-buf is refused, and peer memory is there: that does, which is told once.
dmabuf_refused() {
    gpu_ucx "${NEW[@]}"
    rendezvous_direct
    # the first call is a trial with no descriptor
    EFASIM_FAIL_COMMAND=reg-dmabuf-mr:2:EOPNOTSUPP gpu_pair --peer-memory -- \
        --tests tag,get --min 65536 --max 70000 --iters 0 || exit 1
    no_wrong_bytes refused
    [ "$(sort -u "$GPU_LOG" "$CHECK_LOG.server" |
        grep -c 'peer memory does instead')" = 2 ] ||
        fail "not told, once by each side"
}

# registration COMMAND HOW FIRST: the n-th registration fails, for each n from the
# first one that is of GPU memory until there is no n-th any more. Each failure is
# told (where UCX hides errors it tries again, or otherwise), and the bytes are
# right, by whatever way, or an error is returned.
registration() {
    local n=$3 status right=0 errors=0
    gpu_ucx "${NEW[@]}" "$2"
    rendezvous_direct
    export UCX_LOG_LEVEL=diag
    while true; do
        status=0
        EFASIM_FAIL_COMMAND=$1:$n:EIO gpu_pair "${HOW[@]}" -- --tests tag,get \
            --min 65536 --max 70000 --iters 0 || status=$?
        no_wrong_bytes "$1:$n"
        grep -hE 'EFA +(DIAG|WARN|ERROR) .*(cannot register|copied through host)' \
            "$GPU_LOG" "$CHECK_LOG.server" || break
        [ "$status" = 0 ] && right=$((right + 1)) || errors=$((errors + 1))
        n=$((n + 1))
        [ "$n" -lt 40 ] || fail "no end of registrations"
    done
    [ "$status" = 0 ] || fail "$1:$n: an error, and no registration that failed"
    note "$1: $right ended with the right bytes, $errors with an error"
    at_least "registrations that failed" $((right + errors)) 8
    at_least "errors" "$errors" 1
}
