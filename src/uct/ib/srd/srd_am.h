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

#endif
