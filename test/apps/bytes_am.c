/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UCP active messages with user headers of many lengths. The receiver copies
 * in the callback, keeps the data for later, or fetches it (rendezvous), by
 * chance.
 */
#include "bytes.h"

#include <string.h>

#define AM_ID_PLAIN   3
#define AM_ID_PERSIST 4
#define AM_HEADER_MAX 256

/* Begins each user header; the rest of it is filled from the key. */
typedef struct am_header {
    uint64_t index;
    uint64_t length; /* of the payload */
    uint64_t key;
} am_header_t;

/* The state of one message at its receiver. */
typedef enum am_state {
    AM_ABSENT, /* not here yet */
    AM_COPIED, /* contents are in msg->buf */
    AM_HELD,   /* data is UCP's, to be copied and released */
    AM_FETCH,  /* rendezvous descriptor, to be fetched */
    AM_COMING  /* being fetched */
} am_state_t;

static struct {
    bytes_t    *bt;
    batch_t    *batch;
    unsigned   arrived;
    int        failed;
    am_state_t state[BYTES_WINDOW_MAX];
    void       *data[BYTES_WINDOW_MAX];
} am;

static size_t am_header_len(uint64_t index)
{
    /* The three words, then 0..200 more, odd lengths included. */
    return sizeof(am_header_t) + fill_mix(index) % 200;
}

static int am_header_check(const void *header, size_t len, am_header_t *out)
{
    bytes_t *bt = am.bt;
    uint64_t base;

    if (len < sizeof(*out)) {
        return bytes_fail(bt, 0, 0, "AM header of %zu B", len);
    }
    memcpy(out, header, sizeof(*out));
    base = am.batch->rx[0].index;
    if (out->index < base || out->index >= base + am.batch->count) {
        return bytes_fail(bt, out->index, out->length,
                          "AM of another batch (this one: %llu + %u)",
                          (unsigned long long)base, am.batch->count);
    }
    if (out->key != bytes_key(bt, !bt->node.client, out->index) ||
        len != am_header_len(out->index) ||
        fill_diff((const char*)header + sizeof(*out), len - sizeof(*out),
                  ~out->key, 0) >= 0) {
        return bytes_fail(bt, out->index, out->length,
                          "AM header of %zu B damaged", len);
    }
    return 0;
}

static ucs_status_t am_fetch(unsigned i, void *data)
{
    msg_t *msg                = &am.batch->rx[i];
    ucp_request_param_t param = op_param_am_recv(&msg->op);

    am.state[i] = AM_COMING;
    op_started(&msg->op, ucp_am_recv_data_nbx(am.bt->node.worker, data,
                                              msg->buf, msg->len, &param));
    return UCS_INPROGRESS;
}

static ucs_status_t am_take(unsigned i, void *data, uint64_t attr)
{
    msg_t *msg  = &am.batch->rx[i];
    int later   = fill_rand(&am.bt->rand_own) & 1;
    am.data[i]  = data;

    if (attr & UCP_AM_RECV_ATTR_FLAG_RNDV) {
        if (msg->len == 0) {
            /* Fetching nothing leaks a descriptor in UCX 1.13: drop it. */
            am.state[i] = AM_COPIED;
            return UCS_OK;
        }
        if (!later) {
            return am_fetch(i, data);
        }
        am.state[i] = AM_FETCH;
        return UCS_INPROGRESS;
    }
    if ((attr & UCP_AM_RECV_ATTR_FLAG_DATA) && later) {
        am.state[i] = AM_HELD;
        return UCS_INPROGRESS;
    }
    if (msg->len > 0) {
        memcpy(msg->buf, data, msg->len);
    }
    am.state[i] = AM_COPIED;
    return UCS_OK;
}

static ucs_status_t am_handler(void *arg, const void *header,
                               size_t header_length, void *data,
                               size_t length, const ucp_am_recv_param_t *param)
{
    int persist = (arg != NULL);
    am_header_t head;
    unsigned i;

    if (am_header_check(header, header_length, &head)) {
        am.failed = 1;
        return UCS_OK;
    }
    i = head.index - am.batch->rx[0].index;
    if (am.state[i] != AM_ABSENT || length != am.batch->rx[i].len) {
        bytes_fail(am.bt, head.index, am.batch->rx[i].len, "AM came %s with "
                   "%zu B", am.state[i] != AM_ABSENT ? "again" : "first",
                   length);
        am.failed = 1;
        return UCS_OK;
    }
    if (persist && !(param->recv_attr & (UCP_AM_RECV_ATTR_FLAG_DATA |
                                         UCP_AM_RECV_ATTR_FLAG_RNDV))) {
        bytes_fail(am.bt, head.index, length, "data not persistent");
        am.failed = 1;
    }
    ++am.arrived;
    return am_take(i, data, param->recv_attr);
}

