/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pending requests (DESIGN.md decision 10). Each endpoint has a queue; those
 * with requests form a ring that is served in turn, one request at a time.
 *
 * While its queue is not empty an endpoint's flow is pinned, so that every
 * operation returns NO_RESOURCE and nothing overtakes. The request that is
 * dispatched may post once: its completion may run in there, and what a user's
 * callback sends must not overtake the requests behind. A callback may add,
 * purge and destroy anywhere: after each one only the ring's head and `serving`
 * are read anew.
 */
#include "efa_ep.h"

#define EFA_PENDING_BUDGET 256 /* requests served in one progress */
#define EFA_PENDING_IDLE   256 /* idle progress calls between two looks */

static uct_pending_req_t **efa_request_next(uct_pending_req_t *req)
{
    return (uct_pending_req_t**)&req->priv;
}

static void efa_ring_add(efa_iface_t *iface, efa_ep_t *ep)
{
    efa_ep_t *head = iface->pending;

    if (head == NULL) {
        ep->ring_prev  = ep;
        ep->ring_next  = ep;
        iface->pending = ep;
    } else {
        ep->ring_prev            = head->ring_prev;
        ep->ring_next            = head;
        ep->ring_prev->ring_next = ep;
        head->ring_prev          = ep;
    }
}

static void efa_ring_remove(efa_iface_t *iface, efa_ep_t *ep)
{
    if (ep->ring_next == ep) {
        iface->pending = NULL;
    } else {
        ep->ring_prev->ring_next = ep->ring_next;
        ep->ring_next->ring_prev = ep->ring_prev;
        if (iface->pending == ep) {
            iface->pending = ep->ring_next;
        }
    }
    ep->ring_next = NULL;
    if (iface->stuck == ep) {
        iface->stuck = NULL;
    }
}

/* Whether every kind of operation could be posted now. */
static int efa_ep_can_post_all(efa_iface_t *iface, efa_ep_t *ep)
{
    if ((ep->state != EFA_EP_ALIVE) || (iface->ops.free == NULL) ||
        (efa_op_bounce(&iface->ops, iface->ops.free) == NULL)) {
        return 0;
    }
    return flow_tx_ready(iface->core, ep->tx) &&
           (flow_tx_rma_ready(iface->core, ep->tx) ||
            flow_tx_rma_refused(ep->tx));
}

ucs_status_t
efa_ep_pending_add(uct_ep_h tl_ep, uct_pending_req_t *req, unsigned flags)
{
    efa_ep_t    *ep    = (efa_ep_t*)tl_ep;
    efa_iface_t *iface = efa_ep_iface(ep);

    (void)flags;
    if ((ep->requests == NULL) && (iface->serving != ep) &&
        efa_ep_can_post_all(iface, ep)) {
        return UCS_ERR_BUSY;
    }

    *efa_request_next(req) = NULL;
    *ep->requests_tail     = req;
    ep->requests_tail      = efa_request_next(req);
    if (ep->ring_next == NULL) {
        efa_ring_add(iface, ep);
    }
    flow_tx_pin(ep->tx, FLOW_PIN_PENDING);
    return UCS_OK;
}

static uct_pending_req_t *efa_ep_pop_request(efa_ep_t *ep)
{
    uct_pending_req_t *req = ep->requests;

    ep->requests = *efa_request_next(req);
    if (ep->requests == NULL) {
        ep->requests_tail = &ep->requests;
    }
    return req;
}

static void efa_ep_push_request(efa_ep_t *ep, uct_pending_req_t *req)
{
    *efa_request_next(req) = ep->requests;
    if (ep->requests == NULL) {
        ep->requests_tail = efa_request_next(req);
    }
    ep->requests = req;
}

/* After a dispatch: the endpoint stays in the ring while it has requests. */
static void efa_ep_settle(efa_iface_t *iface, efa_ep_t *ep)
{
    if (ep->requests != NULL) {
        flow_tx_pin(ep->tx, FLOW_PIN_PENDING);
        if (ep->ring_next == NULL) {
            efa_ring_add(iface, ep);
        }
    } else {
        flow_tx_unpin(iface->core, ep->tx, FLOW_PIN_PENDING);
        if (ep->ring_next != NULL) {
            efa_ring_remove(iface, ep);
        }
    }
}

void efa_ep_pending_purge(uct_ep_h tl_ep, uct_pending_purge_callback_t cb,
                          void *arg)
{
    efa_ep_t    *ep    = (efa_ep_t*)tl_ep;
    efa_iface_t *iface = efa_ep_iface(ep);
    uct_pending_req_t *req, *next;

    /* The queue is taken off first: cb may add to it */
    req               = ep->requests;
    ep->requests      = NULL;
    ep->requests_tail = &ep->requests;
    if (iface->serving != ep) {
        efa_ep_settle(iface, ep);
    }
    for (; req != NULL; req = next) {
        next = *efa_request_next(req);
        if (cb != NULL) {
            cb(req, arg);
        }
    }
}

int efa_pending_permits_rma(efa_iface_t *iface, const efa_ep_t *ep)
{
    if ((iface->serving != ep) || iface->served_rma ||
        (ep->tx->pins != FLOW_PIN_PENDING)) {
        return 0;
    }
    iface->served_rma = 1;
    return 1;
}

/* Dispatches one request of the ring's head. Returns whether it went on. */
static int efa_pending_serve(efa_iface_t *iface)
{
    efa_ep_t          *ep = iface->pending;
    flow_psn_t         psn;
    uct_pending_req_t *req;
    ucs_status_t       status;

    iface->pending    = ep->ring_next; /* its turn is over, whatever comes */
    iface->serving    = ep;
    iface->served_rma = 0;
    req               = efa_ep_pop_request(ep);
    psn               = flow_tx_psn(ep->tx);
    if (ep->requests == NULL) {
        flow_tx_unpin(iface->core, ep->tx, FLOW_PIN_PENDING);
    } else {
        flow_tx_pass_one(iface->core, ep->tx);
    }

    status = req->func(req);

    if (iface->serving == NULL) {
        return 1; /* the callback destroyed the endpoint */
    }
    iface->serving = NULL;
    if (status != UCS_OK) {
        efa_ep_push_request(ep, req);
    }
    efa_ep_settle(iface, ep);
    return (status == UCS_OK) || (status == UCS_INPROGRESS) ||
           iface->served_rma || (flow_tx_psn(ep->tx) != psn);
}

void efa_pending_doubt(efa_iface_t *iface)
{
    flow_time_t now = efa_iface_clock(iface);
    efa_ep_t   *ep  = iface->pending;

    do {
        efa_ep_doubt(ep, now);
        ep = ep->ring_next;
    } while (ep != iface->pending);
}

void efa_pending_wait(efa_iface_t *iface)
{
    if ((++iface->idle % EFA_PENDING_IDLE) == 0) {
        efa_pending_doubt(iface);
    }
}

unsigned efa_pending_dispatch(efa_iface_t *iface)
{
    unsigned  count = 0;
    efa_ep_t *ep;

    if (iface->serving != NULL) {
        return 0; /* called from a callback's progress */
    }
    /* Until the ring is empty, a whole round went by in vain, or others deserve
     * the CPU */
    iface->stuck = NULL;
    while ((iface->pending != NULL) && (iface->pending != iface->stuck) &&
           (iface->ops.free != NULL) && (count < EFA_PENDING_BUDGET)) {
        ep = iface->pending;
        if (efa_pending_serve(iface)) {
            iface->stuck = NULL;
            ++count;
        } else if (iface->stuck == NULL) {
            iface->stuck = ep;
        }
    }
    return count;
}
