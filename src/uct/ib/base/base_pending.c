/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pending requests (DESIGN.md decision 10). Each endpoint has a queue; those
 * with requests form a ring that is served in turn, one request at a time.
 *
 * While its queue is not empty an endpoint's flow is pinned, so that every
 * operation returns NO_RESOURCE and nothing overtakes. The request that is
 * dispatched may do one thing, a message, RMA or a flush: its completion may
 * run in there, and messages of a user's callback must not overtake the
 * requests behind, nor its flush be done before them. A callback may add, purge
 * and destroy anywhere: after each one only the ring's head and `serving` are
 * read anew.
 *
 * A fence stands in the queue, too, behind the last request there is: the
 * operations that it has to wait for are posted only when that one has been
 * dispatched.
 *
 * An endpoint whose head was refused a message, since its flow's window is
 * shut, is in another ring, which nobody serves, until the core says that the
 * window has opened, or that the flow has failed. A round then costs what can
 * go on, not what waits.
 *
 * One request may be ours: messages that are delayed (base_am.c). It is the
 * first of its endpoint, and nobody else takes it back.
 *
 * A list needs many operations at once, which come back one by one, and others
 * would take each of them. The ring waits while its head has such a request;
 * not for long, since peers that do not answer may hold them.
 */
#include "base_pending.h"
#include "base_flow.h"
#include "base_fail.h"
#include "base_outstanding.h"
#include "base_post.h"
#include "base_wireup.h"

#define BASE_PENDING_BUDGET 256 /* requests served in one progress */
#define BASE_PENDING_IDLE   256 /* idle progress calls between two looks */
#define BASE_PENDING_PASSED 8 /* endpoints that wait for the reserve, passed by
                                 in one dispatch: a thousand may wait there */
#define BASE_HOLD_TIME      20000000      /* ns for a list: living peers need
                                             some round trips */
#define BASE_HOLD_PAUSE     1000000000ull /* ns without after one in vain */

/* The first of the ring that the endpoint is of, or will be. */
static base_ep_t **base_pending_ring(base_iface_t *iface, const base_ep_t *ep)
{
    return ep->is_shut ? &iface->shut : &iface->pending;
}

static void base_pending_ring_add(base_iface_t *iface, base_ep_t *ep)
{
    base_ep_t **ring = base_pending_ring(iface, ep), *head = *ring;

    ++iface->waiting;
    if (head == NULL) {
        ep->ring_prev = ep;
        ep->ring_next = ep;
        *ring         = ep;
        if (iface->events.is_armed && !iface->events.has_timer) {
            /* the user may sleep without arming anew */
            efa_events_set_timer(&iface->events, BASE_PROBE_TIME);
        }
    } else {
        ep->ring_prev            = head->ring_prev;
        ep->ring_next            = head;
        ep->ring_prev->ring_next = ep;
        head->ring_prev          = ep;
    }
}

static void base_pending_ring_remove(base_iface_t *iface, base_ep_t *ep)
{
    base_ep_t **ring = base_pending_ring(iface, ep);

    --iface->waiting;
    if (iface->dispatch.turn == ep) {
        iface->dispatch.turn = (ep->ring_next == ep) ? NULL : ep->ring_next;
    }
    if (ep->ring_next == ep) {
        *ring = NULL;
    } else {
        ep->ring_prev->ring_next = ep->ring_next;
        ep->ring_next->ring_prev = ep->ring_prev;
        if (*ring == ep) {
            *ring = ep->ring_next;
        }
    }
    ep->ring_next        = NULL;
    iface->dispatch.held = 0; /* for a list that may be gone */
    if (iface->dispatch.stuck == ep) {
        iface->dispatch.stuck = NULL;
    }
}

/* From the one ring to the other. */
static void base_pending_set_shut(base_ep_t *ep, int is_shut)
{
    base_pending_ring_remove(base_ep_iface(ep), ep);
    ep->is_shut = (uint8_t)is_shut;
    base_pending_ring_add(base_ep_iface(ep), ep);
}

