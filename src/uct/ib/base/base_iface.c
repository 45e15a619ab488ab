/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces are opened and closed. */
#include "base_iface.h"
#include "base_core.h"
#include "base_due.h"
#include "base_linger.h"
#include "base_numbers.h"
#include "base_progress.h"
#include "base_stash.h"
#include "base_trace.h"
#include "base_vfs.h"

#include <string.h>
#include <sys/random.h>

#define BASE_GOODBYE_TIME 20000000 /* ns that closing waits for goodbyes */

static ucs_status_t base_iface_identity(base_iface_t *iface)
{
    /* 31 bits: the top one marks privileged QKEYs */
    do {
        if ((getrandom(&iface->qkey, sizeof(iface->qkey), 0) !=
             sizeof(iface->qkey)) ||
            (getrandom(&iface->incarnation, sizeof(iface->incarnation), 0) !=
             sizeof(iface->incarnation))) {
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
    efa_qp_params_t  params;

    params.tx_depth   = base_op_count(&counts);
    params.rx_depth   = config->rx_buffers_max;
    params.qkey       = iface->qkey;
    params.rnr_retry  = config->rnr_retry;
    params.inline_max = config->tx_inline;
    params.events     = 1;
    return efa_qp_open(&iface->qp, md, &params);
}

static void base_iface_report_open(base_iface_t *iface,
                                   const base_config_t *config)
{
    unsigned caps = base_iface_md(iface)->device->caps;

    host_debug(iface->super.host,
               "%s: %s interface open: QPN %u, %u sends, %u to %u receives, "
               "%u bytes inline%s, RDMA:%s%s%s, events: %s",
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
               (iface->events.epoll_fd >= 0) ? "yes" : "no");
}

/* iface->few: none, or up to 16 bytes behind the short header and that of
 * am_short. */
static unsigned base_iface_few(const base_iface_t *iface)
{
    unsigned headers = FLOW_SHORT_HDR + sizeof(uint64_t);
    unsigned room    = iface->qp.inline_size;

    if (iface->traced || (room < headers)) {
        return 0;
    }
    return ((room - headers < 16) ? room - headers : 16) + 1;
}

/* Memory for both directions. */
static ucs_status_t base_iface_open_pools(base_iface_t *iface, efa_md_t *md,
                                          const base_config_t *config,
                                          base_rxq_layout_t *layout)
{
    base_op_counts_t counts = base_op_counts(config->tx_queue_len);
    ucs_status_t     status;

    status = base_op_pool_init(&iface->ops, md, &counts, md->device->max_msg);
    if (status != UCS_OK) {
        return status;
    }
    layout->packet_size = md->device->max_msg;
    status              = base_rxq_init(&iface->rxq, md, config->rx_queue_len,
                                        config->rx_buffers_max, layout);
    if (status != UCS_OK) {
        base_op_pool_cleanup(&iface->ops);
    }
    return status;
}

static void base_iface_open_trace(base_iface_t *iface)
{
    iface->traced = ucx_host_has_counters(iface->super.host) ?
                            BASE_TRACED_COUNT :
                            0;
    base_trace_look(iface);
    if (iface->traced) {
        iface->trace_level = ucx_host_packet_level(iface->super.host);
    }
}

ucs_status_t base_iface_open(base_iface_t *iface, efa_md_t *md,
                             const base_transport_t *transport,
                             const uct_iface_params_t *params,
                             const base_config_t *wished)
{
    base_config_t     config = *wished;
    base_rxq_layout_t layout;
    ucs_status_t      status;

    iface->transport   = transport;
    iface->max_payload = md->device->max_msg - FLOW_LONG_HDR;
    base_config_resolve(&config, md->device);
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
    iface->qpn = iface->qp.qp->qp_num;
    status = base_ah_table_init(&iface->ahs, md, config.max_ah);
    if (status != UCS_OK) {
        goto err_qp;
    }
    status = base_core_open(iface, config.window);
    if (status != UCS_OK) {
        goto err_core;
    }
    status = base_rxq_attach(&iface->rxq, &iface->qp);
    if (status != UCS_OK) {
        host_error(iface->super.host, "%s: cannot post receives",
                   md->device->name);
        goto err_core;
    }
    efa_events_open(&iface->events, &iface->qp);
    base_iface_open_trace(iface);
    iface->few = base_iface_few(iface);
    base_iface_report_open(iface, &config);
    base_vfs_open(iface);
    return UCS_OK;

err_core:
    base_core_close(iface);
    base_ah_table_cleanup(&iface->ahs);
err_qp:
    efa_qp_close(&iface->qp);
err_pools:
    base_rxq_cleanup(&iface->rxq);
    base_op_pool_cleanup(&iface->ops);
    return status;
}

/* Lets destroyed endpoints' sends and goodbyes out; peers that do not answer
 * must not hold us up. */
static void base_iface_say_goodbye(base_iface_t *iface)
{
    flow_time_t deadline = base_iface_clock(iface) + BASE_GOODBYE_TIME;

    while (!iface->broken &&
           ((iface->endpoints > 0) || base_iface_is_sending(iface) ||
            flow_ctl_pending(iface->core)) &&
           (base_iface_clock(iface) < deadline)) {
        base_iface_poll_tx(iface);
        base_due_run(iface);
    }
}

/* What the device never returned is completed by us, once it is stopped. */
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
        base_ep_free_lingering(iface->lingering);
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
}

void base_iface_close(base_iface_t *iface)
{
    base_rxbuf_t *rxbuf, *next;

    base_vfs_close(iface);
    base_numbers_report(iface);
    ucx_stats_close(iface->super.host, iface->stats);
    iface->stats = NULL;
    base_stash_drop_rx(iface); /* its handler may be gone */
    base_stash_take_tx(iface);
    base_iface_say_goodbye(iface);
    base_iface_report_close(iface);
    efa_events_close(&iface->events, &iface->qp);
    efa_qp_stop(&iface->qp);
    base_iface_cancel_all(iface);
    for (rxbuf = iface->waiting; rxbuf != NULL; rxbuf = next) {
        next = rxbuf->wait_next;
        base_rxq_put(&iface->rxq, rxbuf); /* it may be a copy */
    }
    base_core_close(iface);
    base_ah_table_cleanup(&iface->ahs);
    efa_qp_close(&iface->qp);
    base_rxq_cleanup(&iface->rxq);
    base_op_pool_cleanup(&iface->ops);
}
