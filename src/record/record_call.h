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

/* flow_tx_commit, recorded; the packet begins at `packet`. */
flow_psn_t record_call_tx_commit(flow_core_t *core, flow_tx_t *tx,
                                 const void *packet);
/* The same for flow_resend_commit. */
void record_call_resend_commit(flow_core_t *core, flow_tx_t *tx, flow_op_t *op,
                               const void *packet);
/* flow_rx_short, recorded where it takes the packet. */
flow_rx_verdict_t
record_call_rx_short(flow_core_t *core, const void *pkt, size_t len,
                     void *handle, int may_hold, flow_src_t src,
                     uint64_t *word);
/* flow_tx_pause and flow_peer_set_cookie, recorded. */
void record_call_tx_pause(flow_core_t *core, flow_tx_t *tx, unsigned reasons);
void record_call_peer_set_cookie(flow_core_t *core, flow_peer_t *peer,
                                 void *cookie);

/* For a core that has a recorder: as flow_*. */
void record_call_state(flow_core_t *core);
flow_status_t record_call_tx_open(flow_core_t *core, const flow_addr_t *peer,
                                  void *cookie, flow_tx_t **tx_p);
void record_call_tx_close(flow_core_t *core, flow_tx_t *tx);
int  record_call_tx_ready_slow(flow_core_t *core, flow_tx_t *tx);
void record_call_tx_done(flow_core_t *core, flow_tx_t *tx, unsigned psn);
void record_call_tx_rnr(flow_core_t *core, flow_op_t *op, flow_time_t now);
flow_op_t *record_call_tx_repost_next(flow_core_t *core, flow_time_t now,
                                      int *fail);
void record_call_tx_repost_return(flow_core_t *core, flow_op_t *op);
void record_call_tx_fail(flow_core_t *core, flow_tx_t *tx,
                         flow_send_status_t why);
void record_call_tx_ping(flow_core_t *core, flow_tx_t *tx);
void record_call_tx_check(flow_core_t *core, flow_tx_t *tx);
void record_call_tx_resume(flow_core_t *core, flow_tx_t *tx, unsigned reasons);
void record_call_tx_pass_one(flow_core_t *core, flow_tx_t *tx);
int  record_call_tx_rma_ready(flow_core_t *core, flow_tx_t *tx);
void record_call_resend_sent(flow_core_t *core, flow_op_t *op, int failed);
flow_op_t *record_call_resend_release_next(flow_core_t *core, int *fail);
void record_call_resend_header(const flow_core_t *core, const flow_op_t *op,
                               void *buf);
flow_rx_verdict_t
record_call_rx_accept_slow(flow_core_t *core, const void *pkt, size_t len,
                           void *handle, flow_src_t src, flow_rx_out_t *out);
flow_rx_verdict_t
record_call_rx_accept_held(flow_core_t *core, const void *pkt, size_t len,
                           void *handle, flow_src_t src, flow_rx_out_t *out);
unsigned record_call_rx_run(flow_core_t *core, uint32_t token, void **handles,
                            unsigned max);
void record_call_drop_count(flow_core_t *core, flow_drop_t reason);
int  record_call_ctl_next(flow_core_t *core, flow_time_t now, flow_ctl_t *ctl);
void record_call_ctl_unsent(flow_core_t *core, uint64_t cookie);
void record_call_ctl_done(flow_core_t *core, uint64_t cookie,
                          flow_send_status_t status, flow_time_t now);
int  record_call_event_next(flow_core_t *core, flow_event_t *event);
int  record_call_event_peer_next(flow_core_t *core, flow_event_t *event);
void record_call_timer_set_now(flow_core_t *core, flow_time_t now);
void record_call_timer_run(flow_core_t *core, flow_time_t now);
void record_call_core_rx_posted(flow_core_t *core, uint32_t count);
void record_call_core_rx_backlog(flow_core_t *core, int more);
void record_call_peer_set_ah(flow_core_t *core, flow_peer_t *peer, uint16_t ah,
                             flow_rma_t rma);
void record_call_peer_lost(flow_core_t *core, flow_peer_t *peer);
void record_call_peer_dead(flow_core_t *core, flow_peer_t *peer);
void record_call_peer_age(flow_core_t *core, uint32_t taken, uint32_t posted);
void *record_call_pool_grow(flow_core_t *core, flow_pool_t pool, void *mem);

