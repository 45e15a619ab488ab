/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arming the event descriptor (DESIGN.md decision 12). BUSY is said only when
 * the next progress has something to do, and no other error ever: UCP aborts
 * on one.
 *
 * A completion that came before the queue was armed gives no event on some
 * devices, so arming looks into the queue. A completion that it finds cannot be
 * put back: it is kept (base_polled.c), and progress takes it first.
 */
#include "base_arm.h"
#include "base_probe.h"
#include "base_flow.h"
#include "base_fail.h"
#include "base_pending.h"
#include "base_polled.h"
#include "base_progress.h"

ucs_status_t base_arm_event_fd(uct_iface_h tl_iface, int *fd_p)
{
    base_iface_t *iface = (base_iface_t*)tl_iface;

    if (iface->events.epoll_fd < 0) {
        return UCS_ERR_UNSUPPORTED;
    }
    *fd_p = iface->events.epoll_fd;
    return UCS_OK;
}

/* Whether the next progress has something to do that needs no completion to be
 * polled. */
static int base_arm_is_busy(const base_iface_t *iface)
{
    if (iface->todo & BASE_TODO_BROKEN) {
        return (iface->qp.qp != NULL) || flow_event_pending(iface->core) ||
               (iface->todo & BASE_TODO_TOLD) || base_probe_is_ready(iface);
    }
    return (iface->todo & ~(uintptr_t)BASE_TODO_LATE) ||
           base_pending_is_cut(iface) || base_probe_is_ready(iface) ||
           flow_event_pending(iface->core) ||
           flow_resend_release_pending(iface->core) ||
           (flow_ctl_pending(iface->core) && (iface->ops.free_ctl != NULL) &&
            (flow_timer_next(iface->core) == FLOW_TIME_NEVER));
}

void base_arm_wake(base_iface_t *iface)
{
    if (iface->events.is_armed && base_arm_is_busy(iface)) {
        efa_events_set_timer(&iface->events, 1);
    }
}

static void base_arm_timer(base_iface_t *iface)
{
    flow_time_t next = flow_timer_next(iface->core), now, look;

    if ((iface->todo & BASE_TODO_RETRY) && (iface->retry.due < next)) {
        next = iface->retry.due;
    }
    if ((next == FLOW_TIME_NEVER) && (iface->waiting == 0)) {
        efa_events_set_timer(&iface->events, 0);
        return;
    }
    iface->lax_calls = BASE_LAX_CALLS; /* whom it wakes asks the clock */

    now = base_flow_clock(iface);
    if (iface->waiting != 0) {
        look = now + base_pending_look_time(iface); /* then another one */
        next = (look < next) ? look : next;
    }
    efa_events_set_timer(&iface->events, (next > now) ? next - now : 1);
}

ucs_status_t base_arm_events(uct_iface_h tl_iface, unsigned events)
{
    base_iface_t *iface = (base_iface_t*)tl_iface;
    int           err;

    (void)events; /* both directions: an idle one gives no event */
    if (iface->waiting != 0) {
        base_pending_ping(iface);
    }
    if (base_arm_is_busy(iface)) {
        return UCS_ERR_BUSY;
    }
    if (iface->broken) {
        efa_events_end(&iface->events, &iface->qp);
        base_arm_timer(iface);
        return UCS_OK;
    }
    err = efa_events_rearm(&iface->events, &iface->qp);
    if (err != 0) {
        base_fail_iface(iface, "arming", err);
        return UCS_ERR_BUSY; /* progress ends the interface */
    }
    base_polled_rx(iface);
    base_polled_tx(iface);
    if (iface->todo & ~(uintptr_t)BASE_TODO_LATE) {
        return UCS_ERR_BUSY;
    }
    base_arm_timer(iface);
    return UCS_OK;
}
