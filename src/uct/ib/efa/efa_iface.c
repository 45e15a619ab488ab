/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_addr.h"
#include "efa_ep.h"
#include "efa_numbers.h"
#include "efa_trace.h"
#include "efa_vfs.h"

#include <errno.h>
#include <string.h>
#include <stdlib.h>
#include <sys/random.h>

#define EFA_GOODBYE_TIME 20000000 /* ns that closing waits for goodbyes */

static ucs_status_t efa_iface_identity(efa_iface_t *iface)
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

static ucs_status_t efa_iface_open_qp(efa_iface_t *iface, efa_md_t *md,
                                      const efa_iface_config_t *config)
{
    efa_op_counts_t counts = efa_op_counts(config->tx_depth);
    efa_qp_params_t params;

    params.tx_depth  = efa_op_count(&counts);
    params.rx_depth  = config->rx_max;
    params.qkey      = iface->qkey;
    params.rnr_retry = config->rnr_retry;
    params.inline_max = config->inline_max;
    params.events    = 1;
    return efa_qp_open(&iface->qp, md, &params);
}

static void efa_iface_report_open(efa_iface_t *iface,
                                  const efa_iface_config_t *config)
{
    unsigned caps = efa_iface_md(iface)->device->caps;

    host_debug(iface->super.host,
               "%s: srd interface open: QPN %u, %u sends, %u to %u receives, "
               "%u bytes inline%s, RDMA:%s%s%s, events: %s",
               efa_iface_md(iface)->device->name, iface->qp.qp->qp_num,
               config->tx_depth, config->rx_initial, config->rx_max,
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
static unsigned efa_iface_few(const efa_iface_t *iface)
{
    unsigned headers = FLOW_SHORT_HDR + sizeof(uint64_t);
    unsigned room    = iface->qp.inline_size;

    if (iface->traced || (room < headers)) {
        return 0;
    }
    return ((room - headers < 16) ? room - headers : 16) + 1;
}

ucs_status_t efa_iface_open(efa_iface_t *iface, efa_md_t *md,
                            const efa_iface_config_t *config)
{
    efa_rxq_layout_t layout = config->rx_layout;
    efa_op_counts_t  counts = efa_op_counts(config->tx_depth);
    ucs_status_t     status;

    iface->max_payload = md->device->max_msg - FLOW_LONG_HDR;
    status             = efa_iface_identity(iface);
    if (status != UCS_OK) {
        return status;
    }
    status = efa_op_pool_init(&iface->ops, md, &counts, md->device->max_msg);
    if (status != UCS_OK) {
        return status;
    }
    layout.packet_size = md->device->max_msg;
    status             = efa_rxq_init(&iface->rxq, md, config->rx_initial,
                                      config->rx_max, &layout);
    if (status != UCS_OK) {
        goto err_ops;
    }
    status = efa_iface_open_qp(iface, md, config);
    if (status != UCS_OK) {
        goto err_rxq;
    }
    iface->qpn = iface->qp.qp->qp_num;
    status = efa_ah_table_init(&iface->ahs, md, config->max_ah);
    if (status != UCS_OK) {
        goto err_qp;
    }
    status = efa_core_open(iface, config);
    if (status != UCS_OK) {
        goto err_core;
    }
    status = efa_rxq_attach(&iface->rxq, iface->qp.qp);
    if (status != UCS_OK) {
        host_error(iface->super.host, "%s: cannot post receives",
                   md->device->name);
        goto err_core;
    }
    efa_events_open(&iface->events, &iface->qp);
    iface->get_short_time = config->get_short * 1e9;
    iface->traced         = config->counted ? EFA_TRACED_COUNT : 0;
    efa_trace_look(iface);
    if (iface->traced) {
        iface->trace_level = ucx_host_packet_level(iface->super.host);
    }
    iface->few = efa_iface_few(iface);
    efa_iface_report_open(iface, config);
    efa_vfs_open(iface);
    return UCS_OK;

err_core:
    efa_core_close(iface);
    efa_ah_table_cleanup(&iface->ahs);
err_qp:
    efa_qp_close(&iface->qp);
err_rxq:
    efa_rxq_cleanup(&iface->rxq);
err_ops:
    efa_op_pool_cleanup(&iface->ops);
    return status;
}

/* Lets destroyed endpoints' sends and goodbyes out; peers that do not answer
 * must not hold us up. */
static void efa_iface_say_goodbye(efa_iface_t *iface)
{
    flow_time_t deadline = efa_iface_clock(iface) + EFA_GOODBYE_TIME;

    while (!iface->broken &&
           ((iface->endpoints > 0) || efa_iface_is_sending(iface) ||
            flow_ctl_pending(iface->core)) &&
           (efa_iface_clock(iface) < deadline)) {
        efa_iface_poll_tx(iface);
        efa_iface_chores(iface);
    }
}

/* What the device never returned is completed by us, once it is stopped. */
static void efa_iface_cancel_all(efa_iface_t *iface)
{
    efa_ep_t         *ep;
    efa_out_t        *out;
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
        efa_ep_free_lingering(iface->lingering);
    }
}

static void efa_iface_report_close(efa_iface_t *iface)
{
    flow_counters_t counters;

    flow_core_counters(iface->core, &counters);
    host_info(iface->super.host,
              "%s: srd interface closed: %lu messages sent, %lu received, %lu "
              "came early, %lu sends met a full window, %lu "
              "receiver-not-ready, %u receives posted at least",
              efa_iface_md(iface)->device->name,
              (unsigned long)(iface->ops_posted - iface->rma_posted),
              (unsigned long)iface->received, (unsigned long)counters.held,
              (unsigned long)counters.stalls, (unsigned long)counters.rnr,
              iface->rxq.least);
}

void efa_iface_close(efa_iface_t *iface)
{
    efa_rxbuf_t *rxbuf, *next;

    efa_vfs_close(iface);
    efa_numbers_report(iface);
    ucx_stats_close(iface->super.host, iface->stats);
    iface->stats = NULL;
    efa_stash_drop_rx(iface); /* its handler may be gone */
    efa_stash_take_tx(iface);
    efa_iface_say_goodbye(iface);
    efa_iface_report_close(iface);
    efa_events_close(&iface->events, &iface->qp);
    efa_qp_stop(&iface->qp);
    efa_iface_cancel_all(iface);
    for (rxbuf = iface->waiting; rxbuf != NULL; rxbuf = next) {
        next = rxbuf->wait_next;
        efa_rxq_put(&iface->rxq, rxbuf); /* it may be a copy */
    }
    efa_core_close(iface);
    efa_ah_table_cleanup(&iface->ahs);
    efa_qp_close(&iface->qp);
    efa_rxq_cleanup(&iface->rxq);
    efa_op_pool_cleanup(&iface->ops);
}

ucs_status_t
efa_iface_get_device_address(uct_iface_h tl_iface, uct_device_addr_t *addr)
{
    efa_iface_t *iface = (efa_iface_t*)tl_iface;

    efa_device_addr_pack(addr, efa_iface_md(iface)->device->gid.raw);
    return UCS_OK;
}

ucs_status_t
efa_iface_get_address(uct_iface_h tl_iface, uct_iface_addr_t *addr)
{
    efa_iface_t *iface = (efa_iface_t*)tl_iface;

    efa_iface_addr_pack(addr, iface->qpn, iface->qkey, iface->incarnation);
    return UCS_OK;
}

/* UCP asks only about peers that have a transport of this name. Says once, to
 * who asked for srd, why they do not go together. */
static void efa_iface_report_foreign(efa_iface_t *iface, const void *dev_addr)
{
    const efa_device_addr_t *addr = dev_addr;
    static int               said;

    if (__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED)) {
        return;
    }
    if (memcmp(addr->magic, EFA_ADDR_MAGIC, sizeof(addr->magic)) != 0) {
        host_report_absent(iface->super.host, "srd",
                           "a peer is unreachable over srd: it uses another "
                           "srd (UCX's own); start the peer with this module, "
                           "too (srdrun, and UCX_EFA_CLAIM=y beside UCX's "
                           "own)");
    } else {
        host_report_absent(iface->super.host, "srd",
                           "a peer is unreachable over srd: it speaks version "
                           "%d of the wire, this side %d; update the module "
                           "%s",
                           addr->version, EFA_ADDR_VERSION,
                           (addr->version > EFA_ADDR_VERSION) ?
                                   "on this side" : "on the peer's side");
    }
}

int efa_iface_is_reachable(uct_iface_h tl_iface,
                           const uct_device_addr_t *dev_addr,
                           const uct_iface_addr_t *iface_addr)
{
    uint64_t incarnation;
    uint32_t qpn, qkey;

    if (!efa_device_addr_is_ours(dev_addr)) {
        efa_iface_report_foreign((efa_iface_t*)tl_iface, dev_addr);
        return 0;
    }
    if (iface_addr == NULL) {
        return 1;
    }
    efa_iface_addr_unpack(iface_addr, &qpn, &qkey, &incarnation);
    return (incarnation != 0) && (qkey != 0) && (qkey < 0x80000000u);
}
