/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_EP_H_
#define EFA_EP_H_

#include <errno.h>

#include "efa_iface.h"

/* Where a work request goes: address handle, remote_qpn, remote_qkey. */
typedef __typeof__(((struct ibv_send_wr*)NULL)->wr.ud) efa_dest_t;

/* Where an endpoint is in its life; efa_ep.c moves it, forwards only. */
typedef enum efa_ep_state {
    EFA_EP_ALIVE,
    EFA_EP_FAILED,   /* nothing can be posted; status tells why */
    EFA_EP_DESTROYED /* the user has no pointer to it; operations return */
} efa_ep_state_t;

/* UCP's wire-up of an endpoint, as far as fences go (efa_wireup.c). */
typedef enum efa_wireup {
    EFA_WIREUP_NONE,
    EFA_WIREUP_ASKED, /* the request is out: UCP may hold requests back */
    EFA_WIREUP_REPLAY /* it hands them to us, and a fence is among them */
} efa_wireup_t;

struct efa_ep {
    ucx_ep_base_t  super;
    flow_tx_t     *tx;
    efa_dest_t     dest;
    efa_out_t      queue;   /* head of what is outstanding; .next is oldest */
    unsigned       rma_ops; /* in the queue */
    unsigned       flushes; /* markers in the queue */
    uint8_t        fenced;  /* until rma_ops is 0 */
    uint8_t        state;   /* efa_ep_state_t */
    uint8_t        reported; /* the error handler was called, or need not be */
    uint8_t        rma_asked;   /* RMA had to wait for the peer's answer */
    uint8_t        rma_refused; /* and the user was told */
    uint8_t        rma_worked;  /* some RMA ended well */
    uint8_t        wireup;  /* efa_wireup_t */
    ucs_status_t   status; /* UCS_OK while alive */
    uint32_t       wireup_mark; /* ASKED: fences then; REPLAY: progress then */
    uint32_t       told;    /* iface->rounds when it was reported */

    uint64_t            reserve_seen; /* flow_reserve_moves */
    flow_time_t         doubted;  /* when efa_ep_doubt last took a look */
    flow_time_t         refused_since; /* first status 14; 0: none */
    uct_pending_req_t  *requests; /* oldest first, linked by priv */
    uct_pending_req_t **requests_tail;
    efa_ep_t           *ring_prev, *ring_next; /* while requests is not NULL */

    efa_ah_t *ah;
    efa_ep_t *list_prev, *list_next; /* of the alive, then of the lingering */
};

static inline efa_iface_t *efa_ep_iface(const efa_ep_t *ep)
{
    return (efa_iface_t*)ep->super.super.iface;
}

static inline const char *efa_ep_device(const efa_ep_t *ep)
{
    return efa_iface_md(efa_ep_iface(ep))->device->name;
}

/* ep_create, ep_destroy, ep_check of UCT. */
ucs_status_t efa_ep_create(const uct_ep_params_t *params, uct_ep_h *ep_p);
void         efa_ep_destroy(uct_ep_h tl_ep);
ucs_status_t
efa_ep_check(uct_ep_h tl_ep, unsigned flags, uct_completion_t *comp);
int efa_ep_is_connected(uct_ep_h tl_ep, const uct_device_addr_t *dev_addr,
                        const uct_iface_addr_t *iface_addr);
ucs_status_t efa_ep_invalidate(uct_ep_h tl_ep);

/*
 * The peer or the path failed: no more posts. `why` as for flow_tx_fail, ERROR
 * where it is this endpoint alone. The error handler runs later, from progress,
 * once. Repeating it changes nothing.
 */
void efa_ep_fail(efa_ep_t *ep, ucs_status_t status, flow_send_status_t why);

/* The core said that the flow failed: calls the error handler. The endpoint
 * may be gone when this returns. */
void efa_ep_report_failure(efa_ep_t *ep, flow_end_t why);

/* An endpoint to `dest` failed, and nobody handles it: the user must read of it
 * somewhere. The line follows by efa_report_write, for all of that peer. */
void efa_report_failed(efa_iface_t *iface, const efa_dest_t *dest,
                       ucs_status_t status, flow_end_t why);
void efa_report_write(efa_iface_t *iface);

/* There is no endpoint to a peer: says so once for each. */
void efa_report_refused(efa_iface_t *iface, const flow_addr_t *peer);

/* The endpoint is being destroyed: completes what can be of what is outstanding
 * (efa_lent.c). */
void efa_ep_take_back(efa_ep_t *ep);

/* The user gives it up: as efa_ep_fail, but nobody is told. */
void efa_ep_cancel(efa_ep_t *ep);

