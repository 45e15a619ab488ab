/* SPDX-License-Identifier: BSD-3-Clause */
/* Tagged messages: expected, unexpected, synchronous, pinged, in pieces. */
#include "bytes.h"

#include <string.h>

#define TAG_MASK_ALL (~(ucp_tag_t)0)
#define TAG_IOV_MAX  4

static ucp_tag_t tag_of(const bytes_t *bt, const msg_t *msg)
{
    return (bt->stream << 40) | msg->index;
}

static void tag_recv(bytes_t *bt, msg_t *msg, ucp_tag_t tag)
{
    ucp_request_param_t param = op_param_tag_recv(&msg->op);

    op_started(&msg->op, ucp_tag_recv_nbx(bt->node.worker, msg->buf, msg->len,
                                          tag, TAG_MASK_ALL, &param));
}

static void tag_send(bytes_t *bt, msg_t *msg, ucp_tag_t tag, int sync)
{
    ucp_request_param_t param = op_param_send(&msg->op);

    op_started(&msg->op, (sync ? ucp_tag_send_sync_nbx : ucp_tag_send_nbx)(
                                 bt->node.ep, msg->buf, msg->len, tag,
                                 &param));
}

static void tag_post_rx(bytes_t *bt, batch_t *batch)
{
    unsigned order[BYTES_WINDOW_MAX], i;
    msg_t *msg;

    bytes_shuffle(order, batch->count, &bt->rand_own);
    for (i = 0; i < batch->count; ++i) {
        msg = &batch->rx[order[i]];
        tag_recv(bt, msg, tag_of(bt, msg));
    }
}

static void tag_post_tx(bytes_t *bt, batch_t *batch, int sync)
{
    unsigned i;
    msg_t *msg;

    for (i = 0; i < batch->count; ++i) {
        msg = &batch->tx[i];
        tag_send(bt, msg, tag_of(bt, msg), sync);
    }
}

/* Length and tag of each receive are those of its message. */
static int tag_finish(bytes_t *bt, batch_t *batch)
{
    unsigned i;
    msg_t *msg;

    if (batch_wait(bt, batch)) {
        return -1;
    }
    for (i = 0; i < batch->count; ++i) {
        msg = &batch->rx[i];
        if (msg->op.got != msg->len ||
            msg->op.sender_tag != tag_of(bt, msg)) {
            return bytes_fail(bt, msg->index, msg->len,
                              "received length %zu tag 0x%llx", msg->op.got,
                              (unsigned long long)msg->op.sender_tag);
        }
    }
    return 0;
}

static int tag_expected(bytes_t *bt, batch_t *batch)
{
    tag_post_rx(bt, batch);
    if (node_barrier(&bt->node)) {
        return -1;
    }
    tag_post_tx(bt, batch, bt->arg);
    return tag_finish(bt, batch);
}

static int tag_unexpected(bytes_t *bt, batch_t *batch)
{
    tag_post_tx(bt, batch, 0);
    if (node_barrier(&bt->node)) {
        return -1;
    }
    tag_post_rx(bt, batch);
    return tag_finish(bt, batch);
}

/* A synchronous send may not complete before its receive was posted. */
static int tag_sync_unexpected(bytes_t *bt, batch_t *batch)
{
    unsigned i;

    tag_post_tx(bt, batch, 1);
    if (node_barrier(&bt->node)) {
        return -1;
    }
    for (i = 0; i < 200; ++i) {
        ucp_worker_progress(bt->node.worker);
    }
    for (i = 0; i < batch->count; ++i) {
        if (batch->tx[i].op.done) {
            return bytes_fail(bt, batch->tx[i].index, batch->tx[i].len,
                              "synchronous send done before its receive");
        }
    }
    if (node_barrier(&bt->node)) {
        return -1;
    }
    tag_post_rx(bt, batch);
    return tag_finish(bt, batch);
}

static int tag_probe_one(bytes_t *bt, msg_t *msg)
{
    ucp_request_param_t param = op_param_tag_recv(&msg->op);
    ucp_tag_recv_info_t info;
    ucp_tag_message_h handle;

    while ((handle = ucp_tag_probe_nb(bt->node.worker, tag_of(bt, msg),
                                      TAG_MASK_ALL, 1, &info)) == NULL) {
        node_progress(&bt->node);
    }
    if (info.length != msg->len) {
        return bytes_fail(bt, msg->index, msg->len, "pinged length %zu",
                          info.length);
    }
    op_started(&msg->op, ucp_tag_msg_recv_nbx(bt->node.worker, msg->buf,
                                              msg->len, handle, &param));
    return 0;
}

