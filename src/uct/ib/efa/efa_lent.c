/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What of the user's is in use when an endpoint is destroyed.
 *
 * Afterwards no callback of the user's runs but completions of zcopy operations
 * that the device still has: it may write into their memory, or send what is in
 * there, so the user may not have it back. They come from progress, or,
 * cancelled, when the interface closes. To have few of them, a short wait.
 */
#include "efa_ep.h"

#include <string.h>

#define EFA_LENT_TIME  20000000      /* ns of a wait: a living peer's device
                                        needs microseconds */
#define EFA_LENT_PAUSE 1000000000ull /* ns without a wait after one in vain */
#define EFA_LENT_POLLS 64            /* between two looks at the clock */
#define EFA_LENT_LOOKS 16            /* at least: the CPU may have been away */

static int efa_op_is_lent(const efa_op_t *op)
{
    return (op->out.kind != EFA_OUT_FLUSH) && (op->wr.sg_list == op->sge);
}

/* How many the device has. */
static unsigned efa_ep_lent(const efa_ep_t *ep)
{
    unsigned         count = 0;
    const efa_out_t *out;

    for (out = ep->queue.next; out != &ep->queue; out = out->next) {
        count += efa_op_is_lent((const efa_op_t*)out) &&
                 !((const efa_op_t*)out)->flow.linked;
    }
    return count;
}

/* Polls until something of the endpoint comes, a few times. Returns whether
 * polling works. */
static int efa_lent_poll(efa_iface_t *iface, const efa_ep_t *ep)
{
    struct ibv_cq *cq = iface->qp.tx_cq;
    struct ibv_wc  wc;
    efa_op_t      *op;
    unsigned       polls;
    int            count;

    for (polls = 0; polls < EFA_LENT_POLLS; ++polls) {
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

static void efa_lent_wait(efa_iface_t *iface, efa_ep_t *ep)
{
    flow_time_t deadline;
    unsigned    looks = 0;

    if (iface->broken || (efa_ep_lent(ep) == 0)) {
        return;
    }
    deadline = efa_iface_clock(iface) + EFA_LENT_TIME;
    if (iface->now - iface->waited_in_vain < EFA_LENT_PAUSE) {
        return; /* many endpoints to one dead peer: not so long for each */
    }
    while ((efa_ep_lent(ep) > 0) && efa_lent_poll(iface, ep)) {
        efa_stash_take_ep(iface, ep);
        if ((efa_iface_clock(iface) >= deadline) &&
            (++looks >= EFA_LENT_LOOKS)) {
            iface->waited_in_vain = iface->now;
            return;
        }
    }
}

/* Takes the user's bytes into a buffer of ours. Returns 0 if there is none. */
static int efa_op_copy_lent(efa_iface_t *iface, efa_op_t *op)
{
    efa_bounce_t *bounce = efa_op_bounce(&iface->ops, op);
    size_t        length = 0;
    int           i;

    if (bounce == NULL) {
        return 0;
    }
    for (i = 0; i < op->wr.num_sge; ++i) {
        memmove(bounce->data + length, (void*)(uintptr_t)op->sge[i].addr,
                op->sge[i].length);
        length += op->sge[i].length;
    }
    efa_op_set_bounce(op, length);
    return 1;
}

/* Messages that the device gave back, as their receiver was not ready, go on as
 * copies where their memory is the CPU's. */
static void efa_ep_copy_waiting(efa_iface_t *iface, efa_ep_t *ep)
{
    efa_out_t        *out, *next;
    efa_op_t         *op;
    uct_completion_t *comp;

    for (out = ep->queue.next; out != &ep->queue; out = next) {
        op   = (efa_op_t*)out;
        next = out->next;
        if ((out->kind == EFA_OUT_AM_ZCOPY) && op->flow.linked &&
            op->lent_host && efa_op_copy_lent(iface, op)) {
            efa_out_remove(out);
            comp      = out->comp;
            out->comp = NULL;
            out->kind = op->reserved ? EFA_OUT_AM_RESERVED : EFA_OUT_AM;
            ucx_completion_done(comp, UCS_ERR_CANCELED);
        }
    }
}

static void efa_lent_unpack(void *arg, const void *data, size_t length)
{
    (void)arg;
    (void)data;
    (void)length;
}

/* Reads into our buffers: what they bring is nobody's any more. */
static void efa_ep_drop_reads(efa_ep_t *ep)
{
    efa_out_t        *out, *next;
    uct_completion_t *comp;

    for (out = ep->queue.next; out != &ep->queue; out = next) {
        next = out->next;
        if (out->kind == EFA_OUT_GET_BCOPY) {
            ((efa_op_t*)out)->unpack.func = efa_lent_unpack;
            comp      = out->comp;
            out->comp = NULL;
            ucx_completion_done(comp, UCS_ERR_CANCELED);
        }
    }
}

void efa_ep_take_back(efa_ep_t *ep)
{
    efa_iface_t *iface = efa_ep_iface(ep);

    efa_ep_drop_reads(ep);
    efa_stash_take_ep(iface, ep);
    efa_again_cancel_ep(iface, ep);
    efa_lent_wait(iface, ep);
    efa_ep_copy_waiting(iface, ep);
}
