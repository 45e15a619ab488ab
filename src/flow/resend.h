/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending on UD, where a send completion frees nothing: the bytes stay until
 * the peer acknowledged them, and the core says when to send them again.
 *
 * A send is: flow_tx_ready, flow_tx_header, post, flow_resend_commit (in place
 * of flow_tx_commit). Then, in any order:
 *   its post completed       flow_resend_sent, whatever the status
 *   to be sent again         flow_tx_repost_next; flow_resend_header; post it
 *                            (or flow_tx_repost_return); flow_resend_sent again
 *   done with                flow_resend_release_next returns it, exactly once:
 *                            acknowledged, or its flow failed, and no post of
 *                            it is out. Only then may the bytes go.
 * flow_tx_done and flow_tx_rnr are not called on UD.
 *
 * The timers may run on another thread under the caller's lock: from there,
 * flow_timer_run, flow_tx_repost_next, flow_ctl_next, flow_resend_sent,
 * flow_rx_accept_held (flow/rx.h) and flow_event_peer_next (flow/event.h) are
 * enough to acknowledge, to answer and to send again; delivery, releases and
 * all other events wait for progress.
 */
#ifndef FLOW_RESEND_H_
#define FLOW_RESEND_H_

#include "flow/state_priv.h"
#include "flow/tx.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The packet with the last header of tx was posted: take its number. op is the
 * core's until flow_resend_release_next; its fields are filled in here.
 */
void flow_resend_commit(flow_core_t *core, flow_tx_t *tx, flow_op_t *op);

/*
 * The post of op completed. failed: our own device refused it; then the flow
 * fails.
 */
void flow_resend_sent(flow_core_t *core, flow_op_t *op, int failed);

/*
 * Next operation that is over, else NULL; it is the caller's again. *fail: the
 * flow failed before the packet was acknowledged (it may have arrived).
 */
flow_op_t *flow_resend_release_next(flow_core_t *core, int *fail);

/* Nonzero when flow_resend_release_next has something. One load and compare. */
static inline int flow_resend_release_pending(const flow_core_t *core)
{
    return core->release.head != NULL;
}

/* Nonzero while a post of op is out: its bytes are the device's. */
static inline int flow_resend_is_posted(const flow_op_t *op)
{
    return (op->flags & FLOW_OPF_POSTED) != 0;
}

/*
 * Bring the header at buf, as flow_tx_header wrote it for op, up to date before
 * it is sent again: limit and acknowledgement. Its length stays.
 */
void flow_resend_header(const flow_core_t *core, const flow_op_t *op,
                        void *buf);

#ifdef __cplusplus
}
#endif

#endif