static int tag_probed(bytes_t *bt, batch_t *batch)
{
    unsigned i;

    tag_post_tx(bt, batch, 0);
    for (i = batch->count; i-- > 0;) {
        if (tag_probe_one(bt, &batch->rx[i])) {
            return -1;
        }
    }
    return tag_finish(bt, batch);
}

/* All messages of a batch have one tag: they match in the order sent. */
static int tag_ordered(bytes_t *bt, batch_t *batch)
{
    ucp_tag_t tag = (bt->stream << 40) | 0xffffffff;
    unsigned i;

    for (i = 0; i < batch->count; ++i) {
        tag_send(bt, &batch->tx[i], tag, 0);
    }
    for (i = 0; i < batch->count; ++i) {
        tag_recv(bt, &batch->rx[i], tag);
    }
    return batch_wait(bt, batch);
}

/* Cut @len bytes at @buf into pieces of random length, some of them empty. */
static unsigned tag_iov_cut(bytes_t *bt, ucp_dt_iov_t *iov, msg_t *msg)
{
    size_t at = 0;
    unsigned i;

    for (i = 0; i < TAG_IOV_MAX; ++i) {
        iov[i].buffer = msg->buf + at;
        iov[i].length = (i + 1 == TAG_IOV_MAX) ? msg->len - at :
                        fill_rand(&bt->rand_own) % (msg->len - at + 1);
        at           += iov[i].length;
    }
    return TAG_IOV_MAX;
}

static int tag_iov(bytes_t *bt, batch_t *batch)
{
    static ucp_dt_iov_t tx[BYTES_WINDOW_MAX][TAG_IOV_MAX];
    static ucp_dt_iov_t rx[BYTES_WINDOW_MAX][TAG_IOV_MAX];
    ucp_request_param_t param;
    unsigned i, n;
    msg_t *msg;

    for (i = 0; i < batch->count; ++i) {
        msg                 = &batch->rx[i];
        n                   = tag_iov_cut(bt, rx[i], msg);
        param               = op_param_tag_recv(&msg->op);
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
        param.datatype      = UCP_DATATYPE_IOV;
        op_started(&msg->op,
                   ucp_tag_recv_nbx(bt->node.worker, rx[i], n,
                                    tag_of(bt, msg), TAG_MASK_ALL, &param));
    }
    for (i = 0; i < batch->count; ++i) {
        msg                 = &batch->tx[i];
        n                   = tag_iov_cut(bt, tx[i], msg);
        param               = op_param_send(&msg->op);
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
        param.datatype      = UCP_DATATYPE_IOV;
        op_started(&msg->op, ucp_tag_send_nbx(bt->node.ep, tx[i], n,
                                              tag_of(bt, msg), &param));
    }
    return tag_finish(bt, batch);
}

/* A receive that is too short fails alone; the next message is whole. */
static int tag_truncated(bytes_t *bt, batch_t *batch)
{
    ucp_request_param_t param;
    ucs_status_t status;
    op_t op;
    msg_t *msg;
    unsigned i;

    for (i = 0; i < batch->count; ++i) {
        msg = &batch->rx[i];
        if (msg->len < 2) {
            continue;
        }
        /* Once more with room for half: the first copy is for the trap. */
        memset(&op, 0, sizeof(op));
        param = op_param_send(&op);
        op_started(&op, ucp_tag_send_nbx(bt->node.ep, batch->tx[i].buf,
                                         msg->len, tag_of(bt, msg), &param));
        param = op_param_tag_recv(&msg->op);
        op_started(&msg->op, ucp_tag_recv_nbx(bt->node.worker, msg->buf,
                                              msg->len / 2, tag_of(bt, msg),
                                              TAG_MASK_ALL, &param));
        status = op_wait(&bt->node, &msg->op);
        if (status != UCS_ERR_MESSAGE_TRUNCATED) {
            return bytes_fail(bt, msg->index, msg->len, "half a buffer: %s",
                              ucs_status_string(status));
        }
        if (op_wait(&bt->node, &op) < 0) {
            return bytes_fail(bt, msg->index, msg->len, "send: %s",
                              ucs_status_string(op.status));
        }
        memset(&msg->op, 0, sizeof(msg->op));
    }
    return tag_unexpected(bt, batch);
}

const bytes_test_t bytes_tag_tests[] = {
    {"tag", tag_expected, NULL, 0},
    {"tag_unexp", tag_unexpected, NULL, 0},
    {"tag_sync", tag_expected, NULL, 1},
    {"tag_sync_unexp", tag_sync_unexpected, NULL, 0},
    {"tag_probe", tag_probed, NULL, 0},
    {"tag_order", tag_ordered, NULL, 0},
    {"tag_iov", tag_iov, NULL, 0},
    {"tag_trunc", tag_truncated, NULL, 0},
    {NULL, NULL, NULL, 0}
};