#define RECORD_CALL(_name, _core, ...) \
    (flow_unlikely(flow_core_user(_core) != NULL) ? \
             record_call_##_name(__VA_ARGS__) : \
             flow_##_name(__VA_ARGS__))

/* flow_tx_ready, flow_tx_rma_ready and flow_rx_accept as one: their first
 * halves change nothing, and need not be. */
static inline int record_call_tx_ready(flow_core_t *core, flow_tx_t *tx)
{
    return flow_tx_is_open(tx) || RECORD_CALL(tx_ready_slow, core, core, tx);
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

    return (RECORD_CALL(rx_run, core, core, token, &handle, 1) != 0) ? handle :
                                                                      NULL;
}

#ifndef RECORD_CALL_NAMES_OFF /* of record_call.c */
#define flow_tx_open(_core, ...) \
    RECORD_CALL(tx_open, _core, _core, __VA_ARGS__)
#define flow_tx_close(_core, _tx) \
    RECORD_CALL(tx_close, _core, _core, _tx)
#define flow_tx_ready(_core, _tx) record_call_tx_ready(_core, _tx)
#define flow_tx_done(_core, ...) \
    RECORD_CALL(tx_done, _core, _core, __VA_ARGS__)
#define flow_tx_rnr(_core, ...) \
    RECORD_CALL(tx_rnr, _core, _core, __VA_ARGS__)
#define flow_tx_repost_next(_core, ...) \
    RECORD_CALL(tx_repost_next, _core, _core, __VA_ARGS__)
#define flow_tx_repost_return(_core, _op) \
    RECORD_CALL(tx_repost_return, _core, _core, _op)
#define flow_tx_fail(_core, ...) \
    RECORD_CALL(tx_fail, _core, _core, __VA_ARGS__)
#define flow_tx_ping(_core, _tx) \
    RECORD_CALL(tx_ping, _core, _core, _tx)
#define flow_tx_check(_core, _tx) \
    RECORD_CALL(tx_check, _core, _core, _tx)
#define flow_tx_pause(...) record_call_tx_pause_is_meant(__VA_ARGS__)
#define flow_tx_resume(_core, ...) \
    RECORD_CALL(tx_resume, _core, _core, __VA_ARGS__)
#define flow_tx_pass_one(_core, _tx) \
    RECORD_CALL(tx_pass_one, _core, _core, _tx)
#define flow_tx_rma_ready(_core, _tx) \
    (flow_likely(flow_tx_rma_is_open(_tx)) || \
     RECORD_CALL(tx_rma_ready, _core, _core, _tx))
#define flow_resend_sent(_core, ...) \
    RECORD_CALL(resend_sent, _core, _core, __VA_ARGS__)
#define flow_resend_release_next(_core, _fail) \
    RECORD_CALL(resend_release_next, _core, _core, _fail)
#define flow_resend_header(_core, ...) \
    RECORD_CALL(resend_header, _core, _core, __VA_ARGS__)
#define flow_rx_accept(_core, ...) record_call_rx_accept(_core, __VA_ARGS__)
#define flow_rx_accept_slow(_core, ...) \
    RECORD_CALL(rx_accept_slow, _core, _core, __VA_ARGS__)
#define flow_rx_accept_held(_core, ...) \
    RECORD_CALL(rx_accept_held, _core, _core, __VA_ARGS__)
#define flow_rx_run(_core, ...) \
    RECORD_CALL(rx_run, _core, _core, __VA_ARGS__)
#define flow_rx_next(_core, _token) record_call_rx_next(_core, _token)
#define flow_drop_count(_core, _reason) \
    RECORD_CALL(drop_count, _core, _core, _reason)
#define flow_ctl_next(_core, ...) \
    RECORD_CALL(ctl_next, _core, _core, __VA_ARGS__)
#define flow_ctl_unsent(_core, _cookie) \
    RECORD_CALL(ctl_unsent, _core, _core, _cookie)
#define flow_ctl_done(_core, ...) \
    RECORD_CALL(ctl_done, _core, _core, __VA_ARGS__)
#define flow_event_next(_core, _event) \
    RECORD_CALL(event_next, _core, _core, _event)
#define flow_event_peer_next(_core, _event) \
    RECORD_CALL(event_peer_next, _core, _core, _event)
#define flow_timer_set_now(_core, _now) \
    RECORD_CALL(timer_set_now, _core, _core, _now)
#define flow_timer_run(_core, _now) \
    RECORD_CALL(timer_run, _core, _core, _now)
#define flow_core_rx_posted(_core, _count) \
    RECORD_CALL(core_rx_posted, _core, _core, _count)
#define flow_core_rx_backlog(_core, _more) \
    RECORD_CALL(core_rx_backlog, _core, _core, _more)
#define flow_peer_set_ah(_core, ...) \
    RECORD_CALL(peer_set_ah, _core, _core, __VA_ARGS__)
#define flow_peer_lost(_core, _peer) \
    RECORD_CALL(peer_lost, _core, _core, _peer)
#define flow_peer_dead(_core, _peer) \
    RECORD_CALL(peer_dead, _core, _core, _peer)
#define flow_peer_age(_core, ...) \
    RECORD_CALL(peer_age, _core, _core, __VA_ARGS__)
#define flow_pool_grow(_core, ...) \
    RECORD_CALL(pool_grow, _core, _core, __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif

#endif
