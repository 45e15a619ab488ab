/* SPDX-License-Identifier: BSD-3-Clause */
#include "base_query.h"
#include "base_addr.h"
#include "base_am.h"

static void base_query_am(const base_iface_t *iface, uct_iface_attr_t *attr)
{
    attr->cap.am.max_short       = BASE_MAX_SHORT;
    attr->cap.am.max_bcopy       = iface->max_payload;
    attr->cap.am.min_zcopy       = 0;
    attr->cap.am.max_zcopy       = iface->max_payload;
    attr->cap.am.opt_zcopy_align = BASE_QUERY_ALIGN;
    attr->cap.am.align_mtu       = iface->max_payload;
    attr->cap.am.max_hdr         = base_max_hdr(iface);
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
    base_query_am(iface, attr);
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
