/* SPDX-License-Identifier: BSD-3-Clause */
/* What the protocol core asks for: events, control packets, reposts, timers. */
#include "efa_ep.h"
#include "efa_numbers.h"

#include <errno.h>
#include <string.h>

/* Nearly out of handles, only those peers get one to keep that ask for RMA. */
void efa_peer_introduced(efa_iface_t *iface, flow_peer_t *peer, int rma)
{
    flow_addr_t  addr = flow_peer_addr(iface->core, peer);
    efa_ah_t    *ah   = flow_peer_cookie(peer);
    ucs_status_t status;

    if ((ah == NULL) &&
        (rma || (iface->ahs.count < iface->ahs.limit / 16 * 15) ||
         (iface->ahs.limit < 16))) {
        status = efa_ah_get(&iface->ahs, addr.gid, &ah);
        if (status != UCS_OK) {
            host_warn(iface->super.host,
                      "%s: no address handle to keep for a peer: its RMA to us "
                      "will fail, its messages will not (%u of %u in use)",
                      efa_iface_md(iface)->device->name, iface->ahs.count,
                      iface->ahs.limit);
            flow_peer_set_ah(iface->core, peer, FLOW_AH_UNKNOWN,
                             FLOW_RMA_REFUSED);
            return;
        }
        flow_peer_set_cookie(peer, ah);
        efa_rx_tell(iface); /* who has a handle from now on */
    }
    if (ah == NULL) {
        flow_peer_set_ah(iface->core, peer, FLOW_AH_UNKNOWN,
                         FLOW_RMA_NOT_YET);
    } else {
        flow_peer_set_ah(iface->core, peer, ah->number, FLOW_RMA_READY);
    }
}

/* Peers came, or (scarce) the senders among them could use more receives. */
static void efa_rxq_follow(efa_iface_t *iface, int scarce)
{
    flow_counters_t counters;

    flow_core_counters(iface->core, &counters);
    if (scarce) {
        efa_rxq_grow(&iface->rxq);
    }
    efa_rxq_cover(&iface->rxq, counters.owed);
    if (efa_rxq_fill(&iface->rxq) != UCS_OK) {
        efa_iface_break(iface, "posting receives", EIO);
    }
    flow_core_rx_posted(iface->core, iface->rxq.base);
}

static void efa_event_handle(efa_iface_t *iface, const flow_event_t *event)
{
    efa_ah_t *ah;

    switch (event->type) {
    case FLOW_EVENT_TX_READY:
    case FLOW_EVENT_TX_RMA:
        break; /* pending requests are dispatched after the chores */
    case FLOW_EVENT_TX_OPEN:
        efa_rxq_follow(iface, 0); /* it may have a flow to us by now */
        break;
    case FLOW_EVENT_TX_FAILED:
        efa_ep_report_failure(event->cookie, event->why);
        break;
    case FLOW_EVENT_TX_GONE:
        efa_ep_flow_gone(event->cookie);
        break;
    case FLOW_EVENT_PEER_INTRODUCED:
        efa_peer_introduced(iface, event->peer, 0);
        efa_rxq_follow(iface, 0);
        break;
    case FLOW_EVENT_RX_SCARCE:
        efa_rxq_follow(iface, 1);
        break;
    case FLOW_EVENT_PEER_WANTS_RMA:
        efa_peer_introduced(iface, event->peer, 1);
        break;
    case FLOW_EVENT_PEER_GONE:
        ah = flow_peer_cookie(event->peer);
        if (ah != NULL) {
            efa_ah_put(&iface->ahs, ah);
        }
        break;
    case FLOW_EVENT_RX_RELEASE:
        efa_rxq_unhold(&iface->rxq, event->handle);
        efa_rxq_put(&iface->rxq, event->handle);
        break;
    }
}

static void efa_ctl_fill(efa_op_t *op, const flow_ctl_t *ctl, efa_ah_t *ah)
{
    op->out.kind   = EFA_OUT_CTL;
    op->out.comp   = NULL;
    op->ctl.cookie = ctl->cookie;
    op->ctl.ah     = ah;
    memcpy(op->buf, ctl->data, ctl->len);
    efa_op_set_buf(op, ctl->len, 0);
}

/* Posts one control packet. Returns 0 when that has to wait. */
static int efa_ctl_post(efa_iface_t *iface, const flow_ctl_t *ctl)
{
    flow_addr_t addr = flow_peer_addr(iface->core, ctl->peer);
    efa_op_t   *op   = iface->ops.free_ctl;
    efa_ah_t   *ah;
    efa_dest_t  dest;
    int         err;

    if (efa_ah_get(&iface->ahs, addr.gid, &ah) != UCS_OK) {
        /* all handles are in use now: later, after a back-off */
        flow_ctl_done(iface->core, ctl->cookie, FLOW_SEND_RNR,
                      efa_iface_clock(iface));
        return 1;
    }

    iface->ops.free_ctl = (efa_op_t*)op->out.next;
    efa_ctl_fill(op, ctl, ah);
    dest.ah          = ah->ibah;
    dest.remote_qpn  = addr.qpn;
    dest.remote_qkey = addr.qkey;
    err              = efa_post_send(iface, &dest, op);
    if (err == 0) {
        ++iface->ctl_ops;
        return 1;
    }

    efa_ah_put(&iface->ahs, ah);
    op->out.next        = (efa_out_t*)iface->ops.free_ctl;
    iface->ops.free_ctl = op;
    flow_ctl_unsent(iface->core, ctl->cookie);
    if (!efa_post_is_shortage(err)) {
        efa_iface_break(iface, "posting", err);
    }
    return 0;
}

unsigned efa_ctl_post_all(efa_iface_t *iface)
{
    unsigned   count = 0;
    flow_ctl_t ctl;

    while ((iface->ops.free_ctl != NULL) && flow_ctl_pending(iface->core) &&
           flow_ctl_next(iface->core, iface->now, &ctl)) {
        ++count;
        if (!efa_ctl_post(iface, &ctl)) {
            break;
        }
    }
    return count;
}

static unsigned efa_repost_all(efa_iface_t *iface)
{
    unsigned     count = 0;
    flow_op_t   *flow_op;
    efa_op_t    *op;
    int          fail, err;

    while ((flow_op = flow_tx_repost_next(iface->core, iface->now, &fail)) !=
           NULL) {
        op  = (efa_op_t*)((char*)flow_op - offsetof(efa_op_t, flow));
        err = 0;
        ++count;
        if (!fail) {
            err = efa_post_send(iface, &op->ep->dest, op);
            if (efa_post_is_shortage(err)) {
                flow_tx_repost_return(iface->core, flow_op);
                break;
            }
        }
        if (fail || (err != 0)) {
            efa_op_abandon(iface, op, err);
        }
    }
    return count;
}

unsigned efa_iface_chores(efa_iface_t *iface)
{
    unsigned     count = 0;
    flow_event_t event;

    if (flow_timer_next(iface->core) != FLOW_TIME_NEVER) {
        if (efa_iface_clock(iface) >= flow_timer_next(iface->core)) {
            flow_timer_run(iface->core, iface->now);
        }
        count += efa_repost_all(iface);
    }
    while (flow_event_pending(iface->core) &&
           flow_event_next(iface->core, &event)) {
        ++count;
        efa_event_handle(iface, &event);
    }
    efa_report_write(iface);
    efa_numbers_report(iface);
    if (flow_ctl_pending(iface->core)) {
        if (efa_core_grow(iface) != UCS_OK) {
            return count; /* memory may come back; control waits for it */
        }
        count += efa_ctl_post_all(iface);
    }
    return count;
}
