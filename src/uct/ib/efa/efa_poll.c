/* SPDX-License-Identifier: BSD-3-Clause */
/* Completions: receives to the protocol core and up to UCP, sends to their
 * users. */
#include "efa_trace.h"

#include <errno.h>

#define EFA_POLL_BATCH 16

/*
 * Hands one message up. UCP may keep the buffer where a replacement is at hand,
 * otherwise it copies. What it may not keep: copies of ours, as nothing bounds
 * them, and what came with a long header, since it is not aligned for a
 * descriptor.
 */
static inline void efa_rx_deliver(efa_iface_t *iface, efa_rxbuf_t *rxbuf,
                                  unsigned am_id, unsigned offset)
{
    void        *data   = rxbuf->packet + offset;
    unsigned     length = rxbuf->length - offset;
    unsigned     flags  = 0;
    ucs_status_t status;

    ++iface->received;
    if (efa_rxq_may_keep(&iface->rxq) && !rxbuf->detached &&
        (offset == FLOW_SHORT_HDR)) {
        flags = UCT_CB_PARAM_FLAG_DESC;
        efa_rxbuf_make_desc(rxbuf, data);
    }
    status = ucx_iface_invoke_am(&iface->super, am_id, data, length, flags);
    if (status != UCS_INPROGRESS) {
        efa_rxq_put(&iface->rxq, rxbuf);
    }
}

/* Early packets whose turn has come. */
static void efa_rx_drain(efa_iface_t *iface, uint32_t token)
{
    efa_rxbuf_t *rxbuf;

    while ((rxbuf = flow_rx_next(iface->core, token)) != NULL) {
        efa_rxq_unhold(&iface->rxq, rxbuf);
        efa_rx_deliver(iface, rxbuf, flow_wire_am_id(rxbuf->packet),
                       flow_wire_hdr_len(rxbuf->packet));
    }
}

static flow_rx_verdict_t
efa_rx_accept_grow(efa_iface_t *iface, efa_rxbuf_t *rxbuf, flow_src_t src,
                   flow_rx_out_t *out)
{
    if (efa_core_grow(iface) != UCS_OK) {
        host_error(iface->super.host,
                   "%s: out of memory for peers: a message was dropped",
                   efa_iface_md(iface)->device->name);
        out->more = 0;
        return FLOW_RX_DROP;
    }
    return flow_rx_accept(iface->core, rxbuf->packet, rxbuf->length, rxbuf,
                          src, iface->now, out);
}

void efa_rx_completion(efa_iface_t *iface, const struct ibv_wc *wc)
{
    efa_rxbuf_t      *rxbuf = (efa_rxbuf_t*)(uintptr_t)wc->wr_id;
    flow_src_t        src   = flow_src(wc->slid, wc->src_qp);
    flow_rx_verdict_t verdict;
    flow_rx_out_t     out;

    --iface->rxq.posted;
    if (__builtin_expect(wc->status != IBV_WC_SUCCESS, 0)) {
        efa_rxq_put(&iface->rxq, rxbuf);
        if (efa_wc_status(wc) == EFA_STATUS_FLUSHED) {
            efa_iface_break(iface, "receiving", ENODEV);
        }
        return;
    }

    efa_trace_rx(iface, rxbuf->packet, wc->byte_len, wc->src_qp);
    rxbuf->length = wc->byte_len;
    if (__builtin_expect(efa_rxq_is_scarce(&iface->rxq), 0)) {
        rxbuf = efa_rxq_detach(&iface->rxq, rxbuf);
    }
    verdict = flow_rx_accept(iface->core, rxbuf->packet, wc->byte_len, rxbuf,
                             src, iface->now, &out);
    if (__builtin_expect(verdict == FLOW_RX_NO_MEMORY, 0)) {
        verdict = efa_rx_accept_grow(iface, rxbuf, src, &out);
    }

    switch (verdict) {
    case FLOW_RX_DELIVER:
        efa_rx_deliver(iface, rxbuf, out.am_id, out.offset);
        break;
    case FLOW_RX_HOLD:
        efa_rxq_hold(&iface->rxq, rxbuf);
        return;
    default:
        efa_rxq_put(&iface->rxq, rxbuf);
        break;
    }
    if (__builtin_expect(out.more, 0)) {
        efa_rx_drain(iface, out.token);
    }
}

