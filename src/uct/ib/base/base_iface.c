/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces are opened and closed. */
#include "base_iface.h"
#include "base_am.h"
#include "base_arm.h"
#include "base_flow.h"
#include "base_core_events.h"
#include "base_ep.h"
#include "base_flush.h"
#include "base_ep_list.h"
#include "base_counters.h"
#include "base_pending.h"
#include "base_probe.h"
#include "base_progress.h"
#include "base_address.h"
#include "base_record.h"
#include "base_rx.h"
#include "base_polled.h"
#include "base_top.h"
#include "base_trace.h"
#include "base_vfs.h"

#include <uct/ib/efa/efa_direct_test.h>
#include <uct/ib/efa/efa_network.h>
#include <uct/ib/efa/efa_random.h>

#include <stdlib.h>
#include <string.h>

const uct_iface_ops_t base_iface_ops = {
    .ep_am_short              = base_am_short,
    .ep_am_short_iov          = base_am_short_iov,
    .ep_am_bcopy              = base_am_bcopy,
    .ep_am_zcopy              = base_am_zcopy,
    .ep_pending_add           = base_pending_add,
    .ep_pending_purge         = base_pending_purge,
    .ep_flush                 = base_flush_ep,
    .ep_fence                 = base_flush_ep_fence,
    .ep_check                 = base_probe_ep,
    .ep_create                = base_ep_create,
    .ep_destroy               = base_ep_destroy,
    .iface_flush              = base_flush_iface,
    .iface_fence              = base_flush_iface_fence,
    .iface_progress_enable    = ucx_iface_progress_enable,
    .iface_progress_disable   = ucx_iface_progress_disable,
    .iface_progress           = base_progress_run,
    .iface_event_fd_get       = base_arm_event_fd,
    .iface_event_arm          = base_arm_events,
    .iface_get_device_address = base_address_get_device,
    .iface_get_address        = base_address_get_iface,
    .iface_is_reachable       = (uct_iface_is_reachable_func_t)
            base_address_is_reachable,
};

static ucs_status_t base_iface_identity(base_iface_t *iface)
{
    /* 31 bits: the top one marks privileged QKEYs */
    do {
        if ((efa_random(&iface->qkey, sizeof(iface->qkey)) != 0) ||
            (efa_random(&iface->incarnation,
                              sizeof(iface->incarnation)) != 0)) {
            return UCS_ERR_IO_ERROR;
        }
        iface->qkey &= 0x7fffffff;
    } while ((iface->qkey == 0) || (iface->incarnation == 0));
    return UCS_OK;
}

static ucs_status_t base_iface_open_qp(base_iface_t *iface, efa_md_t *md,
                                       const base_config_t *config)
{
    base_op_counts_t counts = base_op_counts(config->tx_queue_len);
    efa_qp_params_t  params = {
        .kind       = iface->transport->qp_kind,
        .tx_depth   = base_op_count(&counts),
        .rx_depth   = config->rx_buffers_max,
        .qkey       = iface->qkey,
        .rnr_retry  = config->rnr_retry,
        .sl         = config->sl,
        .inline_max = config->tx_inline,
        .events     = 1,
        .direct     = (md->direct != UCS_NO) &&
                      (efa_direct_why_not(md) == NULL)
    };
    ucs_status_t     status = efa_qp_open(&iface->qp, md, &params);

    if ((status == UCS_OK) && (md->direct == UCS_YES) &&
        !iface->qp.is_direct) {
        host_error(iface->super.host,
                   "%s is not used because of UCX_EFA_DIRECT=y: %s; "
                   "UCX_EFA_DIRECT=try uses it through libefa",
                   md->device->name,
                   params.direct ? iface->qp.why_not : efa_direct_why_not(md));
        efa_qp_close(&iface->qp);
        return UCS_ERR_UNSUPPORTED;
    }
    return status;
}

static void base_iface_report_open(base_iface_t *iface,
                                   const base_config_t *config)
{
    unsigned caps = iface->acked ? 0 : base_iface_md(iface)->device->caps;

    host_debug(iface->super.host,
               "%s: %s interface open: QPN %u, %u sends, %u to %u receives, "
               "%u bytes inline%s, RDMA:%s%s%s, events: %s, queues: %s",
               base_iface_md(iface)->device->name, iface->transport->name,
               iface->qpn, config->tx_queue_len, config->rx_queue_len,
               config->rx_buffers_max,
               iface->qp.inline_size,
               (iface->qp.inline_write > 0) ? " (writes too)" : "",
               (caps & EFA_DEVICE_CAP_RDMA_READ) ? " read" : "",
               (caps & EFA_DEVICE_CAP_RDMA_WRITE) ? " write" : "",
               (caps & (EFA_DEVICE_CAP_RDMA_READ | EFA_DEVICE_CAP_RDMA_WRITE)) ?
                       "" :
                       " none",
               (iface->events.epoll_fd >= 0) ? "yes" : "no",
               iface->qp.is_direct ? "direct" : "by libefa");
}