static int am_register(bytes_t *bt, unsigned id, uint32_t flags, void *arg)
{
    ucp_am_handler_param_t param = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                      UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                      UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id         = id,
        .flags      = flags,
        .cb         = am_handler,
        .arg        = arg
    };
    ucs_status_t status = ucp_worker_set_am_recv_handler(bt->node.worker,
                                                         &param);

    if (status != UCS_OK) {
        return bytes_fail(bt, 0, 0, "set AM handler: %s",
                          ucs_status_string(status));
    }
    return 0;
}

static void am_send(bytes_t *bt, msg_t *msg,
                    uint8_t header[AM_HEADER_MAX])
{
    am_header_t head          = {msg->index, msg->len, msg->key};
    size_t len                = am_header_len(msg->index);
    ucp_request_param_t param = op_param_send(&msg->op);

    memcpy(header, &head, sizeof(head));
    fill_bytes(header + sizeof(head), len - sizeof(head), ~msg->key, 0);
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    param.flags         = bt->arg;
    op_started(&msg->op,
               ucp_am_send_nbx(bt->node.ep, (msg->index & 1) ? AM_ID_PERSIST :
                                                               AM_ID_PLAIN,
                               header, len, msg->buf, msg->len, &param));
}

/* Take what the callbacks left: copy and release, or fetch and wait. */
static int am_finish(bytes_t *bt, unsigned i)
{
    msg_t *msg = &am.batch->rx[i];

    if (am.state[i] == AM_HELD) {
        memcpy(msg->buf, am.data[i], msg->len);
        ucp_am_data_release(bt->node.worker, am.data[i]);
        return 0;
    }
    if (am.state[i] == AM_FETCH) {
        am_fetch(i, am.data[i]);
    }
    if (am.state[i] == AM_COMING) {
        if (msg_wait(bt, msg, "AM data")) {
            return -1;
        }
        if (msg->op.got != msg->len) {
            return bytes_fail(bt, msg->index, msg->len, "AM data of %zu B",
                              msg->op.got);
        }
    }
    return 0;
}

static int am_batch(bytes_t *bt, batch_t *batch)
{
    static uint8_t headers[BYTES_WINDOW_MAX][AM_HEADER_MAX];
    unsigned i;

    am.batch   = batch;
    am.arrived = 0;
    memset(am.state, 0, sizeof(am.state));
    if (node_barrier(&bt->node)) {
        return -1;
    }
    for (i = 0; i < batch->count; ++i) {
        am_send(bt, &batch->tx[i], headers[i]);
    }
    while (am.arrived < batch->count) {
        if (am.failed) {
            return -1;
        }
        node_progress(&bt->node);
    }
    for (i = 0; i < batch->count; ++i) {
        if (am_finish(bt, i)) {
            return -1;
        }
    }
    return (batch_wait_tx(bt, batch, "AM send") || am.failed) ? -1 : 0;
}

static int run_am(bytes_t *bt)
{
    memset(&am, 0, sizeof(am));
    am.bt = bt;
    if (am_register(bt, AM_ID_PLAIN, 0, NULL) ||
        am_register(bt, AM_ID_PERSIST, UCP_AM_FLAG_PERSISTENT_DATA, bt) ||
        node_barrier(&bt->node)) {
        return -1;
    }
    return bytes_sweep(bt, am_batch);
}

const bytes_test_t bytes_am_tests[] = {
    {"am", NULL, run_am, 0},
    {"am_eager", NULL, run_am, UCP_AM_SEND_FLAG_EAGER},
    {"am_rndv", NULL, run_am, UCP_AM_SEND_FLAG_RNDV},
    {"am_reply", NULL, run_am, UCP_AM_SEND_FLAG_REPLY},
    {NULL, NULL, NULL, 0}
};
