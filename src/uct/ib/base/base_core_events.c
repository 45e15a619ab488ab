/* SPDX-License-Identifier: BSD-3-Clause */
/* Due work of the protocol core: timers, messages to send again, events,
 * control packets. */
#include "base_core_events.h"
#include "base_flow.h"
#include "base_ctl.h"
#include "base_complete.h"
#include "base_fail.h"
#include "base_ep_list.h"
#include "base_counters.h"
#include "base_pending.h"
#include "base_post.h"
#include "base_report.h"
#include "base_rx.h"

#include <errno.h>

/* Peers came, or (scarce) the senders among them could use more receives. Whom
 * we greeted may greet us at the same time: a hello, a message, an answer to
 * ours. */
static void base_rxq_follow(base_iface_t *iface, int scarce)
{
    flow_counters_t counters;
    uint64_t        first, granted;

    flow_core_counters(iface->core, &counters);
    first = 3 * (uint64_t)iface->greeted;
    if (scarce) {
        base_rxq_grow(&iface->rxq);
    }
    granted = counters.rx_flows * FLOW_IDLE_WINDOW;
    granted = (counters.owed > granted) ? counters.owed : granted;
    base_rxq_cover(&iface->rxq, (granted > first) ? granted : first);
    if (base_rxq_fill(&iface->rxq) != UCS_OK) {
        base_fail_iface(iface, "posting receives", EIO);
    }
    flow_core_rx_posted(iface->core, iface->rxq.base);
}

/* Nearly out of handles, only those peers get one to keep that ask for RMA. */
void base_core_events_introduced(base_iface_t *iface, flow_peer_t *peer,
                                 int rma)
{
    flow_addr_t  addr = flow_peer_addr(iface->core, peer);
    base_ah_t   *ah   = flow_peer_cookie(peer);
    ucs_status_t status;

    if ((ah == NULL) &&
        (rma || (iface->ahs.gids.count < iface->ahs.limit / 16 * 15) ||
         (iface->ahs.limit < 16))) {
        status = base_ah_get(&iface->ahs, addr.gid, &ah);
        if (status != UCS_OK) {
            host_warn(iface->super.host,
                      "%s: no address handle to keep for a peer: its RMA to us "
                      "will fail, its messages will not (%u of %u in use)",
                      base_iface_md(iface)->device->name, iface->ahs.gids.count,
                      iface->ahs.limit);
            flow_peer_set_ah(iface->core, peer, FLOW_AH_UNKNOWN,
                             FLOW_RMA_REFUSED);
            return;
        }
        record_call_peer_set_cookie(iface->core, peer, ah);
        base_rx_tell(iface); /* who has a handle from now on */
    }
    if (ah == NULL) {
        flow_peer_set_ah(iface->core, peer, FLOW_AH_UNKNOWN,
                         FLOW_RMA_NOT_YET);
    } else {
        flow_peer_set_ah(iface->core, peer, ah->device->number, FLOW_RMA_READY);
    }
}

/* The endpoint's peer has answered, or will not. */
static void base_greeting_over(base_iface_t *iface, base_ep_t *ep)
{
    if (ep->greeted) {
        ep->greeted = 0;
        --iface->greeted;
        base_rxq_follow(iface, 0); /* it may have a flow to us by now */
    }
}

static void base_event_handle(base_iface_t *iface, const flow_event_t *event)
{
    base_ah_t *ah;

    switch (event->type) {
    case FLOW_EVENT_TX_READY:
        base_pending_open(event->cookie);
        break;
    case FLOW_EVENT_TX_RMA:
        break; /* pending requests are dispatched afterwards */
    case FLOW_EVENT_TX_OPEN:
        base_greeting_over(iface, event->cookie);
        break;
    case FLOW_EVENT_TX_FAILED:
        base_greeting_over(iface, event->cookie);
        base_pending_open(event->cookie);
        base_fail_ep_report(event->cookie, event->why);
        break;
    case FLOW_EVENT_TX_GONE:
        base_greeting_over(iface, event->cookie);
        base_ep_list_flow_gone(event->cookie);
        break;
    case FLOW_EVENT_PEER_INTRODUCED:
        base_core_events_introduced(iface, event->peer, 0);
        base_rxq_follow(iface, 0);
        break;
    case FLOW_EVENT_RX_SCARCE:
        base_rxq_follow(iface, 1);
        break;
    case FLOW_EVENT_PEER_WANTS_RMA:
        base_core_events_introduced(iface, event->peer, 1);
        break;
    case FLOW_EVENT_PEER_GONE:
        ah = event->cookie; /* the peer's record has none any more */
        if (ah != NULL) {
            base_ah_put(&iface->ahs, ah);
        }
        break;
    case FLOW_EVENT_RX_RELEASE:
        base_rxq_unhold(&iface->rxq, event->handle);
        base_rxq_put(&iface->rxq, event->handle);
        break;
    }
}