/* iface->short_max: none, or up to 16 bytes behind the short header and that of
 * am_short. */
static unsigned base_iface_short_max(const base_iface_t *iface)
{
    unsigned headers = FLOW_SHORT_HDR + sizeof(uint64_t);
    unsigned room    = iface->qp.inline_size;

    if (iface->traced || (room < headers)) {
        return 0;
    }
    return ((room - headers < 16) ? room - headers : 16) + 1;
}

/* For as many flows as there can be: each is noted once. Memory that is not
 * needed is not touched. */
static ucs_status_t base_iface_open_later(base_iface_t *iface)
{
    if (!iface->acked) {
        return UCS_OK;
    }
    iface->waits.later_max = FLOW_INDEX_MAX + BASE_POLL_BATCH;
    iface->waits.later     = calloc(iface->waits.later_max,
                                    sizeof(*iface->waits.later));
    return (iface->waits.later != NULL) ? UCS_OK : UCS_ERR_NO_MEMORY;
}

static void base_iface_close_pools(base_iface_t *iface)
{
    free(iface->waits.later);
    base_rxq_cleanup(&iface->rxq);
    base_op_pool_cleanup(&iface->ops);
}

/* Memory for both directions. */
static ucs_status_t base_iface_open_pools(base_iface_t *iface, efa_md_t *md,
                                          const base_config_t *config,
                                          base_rxq_layout_t *layout)
{
    base_op_counts_t counts  = base_op_counts(config->tx_queue_len);
    int              is_late = base_rxq_is_late(efa_md_listed());
    ucs_status_t     status;

    status = base_op_pool_init(&iface->ops, md, &counts,
                               base_op_ctl_first(is_late), config->mtu);
    if (status != UCS_OK) {
        return status;
    }
    if (!is_late) {
        status = base_op_pool_fill(&iface->ops);
    }
    if (status != UCS_OK) {
        base_op_pool_cleanup(&iface->ops);
        return status;
    }
    layout->packet_size = md->device->max_msg; /* a peer's mtu may be another */
    layout->release     = iface->transport->release_desc;
    layout->prefix      = (iface->transport->qp_kind == EFA_QP_UD) ?
                                  EFA_UD_PREFIX :
                                  0;
    status              = base_rxq_init(&iface->rxq, md,
                                        base_rxq_first(config->rx_queue_len,
                                                       efa_md_listed()),
                                        config->rx_queue_len,
                                        config->rx_buffers_max, layout);
    if (status == UCS_OK) {
        status = base_iface_open_later(iface);
    }
    if (status != UCS_OK) {
        base_iface_close_pools(iface);
    }
    return status;
}

static void base_iface_open_trace(base_iface_t *iface)
{
    iface->traced = ucx_host_has_counters(iface->super.host) ?
                            BASE_TRACED_COUNT :
                            0;
    if (iface->rxq.layout.prefix > 0) {
        iface->traced |= BASE_TRACED_PREFIX;
    }
    if (iface->recorder != NULL) {
        iface->traced |= BASE_TRACED_RECORD;
    }
    base_trace_look(iface);
    if (iface->traced) {
        iface->trace_level = ucx_host_packet_level(iface->super.host);
    }
}

/*
 * Opens queue pair, pools and core as `params` and `wished` say and the device
 * allows. A failure is logged, and nothing is owed.
 */
