/* SPDX-License-Identifier: BSD-3-Clause */
/* Flush and fence of UCT (DESIGN.md decisions 8 and 9). */
#include "base_flush.h"
#include "base_fail.h"
#include "base_outstanding.h"
#include "base_pending.h"

ucs_status_t
base_flush_ep(uct_ep_h tl_ep, unsigned flags, uct_completion_t *comp)
{
    base_ep_t    *ep    = (base_ep_t*)tl_ep;
    base_iface_t *iface = base_ep_iface(ep);
    base_out_t   *marker;

    if (flags & UCT_FLUSH_FLAG_CANCEL) {
        /* Messages that wait for a receiver come back from the core, those at
         * the device by a completion: then the buffers are the user's. Requests
         * that are queued fail when they are dispatched, or the user takes them
         * back: the cancel does not wait for them */
        base_fail_ep_cancel(ep);
    } else if (!base_pending_permits_flush(iface, ep)) {
        /* A flush that is itself a request being dispatched comes after all
         * that was queued before it; requests queued behind it do not matter to
         * it. One that a callback calls in a dispatch means that, too */
        return UCS_ERR_NO_RESOURCE;
    }

    /* A failed endpoint waits, too: with an answer UCP frees the memory that
     * the completions of its operations use */
    if (base_ep_is_idle(ep)) {
        return (flags & UCT_FLUSH_FLAG_CANCEL) ? UCS_OK : ep->status;
    }
    if (comp != NULL) {
        marker = base_op_marker_get(&iface->ops);
        if (marker == NULL) {
            return UCS_ERR_NO_MEMORY;
        }
        marker->comp = comp;
        marker->psn  = flow_tx_psn(ep->tx);
        base_outstanding_append(ep, marker);
        ++ep->flushes;
        ep->is_flushed = 1;
    }
    return UCS_INPROGRESS;
}

ucs_status_t base_flush_ep_fence(uct_ep_h tl_ep, unsigned flags)
{
    base_ep_t    *ep    = (base_ep_t*)tl_ep;
    base_iface_t *iface = base_ep_iface(ep);

    (void)flags;
    ++iface->fences;
    /* Called in a dispatch it is most likely the request's own: UCP's put
     * rendezvous posts its last write, fences, and sends its message, all in
     * one request. Therefore it stands at once, too */
    if (!base_pending_fence(ep) || (iface->serving == ep)) {
        base_outstanding_fence(ep);
    }
    return UCS_OK;
}

ucs_status_t base_flush_iface(uct_iface_h tl_iface, unsigned flags,
                              uct_completion_t *comp)
{
    base_iface_t *iface = (base_iface_t*)tl_iface;

    (void)flags;
    if (comp != NULL) {
        return UCS_ERR_UNSUPPORTED;
    }
    /* UCP counts messages that wait for an answer, not those that it left with
     * us: a worker's flush is done when this says so */
    return ((iface->ops_done == iface->ops_posted) &&
            (iface->waiting == 0)) ?
                   UCS_OK :
                   UCS_INPROGRESS;
}

ucs_status_t base_flush_iface_fence(uct_iface_h tl_iface, unsigned flags)
{
    base_iface_t *iface = (base_iface_t*)tl_iface;

    (void)flags;
    ++iface->fences;
    if (iface->rma_ops > 0) {
        base_op_pool_fence(&iface->ops);
    }
    /* Requests that wait are ordered with later calls on their endpoint: that
     * is all UCP promises its users (ucp_worker_fence) */
    base_pending_fence_all(iface);
    return UCS_OK;
}
