/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SRD_RMA_H_
#define SRD_RMA_H_

#include "srd.h"

#include <uct/ib/base/base_am.h>
#include <uct/ib/base/base_fail.h>
#include <uct/ib/base/base_pending.h>
#include <uct/ib/base/base_reserve.h>

/* What gets and puts share. */

/* Out of line part of srd_rma_start: the peer has no handle for us yet.
 * UCS_ERR_NO_RESOURCE, or UCS_ERR_UNREACHABLE when it never will. */
ucs_status_t srd_rma_not_ready(base_iface_t *iface, base_ep_t *ep);

/*
 * UCS_OK when an RDMA operation may be posted now: then *op_p is it.
 * UCS_ERR_NO_RESOURCE, UCS_ERR_UNREACHABLE, or why the endpoint failed.
 */
static inline ucs_status_t
srd_rma_start(base_iface_t *iface, base_ep_t *ep, base_op_t **op_p)
{
    *op_p = base_op_first(iface, ep);
    if (__builtin_expect((ep->tx->paused != 0) || (*op_p == NULL), 0) &&
        ((*op_p == NULL) || !base_pending_permits_rma(iface, ep))) {
        return base_ep_blocked(ep);
    }
    if (__builtin_expect(!flow_tx_rma_ready(iface->core, ep->tx), 0)) {
        return srd_rma_not_ready(iface, ep);
    }
    return UCS_OK;
}

/* Where the bytes lie at the other end. */
typedef struct srd_remote {
    uint64_t   address;
    uct_rkey_t rkey;
} srd_remote_t;

/*
 * Posts `op` (what srd_rma_start found), with the pieces that were set.
 * UCS_INPROGRESS; else what base_post_failed says, and op is still free.
 */
ucs_status_t srd_rma_post(base_iface_t *iface, base_ep_t *ep, base_op_t *op,
                          unsigned kind, const srd_remote_t *remote,
                          uct_completion_t *comp);

/* The same from or into op->bounce, of `length` bytes. */
ucs_status_t srd_rma_post_bounce(base_iface_t *iface, base_ep_t *ep,
                                 base_op_t *op, unsigned kind, size_t length,
                                 const srd_remote_t *remote,
                                 uct_completion_t *comp);

/* A whole operation from or into user memory: srd_rma_start, then the same.
 * Also UCS_OK for no bytes at all, and UCS_ERR_INVALID_PARAM beyond what
 * iface_query says. */
ucs_status_t
srd_rma_zcopy(base_ep_t *ep, unsigned kind, const uct_iov_t *iov, size_t iovcnt,
              const srd_remote_t *remote, uct_completion_t *comp);

/* Local pieces of one RDMA operation. */
static inline unsigned srd_rma_max_iov(const base_iface_t *iface)
{
    const efa_device_t *device = base_iface_md(iface)->device;
    unsigned            most   = (device->max_sq_sge < BASE_OP_SGE) ?
                                         device->max_sq_sge :
                                         BASE_OP_SGE;

    return (device->max_rdma_sge < most) ? device->max_rdma_sge : most;
}

#endif
