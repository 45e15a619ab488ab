/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SRD_AM_H_
#define SRD_AM_H_

#include "srd.h"

#include <string.h>

/* What the shortest ways of sending share, by libefa (srd_am.c) and directly
 * (srd_direct.c). */

/* Short headers, and a number that may be sent: the shortest way. */
static inline int srd_am_is_open(const flow_tx_t *tx)
{
    return flow_tx_is_open(tx) && (flow_tx_header_len(tx) == FLOW_SHORT_HDR);
}

/* The payload of most short messages, by few instructions: a call of memcpy
 * costs as much as posting. `length` <= 16; src may be NULL at 0. */
static inline void
srd_am_copy_few(uint8_t *dest, const uint8_t *src, unsigned length)
{
    if (length >= sizeof(uint64_t)) { /* two pieces that may overlap */
        memcpy(dest, src, sizeof(uint64_t));
        memcpy(dest + length - sizeof(uint64_t),
               src + length - sizeof(uint64_t), sizeof(uint64_t));
        return;
    }
    for (; length > 0; --length) {
        dest[length - 1] = src[length - 1];
    }
}

/*
 * A message packed behind a short header, in the bounce buffer of an operation
 * that is ready to be posted and not taken yet; *length_p is the message's.
 * NULL, and nothing was packed, where this is not the shortest way
 * (base_am_bcopy).
 */
static inline __attribute__((always_inline)) base_op_t *
srd_am_pack(base_iface_t *iface, base_ep_t *ep, uint8_t id,
            uct_pack_callback_t pack_cb, void *arg, size_t *length_p)
{
    base_op_t     *op = iface->ops.free;
    flow_tx_t     *tx = ep->tx;
    base_bounce_t *bounce;

    if (__builtin_expect((id == UCX_AM_ID_WIREUP) || !srd_am_is_open(tx) ||
                                 (op == NULL) || (op->bounce == NULL),
                         0)) {
        return NULL;
    }
    bounce = op->bounce;
    flow_tx_header_short(tx, id, bounce->data);
    *length_p          = pack_cb(bounce->data + FLOW_SHORT_HDR, arg);
    bounce->sge.length = FLOW_SHORT_HDR + *length_p;
    base_op_set_pieces(op, &bounce->sge, 1, 0);
    return op;
}

#endif
