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
    .ep_am_short              = base_ep_am_short,
    .ep_am_short_iov          = base_ep_am_short_iov,
    .ep_am_bcopy              = base_ep_am_bcopy,
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

/* The table's ranges are UCX's to check; what hangs together and what the
 * device allows is ours. */
static void srd_config_resolve(const srd_iface_config_t *config, efa_md_t *md,
                               base_iface_config_t *out)
{
    base_op_counts_t counts = base_op_counts(config->tx_queue_len);

    out->tx_depth   = config->tx_queue_len;
    out->rx_initial = config->rx_queue_len;
    out->rx_max     = config->rx_buffers_max;
    out->window     = config->window;
    out->rnr_retry  = config->rnr_retry;
    out->max_ah     = config->max_ah;
    out->inline_max = config->tx_inline;
    out->get_short  = config->get_short;
    if (base_op_count(&counts) > md->device->max_sq_wr) {
        out->tx_depth = (md->device->max_sq_wr - BASE_CTL_OPS) / 3 * 2;
    }
    if (out->rx_max > md->device->max_rq_wr) {
        out->rx_max = md->device->max_rq_wr;
    }
    if (out->rx_initial > out->rx_max / 2) {
        out->rx_initial = out->rx_max / 2;
    }
    if (out->max_ah > md->device->max_ah) {
        out->max_ah = md->device->max_ah;
    }
}

/* Headroom and alignment of what is received. UCP asks for offset 8 whatever
 * the alignment, where uct.h wants less than that: the remainder counts. */
static ucs_status_t
srd_rx_layout(ucx_host_t *host, const uct_iface_params_t *params,
              base_rxq_layout_t *layout)
{
    size_t align  = 1, offset = 0;
    int    aligns = (params->field_mask & UCT_IFACE_PARAM_FIELD_AM_ALIGNMENT) !=
                    0;

    if (aligns) {
        align = params->am_alignment;
    }
    if (params->field_mask & UCT_IFACE_PARAM_FIELD_AM_ALIGN_OFFSET) {
        offset = params->am_align_offset;
    }
    if ((align == 0) || ((align & (align - 1)) != 0) ||
        (!aligns &&
         (params->field_mask & UCT_IFACE_PARAM_FIELD_AM_ALIGN_OFFSET))) {
        host_error(host,
                   "srd: alignment %zu with offset %zu of active messages: the "
                   "alignment has to be given, and a power of 2",
                   aligns ? align : 0, offset);
        return UCS_ERR_INVALID_PARAM;
    }
    memset(layout, 0, sizeof(*layout));
    layout->align        = align;
    layout->align_offset = offset & (align - 1);
    if (params->field_mask & UCT_IFACE_PARAM_FIELD_RX_HEADROOM) {
        layout->headroom = params->rx_headroom;
    }
    return UCS_OK;
}

static ucs_status_t
srd_iface_open(ucx_md_t *super_md, uct_worker_h worker,
               const uct_iface_params_t *params, const void *config,
               uct_iface_h *iface_p)
{
    efa_md_t           *md = (efa_md_t*)super_md;
    base_iface_config_t efa_config;
    uct_iface_ops_t     ops = srd_iface_ops;
    base_iface_t       *iface;
    ucs_status_t        status;

    efa_config.counted = ucx_host_has_counters(super_md->host);
    if (efa_config.counted) {
        srd_checked_ops(&ops);
    }
    status = srd_rx_layout(super_md->host, params, &efa_config.rx_layout);
    if (status != UCS_OK) {
        return status;
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
    srd_config_resolve(config, md, &efa_config);
    status = base_iface_open(iface, md, &efa_config);
    if (status != UCS_OK) {
        goto err_cleanup;
    }

    iface->stats = ucx_stats_open(super_md->host, params, &base_numbers_class,
                                  md->device->name);
    *iface_p     = (uct_iface_h)iface;
    return UCS_OK;

err_cleanup:
    ucx_iface_cleanup(&iface->super);
err_free:
    free(iface);
    return status;
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
    .query_devices = efa_md_query_devices,
    .iface_open    = srd_iface_open,
};