void base_pending_open(base_ep_t *ep)
{
    ++ep->delayed.opened;
    if (ep->is_shut) {
        base_pending_set_shut(ep, 0);
        base_ep_iface(ep)->dispatch.cut    = 1;
        base_ep_iface(ep)->dispatch.parted = 0;
    }
}

static void base_pending_each(base_iface_t *iface, void (*func)(base_ep_t *ep))
{
    base_ep_t *rings[] = {iface->pending, iface->shut}, *ep;
    unsigned   i;

    for (i = 0; i < 2; ++i) {
        if ((ep = rings[i]) != NULL) {
            do {
                func(ep);
            } while ((ep = ep->ring_next) != rings[i]);
        }
    }
}

/* Whether every kind of operation that was tried could be posted now. */
static int base_pending_can_post_all(base_iface_t *iface, base_ep_t *ep)
{
    if ((ep->state != BASE_EP_ALIVE) || (iface->ops.free == NULL) ||
        !base_post_list_fits(iface, ep, ep->list_needs) ||
        (base_op_bounce(&iface->ops, iface->ops.free) == NULL)) {
        return 0;
    }
    /* RMA waits for the hello's answer: an endpoint that has not asked for it
     * need not */
    return flow_tx_ready(iface->core, ep->tx) && !ep->table_read &&
           (!ep->rma_asked || flow_tx_rma_ready(iface->core, ep->tx) ||
            flow_tx_rma_refused(ep->tx));
}

/* Before the endpoint's first request, or one that is added in a dispatch.
 * UCS_ERR_BUSY: it need not wait. */
static __attribute__((noinline)) ucs_status_t
base_pending_begin(base_iface_t *iface, base_ep_t *ep)
{
    if ((iface->serving != ep) && base_pending_can_post_all(iface, ep)) {
        return UCS_ERR_BUSY;
    }
    if (ep->ring_next == NULL) {
        base_pending_ring_add(iface, ep);
    }
    record_call_tx_pause(iface->core, ep->tx, FLOW_PAUSE_PENDING);
    return UCS_OK;
}

ucs_status_t
base_pending_add(uct_ep_h tl_ep, uct_pending_req_t *req, unsigned flags)
{
    base_ep_t    *ep    = (base_ep_t*)tl_ep;
    base_iface_t *iface = base_ep_iface(ep);

    (void)flags;
    /* else it is in the ring, and paused */
    if (((ep->requests == NULL) || (iface->serving == ep)) &&
        (base_pending_begin(iface, ep) != UCS_OK)) {
        return UCS_ERR_BUSY;
    }

    base_request(req)->next  = NULL;
    base_request(req)->fence = base_wireup_ep_is_replayed(ep);
    base_request(req)->rma   = ep->rma_blocked;
    base_request(req)->lacked = 0;
    ep->rma_blocked          = 0;
    *ep->requests_tail       = req;
    ep->requests_tail        = &base_request(req)->next;
    if (ep->state != BASE_EP_ALIVE) {
        base_fail_count_rounds(iface); /* it is dispatched, to be told */
    }
    return UCS_OK;
}

static uct_pending_req_t *base_pending_pop(base_ep_t *ep)
{
    uct_pending_req_t *req = ep->requests;

    ep->requests = base_request(req)->next;
    if (ep->requests == NULL) {
        ep->requests_tail = &ep->requests;
    }
    return req;
}

static void base_pending_push(base_ep_t *ep, uct_pending_req_t *req)
{
    base_request(req)->next  = ep->requests;
    base_request(req)->fence = base_ep_iface(ep)->dispatch.fenced;
    if (ep->requests == NULL) {
        ep->requests_tail = &base_request(req)->next;
    }
    ep->requests = req;
}