/* A message that is to be sent again, unchanged or (acks) with a header that is
 * brought up to date. As base_post_send. */
static int base_repost(base_iface_t *iface, base_op_t *op)
{
    const efa_sge_t *first;

    if (op->wr.inside > 0) { /* posted by the shortest way */
        base_op_set_buf(op, op->wr.inside, iface->qp.inline_size);
    }
    first = efa_send_wr_pieces(&op->wr);
    if (iface->acked) {
        flow_resend_header(iface->core, &op->flow,
                           (void*)(uintptr_t)first->addr);
    }
    return base_post_send(iface, &op->ep->dest, op);
}

/* It never will be: its flow failed, or the device did. */
static void base_repost_failed(base_iface_t *iface, base_op_t *op, int err)
{
    if (!iface->acked) {
        base_complete_abandoned(iface, op, err);
        return;
    }
    base_fail_iface(iface, "posting", err); /* and no callback may run */
    flow_resend_sent(iface->core, &op->flow, 1);
}

static unsigned base_repost_all(base_iface_t *iface)
{
    unsigned   count = 0;
    flow_op_t *flow_op;
    base_op_t *op;
    int        fail, err;

    while (!flow_tx_repost_is_idle(iface->core, iface->now) &&
           ((flow_op = flow_tx_repost_next(iface->core, iface->now, &fail)) !=
            NULL)) {
        op  = (base_op_t*)((char*)flow_op - offsetof(base_op_t, flow));
        err = 0;
        ++count;
        if (!fail) {
            err = base_repost(iface, op);
            if (efa_post_is_shortage(err)) {
                flow_tx_repost_return(iface->core, flow_op);
                break;
            }
        }
        if (fail || (err != 0)) {
            base_repost_failed(iface, op, err);
        }
    }
    return count;
}

/* Is an eighth of the receive queue taken, or more batches than others should
 * wait for? A full batch alone does not say that it is deep. */
static int base_core_events_is_backlogged(base_iface_t *iface, unsigned polled)
{
    unsigned left = efa_at_most(iface->rxq.posted / 8 / BASE_POLL_BATCH,
                                BASE_RX_BATCHES);

    while ((polled >= BASE_POLL_BATCH) && (left-- > 0)) {
        polled = base_rx_poll(iface);
    }
    return polled >= BASE_POLL_BATCH;
}

/* A timer runs: if it is due, handle the work that it makes due. */
static unsigned base_core_events_timer(base_iface_t *iface, unsigned polled)
{
    int backlog;

    iface->lax_calls = 0;
    if (base_flow_clock(iface) >= flow_timer_next(iface->core)) {
        backlog = base_core_events_is_backlogged(iface, polled);
        flow_core_rx_backlog(iface->core, backlog);
        flow_timer_run(iface->core, iface->now);
    }
    return base_repost_all(iface);
}

static unsigned base_core_events_ctl(base_iface_t *iface)
{
    if (base_flow_grow(iface) != UCS_OK) {
        return 0; /* memory may come back; control waits for it */
    }
    return base_ctl_post_all(iface);
}

/* UD only. A message completes when an acknowledgement or a time-out is
 * processed. A flow with unacknowledged messages always has a timer running, so
 * timers cover this case. */
static unsigned base_core_events_acked(base_iface_t *iface)
{
    (void)base_flow_grow(iface); /* flows that begin to send need some */
    return iface->transport->acks->release(iface);
}

/* Peers that came or went: a peer that talks to us for the first time must be
 * answered, or takes us for dead. */
static void base_core_events_peers(base_iface_t *iface)
{
    flow_event_t event;

    while (flow_event_pending(iface->core) &&
           flow_event_peer_next(iface->core, &event)) {
        base_event_handle(iface, &event);
    }
}

void base_core_events_quiet(base_iface_t *iface)
{
    base_core_events_peers(iface);
    if (flow_timer_next(iface->core) != FLOW_TIME_NEVER) {
        base_core_events_timer(iface, 0);
    }
    if (flow_ctl_pending(iface->core)) {
        base_core_events_ctl(iface);
    }
}

unsigned base_core_events_run(base_iface_t *iface, unsigned polled)
{
    unsigned     count = 0;
    flow_event_t event;

    if (flow_timer_next(iface->core) != FLOW_TIME_NEVER) {
        count += base_core_events_timer(iface, polled);
    }
    if (iface->acked) {
        count += base_core_events_acked(iface);
    }
    while (flow_event_pending(iface->core) &&
           flow_event_next(iface->core, &event)) {
        ++count;
        base_event_handle(iface, &event);
    }
    if (iface->report.count != 0) {
        base_report_write(iface);
    }
    base_counters_report(iface);
    if (flow_ctl_pending(iface->core)) {
        count += base_core_events_ctl(iface);
    }
    return count;
}