/*
 * What an operation on a failed endpoint returns: UCS_ERR_NO_RESOURCE until the
 * user was told and had EFA_TOLD_ROUNDS of progress to act upon it, then why it
 * failed. Before that UCP chooses the same lane again: with error mode FAILOVER
 * it starts a request anew from inside the completion that failed, and an error
 * from in there would be answered in the same way, without end.
 */
ucs_status_t efa_ep_failure(const efa_ep_t *ep);

/* Rounds of progress between a report and the first error that is returned:
 * UCP acts on it in a callback of the same or the next one. */
#define EFA_TOLD_ROUNDS 4

/* The core is done with the flow of a destroyed endpoint: frees it, or its last
 * operation will. */
void efa_ep_flow_gone(efa_ep_t *ep);

/* Frees a destroyed endpoint: its queue is empty, its flow is gone. */
void efa_ep_free_lingering(efa_ep_t *ep);

/* What a post that found no number, no operation or no buffer returns:
 * UCS_ERR_NO_RESOURCE, or why the endpoint failed (efa_ep_failure). */
ucs_status_t efa_ep_blocked(efa_ep_t *ep);

/*
 * The endpoint waits for its peer, at `now`. Where nothing is under way whose
 * completion would tell, the peer is asked, once a second, whether it lives: it
 * may have gone with messages that it took and never consumed, and UCP's
 * keepalive is itself a message for such an endpoint.
 */
void efa_ep_doubt(efa_ep_t *ep, flow_time_t now);

/* The device will never return this operation: completes it. */
void efa_op_cancel(efa_iface_t *iface, efa_op_t *op, ucs_status_t status);

/* An active message that waited to be sent again never will be: its endpoint
 * failed, or the post did (`err`, an errno value, else 0). */
void efa_op_abandon(efa_iface_t *iface, efa_op_t *op, int err);

/* An operation, a control packet ended with status 14 (efa_again.c): may it be
 * tried again? Says so if an endpoint that works has to fail for it. */
int  efa_again_may(efa_iface_t *iface, const efa_op_t *op);
int  efa_again_ctl(efa_iface_t *iface, efa_op_t *op);
static inline void
efa_again_ctl_ended(const efa_op_t *op, flow_send_status_t status)
{
    if (__builtin_expect(op->ctl.ah->refused_since != 0, 0) &&
        (status == FLOW_SEND_OK) &&
        (op->ctl.ah->refused_qpn == op->wr.wr.ud.remote_qpn)) {
        op->ctl.ah->refused_since = 0;
    }
}
/* That is done, later. */
void efa_again_op(efa_iface_t *iface, efa_op_t *op);

/* Posts RDMA again whose time has come. Returns how much was done. */
unsigned efa_again_run(efa_iface_t *iface);

/* Completes what waits for that, of one endpoint, with its status. */
void efa_again_cancel_ep(efa_iface_t *iface, const efa_ep_t *ep);

/* Nothing waits any more: the caller completes it. */
void efa_again_forget(efa_iface_t *iface);

/* An operation of the reserve, if the endpoint may take one now, else NULL. */
efa_op_t *efa_op_from_reserve(efa_iface_t *iface, efa_ep_t *ep);

/* An operation for the endpoint, to be taken by efa_op_take_any; NULL: none. */
static inline efa_op_t *efa_op_first(efa_iface_t *iface, efa_ep_t *ep)
{
    efa_op_t *op = iface->ops.free;

    return __builtin_expect(op != NULL, 1) ? op :
                                             efa_op_from_reserve(iface, ep);
}

/* Outstanding queue (efa_flush.c). */
static inline void efa_out_append(efa_ep_t *ep, efa_out_t *out)
{
    out->prev           = ep->queue.prev;
    out->next           = &ep->queue;
    out->prev->next     = out;
    ep->queue.prev      = out;
}

/* Completes the markers that nothing is outstanding before. Callbacks run; with
 * `ep` they may do as they like, destroy it included. Call it when an operation
 * ended and there are flushes. */
void efa_ep_flush_markers(efa_ep_t *ep);

/* Completes every marker, wherever it stands, with UCS_ERR_CANCELED. */
void efa_ep_cancel_flushes(efa_ep_t *ep);

static inline void efa_out_remove(efa_out_t *out)
{
    out->prev->next = out->next;
    out->next->prev = out->prev;
}

/* Nothing is outstanding. */
static inline int efa_ep_is_idle(const efa_ep_t *ep)
{
    return (ep->queue.next == &ep->queue) &&
           ((ep->tx == NULL) || (flow_tx_outstanding(ep->tx) == 0));
}

