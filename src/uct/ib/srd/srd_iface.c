/* SPDX-License-Identifier: BSD-3-Clause */
#include "srd.h"

#include <uct/ib/base/base_am.h>
#include <uct/ib/base/base_arm.h>
#include <uct/ib/base/base_ep.h>
#include <uct/ib/base/base_flush.h>
#include <uct/ib/base/base_iface.h>
#include <uct/ib/base/base_numbers.h>
#include <uct/ib/base/base_pending.h>
#include <uct/ib/base/base_progress.h>
#include <uct/ib/base/base_reach.h>
#include <uct/ib/base/base_vfs.h>
#include <uct/ib/efa/efa_trial.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void srd_iface_close(uct_iface_h tl_iface)
{
    base_iface_t *iface = (base_iface_t*)tl_iface;

    ucx_iface_progress_disable(tl_iface,
                               UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
    base_iface_close(iface);
    ucx_iface_cleanup(&iface->super);
    free(iface);
}

static const uct_iface_ops_t srd_iface_ops = {
    .ep_am_short              = srd_ep_am_short,
    .ep_am_short_iov          = base_ep_am_short_iov,
    .ep_am_bcopy              = srd_ep_am_bcopy,
    .ep_am_zcopy              = base_ep_am_zcopy,
    .ep_put_short             = srd_ep_put_short,
    .ep_put_bcopy             = srd_ep_put_bcopy,
    .ep_put_zcopy             = srd_ep_put_zcopy,
    .ep_get_short             = srd_ep_get_short,
    .ep_get_bcopy             = srd_ep_get_bcopy,
    .ep_get_zcopy             = srd_ep_get_zcopy,
    .ep_pending_add           = base_ep_pending_add,
    .ep_pending_purge         = base_ep_pending_purge,
    .ep_flush                 = base_ep_flush,
    .ep_fence                 = base_ep_fence,
    .ep_check                 = base_ep_check,
    .ep_create                = base_ep_create,
    .ep_destroy               = base_ep_destroy,
    .iface_flush              = base_iface_flush,
    .iface_fence              = base_iface_fence,
    .iface_progress_enable    = ucx_iface_progress_enable,
    .iface_progress_disable   = ucx_iface_progress_disable,
    .iface_progress           = base_iface_progress,
    .iface_event_fd_get       = base_iface_event_fd,
    .iface_event_arm          = base_iface_event_arm,
    .iface_close              = srd_iface_close,
    .iface_query              = srd_iface_query,
    .iface_get_device_address = base_iface_get_device_address,
    .iface_get_address        = base_iface_get_address,
    .iface_is_reachable       = (uct_iface_is_reachable_func_t)
            base_iface_is_reachable,
};

static const ucx_iface_vops_t srd_iface_vops = {
    .is_reachable    = base_iface_is_reachable,
    .ep_is_connected = base_ep_is_connected,
    .ep_invalidate   = base_ep_invalidate,
    .vfs_refresh     = base_vfs_refresh,
};

static const base_transport_t srd_base = {
    .name        = "srd",
    .prefix      = "UCX_SRD_",
    .status      = srd_status,
    .flow_status = srd_flow_status,
};

static ucx_stats_class_t srd_stats_class = BASE_NUMBERS_CLASS("srd");

static ucs_status_t
srd_iface_open(ucx_md_t *super_md, uct_worker_h worker,
               const uct_iface_params_t *params, const void *config,
               uct_iface_h *iface_p)
{
    const srd_iface_config_t *srd = config;
    efa_md_t                 *md  = (efa_md_t*)super_md;
    uct_iface_ops_t           ops = srd_iface_ops;
    base_iface_t             *iface;
    ucs_status_t              status;

    if (ucx_host_has_counters(super_md->host)) {
        srd_checked_ops(&ops);
    }
    if (posix_memalign((void**)&iface, 64, sizeof(*iface)) != 0) {
        return UCS_ERR_NO_MEMORY;
    }
    memset(iface, 0, sizeof(*iface));

    status = ucx_iface_init(super_md->host, &iface->super, &ops,
                            &srd_iface_vops, (uct_md_h)md, worker, params,
                            config);
    if (status != UCS_OK) {
        goto err_free;
    }
    status = base_iface_open(iface, md, &srd_base, params, &srd->super);
    if (status != UCS_OK) {
        goto err_cleanup;
    }

    iface->get_short_time = srd->get_short * 1e9;
    iface->stats = ucx_stats_open(super_md->host, params, &srd_stats_class,
                                  md->device->name);
    *iface_p = (uct_iface_h)iface;
    return UCS_OK;

err_cleanup:
    ucx_iface_cleanup(&iface->super);
err_free:
    free(iface);
    return status;
}

static ucs_status_t srd_query_devices(ucx_md_t *md, ucx_device_t **devices_p,
                                      unsigned *count_p)
{
    return efa_md_query_devices(md, srd_base.name, devices_p, count_p);
}

const ucx_transport_t srd_transport = {
    .name   = "srd",
    .config =
        {
            .title  = "srd transport",
            .prefix = "SRD_",
            .fields = srd_config_fields,
            .count  = SRD_CONFIG_COUNT,
            .size   = sizeof(srd_iface_config_t),
        },
    .query_devices = srd_query_devices,
    .iface_open    = srd_iface_open,
};
