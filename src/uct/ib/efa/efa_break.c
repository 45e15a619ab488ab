/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device that failed: its driver went away, or it refuses work requests that
 * were right. The interface ends, the process does not: the user reads one
 * line, and from progress every operation completes and every endpoint reports
 * its failure, as for peers that died.
 *
 * Buffers go back to their users only when the queue pair is destroyed, as the
 * device might still write into them before.
 */
#include "efa_ep.h"

#include <string.h>

void efa_iface_break(efa_iface_t *iface, const char *what, int err)
{
    if (!iface->broken) {
        iface->broken  = 1;
        iface->attend |= EFA_ATTEND_BROKEN;
        host_error(iface->super.host,
                   "%s: %s failed: %s; the device or its driver stopped: this "
                   "interface is unusable, see the kernel's log",
                   efa_iface_md(iface)->device->name, what, strerror(err));
    }
}

/* What waits for a receiver comes back from the protocol core. */
static int efa_op_is_at_device(const efa_op_t *op)
{
    return !op->flow.linked;
}

static efa_op_t *efa_list_first_op(efa_ep_t *ep)
{
    efa_out_t *out;

    for (; ep != NULL; ep = ep->list_next) {
        for (out = ep->queue.next; out != &ep->queue; out = out->next) {
            if ((out->kind != EFA_OUT_FLUSH) &&
                efa_op_is_at_device((efa_op_t*)out)) {
                return (efa_op_t*)out;
            }
        }
    }
    return NULL;
}

static void efa_list_forget_eps(efa_op_t *op)
{
    for (; op != NULL; op = (efa_op_t*)op->out.next) {
        op->ep = NULL;
    }
}

/* Messages that are in no queue: among all operations, those that are on no
 * free list. No callback can post any more. */
static unsigned efa_iface_cancel_messages(efa_iface_t *iface)
{
    unsigned  count = 0;
    efa_op_t *op;

    efa_list_forget_eps(iface->ops.free);
    efa_list_forget_eps(iface->ops.fenced);
    efa_list_forget_eps(iface->ops.free_reserve);
    for (op = iface->ops.ops; op < iface->ops.ops + iface->ops.count; ++op) {
        if ((op->ep != NULL) && (op->out.kind <= EFA_OUT_AM_RESERVED) &&
            efa_op_is_at_device(op)) {
            efa_op_cancel(iface, op, UCS_ERR_IO_ERROR);
            ++count;
        }
    }
    return count;
}

/* The device returns no operation any more: all are completed here. Each
 * callback may change the lists, so every search begins anew. */
static unsigned efa_iface_cancel_ops(efa_iface_t *iface)
{
    unsigned  count = efa_iface_cancel_messages(iface);
    efa_op_t *op;

    while (((op = efa_list_first_op(iface->alive)) != NULL) ||
           ((op = efa_list_first_op(iface->lingering)) != NULL)) {
        efa_op_cancel(iface, op, UCS_ERR_IO_ERROR);
        ++count;
    }
    return count;
}

unsigned efa_iface_end(efa_iface_t *iface)
{
    efa_ep_t *ep;

    if (iface->qp.qp == NULL) {
        return 0;
    }

    efa_qp_stop(&iface->qp);
    efa_again_forget(iface);
    iface->rxq.qp       = NULL; /* nothing is posted any more */
    iface->ops.free_ctl = NULL;
    iface->ctl_ops      = 0;
    for (ep = iface->alive; ep != NULL; ep = ep->list_next) {
        /* its event follows */
        efa_ep_fail(ep, UCS_ERR_IO_ERROR, FLOW_SEND_ERROR);
    }
    return 1 + efa_iface_cancel_ops(iface);
}
