/* SPDX-License-Identifier: BSD-3-Clause */
/* Put, get and atomics on a region that each side opens to the other. */
#include "bytes.h"

#include <stdlib.h>
#include <string.h>

/* A batch of 48 MB or one message of the largest size, and the gaps. */
#define RMA_REGION (BYTES_SIZE_MAX + (1u << 20))
#define RMA_POISON 0x3c

static struct {
    uint8_t  *region; /* ours */
    region_t peer;
} rma;

static int rma_open(bytes_t *bt)
{
    rma.region = malloc(RMA_REGION);
    memset(rma.region, RMA_POISON, RMA_REGION);
    return node_region_open(&bt->node, rma.region, RMA_REGION, rma.region,
                            &rma.peer);
}

static int rma_close(bytes_t *bt)
{
    if (node_barrier(&bt->node) || node_region_close(&bt->node, &rma.peer)) {
        return -1;
    }
    free(rma.region);
    return 0;
}

/* Places of a batch's messages in a region: same on both sides, with gaps. */
static void rma_layout(const batch_t *batch, size_t *at)
{
    size_t next = 1;
    unsigned i;

    for (i = 0; i < batch->count; ++i) {
        next += 1 + fill_mix(batch->tx[i].index) % 61;
        at[i] = next;
        next += batch->tx[i].len;
    }
}

/* Flush by endpoint or by worker, by turns: done only when all before it is. */
static int rma_flush(bytes_t *bt, const msg_t *msgs, unsigned count)
{
    op_t op                   = {0};
    ucp_request_param_t param = op_param_send(&op);
    ucs_status_t status;
    unsigned i;

    if (fill_rand(&bt->rand_own) & 1) {
        status = node_flush(&bt->node);
    } else {
        op_started(&op, ucp_ep_flush_nbx(bt->node.ep, &param));
        status = op_wait(&bt->node, &op);
    }
    for (i = 0; i < count; ++i) {
        if (!msgs[i].op.done) {
            return bytes_fail(bt, msgs[i].index, msgs[i].len,
                              "not done after the flush");
        }
    }
    return (status == UCS_OK) ? 0 :
           bytes_fail(bt, bt->index, 0, "flush: %s",
                      ucs_status_string(status));
}

/* Move what the peer put from the region to the messages; check the gaps. */
static int rma_collect(bytes_t *bt, batch_t *batch, const size_t *at)
{
    size_t pos = 0, end = 0;
    unsigned i;

    for (i = 0; i <= batch->count; ++i) {
        end = (i < batch->count) ? at[i] : pos + 64;
        for (; pos < end; ++pos) {
            if (rma.region[pos] != RMA_POISON) {
                return bytes_fail(bt, bt->index, 0, "byte %zu of the region, "
                                  "outside every put, was overwritten with "
                                  "0x%02x", pos, rma.region[pos]);
            }
        }
        if (i < batch->count) {
            memcpy(batch->rx[i].buf, rma.region + at[i], batch->rx[i].len);
            pos += batch->rx[i].len;
        }
    }
    memset(rma.region, RMA_POISON, pos);
    return 0;
}

static int rma_put_batch(bytes_t *bt, batch_t *batch)
{
    size_t at[BYTES_WINDOW_MAX];
    ucp_request_param_t param;
    unsigned i;
    msg_t *msg;

    rma_layout(batch, at);
    for (i = 0; i < batch->count; ++i) {
        msg   = &batch->tx[i];
        param = op_param_send(&msg->op);
        op_started(&msg->op, ucp_put_nbx(bt->node.ep, msg->buf, msg->len,
                                         rma.peer.remote + at[i], rma.peer.rkey,
                                         &param));
    }
    if (rma_flush(bt, batch->tx, batch->count) ||
        batch_wait_tx(bt, batch, "put") || node_barrier(&bt->node) ||
        rma_collect(bt, batch, at)) {
        return -1;
    }
    return node_barrier(&bt->node);
}

static int rma_get_batch(bytes_t *bt, batch_t *batch)
{
    size_t at[BYTES_WINDOW_MAX];
    ucp_request_param_t param;
    unsigned i;
    msg_t *msg;

    rma_layout(batch, at);
    for (i = 0; i < batch->count; ++i) {
        memcpy(rma.region + at[i], batch->tx[i].buf, batch->tx[i].len);
    }
    if (node_barrier(&bt->node)) {
        return -1;
    }
    for (i = 0; i < batch->count; ++i) {
        msg   = &batch->rx[i];
        param = op_param_send(&msg->op);
        op_started(&msg->op, ucp_get_nbx(bt->node.ep, msg->buf, msg->len,
                                         rma.peer.remote + at[i], rma.peer.rkey,
                                         &param));
    }
    /* By completion only, or by a flush: both must be enough. */
    if ((fill_rand(&bt->rand_own) & 1) &&
        rma_flush(bt, batch->rx, batch->count)) {
        return -1;
    }
    for (i = 0; i < batch->count; ++i) {
        if (msg_wait(bt, &batch->rx[i], "get")) {
            return -1;
        }
    }
    return node_barrier(&bt->node);
}

