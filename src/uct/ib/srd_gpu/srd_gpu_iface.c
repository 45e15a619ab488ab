/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport: an interface as srd's, with a queue pair of its own, for what
 * kernels do alone. */
#include "srd_gpu_thread.h"

#include <uct/ib/base/base_address.h>
#include <uct/ib/base/base_checked.h>
#include <uct/ib/base/base_counters.h>
#include <uct/ib/base/base_ep.h>
#include <uct/ib/base/base_iface.h>
#include <uct/ib/base/base_progress.h>
#include <uct/ib/base/base_vfs.h>
#include <uct/ib/efa/efa_trial.h>
#include <uct/ib/srd/srd.h>

static const base_transport_t srd_gpu_base = {.name = "srd_gpu", SRD_TRANSPORT};

static ucx_stats_class_t srd_gpu_stats_class = BASE_COUNTERS_CLASS("srd_gpu");

static const ucx_iface_vops_t srd_gpu_vops = {
    .is_reachable     = base_address_is_reachable,
    .ep_is_connected  = base_address_is_connected,
    .ep_invalidate    = base_ep_invalidate,
    .vfs_refresh      = base_vfs_refresh,
    .ep_get_device_ep = srd_gpu_ep_get_device_ep,
};

/* With a thread. */
static const ucx_iface_vops_t srd_gpu_thread_vops = {
    .is_reachable     = base_address_is_reachable,
    .ep_is_connected  = base_address_is_connected,
    .ep_invalidate    = srd_gpu_thread_invalidate,
    .vfs_refresh      = base_vfs_refresh,
    .ep_get_device_ep = srd_gpu_thread_get_device_ep,
};

static ucs_status_t
srd_gpu_iface_query(uct_iface_h tl_iface, uct_iface_attr_t *attr)
{
    base_iface_query((base_iface_t*)tl_iface, attr);
    srd_estimate_query(tl_iface, attr);
    memset(&attr->cap.am, 0, sizeof(attr->cap.am));
    attr->cap.flags &= ~(UCT_IFACE_FLAG_AM_SHORT | UCT_IFACE_FLAG_AM_BCOPY |
                         UCT_IFACE_FLAG_AM_ZCOPY);
    attr->cap.event_flags = 0; /* kernels wake nobody */
    ucx_iface_attr_device((ucx_iface_base_t*)tl_iface, attr);
    return UCS_OK;
}

static void srd_gpu_iface_close(uct_iface_h tl_iface)
{
    srd_gpu_iface_t *iface = (srd_gpu_iface_t*)tl_iface, last;

    ucx_iface_progress_disable(tl_iface,
                               UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
    srd_gpu_thread_stop(iface);
    if (iface->dropped > 0) {
        host_info(iface->super.super.host, "%s: %lu operations of kernels were "
                  "dropped: their endpoints had failed, or were closed",
                  base_iface_md(&iface->super)->device->name,
                  (unsigned long)iface->dropped);
    }
    last = *iface; /* completions come until it is closed */
    base_iface_delete(&iface->super);
    srd_gpu_peer_free_all(&last);
    srd_gpu_memory_free(&last, NULL);
}

static unsigned srd_gpu_log2(unsigned number)
{
    unsigned log = 0;

    while ((1u << log) < number) {
        ++log;
    }
    return log;
}

static ucs_status_t
srd_gpu_iface_open(ucx_md_t *md, uct_worker_h worker,
                   const uct_iface_params_t *params, const void *config,
                   uct_iface_h *iface_p)
{
    const base_config_t    *srd  = config;
    uct_iface_params_t      ours = *params;
    uct_iface_ops_t         ops  = base_iface_ops;
    base_iface_kind_t       kind = {
        .transport = &srd_gpu_base,
        .vops      = srd->gpu_thread ? &srd_gpu_thread_vops : &srd_gpu_vops,
        .stats     = &srd_gpu_stats_class,
        .size      = sizeof(srd_gpu_iface_t)
    };
    base_iface_t           *base;
    srd_gpu_iface_t        *iface;
    ucs_status_t            status;

    ops.ep_create      = srd_gpu_ep_create;
    ops.ep_destroy     = srd_gpu_ep_destroy;
    ops.iface_progress = srd_gpu_progress;
    ops.iface_close    = srd_gpu_iface_close;
    ops.iface_query    = srd_gpu_iface_query;
    if (srd->gpu_thread) {
        srd_gpu_thread_ops(&ops);
        if ((params->field_mask & UCT_IFACE_PARAM_FIELD_ERR_HANDLER) &&
            (params->err_handler != NULL)) {
            ours.err_handler = srd_gpu_thread_failed;
        }
    }
    status = base_iface_new(&kind, md, worker, &ours, &ops, srd, &base);
    if (status != UCS_OK) {
        return status;
    }
    iface            = (srd_gpu_iface_t*)base;
    base->put_flush  = srd->put_flush;
    iface->log_depth = srd_gpu_log2(srd->gpu_depth);
    iface->channels  = 1u << srd_gpu_log2(srd->gpu_channels);
    base->super.am[SRD_GPU_AM_ADD].cb  = srd_gpu_count;
    base->super.am[SRD_GPU_AM_ADD].arg = iface;
    srd_gpu_thread_init(iface, params, srd->gpu_idle);
    base_checked_ops(base);
    *iface_p = (uct_iface_h)iface;
    return UCS_OK;
}

static ucs_status_t
srd_gpu_query_devices(ucx_md_t *super, const char *transport,
                      ucx_device_t **devices_p, unsigned *count_p)
{
    efa_md_t *md = (efa_md_t*)super;

    *devices_p = NULL;
    *count_p   = 0;
    if (md->device_api == UCS_NO) {
        return UCS_OK;
    }
    if (!(md->device->caps & EFA_DEVICE_CAP_RDMA_WRITE)) {
        host_report_absent(super->host, transport,
                           "%s: no RDMA write, which kernels' puts need: EFA "
                           "of the second generation has it",
                           md->device->name);
        return UCS_OK;
    }
    return efa_md_query_devices(super, transport, devices_p, count_p);
}

const ucx_transport_t srd_gpu_transport = {
    .name          = "srd_gpu",
    .config        = &base_config_srd_gpu,
    .query_devices = srd_gpu_query_devices,
    .iface_open    = srd_gpu_iface_open,
};
