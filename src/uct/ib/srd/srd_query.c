/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface's capabilities, as UCT asks for them. */
#include "srd_list.h"
#include "srd_rma.h"

#include <uct/ib/base/base_iface.h>

#define SRD_PRIORITY 0

static void srd_query_get(const base_iface_t *iface, uct_iface_attr_t *attr)
{
    if (!(base_iface_md(iface)->device->caps & EFA_DEVICE_CAP_RDMA_READ)) {
        return; /* the first generation reads nothing */
    }
    attr->cap.get.max_bcopy       = iface->max_payload;
    attr->cap.get.min_zcopy       = 0;
    attr->cap.get.max_zcopy       = base_iface_md(iface)->device->rdma_most;
    attr->cap.get.opt_zcopy_align = BASE_IFACE_ALIGN;
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
    attr->cap.put.max_zcopy       = base_iface_md(iface)->device->rdma_most;
    attr->cap.put.opt_zcopy_align = BASE_IFACE_ALIGN;
    attr->cap.put.align_mtu       = iface->max_payload;
    attr->cap.put.max_iov         = srd_rma_max_iov(iface);
    attr->cap.flags |= UCT_IFACE_FLAG_PUT_SHORT | UCT_IFACE_FLAG_PUT_BCOPY |
                       UCT_IFACE_FLAG_PUT_ZCOPY;
}

ucs_status_t srd_iface_query(uct_iface_h tl_iface, uct_iface_attr_t *attr)
{
    base_iface_t *iface = (base_iface_t*)tl_iface;

    base_iface_query(iface, attr);
    srd_query_get(iface, attr);
    srd_query_put(iface, attr);
    srd_estimate_query(tl_iface, attr);
    attr->priority = SRD_PRIORITY;
    return UCS_OK;
}

void srd_query_sgl(uct_iface_h tl_iface, size_t *max_put_p, size_t *max_get_p)
{
    const base_iface_t *iface = (const base_iface_t*)tl_iface;
    unsigned            caps  = base_iface_md(iface)->device->caps;
    size_t              max   = srd_list_max(iface);

    *max_put_p = (caps & EFA_DEVICE_CAP_RDMA_WRITE) ? max : 0;
    *max_get_p = (caps & EFA_DEVICE_CAP_RDMA_READ) ? max : 0;
}
