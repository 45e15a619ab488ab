/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of an endpoint's outstanding operations: markers of flushes, and
 * the fence that later operations wait at (DESIGN.md decisions 8 and 9). */
#include "base_outstanding.h"
#include "base_ep_list.h"

/* Takes a marker out of the queue and tells its waiter. */
static void base_outstanding_end_flush(base_ep_t *ep, base_out_t *marker,
                                       ucs_status_t status)
{
    uct_completion_t *comp = marker->comp;

    base_outstanding_remove(marker);
    ep->is_flushed = --ep->flushes > 0;
    base_op_marker_put(&base_ep_iface(ep)->ops, marker);
    ucx_completion_done(comp, status);
}

void base_outstanding_end_flushes(base_ep_t *ep)
{
    base_out_t *out;

    base_ep_list_hold(ep);
    /* A callback may flush again: its marker comes to the end, behind
     * operations that were posted meanwhile, and is completed here when there
     * are none. */
    while (((out = ep->queue.next) != &ep->queue) &&
           (out->kind == BASE_OUT_FLUSH) &&
           ((ep->tx == NULL) || flow_tx_done_before(ep->tx, out->psn))) {
        base_outstanding_end_flush(ep, out, (ep->state == BASE_EP_ALIVE) ?
                                              UCS_OK : ep->status);
    }
    base_ep_list_release(ep);
}

void base_outstanding_cancel_flushes(base_ep_t *ep)
{
    base_out_t *out = ep->queue.next;

    while (ep->flushes > 0) {
        if (out->kind != BASE_OUT_FLUSH) {
            out = out->next;
            continue;
        }
        base_outstanding_end_flush(ep, out, UCS_ERR_CANCELED);
        out = ep->queue.next; /* progress in its callback ends others, too */
    }
}

void base_outstanding_rma_done(base_ep_t *ep)
{
    base_iface_t *iface = base_ep_iface(ep);

    --iface->rma_ops;
    if (iface->rma_ops == 0) {
        base_op_pool_unfence(&iface->ops);
    }
    if ((--ep->rma_ops == 0) && ep->fenced) {
        ep->fenced = 0;
        if (ep->tx != NULL) {
            flow_tx_resume(iface->core, ep->tx, FLOW_PAUSE_FENCE);
        }
    }
}

void base_outstanding_fence(base_ep_t *ep)
{
    if ((ep->rma_ops > 0) && !ep->fenced) {
        ep->fenced = 1;
        record_call_tx_pause(base_ep_iface(ep)->core, ep->tx,
                             FLOW_PAUSE_FENCE);
    }
}
