/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SRD_AM_H_
#define SRD_AM_H_

#include "srd.h"

#include <uct/ib/base/base_am.h>

#include <string.h>

/* Steps of the shortest ways of sending, by libefa (srd_am.c) and directly
 * (srd_direct.c). */

/* Short headers, and a number that may be sent: the shortest way. */
static inline int srd_am_is_open(const flow_tx_t *tx)
{
    return flow_tx_is_open(tx) && (flow_tx_header_len(tx) == FLOW_SHORT_HDR);
}

/* Bytes that a message of pieces has at most to go inside the work request; 7
 * where packets are traced. */
static inline size_t srd_am_room(const base_iface_t *iface)
{
    return iface->short_max + sizeof(uint64_t) - 1;
}

/* Puts the pieces of a message into op->buf, where the payload begins. Returns
 * how many bytes; less than 8: this is not the shortest way. */
static inline __attribute__((always_inline)) size_t
srd_am_gather(const base_ep_t *ep, base_op_t *op, const uct_iov_t *iov,
              size_t count)
{
    return __builtin_expect(!srd_am_is_open(ep->tx) || (op == NULL), 0) ?
                   0 :
                   base_am_gather(op->buf + FLOW_SHORT_HDR,
                                  srd_am_room(base_ep_iface(ep)), iov, count);
}

/* Posts the operation, which is filled and not taken yet. */
typedef ucs_status_t (*srd_am_post_t)(base_iface_t *iface, base_ep_t *ep,
                                      base_op_t *op);

/* am_bcopy: a message packed behind a short header, in the bounce buffer of the
 * next operation; base_am_bcopy where this is not the shortest way. */
static inline __attribute__((always_inline)) ssize_t
srd_am_bcopy(uct_ep_h tl_ep, uint8_t id, uct_pack_callback_t pack_cb, void *arg,
             srd_am_post_t post)
{
    base_ep_t     *ep    = (base_ep_t*)tl_ep;
    base_iface_t  *iface = base_ep_iface(ep);
    base_op_t     *op    = iface->ops.free;
    flow_tx_t     *tx    = ep->tx;
    base_bounce_t *bounce;
    ucs_status_t   status;
    size_t         length;

    if (__builtin_expect((id == UCX_AM_ID_WIREUP) || !srd_am_is_open(tx) ||
                                 (op == NULL) || (op->bounce == NULL),
                         0)) {
        return base_am_bcopy(tl_ep, id, pack_cb, arg, 0);
    }
    bounce = op->bounce;
    flow_tx_header_short(tx, id, bounce->data);
    length             = pack_cb(bounce->data + FLOW_SHORT_HDR, arg);
    bounce->sge.length = FLOW_SHORT_HDR + length;
    base_op_set_pieces(op, &bounce->sge, 1, 0);
    status = post(iface, ep, op);
    return __builtin_expect(status == UCS_OK, 1) ? (ssize_t)length : status;
}

#endif