unsigned efa_iface_poll_rx(efa_iface_t *iface)
{
    struct ibv_cq *cq = iface->qp.rx_cq;
    struct ibv_wc  wc[EFA_POLL_BATCH];
    int            i, count;

    count = cq->context->ops.poll_cq(cq, EFA_POLL_BATCH, wc);
    if (count <= 0) {
        if (count < 0) {
            efa_iface_break(iface, "polling for receives", -count);
        }
        return 0;
    }

    efa_iface_clock(iface);
    for (i = 0; i < count; ++i) {
        efa_rx_completion(iface, &wc[i]);
    }
    if (efa_rxq_is_low(&iface->rxq) &&
        (efa_rxq_fill(&iface->rxq) != UCS_OK)) {
        efa_iface_break(iface, "posting receives", EIO);
    }
    return count;
}

/* The operation is over and its number released: tells its user. */
static inline void
efa_op_finish(efa_iface_t *iface, efa_op_t *op, ucs_status_t status)
{
    efa_ep_t         *ep      = op->ep;
    uct_completion_t *comp    = op->out.comp;
    int               markers = efa_out_remove(ep, &op->out);

    ++iface->ops_done;
    if (efa_out_is_rma(op->out.kind)) {
        efa_ep_rma_done(ep);
    }
    efa_op_give(&iface->ops, op);
    ucx_completion_done(comp, status);
    if (markers) {
        efa_ep_flush_markers(ep);
    }
    if (__builtin_expect(ep->tx == NULL, 0) && efa_ep_is_idle(ep)) {
        efa_ep_free_lingering(ep);
    }
}

ucs_status_t efa_tx_status(unsigned vendor_err)
{
    switch (vendor_err) {
    case 0:
        return UCS_OK;
    case 1:
        return UCS_ERR_CANCELED;
    case 7:
        return UCS_ERR_REJECTED;
    case 8:
    case 9:
        return UCS_ERR_CONNECTION_RESET;
    case 13:
    case 15:
        return UCS_ERR_ENDPOINT_TIMEOUT;
    case 14:
        return UCS_ERR_UNREACHABLE;
    default:
        return UCS_ERR_IO_ERROR;
    }
}

static flow_send_status_t efa_tx_flow_status(unsigned vendor_err)
{
    switch (vendor_err) {
    case 0:
        return FLOW_SEND_OK;
    case 10:
        return FLOW_SEND_RNR;
    case 8:
    case 9:
    case 13:
    case 15:
        return FLOW_SEND_DEAD;
    default:
        return FLOW_SEND_ERROR;
    }
}

static void efa_ctl_finish(efa_iface_t *iface, efa_op_t *op,
                           flow_send_status_t status)
{
    flow_ctl_done(iface->core, op->ctl.cookie, status, iface->now);
    efa_ah_put(&iface->ahs, op->ctl.ah);
    op->out.next        = (efa_out_t*)iface->ops.free_ctl;
    iface->ops.free_ctl = op;
}

void efa_op_cancel(efa_iface_t *iface, efa_op_t *op, ucs_status_t status)
{
    if (!efa_out_is_rma(op->out.kind)) {
        flow_tx_done(iface->core, op->flow.tx, op->flow.psn);
    }
    efa_op_finish(iface, op, status);
}

static void
efa_tx_error(efa_iface_t *iface, efa_op_t *op, unsigned vendor_err)
{
    flow_send_status_t flow_status = efa_tx_flow_status(vendor_err);
    ucs_status_t       status      = efa_tx_status(vendor_err);
    efa_ep_t          *ep          = op->ep;

    efa_iface_clock(iface);
    if (vendor_err == EFA_STATUS_FLUSHED) {
        efa_iface_break(iface, "sending", ENODEV);
    }
    if (op->out.kind == EFA_OUT_CTL) {
        efa_ctl_finish(iface, op, flow_status);
        return;
    }
    if ((flow_status == FLOW_SEND_RNR) && !efa_out_is_rma(op->out.kind)) {
        flow_tx_rnr(iface->core, &op->flow, iface->now);
        return;
    }

    host_debug(iface->super.host,
               "%s: operation to QPN %u ended with status %u of the device: %s",
               efa_iface_md(iface)->device->name, ep->qpn, vendor_err,
               iface->super.host->status_string(status));
    efa_ep_fail(ep, status, flow_status == FLOW_SEND_DEAD);
    efa_op_cancel(iface, op, status);
}

