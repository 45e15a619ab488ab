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
 * descriptor. Returns whether it keeps it.
 */
static inline int
efa_rx_hand_up(efa_iface_t *iface, efa_rxbuf_t *rxbuf, uint64_t am_id,
               void *data, unsigned length, int may_keep)
{
    unsigned flags = 0;

    if (__builtin_expect(may_keep, 1)) {
        flags = UCT_CB_PARAM_FLAG_DESC;
        efa_rxbuf_make_desc(rxbuf);
    }
    return ucx_iface_invoke_am(&iface->super, am_id, data, length, flags) ==
           UCS_INPROGRESS;
}

static __attribute__((noinline)) void
efa_rx_count(efa_iface_t *iface, size_t length)
{
    ucx_iface_count(&iface->super.super, UCX_IFACE_RX_AM, 1);
    ucx_iface_count(&iface->super.super, UCX_IFACE_RX_AM_BYTES, length);
}

static inline __attribute__((always_inline)) void
efa_rx_deliver(efa_iface_t *iface, efa_rxbuf_t *rxbuf, unsigned am_id,
               unsigned offset)
{
    ++iface->received;
    if (__builtin_expect(iface->traced & EFA_TRACED_COUNT, 0)) {
        efa_rx_count(iface, rxbuf->length - offset);
    }
    if (efa_rx_hand_up(iface, rxbuf, am_id, rxbuf->packet + offset,
                       rxbuf->length - offset,
                       efa_rxq_may_keep(&iface->rxq) && !rxbuf->detached &&
                               (offset == FLOW_SHORT_HDR))) {
        efa_rxq_keep(&iface->rxq);
    } else {
        efa_rxq_put(&iface->rxq, rxbuf);
    }
}

/* Early packets whose turn has come. */
static __attribute__((noinline)) void
efa_rx_drain(efa_iface_t *iface, uint32_t token)
{
    void        *held[EFA_POLL_BATCH];
    efa_rxbuf_t *rxbuf;
    unsigned     count, i;
    uint64_t     failed = flow_rx_failures(iface->core);

    do {
        count = flow_rx_run(iface->core, token, held, EFA_POLL_BATCH);
        for (i = 0; i < count; ++i) {
            rxbuf = held[i];
            efa_rxq_unhold(&iface->rxq, rxbuf);
            if (__builtin_expect(flow_rx_failures(iface->core) != failed, 0) &&
                flow_rx_has_failed(iface->core, token)) {
                efa_rxq_put(&iface->rxq, rxbuf);
                continue;
            }
            efa_rx_deliver(iface, rxbuf, flow_wire_am_id(rxbuf->packet),
                           flow_wire_hdr_len(rxbuf->packet));
        }
    } while (count == EFA_POLL_BATCH);
}

/* No memory for the records of a new flow: the packet waits in its buffer. */
static __attribute__((noinline)) void
efa_rx_wait(efa_iface_t *iface, efa_rxbuf_t *rxbuf, flow_src_t src)
{
    if (iface->waiting == NULL) {
        iface->waiting_tail = &iface->waiting;
        host_warn(iface->super.host,
                  "%s: out of memory for peers: messages wait until there is "
                  "some",
                  efa_iface_md(iface)->device->name);
    }
    rxbuf->src           = src;
    rxbuf->wait_next     = NULL;
    *iface->waiting_tail = rxbuf;
    iface->waiting_tail  = &rxbuf->wait_next;
    iface->attend       |= EFA_ATTEND_MEMORY;
    efa_rxq_hold(&iface->rxq, rxbuf);
}

/* By number and address handle, as the core compares it. */
static inline flow_src_t efa_wc_src(const struct ibv_wc *wc)
{
    return flow_src(wc->slid, wc->src_qp);
}

void efa_rx_tell(efa_iface_t *iface)
{
    const efa_rxq_t *rxq = &iface->rxq;

    if (iface->waiting == NULL) { /* else some are older than all these */
        flow_peer_age(iface->core,
                      rxq->ever - rxq->posted - EFA_POLL_BATCH,
                      rxq->ever);
    }
}

