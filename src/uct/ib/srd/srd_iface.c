/* SPDX-License-Identifier: BSD-3-Clause */
#include "srd.h"
#include "srd_direct.h"
#include "srd_list.h"
#include "srd_segments.h"

#include <uct/ib/base/base_address.h>
#include <uct/ib/base/base_checked.h>
#include <uct/ib/base/base_ep.h>
#include <uct/ib/base/base_iface.h>
#include <uct/ib/base/base_vfs.h>
#include <uct/ib/base/base_counters.h>
#include <uct/ib/base/base_am.h>
#include <uct/ib/efa/efa_trial.h>

#define SRD_BACKOFF_MIN  50000     /* ns, after a receiver was not ready */
#define SRD_BACKOFF_MAX  100000000 /* ns */

void srd_flow_params(flow_params_t *params)
{
    flow_params_default(params);
    params->rnr_min = SRD_BACKOFF_MIN;
    params->rnr_max = SRD_BACKOFF_MAX;
}

static const base_transport_t srd_base = {.name = "srd", SRD_TRANSPORT};

static ucx_stats_class_t srd_stats_class = BASE_COUNTERS_CLASS("srd");

static const ucx_iface_vops_t srd_vops = {
    .is_reachable    = base_address_is_reachable,
    .ep_is_connected = base_address_is_connected,
    .ep_invalidate   = base_ep_invalidate,
    .vfs_refresh     = base_vfs_refresh,
    .estimate        = srd_estimate,
    .query_sgl       = srd_query_sgl,
    .ep_put_sgl      = srd_ep_put_sgl,
    .ep_get_sgl      = srd_ep_get_sgl,
};

static const base_iface_kind_t srd_kind = {
    .transport = &srd_base,
    .vops      = &srd_vops,
    .stats     = &srd_stats_class,
    .size      = sizeof(base_iface_t),
};

static void srd_iface_close(uct_iface_h tl_iface)
{
    ucx_iface_progress_disable(tl_iface,
                               UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
    base_iface_delete((base_iface_t*)tl_iface);
}

static void srd_ops(uct_iface_ops_t *ops)
{
    *ops                 = base_iface_ops;
    ops->ep_am_short     = srd_ep_am_short;
    ops->ep_am_short_iov = srd_ep_am_short_iov;
    ops->ep_am_bcopy     = srd_ep_am_bcopy;
    ops->ep_put_short    = srd_ep_put_short;
    ops->ep_put_bcopy    = srd_ep_put_bcopy;
    ops->ep_put_zcopy    = srd_ep_put_zcopy;
    ops->ep_get_short    = srd_ep_get_short;
    ops->ep_get_bcopy    = srd_ep_get_bcopy;
    ops->ep_get_zcopy    = srd_ep_get_zcopy;
    ops->iface_close     = srd_iface_close;
    ops->iface_query     = srd_iface_query;
}

static ucs_status_t
srd_iface_open(ucx_md_t *md, uct_worker_h worker,
               const uct_iface_params_t *params, const void *config,
               uct_iface_h *iface_p)
{
    const base_config_t *srd = config;
    uct_iface_ops_t      ops;
    base_iface_t        *iface;
    ucs_status_t         status;

    srd_ops(&ops);
    status = base_iface_new(&srd_kind, md, worker, params, &ops, srd, &iface);
    if (status == UCS_OK) {
        iface->get_short_time = srd->get_short * 1e9;
        iface->put_flush      = srd->put_flush;
        *iface_p              = (uct_iface_h)iface;
        srd_direct_ops(iface, &(*iface_p)->ops);
        if (iface->recorder != NULL) {
            (*iface_p)->ops.ep_am_short     = base_am_short;
            (*iface_p)->ops.ep_am_short_iov = base_am_short_iov;
            (*iface_p)->ops.ep_am_bcopy     = base_am_bcopy;
        }
        base_checked_ops(iface);
        srd_segments_open(iface);
    }
    return status;
}

const ucx_transport_t srd_transport = {
    .name          = "srd",
    .config        = &base_config_srd,
    .query_devices = efa_md_query_devices,
    .iface_open    = srd_iface_open,
};
