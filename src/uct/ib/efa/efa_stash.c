/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completions polled where no callback may run: when arming looks into the
 * queues, and while get_short or the destruction of an endpoint waits for its
 * own. They cannot be put back; progress takes them first, in their order.
 */
#include "efa_ep.h"

#define EFA_WAIT_POLLS   64           /* between two looks at the clock */
#define EFA_VAIN_PAUSE   1000000000ull /* ns without a wait after one in vain */

static void
efa_stash_add(efa_iface_t *iface, efa_op_t *op, const struct ibv_wc *wc)
{
    if (iface->stash_tx == NULL) {
        iface->stash_tx_tail = &iface->stash_tx;
    }
    op->vendor_err        = efa_wc_status(wc);
    op->stash_next        = NULL;
    *iface->stash_tx_tail = op;
    iface->stash_tx_tail  = &op->stash_next;
    iface->attend        |= EFA_ATTEND_TX;
}

void efa_iface_stash_rx(efa_iface_t *iface)
{
    struct ibv_cq *cq = iface->qp.rx_cq;

    if (!(iface->attend & EFA_ATTEND_RX) &&
        (cq->context->ops.poll_cq(cq, 1, &iface->stash_rx) == 1)) {
        --iface->rxq.posted;
        iface->attend |= EFA_ATTEND_RX;
    }
}

void efa_iface_stash_tx(efa_iface_t *iface)
{
    struct ibv_cq *cq = iface->qp.tx_cq;
    struct ibv_wc  wc;

    if (!(iface->attend & EFA_ATTEND_TX) &&
        (cq->context->ops.poll_cq(cq, 1, &wc) == 1)) {
        efa_stash_add(iface, (efa_op_t*)(uintptr_t)wc.wr_id, &wc);
    }
}

unsigned efa_iface_take_stash(efa_iface_t *iface)
{
    unsigned  attend = iface->attend, count = 0;
    efa_op_t *op, *next;

    iface->attend &= ~(EFA_ATTEND_RX | EFA_ATTEND_TX);
    if (attend & EFA_ATTEND_RX) {
        ++count;
        efa_rx_completion(iface, &iface->stash_rx);
    }
    /* A callback may call get_short, which begins a new list */
    op              = iface->stash_tx;
    iface->stash_tx = NULL;
    for (; op != NULL; op = next) {
        next = op->stash_next;
        ++count;
        efa_tx_completion(iface, op, op->vendor_err);
    }
    return count;
}

/* Polls until `op` is complete, or the time is over: then NULL. */
static const struct ibv_wc *
efa_tx_wait_wc(efa_iface_t *iface, const efa_op_t *op, flow_time_t deadline,
               struct ibv_wc *wc)
{
    struct ibv_cq *cq = iface->qp.tx_cq;
    unsigned       polls;
    int            count = 0;

    do {
        for (polls = 0; (polls < EFA_WAIT_POLLS) && (count >= 0); ++polls) {
            count = cq->context->ops.poll_cq(cq, 1, wc);
            if (count != 1) {
                continue;
            }
            if ((uintptr_t)wc->wr_id == (uintptr_t)op) {
                return wc;
            }
            efa_stash_add(iface, (efa_op_t*)(uintptr_t)wc->wr_id, wc);
        }
    } while ((count >= 0) && (efa_iface_clock(iface) < deadline));

    return NULL;
}

ucs_status_t efa_tx_wait(efa_iface_t *iface, efa_op_t *op, flow_time_t time)
{
    flow_time_t   deadline = efa_iface_clock(iface) + time;
    struct ibv_wc wc;
    unsigned      vendor_err;

    if (efa_tx_wait_wc(iface, op, deadline, &wc) == NULL) {
        return UCS_ERR_TIMED_OUT;
    }
    vendor_err = efa_wc_status(&wc);
    efa_tx_completion(iface, op, vendor_err);
    return efa_tx_status(vendor_err);
}

/* Operations that the device has of an endpoint, with the user's memory. */
static unsigned efa_ep_lent(const efa_ep_t *ep)
{
    unsigned         count = 0;
    const efa_out_t *out;
    const efa_op_t  *op;

    for (out = ep->queue.next; out != &ep->queue; out = out->next) {
        op     = (const efa_op_t*)out;
        count += (out->kind != EFA_OUT_FLUSH) && !op->flow.linked &&
                 (op->wr.sg_list == op->sge);
    }
    return count;
}

/* Completes what is in the stash of one endpoint. */
static void efa_stash_take_ep(efa_iface_t *iface, const efa_ep_t *ep)
{
    efa_op_t **link = &iface->stash_tx, *op;

    while ((op = *link) != NULL) {
        if ((op->out.kind == EFA_OUT_CTL) || (op->ep != ep)) {
            link = &op->stash_next;
            continue;
        }
        *link = op->stash_next;
        if (*link == NULL) {
            iface->stash_tx_tail = link;
        }
        efa_tx_completion(iface, op, op->vendor_err);
        link = &iface->stash_tx; /* its callback may have added some */
    }
}

/* Polls, at most EFA_WAIT_POLLS times, until something of the endpoint comes.
 * Returns whether polling works. */
static int efa_tx_wait_poll(efa_iface_t *iface, const efa_ep_t *ep)
{
    struct ibv_cq *cq = iface->qp.tx_cq;
    struct ibv_wc  wc;
    efa_op_t      *op;
    unsigned       polls;
    int            count;

    for (polls = 0; polls < EFA_WAIT_POLLS; ++polls) {
        count = cq->context->ops.poll_cq(cq, 1, &wc);
        if (count < 0) {
            return 0;
        }
        if (count == 0) {
            continue;
        }
        op = (efa_op_t*)(uintptr_t)wc.wr_id;
        if ((op->out.kind != EFA_OUT_CTL) && (op->ep == ep)) {
            efa_tx_completion(iface, op, efa_wc_status(&wc));
            return 1;
        }
        efa_stash_add(iface, op, &wc);
    }
    return 1;
}

void efa_tx_wait_ep(efa_iface_t *iface, efa_ep_t *ep, flow_time_t time)
{
    flow_time_t now;
    flow_time_t deadline;

    if (iface->broken || (efa_ep_lent(ep) == 0)) {
        return;
    }
    now      = efa_iface_clock(iface);
    deadline = now + time;
    if (now - iface->waited_in_vain < EFA_VAIN_PAUSE) {
        return; /* many endpoints to one dead peer: not so long for each */
    }
    efa_stash_take_ep(iface, ep);
    while ((efa_ep_lent(ep) > 0) && efa_tx_wait_poll(iface, ep)) {
        efa_stash_take_ep(iface, ep);
        if (efa_iface_clock(iface) >= deadline) {
            iface->waited_in_vain = iface->now;
            return;
        }
    }
}
