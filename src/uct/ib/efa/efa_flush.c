/* SPDX-License-Identifier: BSD-3-Clause */
/* Flush and fence (DESIGN.md decisions 8 and 9). */
#include "efa_ep.h"

/* Takes a marker out of the queue and tells who waits for it. */
static void
efa_marker_complete(efa_ep_t *ep, efa_out_t *marker, ucs_status_t status)
{
    uct_completion_t *comp = marker->comp;

    efa_out_remove(marker);
    --ep->flushes;
    efa_marker_put(&efa_ep_iface(ep)->ops, marker);
    ucx_completion_done(comp, status);
}

void efa_ep_flush_markers(efa_ep_t *ep)
{
    efa_out_t *out;

    /* A callback may flush again: its marker comes to the end, behind what was
     * posted meanwhile, and is completed here when nothing was. */
    while (((out = ep->queue.next) != &ep->queue) &&
           (out->kind == EFA_OUT_FLUSH) &&
           ((ep->tx == NULL) || flow_tx_done_before(ep->tx, out->psn))) {
        efa_marker_complete(ep, out,
                            (ep->state == EFA_EP_ALIVE) ? UCS_OK : ep->status);
    }
}

void efa_ep_cancel_flushes(efa_ep_t *ep)
{
    efa_out_t *out, *next;

    for (out = ep->queue.next; out != &ep->queue; out = next) {
        next = out->next;
        if (out->kind == EFA_OUT_FLUSH) {
            efa_marker_complete(ep, out, UCS_ERR_CANCELED);
        }
    }
}

void efa_ep_rma_done(efa_ep_t *ep)
{
    efa_iface_t *iface = efa_ep_iface(ep);

    --iface->rma_ops;
    if (iface->rma_ops == 0) {
        efa_op_pool_unfence(&iface->ops);
    }
    if ((--ep->rma_ops == 0) && ep->fenced) {
        ep->fenced = 0;
        if (ep->tx != NULL) {
            flow_tx_resume(iface->core, ep->tx, FLOW_PAUSE_FENCE);
        }
    }
}

ucs_status_t
efa_ep_flush(uct_ep_h tl_ep, unsigned flags, uct_completion_t *comp)
{
    efa_ep_t    *ep    = (efa_ep_t*)tl_ep;
    efa_iface_t *iface = efa_ep_iface(ep);
    efa_out_t   *marker;

    if (flags & UCT_FLUSH_FLAG_CANCEL) {
        /* What waits for a receiver comes back from the core, what the device
         * has comes back by a completion: then the buffers are the user's.
         * Requests that are queued fail when they are dispatched, or the user
         * takes them back: the cancel does not wait for them */
        efa_ep_cancel(ep);
    } else if (!efa_pending_permits_flush(iface, ep)) {
        /* A flush that is itself a request being dispatched comes after all
         * that was queued before it; what is queued behind it is none of its
         * business. One that a callback calls in a dispatch means that, too */
        return UCS_ERR_NO_RESOURCE;
    }

    /* Of a failed endpoint, too: with an answer UCP frees what the completions
     * of its operations use */
    if (efa_ep_is_idle(ep)) {
        return (flags & UCT_FLUSH_FLAG_CANCEL) ? UCS_OK : ep->status;
    }
    if (comp != NULL) {
        marker = efa_marker_get(&iface->ops);
        if (marker == NULL) {
            return UCS_ERR_NO_MEMORY;
        }
        marker->comp = comp;
        marker->psn  = flow_tx_psn(ep->tx);
        efa_out_append(ep, marker);
        ++ep->flushes;
    }
    return UCS_INPROGRESS;
}

void efa_ep_fence_now(efa_ep_t *ep)
{
    if ((ep->rma_ops > 0) && !ep->fenced) {
        ep->fenced = 1;
        flow_tx_pause(ep->tx, FLOW_PAUSE_FENCE);
    }
}

ucs_status_t efa_ep_fence(uct_ep_h tl_ep, unsigned flags)
{
    efa_ep_t    *ep    = (efa_ep_t*)tl_ep;
    efa_iface_t *iface = efa_ep_iface(ep);

    (void)flags;
    ++iface->fences;
    /* Called in a dispatch it is most likely the request's own: UCP's put
     * rendezvous posts its last write, fences, and sends its message, all in
     * one request. So it stands at once, too */
    if (!efa_pending_fence(ep) || (iface->serving == ep)) {
        efa_ep_fence_now(ep);
    }
    return UCS_OK;
}

ucs_status_t efa_iface_flush(uct_iface_h tl_iface, unsigned flags,
                             uct_completion_t *comp)
{
    efa_iface_t *iface = (efa_iface_t*)tl_iface;

    (void)flags;
    if (comp != NULL) {
        return UCS_ERR_UNSUPPORTED;
    }
    /* UCP counts what it waits for an answer to, not what it left with us: a
     * worker's flush is done when this says so */
    return ((iface->ops_done == iface->ops_posted) &&
            (iface->pending == NULL)) ?
                   UCS_OK :
                   UCS_INPROGRESS;
}

ucs_status_t efa_iface_fence(uct_iface_h tl_iface, unsigned flags)
{
    efa_iface_t *iface = (efa_iface_t*)tl_iface;

    (void)flags;
    ++iface->fences;
    if (iface->rma_ops > 0) {
        efa_op_pool_fence(&iface->ops);
    }
    /* Requests that wait are ordered with what comes later to their endpoint:
     * that is all UCP promises its users (ucp_worker_fence) */
    efa_pending_fence_all(iface);
    return UCS_OK;
}
