/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of an interface whose device failed: its driver went away, or it
 * refuses work requests that were right. The interface ends, the process does
 * not: the user has read one line (base_fail_iface), and from progress every
 * operation completes and every endpoint reports its failure, as for peers that
 * died.
 *
 * Buffers go back to their users only when the queue pair is destroyed, as the
 * device might still write into them before.
 */
#include "base_device_lost.h"
#include "base_retry.h"
#include "base_complete.h"
#include "base_fail.h"

/* Messages that wait for a receiver come back from the protocol core. */
static base_op_t *base_list_first_op(base_iface_t *iface, base_ep_t *ep)
{
    base_out_t *out;

    for (; ep != NULL; ep = ep->list_next) {
        for (out = ep->queue.next; out != &ep->queue; out = out->next) {
            if ((out->kind != BASE_OUT_FLUSH) &&
                (out->kind != BASE_OUT_GET_TAKEN) &&
                base_op_is_posted(iface, (base_op_t*)out)) {
                return (base_op_t*)out;
            }
        }
    }
    return NULL;
}

static void base_list_forget_eps(base_op_t *op)
{
    for (; op != NULL; op = (base_op_t*)op->out.next) {
        op->ep = NULL;
    }
}

/* Messages that are in no queue: among all operations, those that are on no
 * free list. As a list. */
static base_op_t *base_list_messages(base_iface_t *iface)
{
    base_op_t *first = NULL, *op;

    base_list_forget_eps(iface->ops.free);
    base_list_forget_eps(iface->ops.fenced);
    base_list_forget_eps(iface->ops.free_reserve);
    for (op = iface->ops.ops; op < base_op_pool_end(&iface->ops); ++op) {
        if ((op->ep != NULL) && (op->out.kind <= BASE_OUT_AM_OTHER) &&
            base_op_is_posted(iface, op)) {
            op->polled_next = first;
            first           = op;
        }
    }
    return first;
}

/* No callback can post any more; progress in one may end what the core has. */
static unsigned base_iface_cancel_messages(base_iface_t *iface)
{
    unsigned   count = 0;
    base_op_t *op, *next;

    for (op = base_list_messages(iface); op != NULL; op = next) {
        next = op->polled_next;
        base_complete_cancelled(iface, op, UCS_ERR_IO_ERROR);
        ++count;
    }
    return count;
}

/* The device returns no operation any more: all are completed here. Each
 * callback may change the lists, so every search begins anew. */
static unsigned base_iface_cancel_ops(base_iface_t *iface)
{
    unsigned   count = base_iface_cancel_messages(iface);
    base_op_t *op;

    while (((op = base_list_first_op(iface, iface->alive)) != NULL) ||
           ((op = base_list_first_op(iface, iface->lingering)) != NULL)) {
        base_complete_cancelled(iface, op, UCS_ERR_IO_ERROR);
        ++count;
    }
    return count;
}

/* Where messages are acknowledged none will be: the core gives back operations
 * that have no post out, and now none has one. */
static unsigned base_iface_cancel_acked(base_iface_t *iface)
{
    base_op_t *op;

    for (op = iface->ops.ops; op < base_op_pool_end(&iface->ops); ++op) {
        if (base_op_is_posted(iface, op)) {
            flow_resend_sent(iface->core, &op->flow, 0);
        }
    }
    return iface->transport->acks->release(iface);
}

unsigned base_device_lost(base_iface_t *iface)
{
    base_ep_t *ep;
    unsigned   count = 0;

    if (iface->qp.qp == NULL) {
        return 0;
    }

    efa_qp_stop(&iface->qp);
    base_retry_forget(iface);
    iface->rxq.qp       = NULL; /* nothing is posted any more */
    iface->ops.free_ctl = NULL;
    iface->ctl_ops      = 0;
    for (ep = iface->alive; ep != NULL; ep = ep->list_next, ++count) {
        /* its event follows */
        base_fail_ep(ep, UCS_ERR_IO_ERROR, FLOW_SEND_ERROR);
    }
    for (ep = iface->lingering; ep != NULL; ep = ep->list_next) {
        /* else the core has its messages sent again */
        base_fail_ep(ep, UCS_ERR_CANCELED, FLOW_SEND_ERROR);
    }
    return count + (iface->acked ? base_iface_cancel_acked(iface) :
                                   base_iface_cancel_ops(iface));
}