int base_pending_fence(base_ep_t *ep)
{
    base_iface_t   *iface = base_ep_iface(ep);
    base_request_t *last;

    if (ep->requests != NULL) {
        last        = (base_request_t*)((char*)ep->requests_tail -
                                        offsetof(base_request_t, next));
        last->fence = 1;
        return 1;
    }
    if (iface->serving == ep) {
        iface->dispatch.fenced = 1;
        return 1;
    }
    return 0;
}

static void base_pending_fence_one(base_ep_t *ep)
{
    (void)base_pending_fence(ep);
}

void base_pending_fence_all(base_iface_t *iface)
{
    /* the one that is served is there, too */
    base_pending_each(iface, base_pending_fence_one);
}

/* After a dispatch: the endpoint stays in the ring while it has requests. */
static void base_pending_settle(base_iface_t *iface, base_ep_t *ep)
{
    if (ep->requests != NULL) {
        if (iface->dispatch.open) {
            record_call_tx_pause(iface->core, ep->tx, FLOW_PAUSE_PENDING);
        }
        if (ep->ring_next == NULL) {
            base_pending_ring_add(iface, ep);
        }
    } else {
        flow_tx_resume(iface->core, ep->tx, FLOW_PAUSE_PENDING);
        if (ep->ring_next != NULL) {
            base_pending_ring_remove(iface, ep);
        }
        ep->is_shut = 0;
    }
}

void base_pending_purge(uct_ep_h tl_ep, uct_pending_purge_callback_t cb,
                        void *arg)
{
    base_ep_t         *ep    = (base_ep_t*)tl_ep;
    base_iface_t      *iface = base_ep_iface(ep);
    uct_pending_req_t *req, *next, **first = &ep->requests;
    int                fenced = 0;

    if (ep->delayed.first != NULL) { /* ours, which stays */
        first = &base_request(ep->requests)->next;
    }
    /* The queue is taken off first: cb may add to it */
    for (req = *first; req != NULL; req = base_request(req)->next) {
        fenced |= base_request(req)->fence;
    }
    req               = *first;
    *first            = NULL;
    ep->requests_tail = first;
    ep->list_needs    = 0;
    if (iface->serving != ep) {
        if (fenced) {
            /* earlier posts still count */
            base_outstanding_fence(ep);
        }
        base_pending_settle(iface, ep);
    } else {
        iface->dispatch.fenced |= fenced;
    }
    if (fenced) {
        base_wireup_took_fence(ep);
    }
    for (; req != NULL; req = next) {
        next = base_request(req)->next;
        if (cb != NULL) {
            cb(req, arg);
        }
    }
}

/* May the dispatched request still do its one operation before all else? */
static int base_pending_permits(const base_iface_t *iface, const base_ep_t *ep)
{
    return (iface->serving == ep) && !iface->dispatch.took_one &&
           (flow_tx_psn(ep->tx) == iface->dispatch.psn);
}

/* It does it: nothing passes those behind it any more. */
static void base_pending_take(base_iface_t *iface, base_ep_t *ep)
{
    iface->dispatch.took_one = 1;
    if (iface->dispatch.open) {
        record_call_tx_pause(iface->core, ep->tx, FLOW_PAUSE_PENDING);
    }
}

void base_pending_pass(base_iface_t *iface, base_ep_t *ep)
{
    if ((iface->serving == ep) &&
        !(iface->dispatch.took_one | iface->dispatch.open)) {
        iface->dispatch.open = 1;
        flow_tx_pass_one(iface->core, ep->tx);
    }
}

int base_pending_permits_rma(base_iface_t *iface, base_ep_t *ep)
{
    ep->permitted = (flow_tx_paused(ep->tx) == FLOW_PAUSE_PENDING) &&
                    base_pending_permits(iface, ep);
    return ep->permitted;
}

void base_pending_took_rma(base_iface_t *iface, base_ep_t *ep)
{
    ep->permitted = 0;
    base_pending_take(iface, ep);
}