/* An RMA operation of the endpoint ended: fences may open. */
void efa_ep_rma_done(efa_ep_t *ep);

/* A message of UCP's wire-up was posted. */
void efa_wireup_sent(efa_ep_t *ep);

/* A fence was among requests that UCP took back from us to hold them. */
void efa_wireup_took_fence(efa_ep_t *ep);

/* Out of line part of efa_ep_is_replayed. */
int efa_wireup_is_replayed(efa_ep_t *ep);

/* RMA was posted, or a request queued: may a fence stand right behind it that
 * we were not told of at this place? */
static inline int efa_ep_is_replayed(efa_ep_t *ep)
{
    return __builtin_expect(ep->wireup != EFA_WIREUP_NONE, 0) &&
           efa_wireup_is_replayed(ep);
}

/* What is posted from now on waits for the RMA that was posted before. */
void efa_ep_fence_now(efa_ep_t *ep);

/* ep_flush, ep_fence of UCT. */
ucs_status_t
efa_ep_flush(uct_ep_h tl_ep, unsigned flags, uct_completion_t *comp);
ucs_status_t efa_ep_fence(uct_ep_h tl_ep, unsigned flags);

/* Pending (efa_pending.c): ep_pending_add and ep_pending_purge of UCT. */
ucs_status_t
efa_ep_pending_add(uct_ep_h tl_ep, uct_pending_req_t *req, unsigned flags);
void efa_ep_pending_purge(uct_ep_h tl_ep, uct_pending_purge_callback_t cb,
                          void *arg);

/* Serves pending requests, endpoints in turn, until none can go on. Returns
 * how many were taken off. */
unsigned efa_pending_dispatch(efa_iface_t *iface);

/* Progress found nothing to do while requests wait: efa_ep_doubt for their
 * endpoints, now and then. */
void efa_pending_wait(efa_iface_t *iface);

/* The same at once: who waits goes to sleep. */
void efa_pending_doubt(efa_iface_t *iface);

/* Nanoseconds between two looks at an endpoint that waits. */
#define EFA_DOUBT_TIME 1000000000ull

/* May a pinned endpoint post an RDMA operation all the same, as its request is
 * being dispatched? Once for each dispatch, and then nothing else. */
int efa_pending_permits_rma(efa_iface_t *iface, efa_ep_t *ep);

/* May it be flushed: no request waits, or the one being dispatched is a flush,
 * which has done nothing yet? Likewise. */
int efa_pending_permits_flush(efa_iface_t *iface, efa_ep_t *ep);

/*
 * A fence of the endpoint, behind the requests that wait or the one being
 * dispatched: efa_ep_fence_now when they have been. Returns 0 where there are
 * none and the fence can only be now.
 */
int efa_pending_fence(efa_ep_t *ep);

/* The same for each endpoint that has requests. */
void efa_pending_fence_all(efa_iface_t *iface);

/* Logs what is about to be posted to `qpn` (efa_trace.c). */
void efa_trace_log_tx(efa_iface_t *iface, const efa_op_t *op, uint32_t qpn);

/* efa_post_send without a look at iface->traced. */
static inline int efa_post_send_untraced(efa_iface_t *iface,
                                         const efa_dest_t *dest, efa_op_t *op)
{
    struct ibv_qp      *qp = iface->qp.qp;
    struct ibv_send_wr *bad;

    op->wr.wr.ud = *dest;
    return qp->context->ops.post_send(qp, &op->wr, &bad);
}

/* Posts what op->wr has as a SEND. Returns 0, or the errno value of the device,
 * and then nothing was posted. */
static inline int efa_post_send(efa_iface_t *iface, const efa_dest_t *dest,
                                efa_op_t *op)
{
    if (__builtin_expect(iface->traced, 0)) {
        efa_trace_log_tx(iface, op, dest->remote_qpn);
    }
    return efa_post_send_untraced(iface, dest, op);
}

/* Posts an RDMA WRITE (EFA_OUT_PUT) from the pieces of op->wr to
 * op->remote_addr, or an RDMA READ from there into them. As efa_post_send. */
int efa_post_rdma(efa_iface_t *iface, const efa_ep_t *ep, efa_op_t *op);

/* Is the errno value of a failed post a matter of time? */
static inline int efa_post_is_shortage(int err)
{
    return (err == ENOMEM) || (err == EAGAIN);
}

/* A post failed with `err`: UCS_ERR_NO_RESOURCE where it is a matter of time,
 * else the endpoint fails and the status tells why. */
ucs_status_t efa_post_failed(efa_ep_t *ep, int err);

#endif
