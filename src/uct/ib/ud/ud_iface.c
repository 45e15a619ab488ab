/* SPDX-License-Identifier: BSD-3-Clause */
#include "ud.h"
#include "ud_lock.h"
#include "ud_mtu.h"
#include "ud_timer.h"

#include <uct/ib/base/base_checked.h>
#include <uct/ib/base/base_counters.h>
#include <uct/ib/base/base_address.h>
#include <uct/ib/base/base_lock.h>
#include <uct/ib/base/base_vfs.h>
#include <uct/ib/efa/efa_trial.h>

#define UD_GOODBYE_TIME 50000000 /* ns: one that is lost is said again */

/* A status about the peer or the way to it is no end on UD: the datagram is
 * lost, and is sent again. */
static ucs_status_t ud_status(unsigned vendor_err)
{
    return efa_status_is_local(vendor_err) ? UCS_ERR_IO_ERROR : UCS_OK;
}

static flow_send_status_t ud_flow_status(unsigned vendor_err)
{
    return efa_status_is_local(vendor_err) ? FLOW_SEND_ERROR : FLOW_SEND_OK;
}

static const base_transport_t ud_base = {
    .name         = "ud",
    .prefix       = "UCX_EFA_UD_",
    .qp_kind      = EFA_QP_UD,
    .release_desc = ud_lock_release_desc,
    .goodbye_time = UD_GOODBYE_TIME,
    .flow_params  = flow_params_default_ud,
    .status       = ud_status,
    .flow_status  = ud_flow_status,
    .acks         = &ud_acks,
};

static const ucx_iface_vops_t ud_vops = {
    .is_reachable    = base_address_is_reachable,
    .ep_is_connected = base_address_is_connected,
    .ep_invalidate   = ud_lock_invalidate,
    .vfs_refresh     = base_vfs_refresh,
};

static ucx_stats_class_t ud_stats_class = BASE_COUNTERS_CLASS("ud");

static const base_iface_kind_t ud_kind = {
    .transport = &ud_base,
    .vops      = &ud_vops,
    .stats     = &ud_stats_class,
    .size      = sizeof(ud_iface_t),
};

static void ud_iface_close(uct_iface_h tl_iface)
{
    ud_iface_t *iface = (ud_iface_t*)tl_iface;

    ucx_iface_progress_disable(tl_iface,
                               UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
    ud_timer_stop(iface);
    base_iface_delete(&iface->super); /* UCP may yet release buffers */
}

static ucs_status_t
ud_iface_open(ucx_md_t *md, uct_worker_h worker,
              const uct_iface_params_t *params, const void *config,
              uct_iface_h *iface_p)
{
    const base_config_t *wished = config;
    base_config_t        ud     = *wished;
    uct_iface_ops_t      ops    = base_iface_ops;
    base_iface_t        *base;
    ud_iface_t          *iface;
    ucs_status_t         status;

    status = ud_mtu_find((efa_md_t*)md, wished->mtu, &ud.mtu);
    if (status != UCS_OK) {
        return status;
    }
    ud_lock_ops(&ops);
    ops.iface_close = ud_iface_close;
    ops.iface_query = ud_iface_query;
    status          = base_iface_new(&ud_kind, md, worker, params, &ops, &ud,
                                     &base);
    if (status != UCS_OK) {
        return status;
    }
    iface = (ud_iface_t*)base;
    base_lock_init(&iface->mutex);
    base_checked_ops(base);
    ud_timer_start(iface, ud.timer);
    *iface_p = (uct_iface_h)iface;
    return UCS_OK;
}

const ucx_transport_t ud_transport = {
    .name          = "ud",
    .config        = &base_config_ud,
    .query_devices = efa_md_query_devices,
    .iface_open    = ud_iface_open,
};