static int run_rma(bytes_t *bt)
{
    return rma_open(bt) ||
           bytes_sweep(bt, bt->arg ? rma_get_batch : rma_put_batch) ||
           rma_close(bt) ? -1 : 0;
}

/* One fetching atomic of @size bytes; checks the value that came back. */
static int amo_one(bytes_t *bt, ucp_atomic_op_t code, uint64_t value,
                   uint64_t *cell, size_t size, size_t at)
{
    uint64_t mask             = (size == 8) ? ~0ull : 0xffffffffull;
    uint64_t reply            = 0x1111111111111111ull;
    op_t op                   = {0};
    ucp_request_param_t param = op_param_send(&op);
    uint64_t before           = *cell & mask;

    /* For a compare-and-swap the reply buffer holds the new value. */
    if (code == UCP_ATOMIC_OP_CSWAP) {
        reply = ~value;
    }
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE |
                          UCP_OP_ATTR_FIELD_REPLY_BUFFER;
    param.datatype      = ucp_dt_make_contig(size);
    param.reply_buffer  = &reply;
    op_started(&op, ucp_atomic_op_nbx(bt->node.ep, code, &value, 1,
                                      rma.peer.remote + at, rma.peer.rkey,
                                      &param));
    if (op_wait(&bt->node, &op) != UCS_OK) {
        return bytes_fail(bt, bt->index, size, "atomic %d: %s", code,
                          ucs_status_string(op.status));
    }
    if ((reply & mask) != before) {
        return bytes_fail(bt, bt->index, size, "atomic %d fetched 0x%llx, "
                          "expected 0x%llx", code, (unsigned long long)reply,
                          (unsigned long long)before);
    }
    switch (code) {
    case UCP_ATOMIC_OP_ADD: *cell += value; break;
    case UCP_ATOMIC_OP_SWAP: *cell = value; break;
    case UCP_ATOMIC_OP_CSWAP:
        *cell = ((value & mask) == before) ? ~value : *cell;
        break;
    case UCP_ATOMIC_OP_AND: *cell &= value; break;
    case UCP_ATOMIC_OP_OR: *cell |= value; break;
    default: *cell ^= value;
    }
    *cell &= mask;
    return 0;
}

/* Atomics on the peer's cells; the peer then finds the values we kept. */
static int run_amo(bytes_t *bt)
{
    static const ucp_atomic_op_t codes[] = {
        UCP_ATOMIC_OP_ADD, UCP_ATOMIC_OP_SWAP, UCP_ATOMIC_OP_CSWAP,
        UCP_ATOMIC_OP_AND, UCP_ATOMIC_OP_OR,   UCP_ATOMIC_OP_XOR
    };
    size_t size       = bt->arg;
    unsigned n        = 20 + bt->opts.iters;
    uint64_t cells[4] = {0};
    uint64_t rand     = bytes_key(bt, bt->node.client, 0);
    void *theirs      = NULL;
    size_t len;
    unsigned i, c;
    uint64_t value;
    int ret;

    if (rma_open(bt)) {
        return -1;
    }
    memset(rma.region, 0, 64);
    if (node_barrier(&bt->node)) {
        return -1;
    }
    for (i = 0; i < n; ++i) {
        c     = fill_rand(&rand) % 4;
        /* Half of the compares hit. */
        value = (fill_rand(&rand) & 1) ? cells[c] : fill_rand(&rand);
        if (amo_one(bt, codes[fill_rand(&rand) % 6], value, &cells[c], size,
                    c * size)) {
            return -1;
        }
        ++bt->messages;
    }
    if (rma_flush(bt, NULL, 0) || node_barrier(&bt->node) ||
        node_swap(&bt->node, cells, sizeof(cells), &theirs, &len)) {
        return -1;
    }
    for (c = 0, ret = 0; c < 4 && ret == 0; ++c) {
        if (memcmp(rma.region + c * size, (uint8_t*)theirs + c * 8, size)) {
            ret = bytes_fail(bt, c, size, "cell %u differs from what the peer "
                             "computed", c);
        }
    }
    free(theirs);
    return (ret || rma_close(bt)) ? -1 : 0;
}

const bytes_test_t bytes_rma_tests[] = {
    {"put", NULL, run_rma, 0},
    {"get", NULL, run_rma, 1},
    {"amo32", NULL, run_amo, 4},
    {"amo64", NULL, run_amo, 8},
    {NULL, NULL, NULL, 0}
};