void base_pending_list_refused(base_iface_t *iface, base_ep_t *ep,
                               unsigned count)
{
    /* An endpoint with a queue has another request next */
    if ((ep->state == BASE_EP_ALIVE) &&
        ((ep->requests == NULL) || (iface->serving == ep))) {
        ep->list_needs = count;
    }
}

int base_pending_is_cut(const base_iface_t *iface)
{
    return (iface->pending != NULL) && iface->dispatch.cut &&
           (iface->serving == NULL);
}

flow_time_t base_pending_look_time(base_iface_t *iface)
{
    if ((iface->ops.free != NULL) && !iface->dispatch.held) {
        return BASE_PROBE_TIME;
    }
    iface->dispatch.idle |= BASE_PENDING_IDLE - 1; /* progress then looks */
    return BASE_HOLD_TIME;
}

int base_pending_permits_flush(base_iface_t *iface, base_ep_t *ep)
{
    if (ep->requests == NULL) {
        return 1;
    }
    if (!base_pending_permits(iface, ep)) {
        return 0;
    }
    base_pending_take(iface, ep);
    return 1;
}

/* Dispatches one request of the ring's head. Returns whether it went on. */
static int base_pending_serve(base_iface_t *iface)
{
    base_ep_t         *ep         = iface->pending;
    unsigned           list_needs = ep->list_needs;
    uct_pending_req_t *req;
    ucs_status_t       status;

    iface->pending      = ep->ring_next; /* its turn is over, whatever comes */
    iface->serving      = ep;
    iface->dispatch.held = 0;
    ep->list_needs      = 0;
    iface->dispatch.took_one   = 0;
    iface->dispatch.open       = 0;
    iface->dispatch.refused    = 0;
    iface->dispatch.lacked     = 0;
    req                 = base_pending_pop(ep);
    iface->dispatch.fenced = base_request(req)->fence;
    iface->dispatch.psn   = flow_tx_psn(ep->tx);
    if ((ep->requests == NULL) && !iface->dispatch.fenced) {
        iface->dispatch.open = 1;
        flow_tx_resume(iface->core, ep->tx, FLOW_PAUSE_PENDING);
    } else if (!base_request(req)->rma) {
        base_pending_pass(iface, ep);
    }

    status = req->func(req);

    if (iface->serving == NULL) {
        return 1; /* the callback destroyed the endpoint */
    }
    iface->serving = NULL;
    ep->permitted  = 0;
    if (status != UCS_OK) {
        base_pending_push(ep, req);
        if (status == UCS_INPROGRESS) { /* more of it, as much as before */
            ep->list_needs = list_needs;
        }
    } else if (iface->dispatch.fenced) {
        base_outstanding_fence(ep);
    }
    if (ep->requests != NULL) { /* behind a message it most likely is another */
        base_request(ep->requests)->lacked =
                iface->dispatch.lacked |
                (flow_tx_psn(ep->tx) != iface->dispatch.psn);
    }
    base_pending_settle(iface, ep);
    if ((status != UCS_OK) && (status != UCS_INPROGRESS) &&
        (ep->state == BASE_EP_ALIVE) && iface->dispatch.refused &&
        flow_tx_is_stopped(ep->tx)) {
        base_pending_set_shut(ep, 1);
    }
    return (status == UCS_OK) || (status == UCS_INPROGRESS) ||
           iface->dispatch.took_one ||
           (flow_tx_psn(ep->tx) != iface->dispatch.psn);
}

static void base_pending_ping_one(base_ep_t *ep)
{
    base_fail_ep_ping(ep, base_ep_iface(ep)->now);
}

void base_pending_ping(base_iface_t *iface)
{
    (void)base_flow_clock(iface);
    base_pending_each(iface, base_pending_ping_one);
}

void base_pending_wait(base_iface_t *iface)
{
    if ((++iface->dispatch.idle % BASE_PENDING_IDLE) == 0) {
        base_pending_ping(iface);
        if ((iface->ops.free == NULL) || iface->dispatch.held) {
            base_pending_dispatch(iface, 1); /* the reserve opens with time */
        }
    }
}

