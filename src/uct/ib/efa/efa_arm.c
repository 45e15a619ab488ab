/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arming the event descriptor (DESIGN.md decision 12). BUSY is said only when
 * the next progress has something to do, and no other error ever: UCP aborts
 * on one.
 *
 * A completion that came before the queue was armed gives no event on some
 * devices, so arming looks into the queue. What it finds cannot be put back:
 * it is stashed, and progress takes it first.
 */
#include "efa_ep.h"

ucs_status_t efa_iface_event_fd(uct_iface_h tl_iface, int *fd_p)
{
    efa_iface_t *iface = (efa_iface_t*)tl_iface;

    if (iface->events.epoll_fd < 0) {
        return UCS_ERR_UNSUPPORTED;
    }
    *fd_p = iface->events.epoll_fd;
    return UCS_OK;
}

/* Whether the next progress has something to do that needs no completion to be
 * polled. */
static int efa_iface_is_busy(const efa_iface_t *iface)
{
    if (iface->attend & EFA_ATTEND_BROKEN) {
        return (iface->qp.qp != NULL) || flow_event_pending(iface->core) ||
               (iface->attend & EFA_ATTEND_TOLD);
    }
    return (iface->attend & ~EFA_ATTEND_AGAIN) ||
           flow_event_pending(iface->core) ||
           (flow_ctl_pending(iface->core) && (iface->ops.free_ctl != NULL) &&
            (flow_timer_next(iface->core) == FLOW_TIME_NEVER));
}

static void efa_iface_arm_timer(efa_iface_t *iface)
{
    flow_time_t next = flow_timer_next(iface->core), now;

    if ((iface->attend & EFA_ATTEND_AGAIN) && (iface->again_due < next)) {
        next = iface->again_due;
    }
    if ((next == FLOW_TIME_NEVER) && (iface->pending == NULL)) {
        efa_events_set_timer(&iface->events, 0);
        return;
    }
    now = efa_iface_clock(iface);
    if ((iface->pending != NULL) && (next > now + EFA_DOUBT_TIME)) {
        next = now + EFA_DOUBT_TIME; /* then another look at who waits */
    }
    efa_events_set_timer(&iface->events, (next > now) ? next - now : 1);
}

ucs_status_t efa_iface_event_arm(uct_iface_h tl_iface, unsigned events)
{
    efa_iface_t *iface = (efa_iface_t*)tl_iface;
    int          err;

    (void)events; /* both directions: an idle one gives no event */
    if (iface->pending != NULL) {
        efa_pending_doubt(iface);
    }
    if (efa_iface_is_busy(iface)) {
        return UCS_ERR_BUSY;
    }
    if (iface->broken) {
        efa_iface_arm_timer(iface);
        return UCS_OK;
    }
    err = efa_events_rearm(&iface->events, &iface->qp);
    if (err != 0) {
        efa_iface_break(iface, "arming", err);
        return UCS_ERR_BUSY; /* progress ends the interface */
    }
    efa_iface_stash_rx(iface);
    efa_iface_stash_tx(iface);
    if (iface->attend & ~EFA_ATTEND_AGAIN) {
        return UCS_ERR_BUSY;
    }
    efa_iface_arm_timer(iface);
    return UCS_OK;
}
