/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recording is not trusted: what the core expects of its caller is checked
 * before each call, as far as its memory depends on it.
 */
#include "run_call.h"
#include "run_memory.h"

#include <flow/image.h>
#include <record/record_call.h>

#include <string.h>

#define RUN_NEEDS(_expr, _why) \
    do { \
        if (!(_expr)) { \
            return _why; \
        } \
    } while (0)

#define RUN_NO_FLOW "a flow that is not open"
#define RUN_NO_OP   "an operation that the core has, or has not"
#define RUN_RANGE   "a value that there is not"
#define RUN_MEMORY_OUT "out of memory"

/* An operation that the core gave back. */
static void run_op_back(flow_op_t *op)
{
    if (op != NULL) {
        ((run_op_t*)op)->is_cores = 0;
    }
}

static const char *run_tx_open(run_t *run, const record_call_t *call)
{
    flow_tx_t *tx;

    RUN_NEEDS(call->addr.incarnation != 0, RUN_RANGE);
    (void)flow_tx_open(run->core, &call->addr, (void*)(uintptr_t)call->word[0],
                       &tx);
    return NULL;
}

static const char *
run_commit(run_t *run, const record_call_t *call, flow_tx_t *tx)
{
    run_op_t *op;

    RUN_NEEDS(flow_tx_is_open(tx), "a message that may not be sent");
    memcpy(run->packet, call->bytes[0].at, call->bytes[0].length);
    if (call->kind == RECORD_TX_COMMIT) {
        record_call_tx_commit(run->core, tx, run->packet);
        return NULL;
    }
    op = run_memory_op(run, call->op);
    RUN_NEEDS(op != NULL, RUN_MEMORY_OUT);
    RUN_NEEDS((call->op != 0) && !op->is_cores, RUN_NO_OP);
    op->is_cores = 1;
    record_call_resend_commit(run->core, tx, &op->in.op, run->packet);
    return NULL;
}

#define RUN_TX(_kind, _name) \
    case RECORD_##_kind: \
        flow_##_name(run->core, tx); \
        return NULL;

/* Calls about a flow, but for those about its messages. */
static const char *
run_tx(run_t *run, const record_call_t *call, flow_tx_t *tx)
{
    uint64_t number = call->number[0];

    RUN_NEEDS(tx != NULL, RUN_NO_FLOW);
    switch (call->kind) {
    RECORD_CALLS_OF_TX(RUN_TX)
    case RECORD_TX_READY:
        record_call_tx_ready_slow(run->core, tx);
        return NULL;
    case RECORD_TX_DONE:
        flow_tx_done(run->core, tx, (unsigned)number);
        return NULL;
    case RECORD_TX_FAIL:
        RUN_NEEDS(number <= FLOW_SEND_GIVEN_UP, RUN_RANGE);
        flow_tx_fail(run->core, tx, (flow_send_status_t)number);
        return NULL;
    case RECORD_TX_PAUSE:
        RUN_NEEDS(number < FLOW_PAUSE_CLOSED, RUN_RANGE);
        record_call_tx_pause(run->core, tx, (unsigned)number);
        return NULL;
    case RECORD_TX_RESUME:
        RUN_NEEDS(number < FLOW_PAUSE_CLOSED, RUN_RANGE);
        flow_tx_resume(run->core, tx, (unsigned)number);
        return NULL;
    case RECORD_TX_RMA_READY:
        record_call_tx_rma_ready(run->core, tx);
        return NULL;
    default:
        return run_commit(run, call, tx);
    }
}

/* Sent, and seen by nobody but the device any more: what it was is recorded. */
static void run_op_is_sent(const record_call_t *call, run_op_t *op,
                           flow_tx_t *tx)
{
    op->in.op.tx    = tx;
    op->in.op.psn   = (flow_psn_t)call->number[0];
    op->in.op.flags = (uint8_t)call->number[1];
    op->is_cores    = 1;
}