/* The fate of an endpoint's request that is a list and was refused. */
typedef enum base_list_turn {
    BASE_LIST_GO,
    BASE_LIST_SKIP, /* others may go on */
    BASE_LIST_HOLD  /* they might take what it needs */
} base_list_turn_t;

static base_list_turn_t
base_pending_list_turn(base_iface_t *iface, const base_ep_t *ep)
{
    base_dispatch_t *dispatch = &iface->dispatch;
    flow_time_t      now;

    if ((ep->state != BASE_EP_ALIVE) ||
        base_post_list_fits(iface, ep, ep->list_needs)) {
        return BASE_LIST_GO;
    }
    if (!base_post_list_is_in_share(iface, ep, ep->list_needs)) {
        return BASE_LIST_SKIP; /* its own are to come back */
    }
    now = base_flow_clock(iface);
    if (!dispatch->held) {
        if (now - dispatch->held_in_vain < BASE_HOLD_PAUSE) {
            return BASE_LIST_SKIP;
        }
        dispatch->held       = 1;
        dispatch->held_since = now;
    } else if (now - dispatch->held_since >= BASE_HOLD_TIME) {
        dispatch->held         = 0;
        dispatch->held_in_vain = now;
        return BASE_LIST_SKIP;
    }
    return BASE_LIST_HOLD;
}

/* Only the reserve has operations, and none for this endpoint's request.
 * (Delayed messages have theirs, and others soon come back: half of all are
 * never delayed.) */
static int base_pending_lacks_op(base_iface_t *iface, const base_ep_t *ep)
{
    return (iface->ops.free == NULL) && (ep->state == BASE_EP_ALIVE) &&
           base_request(ep->requests)->lacked &&
           !flow_reserve_may(&iface->ops.reserve, &ep->ah->share, 1,
                             iface->now);
}

unsigned base_pending_dispatch(base_iface_t *iface, int anew)
{
    base_dispatch_t *dispatch = &iface->dispatch;
    unsigned         count    = 0, passed = 0;
    base_list_turn_t turn;
    base_ep_t       *ep;

    if (iface->serving != NULL) { /* called from a callback's progress: */
        dispatch->cut    = 1;     /* what came may let others go on */
        dispatch->parted = 0;
        return 0;
    }
    if (iface->ops.free == NULL) {
        (void)base_flow_clock(iface); /* with time the reserve opens */
    } else if (dispatch->turn != NULL) {
        iface->pending = dispatch->turn;
        dispatch->turn = NULL;
    }
    if (anew || !dispatch->parted) {
        dispatch->stuck = NULL;
    }
    dispatch->cut = 0;
    /* Until the ring is empty, a whole round went by in vain, or others deserve
     * the CPU */
    while ((iface->pending != NULL) && (iface->pending != dispatch->stuck) &&
           base_op_is_left(&iface->ops) && (count < BASE_PENDING_BUDGET) &&
           (passed < BASE_PENDING_PASSED)) {
        ep   = iface->pending;
        turn = base_pending_lacks_op(iface, ep) ?
                       BASE_LIST_SKIP : base_pending_list_turn(iface, ep);
        if (turn == BASE_LIST_HOLD) {
            break;
        }
        if (turn == BASE_LIST_SKIP) {
            iface->pending = ep->ring_next;
        } else if (base_pending_serve(iface)) {
            dispatch->stuck = NULL;
            ++count;
            continue;
        }
        if ((dispatch->stuck == NULL) && !ep->is_shut) {
            dispatch->stuck = ep;
        }
        if (iface->ops.free == NULL) {
            ++passed;
            if ((dispatch->turn == NULL) && !ep->is_shut) {
                dispatch->turn = ep;
            }
        }
    }
    dispatch->parted = passed >= BASE_PENDING_PASSED;
    dispatch->cut   |= dispatch->parted | (count >= BASE_PENDING_BUDGET);
    return count;
}
