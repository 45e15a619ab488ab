/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams: the batch's messages are one run of bytes each way, cut by the
 * sender at message borders and by the receiver where it likes.
 */
#include "bytes.h"

#include <string.h>

/* The bytes of a batch, seen as one stream, with a place in it. */
typedef struct cursor {
    batch_t *batch;
    unsigned msg;
    size_t   offset;
} cursor_t;

static void stream_post_tx(bytes_t *bt, batch_t *batch)
{
    ucp_request_param_t param;
    unsigned i;
    msg_t *msg;

    for (i = 0; i < batch->count; ++i) {
        msg   = &batch->tx[i];
        param = op_param_send(&msg->op);
        if (msg->len == 0) {
            /* UCX 1.13 asserts at the receiver of an empty stream send. */
            op_started(&msg->op, NULL);
            continue;
        }
        op_started(&msg->op, ucp_stream_send_nbx(bt->node.ep, msg->buf,
                                                 msg->len, &param));
    }
}

/* Copy what came to where it belongs. @return 0, -1: more than was sent. */
static int cursor_put(bytes_t *bt, cursor_t *at, const uint8_t *data,
                      size_t len)
{
    msg_t *msg;
    size_t n;

    while (len > 0) {
        if (at->msg == at->batch->count) {
            return bytes_fail(bt, bt->index, len, "bytes beyond the stream");
        }
        msg = &at->batch->rx[at->msg];
        n   = msg->len - at->offset;
        n   = (n < len) ? n : len;
        memcpy(msg->buf + at->offset, data, n);
        data       += n;
        len        -= n;
        at->offset += n;
        if (at->offset == msg->len) {
            ++at->msg;
            at->offset = 0;
        }
    }
    return 0;
}

static size_t batch_bytes(const batch_t *batch)
{
    size_t total = 0;
    unsigned i;

    for (i = 0; i < batch->count; ++i) {
        total += batch->rx[i].len;
    }
    return total;
}

static int stream_recv(bytes_t *bt, batch_t *batch)
{
    static uint8_t piece[1 << 20];
    cursor_t at     = {batch, 0, 0};
    size_t left     = batch_bytes(batch);
    int wait_all    = bt->arg;
    ucp_request_param_t param;
    size_t want;
    op_t op;

    stream_post_tx(bt, batch);
    while (left > 0) {
        memset(&op, 0, sizeof(op));
        want = 1 + (fill_rand(&bt->rand_own) &
                    ((2ull << (fill_rand(&bt->rand_own) % 20)) - 1));
        want = (want > sizeof(piece)) ? sizeof(piece) : want;
        want = (want > left) ? left : want;
        param = op_param_stream_recv(&op);
        if (wait_all) {
            param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
            param.flags         = UCP_STREAM_RECV_FLAG_WAITALL;
        }
        op_started(&op, ucp_stream_recv_nbx(bt->node.ep, piece, want,
                                            &op.got, &param));
        if (op_wait(&bt->node, &op) != UCS_OK) {
            return bytes_fail(bt, bt->index, want, "stream receive: %s",
                              ucs_status_string(op.status));
        }
        if (op.got == 0 || op.got > want || (wait_all && op.got != want)) {
            return bytes_fail(bt, bt->index, want, "stream receive gave %zu",
                              op.got);
        }
        if (cursor_put(bt, &at, piece, op.got)) {
            return -1;
        }
        left -= op.got;
    }
    return batch_wait_tx(bt, batch, "stream send");
}

/* Data taken as UCP hands it over, without a buffer of ours. */
static int stream_data(bytes_t *bt, batch_t *batch)
{
    cursor_t at = {batch, 0, 0};
    size_t left = batch_bytes(batch);
    ucs_status_ptr_t data;
    size_t len;
    int ret;

    stream_post_tx(bt, batch);
    while (left > 0) {
        data = ucp_stream_recv_data_nb(bt->node.ep, &len);
        if (data == NULL) {
            node_progress(&bt->node);
            continue;
        }
        if (UCS_PTR_IS_ERR(data) || len > left) {
            return bytes_fail(bt, bt->index, left, "ucp_stream_recv_data_nb: "
                              "%s", UCS_PTR_IS_ERR(data) ?
                              ucs_status_string(UCS_PTR_STATUS(data)) :
                              "more than was sent");
        }
        ret = cursor_put(bt, &at, data, len);
        ucp_stream_data_release(bt->node.ep, data);
        if (ret) {
            return -1;
        }
        left -= len;
    }
    return batch_wait_tx(bt, batch, "stream send");
}

const bytes_test_t bytes_stream_tests[] = {
    {"stream", stream_recv, NULL, 0},
    {"stream_waitall", stream_recv, NULL, 1},
    {"stream_data", stream_data, NULL, 0},
    {NULL, NULL, NULL, 0}
};