/* Calls about an operation of a flow. */
static const char *run_op_call(run_t *run, const record_call_t *call)
{
    flow_tx_t *tx = flow_image_tx(run->core, call->tx);
    run_op_t  *op = run_memory_op(run, call->op);

    RUN_NEEDS(op != NULL, RUN_MEMORY_OUT);
    RUN_NEEDS(call->op != 0, RUN_NO_OP);
    if (call->kind == RECORD_TX_REPOST_RETURN) {
        RUN_NEEDS((op->in.op.tx != NULL) && !op->in.op.linked, RUN_NO_OP);
        op->is_cores = 1;
        flow_tx_repost_return(run->core, &op->in.op);
        return NULL;
    }
    RUN_NEEDS(tx != NULL, RUN_NO_FLOW);
    switch (call->kind) {
    case RECORD_TX_RNR:
        RUN_NEEDS(!op->is_cores, RUN_NO_OP);
        op->in.op.tx  = tx;
        op->in.op.psn = (flow_psn_t)call->number[0];
        op->is_cores  = 1;
        flow_tx_rnr(run->core, &op->in.op, call->time);
        return NULL;
    case RECORD_RESEND_SENT:
        if (!op->is_cores) {
            run_op_is_sent(call, op, tx);
        }
        flow_resend_sent(run->core, &op->in.op, call->number[2] != 0);
        return NULL;
    default: /* RECORD_RESEND_HEADER */
        RUN_NEEDS((op->in.op.tx != NULL) && (call->bytes[0].length >= 1),
                  RUN_NO_OP);
        memset(run->packet, 0, sizeof(run->packet));
        memcpy(run->packet, call->bytes[0].at, call->bytes[0].length);
        flow_resend_header(run->core, &op->in.op, run->packet);
        return NULL;
    }
}

static const char *run_accept(run_t *run, const record_call_t *call)
{
    void         *handle = (void*)(uintptr_t)call->handle[0];
    flow_src_t    src    = (flow_src_t)call->number[0];
    flow_rx_out_t out;
    uint64_t      word;

    RUN_NEEDS(handle != NULL, RUN_RANGE);
    RUN_NEEDS(call->length >= call->bytes[0].length, RUN_RANGE);
    memset(run->packet, 0, sizeof(run->packet));
    memcpy(run->packet, call->bytes[0].at, call->bytes[0].length);
    if (call->kind == RECORD_RX_ACCEPT) {
        (void)flow_rx_accept_slow(run->core, run->packet, call->length, handle,
                                  src, &out);
    } else if (call->kind == RECORD_RX_ACCEPT_HELD) {
        (void)flow_rx_accept_held(run->core, run->packet, call->length, handle,
                                  src, &out);
    } else {
        (void)record_call_rx_short(run->core, run->packet, call->length, handle,
                                   1, src, &word);
    }
    return NULL;
}

static const char *run_peer(run_t *run, const record_call_t *call)
{
    flow_peer_t *peer = flow_image_peer(run->core, call->peer);

    RUN_NEEDS(peer != NULL, "a peer that is not there");
    switch (call->kind) {
    case RECORD_PEER_COOKIE:
        record_call_peer_set_cookie(run->core, peer,
                                    (void*)(uintptr_t)call->word[0]);
        return NULL;
    case RECORD_PEER_AH:
        RUN_NEEDS(call->number[1] <= FLOW_RMA_REFUSED, RUN_RANGE);
        flow_peer_set_ah(run->core, peer, (uint16_t)call->number[0],
                         (flow_rma_t)call->number[1]);
        return NULL;
    case RECORD_PEER_LOST:
        flow_peer_lost(run->core, peer);
        return NULL;
    default: /* RECORD_PEER_DEAD */
        flow_peer_dead(run->core, peer);
        return NULL;
    }
}

static const char *run_grow(run_t *run, uint64_t pool)
{
    void *memory;

    RUN_NEEDS((pool < FLOW_POOL_LAST) &&
                      ((flow_pool_grow_needed(run->core) >> pool) & 1),
              "memory that the core does not need");
    memory = run_memory_get(run, flow_pool_chunk_size(run->core,
                                                      (flow_pool_t)pool));
    RUN_NEEDS(memory != NULL, RUN_MEMORY_OUT);
    (void)flow_pool_grow(run->core, (flow_pool_t)pool, memory);
    return NULL;
}

static const char *run_ctl(run_t *run, const record_call_t *call)
{
    uint64_t cookie = call->word[0];

    RUN_NEEDS(flow_image_has_cookie(run->core, cookie), RUN_RANGE);
    if (call->kind == RECORD_CTL_UNSENT) {
        flow_ctl_unsent(run->core, cookie);
        return NULL;
    }
    RUN_NEEDS(call->number[0] <= FLOW_SEND_ERROR, RUN_RANGE);
    flow_ctl_done(run->core, cookie, (flow_send_status_t)call->number[0],
                  call->time);
    return NULL;
}

/* Time, buffers and memory. */
static const char *run_settings(run_t *run, const record_call_t *call)
{
    uint64_t number = call->number[0];

    switch (call->kind) {
    case RECORD_TIMER_NOW:
        flow_timer_set_now(run->core, call->time);
        return NULL;
    case RECORD_TIMER_RUN:
        flow_timer_run(run->core, call->time);
        return NULL;
    case RECORD_RX_POSTED:
        flow_core_rx_posted(run->core, (uint32_t)number);
        return NULL;
    case RECORD_RX_BACKLOG:
        flow_core_rx_backlog(run->core, number != 0);
        return NULL;
    case RECORD_PEER_AGE:
        flow_peer_age(run->core, (uint32_t)number, (uint32_t)call->number[1]);
        return NULL;
    default: /* RECORD_POOL_GROW */
        return run_grow(run, number);
    }
}

