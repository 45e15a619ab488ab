# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# NIXL's lists of blocks over srd. Sourced by suite_python.sh; each of these runs in
# another Debian (nixl_in), whose rdma-core has RDMA WRITE.

# 16,384 blocks by lists, which its UCX 1.23 hands to a transport that
# takes them: the device finds at least 16 writes behind a doorbell. Without
# lists each write has its own.
nixl_lists_inside() {
    local bytes=$((16384 * 4096)) bells=() enable
    PYTHON=$1
    export PYTHONPATH=$PYTHON_EXAMPLES
    for enable in 1 0; do
        export NIXL_UCX_SGL_ENABLE=$enable
        sides "$PYTHON_DIR/nixl_checks.py" lists @PORT@ -- \
            "$PYTHON_DIR/nixl_checks.py" lists @PORT@ 127.0.0.1 : \
            --device efa2 || exit 1
        no_trouble "$CHECK_LOG" "$CHECK_LOG.server"
        [ "$(stat_sum "$STAT" rdma_write_bytes 1)" = $bytes ] ||
            fail "not all was written by RDMA"
        [ "$(stat_sum "$STAT" rdma_read_bytes 1)" = $bytes ] ||
            fail "not all was read by RDMA"
        bells+=("$(stat_sum "$STAT" doorbells 1)")
    done
    # each of the reads has one
    note "doorbells: ${bells[0]} with lists, ${bells[1]} without"
    at_most "doorbells with lists" "${bells[0]}" $((16384 + 16384 / 16 + 500))
    # several of libefa's may come between two looks of the device
    at_least "doorbells without" "${bells[1]}" $((bells[0] + 1000))
}

# bench/kv.py, short: lists are what the bench says they are.
nixl_kv_inside() {
    local json=$CHECK_LOG.json
    "$1" -B "$TEST_DIR/../bench/kv.py" --python "$1" --rounds 1 \
        --arms lists,blocks,tcp --shapes 1024x4096,1024x65536,16384x4096 \
        --json "$json" "$BUILD" || fail "status $?"
    "$1" - "$json" <<'END' || fail "the bench's figures"
import json, sys
data = json.load(open(sys.argv[1], encoding='utf-8'))
assert not data['missing'], data['missing']
assert len(data['rows']) == 3 * 2 * 3
for row in data['rows']:
    rung = row['requests_per_doorbell']
    if row['arm'] == 'lists' and row['operation'] == 'WRITE':
        print('note:', row['blocks'], 'of', row['size'], 'B:', round(rung, 1),
              'requests a doorbell')
        assert rung >= 16, row
    assert row['bytes_per_second'] > 1e6, row
END
}

# The target of a list is killed in its middle: it ends with an error, and no
# registration is left, nor a descriptor. Half of the list cannot come, however late
# the target sees how much has.
nixl_killed_list() {
    need cc
    cc -shared -fPIC -o "$CHECK_LOG.so" "$PYTHON_DIR/cancel_ends.c" -ldl ||
        fail "cc: status $?"
    nixl_in "$1" nixl_killed_list_inside
}

nixl_killed_list_inside() {
    local trace=$CHECK_LOG.trace plan=$CHECK_LOG.plan pid
    # shellcheck disable=SC2034 # for sides
    PYTHON=$1
    rm -f "$trace"
    echo "after 4000 clog 0 1" >"$plan"
    export PYTHONPATH=$PYTHON_EXAMPLES SERVER_MAY_DIE=1 NIXL_UCX_SGL_ENABLE=1
    export CANCEL_ENDS=$CHECK_LOG.so
    sides "$PYTHON_DIR/nixl_checks.py" killed_list @PORT@ -- \
        "$PYTHON_DIR/nixl_checks.py" killed_list @PORT@ 127.0.0.1 : \
        --device efa2 --trace "$trace" --plan "$plan" || exit 1
    grep -q '^ok the peer of a list' "$CHECK_LOG" || fail "the check did not end"
    at_least "written" "$(stat_sum "$STAT" rdma_write_bytes 1)" $((1024 * 16384))
    at_most "doorbells" "$(stat_sum "$STAT" doorbells 1)" \
        $(($(stat_sum "$STAT" rdma_write_wrs 1) / 16 + 500))
    pid=$(grep ' cmd reg-mr ret=0' "$trace" | grep ' node=1 ' |
        sed -nE 's/.* pid=([0-9]+) .*/\1/p' | sort | uniq -c | sort -n | tail -n 1 |
        awk '{ print $2 }')
    awk -v pid="pid=$pid" '$2 == pid && $5 == "cmd" && $7 == "ret=0" {
            if ($6 ~ /^reg-/) { ++now; ++ever }
            if ($6 == "destroy-mr") --now }
        END { print "note: " ever " registrations, " now " left"
            exit !(ever > 2 && now == 0) }' "$trace" || fail "registrations are left"
}

# A pool of many registrations, in blocks, those over the seams among them: 4 GB of
# 64 in --full.
nixl_pool_inside() {
    local each=$((64 << 20))
    # shellcheck disable=SC2034 # for sides
    PYTHON=$1
    export PYTHONPATH=$PYTHON_EXAMPLES NIXL_UCX_SGL_ENABLE
    ! full || export POOL_GB=64 POOL_ROUNDS=8 POOL_PART_MB=256
    for NIXL_UCX_SGL_ENABLE in 1 0; do
        sides "$PYTHON_DIR/nixl_checks.py" pool @PORT@ -- \
            "$PYTHON_DIR/nixl_checks.py" pool @PORT@ 127.0.0.1 : \
            --device efa2 --mr-pages 262144 || exit 1
        grep -q '^ok .* GB' "$CHECK_LOG" || fail "the check did not end"
        no_trouble "$CHECK_LOG" "$CHECK_LOG.server"
        at_least "written" "$(stat_sum "$STAT" rdma_write_bytes 1)" $each
        at_least "read" "$(stat_sum "$STAT" rdma_read_bytes 1)" $each
    done
}

nixl_lists_checks() {
    check nixl_pool 240 nixl_in 13 nixl_pool_inside
    ! full || check nixl_pool_direct 240 nixl_in sid nixl_pool_inside
    check nixl_lists 90 nixl_in 13 nixl_lists_inside
    check nixl_lists_direct 90 nixl_in sid nixl_lists_inside
    check nixl_kv 90 nixl_in 13 nixl_kv_inside
    check nixl_killed_list 60 nixl_killed_list 13
    check nixl_killed_list_direct 60 nixl_killed_list sid
}