/* A received packet of rxbuf->length bytes. */
static __attribute__((noinline)) void
efa_rx_accept(efa_iface_t *iface, efa_rxbuf_t *rxbuf, flow_src_t src)
{
    flow_rx_verdict_t verdict;
    flow_rx_out_t     out;

    verdict = flow_rx_accept(iface->core, rxbuf->packet, rxbuf->length, rxbuf,
                             src, &out);
    if (__builtin_expect(verdict == FLOW_RX_NO_MEMORY, 0) &&
        (efa_core_grow(iface) == UCS_OK)) {
        verdict = flow_rx_accept(iface->core, rxbuf->packet, rxbuf->length,
                                 rxbuf, src, &out);
    }

    switch (verdict) {
    case FLOW_RX_DELIVER:
        efa_rx_deliver(iface, rxbuf, out.am_id, out.offset);
        break;
    case FLOW_RX_HOLD:
        efa_rxq_hold(&iface->rxq, rxbuf);
        return;
    case FLOW_RX_NO_MEMORY:
        efa_rx_wait(iface, rxbuf, src);
        return;
    default:
        efa_rxq_put(&iface->rxq, rxbuf);
        break;
    }
    if (__builtin_expect(out.more, 0)) {
        efa_rx_drain(iface, out.token);
    }
}

void efa_rx_completion(efa_iface_t *iface, const struct ibv_wc *wc)
{
    efa_rxbuf_t *rxbuf = (efa_rxbuf_t*)(uintptr_t)wc->wr_id;
    flow_src_t   src   = efa_wc_src(wc);

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
    if (__builtin_expect((src >> 16) == FLOW_AH_UNKNOWN, 0)) {
        efa_rx_tell(iface);
    }
    efa_rx_accept(iface, rxbuf, src);
}

unsigned efa_rx_retry(efa_iface_t *iface)
{
    efa_rxbuf_t *rxbuf = iface->waiting, *next;
    unsigned     count = 0;

    if (efa_core_grow(iface) != UCS_OK) {
        return 0;
    }
    iface->attend &= ~EFA_ATTEND_MEMORY;
    iface->waiting = NULL;
    for (; rxbuf != NULL; rxbuf = next) {
        next = rxbuf->wait_next;
        efa_rxq_unhold(&iface->rxq, rxbuf);
        efa_rx_accept(iface, rxbuf, rxbuf->src);
        ++count;
    }
    if (efa_rxq_fill(&iface->rxq) != UCS_OK) { /* it may have run empty */
        efa_iface_break(iface, "posting receives", EIO);
    }
    return count;
}

/* A completion that is neither early nor the next message of a flow that holds
 * none, and what the core said of it. */
static __attribute__((noinline)) void
efa_rx_other(efa_iface_t *iface, flow_rx_verdict_t verdict, uint64_t word,
             const struct ibv_wc *wc)
{
    efa_rxbuf_t *rxbuf = (efa_rxbuf_t*)(uintptr_t)wc->wr_id;

    --iface->received; /* counted as if it were */
    if (verdict != FLOW_RX_FILL) {
        efa_rx_completion(iface, wc);
        return;
    }
    rxbuf->length = wc->byte_len;
    efa_rx_deliver(iface, rxbuf, word & FLOW_WIRE_AM_MASK, FLOW_SHORT_HDR);
    efa_rx_drain(iface, flow_wire_token(word));
}

/* One completion, and for nearly all no call but that of the message's handler.
 * `few` buffers are posted: what is early is looked at closely. */