static ucs_status_t base_iface_open(base_iface_t *iface, efa_md_t *md,
                             const base_transport_t *transport,
                             const uct_iface_params_t *params,
                             const base_config_t *wished)
{
    base_config_t     config = *wished;
    base_rxq_layout_t layout;
    ucs_status_t      status;

    iface->transport = transport;
    iface->acked     = transport->acks != NULL;
    iface->am_other  = iface->acked;
    base_config_resolve(&config, md->device);
    base_config_report(iface->super.host, transport->prefix, iface->acked,
                       md->device, wished, &config);
    iface->max_payload = config.mtu - FLOW_LONG_HDR;
    status = base_config_layout(iface->super.host, transport->name, params,
                                &layout);
    if (status == UCS_OK) {
        status = base_iface_identity(iface);
    }
    if (status == UCS_OK) {
        status = base_iface_open_pools(iface, md, &config, &layout);
    }
    if (status != UCS_OK) {
        return status;
    }
    status = base_iface_open_qp(iface, md, &config);
    if (status != UCS_OK) {
        goto err_pools;
    }
    efa_queue_users(&iface->qp, &iface->ops.users, &iface->rxq.users);
    iface->qpn = iface->qp.qp->qp_num;
    status = base_ah_table_init(&iface->ahs, md, config.max_ah);
    if (status != UCS_OK) {
        goto err_qp;
    }
    status = base_flow_open(iface, &config);
    if (status != UCS_OK) {
        goto err_core;
    }
    status = base_rxq_attach(&iface->rxq, &iface->qp);
    if (status != UCS_OK) {
        host_error(iface->super.host, "%s: cannot post receives: %s; 'srd_info "
                   "--selftest' tests the device", md->device->name,
                   iface->super.host->status_string(status));
        goto err_core;
    }
    efa_events_open(&iface->events, &iface->qp);
    base_iface_open_trace(iface);
    iface->short_max = base_iface_short_max(iface);
    base_iface_report_open(iface, &config);
    base_vfs_open(iface);
    if (base_op_pool_is_full(&iface->ops)) {
        base_top_open(iface);
    }
    return UCS_OK;

err_core:
    base_flow_close(iface);
    base_ah_table_cleanup(&iface->ahs);
err_qp:
    efa_qp_close(&iface->qp);
err_pools:
    base_iface_close_pools(iface);
    return status;
}

/* Lets destroyed endpoints' sends and goodbyes out; peers that do not answer
 * must not hold us up. */
static void base_iface_say_goodbye(base_iface_t *iface)
{
    flow_time_t deadline = base_flow_clock(iface) +
                           iface->transport->goodbye_time;

    while (!iface->broken &&
           ((iface->endpoints > 0) || base_iface_is_sending(iface) ||
            flow_ctl_pending(iface->core)) &&
           (base_flow_clock(iface) < deadline)) {
        if (iface->acked) {
            base_progress_quiet(iface);
        } else {
            base_progress_poll_tx(iface);
        }
        base_core_events_run(iface, 0);
        base_rx_drop_later(iface);
    }
}

/* Operations that the device never returned are completed by us, once it is
 * stopped. */
static void base_iface_cancel_all(base_iface_t *iface)
{
    base_ep_t        *ep;
    base_out_t       *out;
    uct_completion_t *comp;

    for (ep = iface->lingering; ep != NULL; ep = ep->list_next) {
        while ((out = ep->queue.next) != &ep->queue) {
            out->next->prev = &ep->queue;
            ep->queue.next  = out->next;
            comp            = out->comp;
            ucx_completion_done(comp, UCS_ERR_CANCELED);
        }
    }
    while (iface->lingering != NULL) {
        base_ep_list_free(iface->lingering);
    }
}

/* SRD retransmits beneath us. */
static void base_iface_report_network(base_iface_t *iface)
{
    const char   *device = base_iface_md(iface)->device->name;
    efa_network_t network;
    char          text[EFA_NETWORK_TEXT];

    if (host_log_is_enabled(iface->super.host, UCS_LOG_LEVEL_INFO) &&
        (efa_network_read(device, &network) == 0)) {
        efa_network_describe(&network, text);
        host_info(iface->super.host, "%s: for all programs, since the driver "
                  "was loaded, %s", device, text);
    }
}

static void base_iface_report_close(base_iface_t *iface)
{
    flow_counters_t counters;

    flow_core_counters(iface->core, &counters);
    host_info(iface->super.host,
              "%s: %s interface closed: %lu messages sent, %lu received, %lu "
              "came early, %lu sends met a full window, %lu "
              "receiver-not-ready, %u receives posted at least",
              base_iface_md(iface)->device->name, iface->transport->name,
              (unsigned long)(iface->ops_posted - iface->rma_posted),
              (unsigned long)iface->received, (unsigned long)counters.held,
              (unsigned long)counters.stalls, (unsigned long)counters.rnr,
              iface->rxq.least);
    if (iface->acked) {
        host_info(iface->super.host,
                  "%s: %lu messages sent again after a time-out, %lu since "
                  "later ones arrived; %lu packets only to acknowledge",
                  base_iface_md(iface)->device->name,
                  (unsigned long)counters.timeouts,
                  (unsigned long)counters.fast_resends,
                  (unsigned long)counters.acks_alone);
    } else {
        base_iface_report_network(iface);
    }
}

/* Says goodbye to peers for a bounded time, stops the device, completes the
 * operations that are left, frees everything behind `super`. */