_Static_assert((int)RECORD_HANDLES_MAX >= (int)FLOW_MAP_BITS,
               "RECORD_HANDLES_MAX: the messages that flow_rx_run hands out");

/* Calls that take nothing but a number that could be wrong. */
static const char *run_other(run_t *run, const record_call_t *call)
{
    void        *handles[RECORD_HANDLES_MAX];
    uint64_t     number = call->number[0];
    flow_event_t event;
    flow_ctl_t   ctl;
    flow_op_t   *op;
    int          fail = 0;

    switch (call->kind) {
    case RECORD_STATE:
        record_call_state(run->core);
        return NULL;
    case RECORD_TX_REPOST_NEXT:
        op = flow_tx_repost_next(run->core, call->time, &fail);
        run_op_back(flow_is_ud(run->core) ? NULL : op); /* there it stays */
        return NULL;
    case RECORD_RESEND_RELEASE:
        run_op_back(flow_resend_release_next(run->core, &fail));
        return NULL;
    case RECORD_RX_RUN:
        RUN_NEEDS((call->number[1] >= 1) &&
                          (call->number[1] <= RECORD_HANDLES_MAX),
                  RUN_RANGE);
        (void)flow_rx_run(run->core, (uint32_t)number, handles,
                          (unsigned)call->number[1]);
        return NULL;
    case RECORD_RX_DROP:
        RUN_NEEDS(number < FLOW_DROP_LAST, RUN_RANGE);
        flow_drop_count(run->core, (flow_drop_t)number);
        return NULL;
    case RECORD_CTL_NEXT:
        (void)flow_ctl_next(run->core, call->time, &ctl);
        return NULL;
    case RECORD_EVENT_NEXT:
        (void)flow_event_next(run->core, &event);
        return NULL;
    case RECORD_EVENT_PEER_NEXT:
        (void)flow_event_peer_next(run->core, &event);
        return NULL;
    default:
        return run_settings(run, call);
    }
}

/* A core of the other profile has no room for what the call is about. */
static int run_is_of_profile(const run_t *run, const record_call_t *call)
{
    switch (call->kind) {
    case RECORD_RESEND_COMMIT:
    case RECORD_RESEND_SENT:
    case RECORD_RESEND_HEADER:
    case RECORD_RESEND_RELEASE:
    case RECORD_RX_ACCEPT_HELD:
        return flow_is_ud(run->core);
    case RECORD_TX_COMMIT:
    case RECORD_TX_DONE:
    case RECORD_TX_RNR:
    case RECORD_RX_SHORT:
        return !flow_is_ud(run->core);
    default:
        return 1;
    }
}

const char *run_call(run_t *run, const record_call_t *call)
{
    RUN_NEEDS(run_is_of_profile(run, call), "a call of the other transport");
    RUN_NEEDS(call->time < FLOW_TIME_NEVER / 2, "a time that does not come");
    switch (call->kind) {
    case RECORD_TX_OPEN:
        return run_tx_open(run, call);
    case RECORD_TX_CLOSE:
    case RECORD_TX_READY:
    case RECORD_TX_COMMIT:
    case RECORD_TX_DONE:
    case RECORD_TX_FAIL:
    case RECORD_TX_PING:
    case RECORD_TX_CHECK:
    case RECORD_TX_PAUSE:
    case RECORD_TX_RESUME:
    case RECORD_TX_PASS_ONE:
    case RECORD_TX_RMA_READY:
    case RECORD_RESEND_COMMIT:
        return run_tx(run, call, flow_image_tx(run->core, call->tx));
    case RECORD_TX_RNR:
    case RECORD_TX_REPOST_RETURN:
    case RECORD_RESEND_SENT:
    case RECORD_RESEND_HEADER:
        return run_op_call(run, call);
    case RECORD_RX_ACCEPT:
    case RECORD_RX_ACCEPT_HELD:
    case RECORD_RX_SHORT:
        return run_accept(run, call);
    case RECORD_PEER_COOKIE:
    case RECORD_PEER_AH:
    case RECORD_PEER_LOST:
    case RECORD_PEER_DEAD:
        return run_peer(run, call);
    case RECORD_CTL_UNSENT:
    case RECORD_CTL_DONE:
        return run_ctl(run, call);
    default:
        return run_other(run, call);
    }
}
