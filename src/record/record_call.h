/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls into a core under their own names, recorded where the core has a
 * recorder (record_file.h), for files that include this in place of
 * flow/flow.h. Without one a call costs a load and a compare more; calls that
 * have no core, and those that change nothing, are as they were.
 *
 * The shortest ways are not recorded: a transport that records sends by
 * flow_tx_header and record_call_tx_commit, never ends a message by
 * flow_tx_end, and receives by record_call_rx_short, not by flow_rx_short.
 */
#ifndef RECORD_CALL_H_
#define RECORD_CALL_H_

#include "record_file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Calls that answer nothing: kind, flow_name, and which of RECORD_ARG_* each
 * parameter behind the core is. */
#define RECORD_ROWS(_X) \
    _X(TX_CLOSE, tx_close, TX,,) \
    _X(TX_DONE, tx_done, TX, PLACE,) \
    _X(TX_RNR, tx_rnr, SENT, TIME,) \
    _X(TX_REPOST_RETURN, tx_repost_return, OP,,) \
    _X(TX_FAIL, tx_fail, TX, NUMBER,) \
    _X(TX_PING, tx_ping, TX,,) \
    _X(TX_PAUSE, tx_paused_by, TX, NUMBER,) \
    _X(TX_RESUME, tx_resume, TX, NUMBER,) \
    _X(TX_PASS_ONE, tx_pass_one, TX,,) \
    _X(RESEND_SENT, resend_sent, FLAGS, FAILED,) \
    _X(RX_DROP, drop_count, NUMBER,,) \
    _X(CTL_UNSENT, ctl_unsent, WORD,,) \
    _X(CTL_DONE, ctl_done, WORD, NUMBER, TIME) \
    _X(TIMER_RUN, timer_run, TIME,,) \
    _X(RX_POSTED, core_rx_posted, NUMBER,,) \
    _X(RX_BACKLOG, core_rx_backlog, NUMBER,,) \
    _X(PEER_COOKIE, peer_has_cookie, PEER, WORD,) \
    _X(PEER_AH, peer_set_ah, PEER, NUMBER, SECOND) \
    _X(PEER_LOST, peer_lost, PEER,,) \
    _X(PEER_DEAD, peer_dead, PEER,,) \
    _X(PEER_AGE, peer_age, NUMBER, SECOND,) \
    _X(TX_CHECK, tx_check, TX,,)
/* _X of a parameter, its name, how record_call.c writes it, and what run_call.c
 * passes for it. */
#define RECORD_ARG_(_X)
#define RECORD_ARG_TX(_X) \
    _X(flow_tx_t *tx, tx, PUT(flow_tx_index(tx)), args->tx)
#define RECORD_ARG_PEER(_X) \
    _X(flow_peer_t *peer, peer, PUT(flow_image_peer_number(peer)), args->peer)
#define RECORD_ARG_OP(_X)   _X(flow_op_t *op, op, PUT_OP(op), &args->op->in.op)
#define RECORD_ARG_SENT(_X) _X(flow_op_t *op, op, PUT_SENT, &args->op->in.op)
#define RECORD_ARG_FLAGS(_X) \
    _X(flow_op_t *op, op, PUT_SENT PUT(op->flags), &args->op->in.op)
#define RECORD_ARG_TIME(_X) _X(flow_time_t time, time, PUT_TIME, call->time)
#define RECORD_ARG_WORD(_X) \
    _X(uint64_t word, word, PUT_WORD(word), call->word[0])
#define RECORD_ARG_NUMBER(_X) \
    _X(uint64_t number, number, PUT(number), call->number[0])
#define RECORD_ARG_SECOND(_X) \
    _X(uint64_t second, second, PUT(second), call->number[1])
#define RECORD_ARG_FAILED(_X) \
    _X(int failed, failed, PUT(failed != 0), call->number[2] != 0)
#define RECORD_ARG_PLACE(_X) \
    _X(unsigned psn, psn, PUT(psn % FLOW_MAP_BITS), call->number[0])
#define RECORD_PARAM(_param, _name, _put, _replayed) , _param
#define RECORD_PASS(_param, _name, _put, _replayed)  , _name

/* For a core that has a recorder: as flow_*. */
#define RECORD_DECLARE(_kind, _name, _a, _b, _c) \
    void record_call_##_name(flow_core_t *core RECORD_ARG_##_a(RECORD_PARAM) \
                             RECORD_ARG_##_b(RECORD_PARAM) \
                             RECORD_ARG_##_c(RECORD_PARAM));
RECORD_ROWS(RECORD_DECLARE)
#undef RECORD_DECLARE
/* Calls that answer: kind, what, flow_name, parameters, and what is passed for
 * them; how record_call.c writes arguments and answers. */