static void base_iface_close(base_iface_t *iface)
{
    base_rxbuf_t *rxbuf, *next;

    base_top_close(iface);
    base_vfs_close(iface);
    base_counters_report(iface);
    ucx_stats_close(iface->super.host, iface->stats);
    iface->stats = NULL;
    base_polled_drop_rx(iface); /* its handler may be gone */
    base_rx_drop_later(iface);
    base_polled_take_tx(iface);
    base_iface_say_goodbye(iface);
    base_iface_report_close(iface);
    efa_events_close(&iface->events, &iface->qp);
    efa_qp_stop(&iface->qp);
    base_iface_cancel_all(iface);
    for (rxbuf = iface->waits.first; rxbuf != NULL; rxbuf = next) {
        next = rxbuf->wait_next;
        base_rxq_put(&iface->rxq, rxbuf); /* it may be a copy */
    }
    base_flow_close(iface);
    base_ah_table_cleanup(&iface->ahs);
    efa_qp_close(&iface->qp);
    base_iface_close_pools(iface);
}

ucs_status_t
base_iface_new(const base_iface_kind_t *kind, ucx_md_t *super_md,
               uct_worker_h worker, const uct_iface_params_t *params,
               const uct_iface_ops_t *ops, const base_config_t *config,
               base_iface_t **iface_p)
{
    efa_md_t     *md = (efa_md_t*)super_md;
    base_iface_t *iface;
    ucs_status_t  status;

    if (posix_memalign((void**)&iface, 64, kind->size) != 0) {
        return UCS_ERR_NO_MEMORY;
    }
    memset(iface, 0, kind->size);
    status = ucx_iface_init(&iface->super, ops, kind->vops, super_md, worker,
                            params, config);
    if (status != UCS_OK) {
        goto err_free;
    }
    status = base_iface_open(iface, md, kind->transport, params, config);
    if (status != UCS_OK) {
        goto err_cleanup;
    }
    iface->stats = ucx_stats_open(super_md->host, params, kind->stats,
                                  md->device->name);
    *iface_p = iface;
    return UCS_OK;

err_cleanup:
    ucx_iface_cleanup(&iface->super);
err_free:
    free(iface);
    return status;
}

void base_iface_delete(base_iface_t *iface)
{
    base_iface_close(iface);
    ucx_iface_cleanup(&iface->super);
    free(iface);
}

static void
base_iface_query_am(const base_iface_t *iface, uct_iface_attr_t *attr)
{
    attr->cap.am.max_short       = BASE_MAX_SHORT;
    attr->cap.am.max_bcopy       = iface->max_payload;
    attr->cap.am.min_zcopy       = 0;
    attr->cap.am.max_zcopy       = iface->max_payload;
    attr->cap.am.opt_zcopy_align = BASE_IFACE_ALIGN;
    attr->cap.am.align_mtu       = iface->max_payload;
    attr->cap.am.max_hdr         = base_am_max_hdr(iface);
    attr->cap.am.max_iov         = 1;
    attr->cap.flags |= UCT_IFACE_FLAG_AM_SHORT | UCT_IFACE_FLAG_AM_BCOPY;
    if (base_iface_md(iface)->device->max_sq_sge >= 2) {
        attr->cap.flags |= UCT_IFACE_FLAG_AM_ZCOPY;
    }
}

void base_iface_query(base_iface_t *iface, uct_iface_attr_t *attr)
{
    ucx_iface_attr_init(&iface->super, attr);
    attr->cap.flags = UCT_IFACE_FLAG_PENDING | UCT_IFACE_FLAG_CONNECT_TO_IFACE |
                      UCT_IFACE_FLAG_CB_SYNC |
                      UCT_IFACE_FLAG_ERRHANDLE_PEER_FAILURE |
                      UCT_IFACE_FLAG_EP_CHECK;
    base_iface_query_am(iface, attr);
    if (iface->events.epoll_fd >= 0) {
        attr->cap.event_flags = UCT_IFACE_FLAG_EVENT_SEND_COMP |
                                UCT_IFACE_FLAG_EVENT_RECV |
                                UCT_IFACE_FLAG_EVENT_FD;
    }
    attr->device_addr_len     = sizeof(base_device_addr_t);
    attr->iface_addr_len      = sizeof(base_iface_addr_t);
    attr->ep_addr_len         = 0;
    attr->max_conn_priv       = 0;
    attr->latency.m           = 0;
    attr->bandwidth.dedicated = 0;
    attr->bandwidth.shared    = base_iface_md(iface)->device->bandwidth;
}
