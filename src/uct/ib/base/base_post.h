/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_POST_H_
#define BASE_POST_H_

#include "base_trace.h"
#include "base_types.h"

/* A line for an operation that is to be posted, where the user wants them. */
static inline void base_post_log(base_iface_t *iface, const efa_dest_t *dest,
                                 const base_op_t *op)
{
    if (__builtin_expect(iface->traced & BASE_TRACED_LOG, 0)) {
        base_trace_log_tx(iface, op, dest->remote_qpn);
    }
}

/* Posts op->wr as a SEND. Returns 0, or the errno value of the device, and then
 * nothing was posted. */
static inline int base_post_send(base_iface_t *iface, const efa_dest_t *dest,
                                 base_op_t *op)
{
    base_post_log(iface, dest, op);
    return efa_post_send(&iface->qp, &op->wr, dest);
}

/* Posts an RDMA WRITE (BASE_OUT_PUT) from the pieces of op->wr to
 * op->remote_addr, or an RDMA READ from there into them. As base_post_send. */
int base_post_rdma(base_iface_t *iface, const base_ep_t *ep, base_op_t *op);

/* An operation of the reserve, if the endpoint may take one now, else NULL. */
base_op_t *base_post_reserve_op(base_iface_t *iface, base_ep_t *ep);

/* An operation for the endpoint, to be taken by base_op_take_any, or NULL. */
static inline base_op_t *base_post_first_op(base_iface_t *iface, base_ep_t *ep)
{
    base_op_t *op = iface->ops.free;

    return __builtin_expect(op != NULL, 1) ? op :
                                             base_post_reserve_op(iface, ep);
}

/* Common operations that are free now (an interface's fence hides them). */
static inline unsigned base_post_free_ops(const base_iface_t *iface)
{
    return iface->ops.common + iface->ops.reserve.held - iface->ops_delayed -
           (unsigned)(iface->ops_posted - iface->ops_done);
}

/* RMA of an endpoint that a list may bring it to: the lists to a peer that does
 * not answer leave the other half to others. */
static inline unsigned base_post_list_share(const base_iface_t *iface)
{
    return iface->ops.common / 2;
}

static inline int base_post_list_is_in_share(const base_iface_t *iface,
                                             const base_ep_t *ep,
                                             unsigned count)
{
    return ep->rma_ops + count <= base_post_list_share(iface);
}

/* Are there operations for a list of `count` work requests, if it is one (0)?
 * Lists take none of the reserve. */
static inline int base_post_list_fits(const base_iface_t *iface,
                                      const base_ep_t *ep, unsigned count)
{
    return (count == 0) || ((count <= base_post_free_ops(iface)) &&
                            base_post_list_is_in_share(iface, ep, count));
}

#endif