static inline void
efa_rx_one(efa_iface_t *iface, flow_core_t *core, const struct ibv_wc *wc,
           int few)
{
    efa_rxbuf_t      *rxbuf   = (efa_rxbuf_t*)(uintptr_t)wc->wr_id;
    flow_rx_verdict_t verdict = FLOW_RX_OTHER;
    uint64_t          word    = 0;

    if (__builtin_expect(wc->status == IBV_WC_SUCCESS, 1)) {
        verdict = flow_rx_short(core, rxbuf->packet, wc->byte_len, rxbuf, !few,
                                efa_wc_src(wc), &word);
    }
    if (__builtin_expect(verdict == FLOW_RX_HOLD, 0)) {
        --iface->received;
        rxbuf->length = wc->byte_len;
        efa_rxq_hold(&iface->rxq, rxbuf);
        return;
    }
    if (__builtin_expect(verdict != FLOW_RX_DELIVER, 0)) {
        efa_rx_other(iface, verdict, word, wc);
        return;
    }

    if (__builtin_expect(efa_rx_hand_up(iface, rxbuf, word & FLOW_WIRE_AM_MASK,
                                        rxbuf->packet + FLOW_SHORT_HDR,
                                        wc->byte_len - FLOW_SHORT_HDR,
                                        efa_rxq_may_keep(&iface->rxq)),
                         0)) {
        efa_rxq_keep(&iface->rxq);
    } else {
        efa_rxq_put_own(&iface->rxq, rxbuf);
    }
}

/* What was polled, or (negative) why nothing was. Returns how many completions
 * there were. */
