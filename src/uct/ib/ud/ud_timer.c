/* SPDX-License-Identifier: BSD-3-Clause */
#include "ud_timer.h"
#include "ud_lock.h"

#include <uct/ib/base/base_arm.h>
#include <uct/ib/base/base_progress.h>

static void ud_timer_run(int id, ucs_event_set_types_t events, void *arg)
{
    ud_iface_t *iface = arg;

    (void)id;
    (void)events;
    if (ud_lock_try(iface)) {
        base_iface_progress_quiet(&iface->super);
        base_iface_wake(&iface->super);
        ud_lock_done(iface);
    }
}

void ud_timer_start(ud_iface_t *iface, double interval)
{
    ucx_host_t  *host = iface->super.super.host;
    ucs_status_t status;

    status = host->async_add_timer(UCS_ASYNC_MODE_THREAD_MUTEX,
                                   ucx_host_time(host, interval), ud_timer_run,
                                   iface, NULL, &iface->timer_id);
    iface->has_timer = status == UCS_OK;
    if (status != UCS_OK) {
        host_warn(host,
                  "%s: no timer for ud: %s; peers wait while this process "
                  "makes no progress",
                  base_iface_md(&iface->super)->device->name,
                  host->status_string(status));
    }
}

void ud_timer_stop(ud_iface_t *iface)
{
    if (iface->has_timer) {
        iface->super.super.host->async_remove_handler(iface->timer_id, 1);
        iface->has_timer = 0;
    }
}