#define RECORD_ANSWERED(_X) \
    _X(TX_OPEN, flow_status_t, tx_open, \
       (flow_core_t *core, const flow_addr_t *peer, void *cookie, \
        flow_tx_t **tx_p), (core, peer, cookie, tx_p), \
       PUT_PLAIN(peer->gid, sizeof(peer->gid)) PUT_WORD(peer->incarnation) \
       PUT(peer->qpn) PUT(peer->qkey) PUT_WORD((uintptr_t)cookie), \
       PUT(answer) PUT_TX((answer == FLOW_OK) ? *tx_p : NULL)) \
    _X(TX_READY, int, tx_ready_slow, (flow_core_t *core, flow_tx_t *tx), \
       (core, tx), PUT_TX(tx), PUT((unsigned)answer)) \
    _X(TX_REPOST_NEXT, flow_op_t*, tx_repost_next, \
       (flow_core_t *core, flow_time_t time, int *fail), (core, time, fail), \
       PUT_TIME, PUT_OP(answer) PUT((answer != NULL) && *fail)) \
    _X(TX_RMA_READY, int, tx_rma_ready, (flow_core_t *core, flow_tx_t *tx), \
       (core, tx), PUT_TX(tx), PUT((unsigned)answer)) \
    _X(RESEND_RELEASE, flow_op_t*, resend_release_next, \
       (flow_core_t *core, int *fail), (core, fail), , \
       PUT_OP(answer) PUT((answer != NULL) && *fail)) \
    _X(RX_RUN, unsigned, rx_run, \
       (flow_core_t *core, uint32_t token, void **handles, unsigned max), \
       (core, token, handles, max), PUT(token) PUT(max), \
       PUT(answer) PUT_HANDLES(handles, answer)) \
    _X(CTL_NEXT, int, ctl_next, \
       (flow_core_t *core, flow_time_t time, flow_ctl_t *ctl), \
       (core, time, ctl), PUT_TIME, \
       PUT((unsigned)answer) PUT_PEER(answer ? ctl->peer : NULL) \
       PUT_WORD(answer ? ctl->cookie : 0) \
       PUT_BYTES(ctl->data, answer ? ctl->len : 0)) \
    _X(EVENT_NEXT, int, event_next, (flow_core_t *core, flow_event_t *event), \
       (core, event), , PUT_EVENT) \
    _X(EVENT_PEER_NEXT, int, event_peer_next, \
       (flow_core_t *core, flow_event_t *event), (core, event), , PUT_EVENT) \
    _X(POOL_GROW, void*, pool_grow, \
       (flow_core_t *core, flow_pool_t pool, void *mem), (core, pool, mem), \
       PUT(pool), )
#define RECORD_DECLARE(_kind, _type, _name, _params, _args, _puts, _answers) \
    _type record_call_##_name _params;
RECORD_ANSWERED(RECORD_DECLARE)
#undef RECORD_DECLARE
__typeof__(flow_resend_header) record_call_resend_header;
__typeof__(flow_rx_accept_slow) record_call_rx_accept_slow;
__typeof__(flow_rx_accept_held) record_call_rx_accept_held;
__typeof__(flow_timer_set_now) record_call_timer_set_now;
void record_call_state(flow_core_t *core);

/* For any core, as its recording may have stopped: flow_rx_short, recorded
 * where it takes the packet; flow_tx_commit and flow_resend_commit of the
 * packet that begins at `packet`. */
__typeof__(flow_rx_short) record_call_rx_short;
flow_psn_t record_call_tx_commit(flow_core_t *core, flow_tx_t *tx,
                                 const void *packet);
void record_call_resend_commit(flow_core_t *core, flow_tx_t *tx, flow_op_t *op,
                               const void *packet);
