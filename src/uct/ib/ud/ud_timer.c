/* SPDX-License-Identifier: BSD-3-Clause */
#include "ud_timer.h"
#include "ud_lock.h"

#include <uct/ib/base/base_arm.h>
#include <uct/ib/base/base_progress.h>

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define UD_TIMER_SELDOM 10 /* times the interval */

static void ud_timer_set(ud_iface_t *iface, double interval)
{
    struct itimerspec spec;
    uint64_t          ns = interval * 1e9;

    spec.it_value.tv_sec  = ns / 1000000000u;
    spec.it_value.tv_nsec = ns % 1000000000u;
    spec.it_interval      = spec.it_value;
    timerfd_settime(iface->timer_fd, 0, &spec, NULL);
}

void ud_timer_pace(ud_iface_t *iface, int fast)
{
    if ((iface->timer_fd >= 0) && (iface->timer_fast != fast)) {
        iface->timer_fast = fast;
        ud_timer_set(iface, iface->interval * (fast ? 1 : UD_TIMER_SELDOM));
    }
}

static int ud_has_peers(const ud_iface_t *iface)
{
    flow_counters_t counters;

    flow_core_counters(iface->super.core, &counters);
    return counters.peers > 0;
}

static void ud_timer_run(int fd, ucs_event_set_types_t events, void *arg)
{
    ud_iface_t *iface = arg;
    uint64_t    expirations;

    (void)events;
    if ((read(fd, &expirations, sizeof(expirations)) < 0) ||
        !ud_lock_try(iface)) {
        return;
    }
    base_progress_quiet(&iface->super);
    base_arm_wake(&iface->super);
    ud_timer_pace(iface, ud_has_peers(iface));
    ud_unlock(iface);
}

static void ud_timer_report(const ud_iface_t *iface, const char *why)
{
    host_warn(iface->super.super.host,
              "%s: no timer for ud: %s; peers wait while this process makes no "
              "progress",
              base_iface_md(&iface->super)->device->name, why);
}

void ud_timer_start(ud_iface_t *iface, double interval)
{
    ucx_host_t  *host = iface->super.super.host;
    ucs_status_t status;

    iface->interval   = interval;
    iface->timer_fast = 0;
    iface->timer_fd   = timerfd_create(CLOCK_MONOTONIC,
                                       TFD_NONBLOCK | TFD_CLOEXEC);
    if (iface->timer_fd < 0) {
        ud_timer_report(iface, strerror(errno));
        return;
    }
    status = host->async_set_event_handler(UCS_ASYNC_MODE_THREAD_MUTEX,
                                           iface->timer_fd,
                                           UCS_EVENT_SET_EVREAD, ud_timer_run,
                                           iface, NULL);
    if (status != UCS_OK) {
        ud_timer_report(iface, host->status_string(status));
        close(iface->timer_fd);
        iface->timer_fd = -1;
        return;
    }
    ud_timer_set(iface, interval * UD_TIMER_SELDOM);
}

void ud_timer_stop(ud_iface_t *iface)
{
    if (iface->timer_fd >= 0) {
        iface->super.super.host->async_remove_handler(iface->timer_fd, 1);
        close(iface->timer_fd);
        iface->timer_fd = -1;
    }
}
