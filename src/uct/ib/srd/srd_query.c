/* SPDX-License-Identifier: BSD-3-Clause */
/* What the interface can, as UCT asks. */
#include "srd_rma.h"

#include <uct/ib/base/base_addr.h>

/* Estimates that UCP compares transports by. The latency is what EFA-FACTS
 * quotes from hardware; the overheads are of this code. */
#define SRD_LATENCY   8e-6 /* seconds */
#define SRD_OVERHEAD  60e-9
#define SRD_PRIORITY  0
#define SRD_ALIGN     64

static void srd_query_am(const base_iface_t *iface, uct_iface_attr_t *attr)
{
    attr->cap.am.max_short       = BASE_MAX_SHORT;
    attr->cap.am.max_bcopy       = iface->max_payload;
    attr->cap.am.min_zcopy       = 0;
    attr->cap.am.max_zcopy       = iface->max_payload;
    attr->cap.am.opt_zcopy_align = SRD_ALIGN;
    attr->cap.am.align_mtu       = iface->max_payload;
    attr->cap.am.max_hdr         = base_max_hdr(iface);
    attr->cap.am.max_iov         = 1;
    attr->cap.flags |= UCT_IFACE_FLAG_AM_SHORT | UCT_IFACE_FLAG_AM_BCOPY;
    if (base_iface_md(iface)->device->max_sq_sge >= 2) {
        attr->cap.flags |= UCT_IFACE_FLAG_AM_ZCOPY;
    }
}

static void srd_query_get(const base_iface_t *iface, uct_iface_attr_t *attr)
{
    if (!(base_iface_md(iface)->device->caps & EFA_DEVICE_CAP_RDMA_READ)) {
        return; /* the first generation reads nothing */
    }
    attr->cap.get.max_bcopy       = iface->max_payload;
    attr->cap.get.min_zcopy       = 0;
    attr->cap.get.max_zcopy       = base_iface_md(iface)->device->max_rdma;
    attr->cap.get.opt_zcopy_align = SRD_ALIGN;
    attr->cap.get.align_mtu       = iface->max_payload;
    attr->cap.get.max_iov         = srd_rma_max_iov(iface);
    attr->cap.flags |= UCT_IFACE_FLAG_GET_BCOPY | UCT_IFACE_FLAG_GET_ZCOPY;
    if (iface->get_short_time > 0) {
        attr->cap.get.max_short = BASE_OP_BUF;
        attr->cap.flags        |= UCT_IFACE_FLAG_GET_SHORT;
    }
}

static void srd_query_put(const base_iface_t *iface, uct_iface_attr_t *attr)
{
    if (!(base_iface_md(iface)->device->caps & EFA_DEVICE_CAP_RDMA_WRITE)) {
        return; /* UCP emulates puts by active messages */
    }
    attr->cap.put.max_short       = BASE_OP_BUF;
    attr->cap.put.max_bcopy       = iface->max_payload;
    attr->cap.put.min_zcopy       = 0;
    attr->cap.put.max_zcopy       = base_iface_md(iface)->device->max_rdma;
    attr->cap.put.opt_zcopy_align = SRD_ALIGN;
    attr->cap.put.align_mtu       = iface->max_payload;
    attr->cap.put.max_iov         = srd_rma_max_iov(iface);
    attr->cap.flags |= UCT_IFACE_FLAG_PUT_SHORT | UCT_IFACE_FLAG_PUT_BCOPY |
                       UCT_IFACE_FLAG_PUT_ZCOPY;
}

ucs_status_t srd_iface_query(uct_iface_h tl_iface, uct_iface_attr_t *attr)
{
    base_iface_t *iface = (base_iface_t*)tl_iface;

    ucx_iface_attr_init(&iface->super, attr);
    attr->cap.flags = UCT_IFACE_FLAG_PENDING | UCT_IFACE_FLAG_CONNECT_TO_IFACE |
                      UCT_IFACE_FLAG_CB_SYNC |
                      UCT_IFACE_FLAG_ERRHANDLE_PEER_FAILURE |
                      UCT_IFACE_FLAG_EP_CHECK;
    srd_query_am(iface, attr);
    srd_query_get(iface, attr);
    srd_query_put(iface, attr);
    if (iface->events.epoll_fd >= 0) {
        attr->cap.event_flags = UCT_IFACE_FLAG_EVENT_SEND_COMP |
                                UCT_IFACE_FLAG_EVENT_RECV |
                                UCT_IFACE_FLAG_EVENT_FD;
    }

    attr->device_addr_len     = sizeof(base_device_addr_t);
    attr->iface_addr_len      = sizeof(base_iface_addr_t);
    attr->ep_addr_len         = 0;
    attr->max_conn_priv       = 0;
    attr->overhead            = SRD_OVERHEAD;
    attr->latency.c           = SRD_LATENCY;
    attr->latency.m           = 0;
    attr->bandwidth.dedicated = 0;
    attr->bandwidth.shared    = base_iface_md(iface)->device->bandwidth;
    attr->priority            = SRD_PRIORITY;
    return UCS_OK;
}