#define RECORD_CALL(_name, _core, ...) \
    (flow_unlikely(flow_core_user(_core) != NULL) ? \
             record_call_##_name(_core, __VA_ARGS__) : \
             flow_##_name(_core, __VA_ARGS__))

/* flow_tx_pause and flow_peer_set_cookie, which have no core, as the others. */
static inline void
flow_tx_paused_by(flow_core_t *core, flow_tx_t *tx, unsigned reasons)
{
    (void)core;
    flow_tx_pause(tx, reasons);
}

static inline void
flow_peer_has_cookie(flow_core_t *core, flow_peer_t *peer, uint64_t cookie)
{
    (void)core;
    flow_peer_set_cookie(peer, (void*)(uintptr_t)cookie);
}

#define record_call_tx_pause(...) RECORD_CALL(tx_paused_by, __VA_ARGS__)
#define record_call_peer_set_cookie(_core, _peer, _cookie) \
    RECORD_CALL(peer_has_cookie, _core, _peer, (uintptr_t)(_cookie))

/* flow_tx_ready, flow_tx_rma_ready and flow_rx_accept as one: their first
 * halves change nothing, and need not be. */
static inline int record_call_tx_ready(flow_core_t *core, flow_tx_t *tx)
{
    return flow_tx_is_open(tx) || RECORD_CALL(tx_ready_slow, core, tx);
}

static inline flow_rx_verdict_t
record_call_rx_accept(flow_core_t *core, const void *pkt, size_t len,
                      void *handle, flow_src_t src, flow_rx_out_t *out)
{
    return flow_unlikely(flow_core_user(core) != NULL) ?
                   record_call_rx_accept_slow(core, pkt, len, handle, src,
                                              out) :
                   flow_rx_accept(core, pkt, len, handle, src, out);
}

static inline void *record_call_rx_next(flow_core_t *core, uint32_t token)
{
    void *handle;

    return (RECORD_CALL(rx_run, core, token, &handle, 1) != 0) ? handle : NULL;
}

#ifndef RECORD_CALL_NAMES_OFF /* of record_call.c */
#define flow_tx_open(...) RECORD_CALL(tx_open, __VA_ARGS__)
#define flow_tx_close(...) RECORD_CALL(tx_close, __VA_ARGS__)
#define flow_tx_ready(_core, _tx) record_call_tx_ready(_core, _tx)
#define flow_tx_done(...) RECORD_CALL(tx_done, __VA_ARGS__)
#define flow_tx_rnr(...) RECORD_CALL(tx_rnr, __VA_ARGS__)
#define flow_tx_repost_next(...) RECORD_CALL(tx_repost_next, __VA_ARGS__)
#define flow_tx_repost_return(...) RECORD_CALL(tx_repost_return, __VA_ARGS__)
#define flow_tx_fail(...) RECORD_CALL(tx_fail, __VA_ARGS__)
#define flow_tx_ping(...) RECORD_CALL(tx_ping, __VA_ARGS__)
#define flow_tx_check(...) RECORD_CALL(tx_check, __VA_ARGS__)
#define flow_tx_pause(...) record_call_tx_pause_is_meant(__VA_ARGS__)
#define flow_tx_resume(...) RECORD_CALL(tx_resume, __VA_ARGS__)
#define flow_tx_pass_one(...) RECORD_CALL(tx_pass_one, __VA_ARGS__)
#define flow_tx_rma_ready(_core, _tx) \
    (flow_likely(flow_tx_rma_is_open(_tx)) || \
     RECORD_CALL(tx_rma_ready, _core, _tx))
#define flow_resend_sent(...) RECORD_CALL(resend_sent, __VA_ARGS__)
#define flow_resend_release_next(...) \
    RECORD_CALL(resend_release_next, __VA_ARGS__)
#define flow_resend_header(...) RECORD_CALL(resend_header, __VA_ARGS__)
#define flow_rx_accept(_core, ...) record_call_rx_accept(_core, __VA_ARGS__)
#define flow_rx_accept_slow(...) RECORD_CALL(rx_accept_slow, __VA_ARGS__)
#define flow_rx_accept_held(...) RECORD_CALL(rx_accept_held, __VA_ARGS__)
#define flow_rx_run(...) RECORD_CALL(rx_run, __VA_ARGS__)
#define flow_rx_next(_core, _token) record_call_rx_next(_core, _token)
#define flow_drop_count(...) RECORD_CALL(drop_count, __VA_ARGS__)
#define flow_ctl_next(...) RECORD_CALL(ctl_next, __VA_ARGS__)
#define flow_ctl_unsent(...) RECORD_CALL(ctl_unsent, __VA_ARGS__)
#define flow_ctl_done(...) RECORD_CALL(ctl_done, __VA_ARGS__)
#define flow_event_next(...) RECORD_CALL(event_next, __VA_ARGS__)
#define flow_event_peer_next(...) RECORD_CALL(event_peer_next, __VA_ARGS__)
#define flow_timer_set_now(...) RECORD_CALL(timer_set_now, __VA_ARGS__)
#define flow_timer_run(...) RECORD_CALL(timer_run, __VA_ARGS__)
#define flow_core_rx_posted(...) RECORD_CALL(core_rx_posted, __VA_ARGS__)
#define flow_core_rx_backlog(...) RECORD_CALL(core_rx_backlog, __VA_ARGS__)
#define flow_peer_set_ah(...) RECORD_CALL(peer_set_ah, __VA_ARGS__)
#define flow_peer_lost(...) RECORD_CALL(peer_lost, __VA_ARGS__)
#define flow_peer_dead(...) RECORD_CALL(peer_dead, __VA_ARGS__)
#define flow_peer_age(...) RECORD_CALL(peer_age, __VA_ARGS__)
#define flow_pool_grow(...) RECORD_CALL(pool_grow, __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif

#endif