void efa_op_abandon(efa_iface_t *iface, efa_op_t *op, int err)
{
    efa_ep_t *ep = op->ep;

    if (err != 0) {
        efa_post_failed(ep, err);
    }
    if (ep->state == EFA_EP_ALIVE) {
        efa_ep_fail(ep, UCS_ERR_ENDPOINT_TIMEOUT, 0); /* its event follows */
    }
    efa_op_cancel(iface, op,
                  (ep->status != UCS_OK) ? ep->status : UCS_ERR_CANCELED);
}

/* Who waits for an active message, or for a flush behind it. */
static __attribute__((noinline)) void
efa_am_tell(efa_ep_t *ep, uct_completion_t *comp, int markers)
{
    ucx_completion_done(comp, UCS_OK);
    if (markers) {
        efa_ep_flush_markers(ep);
    }
}

/* An active message arrived: efa_op_finish without what it cannot be. (Its
 * flow is not gone, since the core waits for its number.) */
static inline void efa_am_done(efa_iface_t *iface, efa_op_t *op)
{
    efa_ep_t         *ep   = op->ep;
    uct_completion_t *comp = op->out.comp;
    int               markers;

    flow_tx_done(iface->core, op->flow.tx, op->flow.psn);
    markers = efa_out_remove(ep, &op->out);
    ++iface->ops_done;
    efa_op_give(&iface->ops, op);
    if (__builtin_expect((comp != NULL) || markers, 0)) {
        efa_am_tell(ep, comp, markers);
    }
}

void efa_tx_completion(efa_iface_t *iface, efa_op_t *op, unsigned vendor_err)
{
    if (__builtin_expect(vendor_err != 0, 0)) {
        efa_tx_error(iface, op, vendor_err);
        return;
    }

    switch (op->out.kind) {
    case EFA_OUT_AM:
    case EFA_OUT_AM_ZCOPY:
        efa_am_done(iface, op);
        return;
    case EFA_OUT_CTL:
        efa_ctl_finish(iface, op, FLOW_SEND_OK);
        return;
    case EFA_OUT_GET_BCOPY:
        op->unpack.func(op->unpack.arg, op->bounce->data, op->sge[0].length);
        break;
    default:
        break;
    }
    efa_op_finish(iface, op, UCS_OK);
}

unsigned efa_iface_poll_tx(efa_iface_t *iface)
{
    struct ibv_cq *cq = iface->qp.tx_cq;
    struct ibv_wc  wc[EFA_POLL_BATCH];
    efa_op_t      *op;
    int            i, count;

    count = cq->context->ops.poll_cq(cq, EFA_POLL_BATCH, wc);
    if (count < 0) {
        efa_iface_break(iface, "polling for completions", -count);
        return 0;
    }
    iface->in_flight -= count;
    for (i = 0; i < count; ++i) {
        op = (efa_op_t*)(uintptr_t)wc[i].wr_id;
        if (__builtin_expect((wc[i].status == IBV_WC_SUCCESS) &&
                                     (op->out.kind == EFA_OUT_AM),
                             1)) {
            efa_am_done(iface, op);
        } else {
            efa_tx_completion(iface, op, efa_wc_status(&wc[i]));
        }
    }
    return count;
}

/* What follows the polls, of which `count` completions came. */
static inline unsigned efa_iface_follow_up(efa_iface_t *iface, unsigned count)
{
    if (__builtin_expect(efa_iface_has_chores(iface), 0)) {
        count += efa_iface_chores(iface);
    }
    if (__builtin_expect((iface->pending != NULL) && (count > 0), 0)) {
        count += efa_pending_dispatch(iface);
    }
    return count;
}

unsigned efa_iface_progress(uct_iface_h tl_iface)
{
    efa_iface_t *iface = (efa_iface_t*)tl_iface;
    unsigned     count = 0;

    if (__builtin_expect(iface->attend, 0)) {
        count += efa_iface_take_stash(iface);
        if (iface->attend & EFA_ATTEND_BROKEN) {
            count += efa_iface_end(iface);
            return efa_iface_follow_up(iface, count);
        }
    }
    count += efa_iface_poll_rx(iface);
    if (iface->in_flight > 0) {
        count += efa_iface_poll_tx(iface);
    }
    return efa_iface_follow_up(iface, count);
}
