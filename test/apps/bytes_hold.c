/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sleeping receiver: the client sends N messages, the server makes no
 * progress for a while, lets them come in unexpected, and only then receives
 * them. Messages of one lane (tag) must match in the order sent.
 */
#include "bytes.h"
#include "watchdog.h"

#include <stdlib.h>
#include <unistd.h>

#define HOLD_LANES 4

static ucp_tag_t hold_tag(const bytes_t *bt, unsigned i)
{
    return (bt->stream << 40) | (i % HOLD_LANES);
}

static size_t hold_size(const bytes_t *bt, unsigned i)
{
    size_t span = (bt->opts.max < 16384 ? bt->opts.max : 16384) - bt->opts.min;

    return bt->opts.min + fill_mix(bt->opts.seed + i) % (span + 1);
}

static int hold_client(bytes_t *bt)
{
    msg_t *msgs = calloc(bt->opts.hold, sizeof(*msgs));
    ucp_request_param_t param;
    unsigned i;

    for (i = 0; i < bt->opts.hold; ++i) {
        if (msg_open_tx(bt, &msgs[i], hold_size(bt, i), i)) {
            return -1;
        }
        param = op_param_send(&msgs[i].op);
        op_started(&msgs[i].op,
                   ucp_tag_send_nbx(bt->node.ep, msgs[i].buf, msgs[i].len,
                                    hold_tag(bt, i), &param));
        node_progress(&bt->node);
    }
    for (i = 0; i < bt->opts.hold; ++i) {
        if (msg_wait(bt, &msgs[i], "send")) {
            return -1;
        }
        watchdog_kick("tag_hold: send %u of %u", i, bt->opts.hold);
        msg_close(&msgs[i]);
    }
    free(msgs);
    return 0;
}

static int hold_recv_one(bytes_t *bt, unsigned i)
{
    ucp_request_param_t param;
    msg_t msg;

    if (msg_open_rx(bt, &msg, hold_size(bt, i), i)) {
        return -1;
    }
    param = op_param_tag_recv(&msg.op);
    op_started(&msg.op, ucp_tag_recv_nbx(bt->node.worker, msg.buf, msg.len,
                                         hold_tag(bt, i), ~(ucp_tag_t)0,
                                         &param));
    if (msg_wait(bt, &msg, "receive")) {
        return -1;
    }
    if (msg.op.got != msg.len) {
        return bytes_fail(bt, i, msg.len, "received %zu B", msg.op.got);
    }
    if (bytes_compare(bt, msg.buf, msg.len, i, 0)) {
        return -1;
    }
    ++bt->messages;
    msg_close(&msg);
    return 0;
}

static int hold_server(bytes_t *bt)
{
    unsigned left = bt->opts.hold_seconds;
    double until;
    unsigned lane, i;

    while (left-- > 0) {
        sleep(1);
        watchdog_kick("tag_hold: asleep");
    }
    /* Let them arrive unexpected for a second, then receive lane by lane. */
    until = node_seconds() + 1;
    while (node_seconds() < until) {
        node_progress(&bt->node);
    }
    for (lane = HOLD_LANES; lane-- > 0;) {
        for (i = lane; i < bt->opts.hold; i += HOLD_LANES) {
            watchdog_kick("tag_hold: receive %u of %u", i, bt->opts.hold);
            if (hold_recv_one(bt, i)) {
                return -1;
            }
        }
    }
    return 0;
}

int bytes_hold(bytes_t *bt)
{
    if (node_barrier(&bt->node) ||
        (bt->node.client ? hold_client(bt) : hold_server(bt))) {
        return -1;
    }
    return node_barrier(&bt->node);
}
