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

/* Calls that answer nothing, RECORD_kind and flow_name: _X(kind, name) of a
 * flow, and of a peer; _X(kind, name, type, number) of a flow and a number, and
 * of a number, which is written as so. */
#define RECORD_CALLS_OF_TX(_X) \
    _X(TX_CLOSE, tx_close) \
    _X(TX_PING, tx_ping) \
    _X(TX_CHECK, tx_check) \
    _X(TX_PASS_ONE, tx_pass_one)
#define RECORD_CALLS_OF_PEER(_X) \
    _X(PEER_LOST, peer_lost) \
    _X(PEER_DEAD, peer_dead)
#define RECORD_CALLS_OF_TX_AND_NUMBER(_X) \
    _X(TX_DONE, tx_done, unsigned, number % FLOW_MAP_BITS) \
    _X(TX_FAIL, tx_fail, flow_send_status_t, number) \
    _X(TX_RESUME, tx_resume, unsigned, number)
#define RECORD_CALLS_OF_NUMBER(_X) \
    _X(RX_POSTED, core_rx_posted, uint32_t, number) \
    _X(RX_BACKLOG, core_rx_backlog, int, number != 0) \
    _X(RX_DROP, drop_count, flow_drop_t, number)

/* For a core that has a recorder: as flow_*. */
#define RECORD_DECLARE(_kind, _name) \
    void record_call_##_name(flow_core_t *core, flow_tx_t *tx);
RECORD_CALLS_OF_TX(RECORD_DECLARE)
#undef RECORD_DECLARE
#define RECORD_DECLARE(_kind, _name) \
    void record_call_##_name(flow_core_t *core, flow_peer_t *peer);
RECORD_CALLS_OF_PEER(RECORD_DECLARE)
#undef RECORD_DECLARE
#define RECORD_DECLARE(_kind, _name, _type, _number) \
    void record_call_##_name(flow_core_t *core, flow_tx_t *tx, _type number);
RECORD_CALLS_OF_TX_AND_NUMBER(RECORD_DECLARE)
#undef RECORD_DECLARE
#define RECORD_DECLARE(_kind, _name, _type, _number) \
    void record_call_##_name(flow_core_t *core, _type number);
RECORD_CALLS_OF_NUMBER(RECORD_DECLARE)
#undef RECORD_DECLARE

void record_call_state(flow_core_t *core);
flow_status_t record_call_tx_open(flow_core_t *core, const flow_addr_t *peer,
                                  void *cookie, flow_tx_t **tx_p);
int  record_call_tx_ready_slow(flow_core_t *core, flow_tx_t *tx);
void record_call_tx_rnr(flow_core_t *core, flow_op_t *op, flow_time_t now);
flow_op_t *record_call_tx_repost_next(flow_core_t *core, flow_time_t now,
                                      int *fail);
void record_call_tx_repost_return(flow_core_t *core, flow_op_t *op);
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
int  record_call_ctl_next(flow_core_t *core, flow_time_t now, flow_ctl_t *ctl);
void record_call_ctl_unsent(flow_core_t *core, uint64_t cookie);
void record_call_ctl_done(flow_core_t *core, uint64_t cookie,
                          flow_send_status_t status, flow_time_t now);
int  record_call_event_next(flow_core_t *core, flow_event_t *event);
int  record_call_event_peer_next(flow_core_t *core, flow_event_t *event);
void record_call_timer_set_now(flow_core_t *core, flow_time_t now);
void record_call_timer_run(flow_core_t *core, flow_time_t now);
void record_call_peer_set_ah(flow_core_t *core, flow_peer_t *peer, uint16_t ah,
                             flow_rma_t rma);
void record_call_peer_age(flow_core_t *core, uint32_t taken, uint32_t posted);
void *record_call_pool_grow(flow_core_t *core, flow_pool_t pool, void *mem);

#define RECORD_CALL(_name, _core, ...) \
    (flow_unlikely(flow_core_user(_core) != NULL) ? \
             record_call_##_name(_core, __VA_ARGS__) : \
             flow_##_name(_core, __VA_ARGS__))

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
