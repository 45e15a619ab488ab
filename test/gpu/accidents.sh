# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Accidents: the CPU in device memory, memory that was freed, a peer that is killed,
# registrations that fail. Sourced by suite_gpu.sh.

# dies_of_cpu: the client touched device memory with the CPU, and died of it.
dies_of_cpu() {
    grep -E 'Segmentation fault|SIGSEGV|signal 11|status 139' "$GPU_LOG" ||
        fail "nobody died of SIGSEGV"
}

# The program itself, and the transport with one line that reads what it is to
# send: each dies. Programs that pass here have not done it.
cpu_copy() {
    # shellcheck disable=SC2086
    gpu_ucx $NEW
    rendezvous_direct
    ! gpu_pair -- --tests tag --min 65536 --iters 0 --cpu-copy ||
        fail "device memory was read by the CPU"
    dies_of_cpu
}

# mutant NAME: the module with that fault, in the folder $CHECK_LOG.mutant: it looks
# with the CPU at what it is to read into (cpu), at a message that it is to send
# (cpu-message), or keeps the registration of memory that was freed (stale).
mutant() {
    local look='(void)*(volatile const char*)iov->buffer;' old
    rm -rf "$CHECK_LOG.mutant"
    case $1 in
    cpu)
        old='    return srd_rma_zcopy(tl_ep, BASE_OUT_GET_ZCOPY,'
        set -- uct/ib/srd/srd_get.c "$old" "    $look"$'\n'"$old"
        ;;
    cpu-message)
        old='        base_op_set_piece(op, 1, iov->buffer, length, efa_memh_lkey('
        set -- uct/ib/base/base_am.c "$old" "        $look"$'\n'"$old"
        ;;
    stale)
        old=$'    efa_rcache_unmapped(&md->cache, (uintptr_t)address,\n'
        old+=$'                        (uintptr_t)address + length);\n'
        set -- uct/ib/efa/efa_mr.c "$old" $'    (void)md, (void)address, (void)length;\n'
        ;;
    esac
    python3 "$TEST_DIR/mutants/broken.py" "$TEST_DIR/.." "$BUILD" \
        "$CHECK_LOG.mutant" "$@" || fail "no mutant"
}

# no_wrong_bytes WHAT: whatever else went wrong.
no_wrong_bytes() {
    ! grep -q 'FAIL: .*wrong at\|FAIL: .*beside them' "$GPU_LOG" ||
        fail "$1: wrong bytes"
}

# cpu_mutant WHICH OPTION...: in reads, or in messages from where they lie.
cpu_mutant() {
    # shellcheck disable=SC2086
    gpu_ucx $NEW
    mutant "$1"
    rendezvous_direct
    [ "$1" != cpu-message ] || export UCX_ZCOPY_THRESH=1 UCX_RNDV_THRESH=inf
    ! SRDRUN=$CHECK_LOG.mutant/bin/srdrun gpu_pair "${@:2}" -- --tests tag \
        --min 4096 --max 65536 --iters 0 || fail "the mutant lives"
    dies_of_cpu
    rm -rf "$CHECK_LOG.mutant"
}

# reuse PACKAGE VERSION HOW: memory is freed and allocated again at one address
# 1,000 times; each time it is other memory, and its bytes must come.
reuse() {
    local how
    gpu_ucx "$1" "$2"
    mapfile -t how < <(how_options "$3")
    rendezvous_direct
    gpu_pair "${how[@]}" -- --tests none --reuse 1000 --max 65536 \
        --whole-pages || exit 1
    gpu_no_trouble
    at_least "rounds at one address" \
        "$(awk '$1 == "reuse" { print $4; exit }' "$GPU_LOG")" 900
    at_least "read by RDMA" "$(stat_sum "$STAT" rdma_read_bytes)" \
        "$(gpu_checked)"
}

# The fault that was: our cache did not hear of memory that a GPU's driver freed.
reuse_mutant() {
    # shellcheck disable=SC2086
    UCX_PROTO_ENABLE=n gpu_ucx $OLD
    mutant stale
    rendezvous_direct
    ! SRDRUN=$CHECK_LOG.mutant/bin/srdrun gpu_pair --peer-memory \
        --no-dmabuf -- --tests none --reuse 50 --max 65536 --whole-pages ||
        fail "the mutant lives"
    grep 'FAIL: 65536 bytes in device memory: wrong at' "$GPU_LOG" ||
        fail "it died of something else"
    rm -rf "$CHECK_LOG.mutant"
}

# killed PACKAGE VERSION HOW: a peer is killed while device memory is under way:
# the other's operations end, and its memory is its own.
killed() {
    local how
    gpu_ucx "$1" "$2"
    mapfile -t how < <(how_options "$3")
    rendezvous_direct
    with_stat --gpus 2 "${how[@]}" -- "$SUITE_SCRIPT" --call "$SUITE" "$BUILD" "$PROFILE" \
        "$CHECK_LOG" killed_inside "$(random_port)" || exit 1
}

killed_inside() {
    local run=("$SRDRUN" "$BUILD/test/ucp_gpu" --port "$1" --max 16777216) pid
    local victim tries=0 status=0
    export UCX_HANDLE_ERRORS=none
    "$EFASIM" run --node 0 -- "${run[@]}" --endless >"$CHECK_LOG.a" 2>&1 &
    pid=$!
    wait_listen "$1" "$pid" || fail "the server did not listen"
    "$EFASIM" run --node 1 -- "${run[@]}" --client --endless \
        >"$CHECK_LOG.b" 2>&1 &
    victim=$!
    until grep -q 'under way' "$CHECK_LOG.b"; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || fail "no traffic: $(cat "$CHECK_LOG.b")"
        sleep 0.1
    done
    # the program is a child of efasim's
    pkill -KILL -P "$victim" -x ucp_gpu || fail "no process to kill"
    wait "$pid" || status=$?
    wait "$victim" # efasim ends after its child
    cat "$CHECK_LOG.a"
    [ "$status" = 0 ] || fail "the survivor ended with status $status"
    grep -q '^the endpoint failed: ' "$CHECK_LOG.a" || fail "nobody told it"
    grep -q '^ok survived ' "$CHECK_LOG.a" || fail "it did not go on"
}

# registration COMMAND HOW FIRST: the n-th registration fails, for each n from the
# first one that is of GPU memory until there is no n-th any more. Each failure is
# told (where UCX hides errors it tries again, or otherwise), and the bytes are
# right, by whatever way, or an error is returned.
registration() {
    local how n=$3 status right=0 errors=0
    # shellcheck disable=SC2086
    gpu_ucx $NEW
    mapfile -t how < <(how_options "$2")
    rendezvous_direct
    export UCX_LOG_LEVEL=diag
    while true; do
        status=0
        EFASIM_FAIL_COMMAND=$1:$n:EIO gpu_pair "${how[@]}" -- --tests tag,get \
            --min 65536 --max 70000 --iters 0 --timeout 10 || status=$?
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