static __attribute__((noinline)) unsigned
efa_rx_batch(efa_iface_t *iface, const struct ibv_wc *wc, int count)
{
    flow_core_t         *core = iface->core;
    const struct ibv_wc *end  = wc + count;
    int                  few;

    if (__builtin_expect(count < 0, 0)) {
        efa_iface_break(iface, "polling for receives", -count);
        return 0;
    }
    iface->rxq.posted -= count;
    if (__builtin_expect(iface->traced, 0)) {
        for (; wc < end; ++wc) {
            efa_rx_completion(iface, wc);
        }
    } else {
        iface->received += count; /* as nearly all will be */
        few              = efa_rxq_is_few(&iface->rxq);
        do {
            efa_rx_one(iface, core, wc, few);
        } while (++wc < end);
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
    efa_ep_t         *ep   = op->ep;
    uct_completion_t *comp = NULL;

    ++iface->ops_done;
    if (op->out.kind > EFA_OUT_AM_RESERVED) {
        efa_out_remove(&op->out);
        comp = op->out.comp;
    }
    if (efa_out_is_rma(op->out.kind)) {
        ep->rma_worked |= status == UCS_OK;
        efa_ep_rma_done(ep);
    }
    efa_op_give_any(&iface->ops, op, status == UCS_OK);
    ucx_completion_done(comp, status);
    if (ep->flushes > 0) {
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
    case 1: /* not by us: the device is gone */
        return UCS_ERR_IO_ERROR;
    case 7: /* remote access: UCX has one status for it and for a peer that
               is gone, as memory may be taken away in mid-transfer */
    case 8:
    case 9:
        return UCS_ERR_CONNECTION_RESET;
    case 13:
    case 15:
        return UCS_ERR_ENDPOINT_TIMEOUT;
    case EFA_STATUS_REFUSED:
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
        return FLOW_SEND_DEAD;
    case 13:
    case 15:
        return FLOW_SEND_LOST;
    default:
        return FLOW_SEND_ERROR;
    }
}

static void efa_ctl_finish(efa_iface_t *iface, efa_op_t *op,
                           flow_send_status_t status)
{
    efa_again_ctl_ended(op, status);
    --iface->ctl_ops;
    flow_ctl_done(iface->core, op->ctl.cookie, status, iface->now);
    efa_ah_put(&iface->ahs, op->ctl.ah);
    op->out.next        = (efa_out_t*)iface->ops.free_ctl;
    iface->ops.free_ctl = op;
}

void efa_op_cancel(efa_iface_t *iface, efa_op_t *op, ucs_status_t status)
{
    if (!efa_out_is_rma(op->out.kind)) {
        flow_tx_done(iface->core, op->ep->tx, op->flow.psn);
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
        if ((vendor_err == EFA_STATUS_REFUSED) && efa_again_ctl(iface, op)) {
            flow_status = FLOW_SEND_RNR;
        }
        efa_ctl_finish(iface, op, flow_status);
        return;
    }
    if ((vendor_err == EFA_STATUS_REFUSED) && efa_again_may(iface, op)) {
        efa_again_op(iface, op);
        return;
    }
    if ((flow_status == FLOW_SEND_RNR) && !efa_out_is_rma(op->out.kind)) {
        op->flow.tx = ep->tx;
        flow_tx_rnr(iface->core, &op->flow, iface->now);
        return;
    }

    host_debug(iface->super.host,
               "%s: operation to QPN %u ended with status %u of the device: %s",
               efa_iface_md(iface)->device->name, ep->dest.remote_qpn,
               vendor_err,
               iface->super.host->status_string(status));
    efa_ep_fail(ep, status, flow_status);
    efa_op_cancel(iface, op, status);
}

void efa_op_abandon(efa_iface_t *iface, efa_op_t *op, int err)
{
    efa_ep_t *ep = op->ep;

    if (err != 0) {
        efa_post_failed(ep, err);
    }
    if (ep->state == EFA_EP_ALIVE) {
        /* its event follows */
        efa_ep_fail(ep, UCS_ERR_ENDPOINT_TIMEOUT, FLOW_SEND_ERROR);
    }
    efa_op_cancel(iface, op,
                  (ep->status != UCS_OK) ? ep->status : UCS_ERR_CANCELED);
}

/* An active message that nobody waits for arrived: efa_op_finish without what
 * it cannot be. (Its flow is not gone, since the core waits for its number.) */
static inline void efa_am_done(efa_iface_t *iface, efa_op_t *op)
{
    efa_ep_t *ep = op->ep;

    if (flow_tx_end(ep->tx, op->flow.psn)) {
        flow_tx_done_slow(iface->core, ep->tx);
    }
    ++iface->ops_done;
    efa_op_give(&iface->ops, op);
}

void efa_tx_completion(efa_iface_t *iface, efa_op_t *op, unsigned vendor_err)
{
    efa_ep_t *ep;

    if (__builtin_expect(vendor_err != 0, 0)) {
        efa_tx_error(iface, op, vendor_err);
        return;
    }

    switch (op->out.kind) {
    case EFA_OUT_AM:
        ep = op->ep;
        efa_am_done(iface, op);
        if (ep->flushes > 0) {
            efa_ep_flush_markers(ep);
        }
        return;
    case EFA_OUT_AM_RESERVED:
    case EFA_OUT_AM_ZCOPY:
        flow_tx_done(iface->core, op->ep->tx, op->flow.psn);
        break;
    case EFA_OUT_CTL:
        efa_ctl_finish(iface, op, FLOW_SEND_OK);
        return;
    case EFA_OUT_GET_BCOPY:
        op->unpack.func(op->unpack.arg, op->bounce->data,
                        op->bounce->sge.length);
        break;
    default:
        break;
    }
    efa_op_finish(iface, op, UCS_OK);
}

/*
 * Whatever is no message that nobody waits for. A callback may run, and destroy
 * an endpoint, which must find what is polled and not looked at yet: where all
 * such lies. Returns the last that was dealt with.
 */
static __attribute__((noinline)) const struct ibv_wc *
efa_tx_other(efa_iface_t *iface, const struct ibv_wc *wc,
             const struct ibv_wc *end)
{
    efa_op_t *op = (efa_op_t*)(uintptr_t)wc->wr_id;

    if ((op->out.kind == EFA_OUT_CTL) && (wc->status == IBV_WC_SUCCESS)) {
        efa_ctl_finish(iface, op, FLOW_SEND_OK); /* runs none */
        return wc;
    }
    for (; wc < end; ++wc) {
        efa_stash_add(iface, (efa_op_t*)(uintptr_t)wc->wr_id, wc);
    }
    efa_stash_take_tx(iface);
    return end;
}

/* As efa_rx_batch. */
static __attribute__((noinline)) unsigned
efa_tx_batch(efa_iface_t *iface, const struct ibv_wc *wc, int count)
{
    const struct ibv_wc *end = wc + count;
    efa_op_t            *op;

    if (__builtin_expect(count < 0, 0)) {
        efa_iface_break(iface, "polling for completions", -count);
        return 0;
    }
    do {
        op = (efa_op_t*)(uintptr_t)wc->wr_id;
        if (__builtin_expect((wc->status != IBV_WC_SUCCESS) ||
                                     (op->out.kind != EFA_OUT_AM) ||
                                     (op->ep->flushes > 0),
                             0)) {
            wc = efa_tx_other(iface, wc, end);
        } else {
            efa_am_done(iface, op);
        }
    } while (++wc < end);
    return count;
}

static inline int efa_poll(struct ibv_cq *cq, struct ibv_wc *wc)
{
    return cq->context->ops.poll_cq(cq, EFA_POLL_BATCH, wc);
}

unsigned efa_iface_poll_tx(efa_iface_t *iface)
{
    struct ibv_wc wc[EFA_POLL_BATCH];
    int           polled = efa_poll(iface->qp.tx_cq, wc);

    return (polled != 0) ? efa_tx_batch(iface, wc, polled) : 0;
}

/* What follows the polls, of which `count` completions came. */
static inline unsigned efa_iface_follow_up(efa_iface_t *iface, unsigned count)
{
    if (__builtin_expect(efa_iface_has_chores(iface), 0)) {
        count += efa_iface_chores(iface);
    }
    if (__builtin_expect(iface->pending != NULL, 0)) {
        if (count > 0) {
            count += efa_pending_dispatch(iface);
        } else {
            efa_pending_wait(iface);
        }
    }
    return count;
}

void efa_iface_count_rounds(efa_iface_t *iface)
{
    iface->rounds_end = iface->rounds + EFA_TOLD_ROUNDS;
    iface->attend    |= EFA_ATTEND_TOLD;
}

/* Something came before this progress. Returns whether it was the end. */
static __attribute__((noinline)) int
efa_iface_attend(efa_iface_t *iface, unsigned *count_p)
{
    if (iface->attend & EFA_ATTEND_REPLAY) {
        iface->attend &= ~EFA_ATTEND_REPLAY;
        ++iface->replays;
    }
    *count_p = efa_iface_take_stash(iface);
    if (iface->attend & EFA_ATTEND_MEMORY) {
        *count_p += efa_rx_retry(iface);
    }
    if (iface->attend & EFA_ATTEND_AGAIN) {
        *count_p += efa_again_run(iface);
    }
    if (iface->attend & EFA_ATTEND_TOLD) {
        if (++iface->rounds == iface->rounds_end) {
            iface->attend &= ~EFA_ATTEND_TOLD;
        }
        ++*count_p;
    }
    if (!(iface->attend & EFA_ATTEND_BROKEN)) {
        return 0;
    }
    *count_p += efa_iface_end(iface);
    return 1;
}

unsigned efa_iface_progress(uct_iface_h tl_iface)
{
    efa_iface_t  *iface = (efa_iface_t*)tl_iface;
    struct ibv_wc wc[EFA_POLL_BATCH];
    unsigned      count = 0;
    int           polled;

    if (__builtin_expect(iface->attend, 0) &&
        efa_iface_attend(iface, &count)) {
        return efa_iface_follow_up(iface, count);
    }
    polled = efa_poll(iface->qp.rx_cq, wc);
    if (polled != 0) {
        count += efa_rx_batch(iface, wc, polled);
    }
    if (efa_iface_is_sending(iface)) {
        polled = efa_poll(iface->qp.tx_cq, wc);
        if (polled != 0) {
            count += efa_tx_batch(iface, wc, polled);
        }
    }
    return efa_iface_follow_up(iface, count);
}
