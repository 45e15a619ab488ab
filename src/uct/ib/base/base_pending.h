/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_PENDING_H_
#define BASE_PENDING_H_

#include "base_types.h"

/* Pending (base_pending.c): ep_pending_add and ep_pending_purge of UCT. */
ucs_status_t
base_pending_add(uct_ep_h tl_ep, uct_pending_req_t *req, unsigned flags);
void base_pending_purge(uct_ep_h tl_ep, uct_pending_purge_callback_t cb,
                        void *arg);

/* Ours in a request that waits. */
typedef struct base_request {
    uct_pending_req_t *next;
    uint8_t            fence; /* one stands behind it */
    uint8_t            rma;   /* most likely it is none of messages */
    uint8_t            lacked; /* it waits for an operation */
} base_request_t;

_Static_assert(sizeof(base_request_t) <= UCT_PENDING_REQ_PRIV_LEN,
               "a request has no room for us");

static inline base_request_t *base_request(uct_pending_req_t *req)
{
    return (base_request_t*)&req->priv;
}

/* Whether it alone waits, and no fence behind it. */
static inline int
base_pending_is_only(const base_ep_t *ep, uct_pending_req_t *req)
{
    return (ep->requests_tail == &base_request(req)->next) &&
           !base_request(req)->fence;
}

/* Serves pending requests, endpoints in turn, until none can go on. While only
 * the reserve has operations, a call passes a few endpoints by that may take
 * none of it, and base_pending_is_cut then. The next one goes on behind them,
 * or, with `anew`, as something came, looks at all once more. Returns how many
 * requests were taken off. */
unsigned base_pending_dispatch(base_iface_t *iface, int anew);

/* Progress found nothing to do while requests wait: base_fail_ep_ping for their
 * endpoints, now and then. */
void base_pending_wait(base_iface_t *iface);

/* The same at once: a waiting process goes to sleep. */
void base_pending_ping(base_iface_t *iface);

/* Whether progress has requests to serve though nothing came. */
int base_pending_is_cut(const base_iface_t *iface);

/* How long a process may sleep while requests wait: what they wait for may come
 * with time alone. The next progress after it dispatches then. */
flow_time_t base_pending_look_time(base_iface_t *iface);

/* May a paused endpoint post an RDMA operation all the same, as its request is
 * being dispatched? Once for each dispatch, and then nothing else: if it did,
 * base_pending_took_rma has to be called, while ep->permitted is set. */
int base_pending_permits_rma(base_iface_t *iface, base_ep_t *ep);
void base_pending_took_rma(base_iface_t *iface, base_ep_t *ep);

/* Lets one message of a paused endpoint pass, where its request is being
 * dispatched. */
void base_pending_pass(base_iface_t *iface, base_ep_t *ep);

/* The endpoint's flow sends again, or has failed: its requests are served. */
void base_pending_open(base_ep_t *ep);

/* A list of `count` work requests found too few operations: the endpoint's next
 * request is dispatched when there are so many. */
void base_pending_list_refused(base_iface_t *iface, base_ep_t *ep,
                               unsigned count);

/* May it be flushed: no request waits, or the one being dispatched is a flush,
 * which has done nothing yet? Likewise. */
int base_pending_permits_flush(base_iface_t *iface, base_ep_t *ep);

/*
 * A fence of the endpoint, behind the requests that wait or the one being
 * dispatched: base_outstanding_fence when they have been. Returns 0 where
 * there are none and the fence can only be now.
 */
int base_pending_fence(base_ep_t *ep);

/* The same for each endpoint that has requests. */
void base_pending_fence_all(base_iface_t *iface);

#endif
