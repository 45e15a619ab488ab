/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_AM_H_
#define BASE_AM_H_

#include "base_types.h"

/* Active messages of UCT. */
ucs_status_t base_am_short(uct_ep_h tl_ep, uint8_t id, uint64_t header,
                           const void *payload, unsigned length);
ucs_status_t base_am_short_iov(uct_ep_h tl_ep, uint8_t id,
                               const uct_iov_t *iov, size_t iovcnt);
/* pack_cb may neither make progress nor post nor destroy on this worker. */
ssize_t base_am_bcopy(uct_ep_h tl_ep, uint8_t id,
                      uct_pack_callback_t pack_cb, void *arg,
                      unsigned flags);
ucs_status_t base_am_zcopy(uct_ep_h tl_ep, uint8_t id, const void *header,
                           unsigned header_length, const uct_iov_t *iov,
                           size_t iovcnt, unsigned flags,
                           uct_completion_t *comp);

/* Bytes of header that am_zcopy takes. */
static inline size_t base_am_max_hdr(const base_iface_t *iface)
{
    return iface->max_payload / 2;
}

/* Bytes of payload that fit op->buf behind the longest header; of am_short,
 * 8 of them are its own header. */
#define BASE_MAX_SHORT (BASE_OP_BUF - FLOW_LONG_HDR)

/* Bytes of a piece of user memory; SIZE_MAX where they cannot be counted. */
static inline size_t base_am_iov_size(const uct_iov_t *iov)
{
    size_t size;

    return __builtin_mul_overflow(iov->length, iov->count, &size) ? SIZE_MAX :
                                                                    size;
}

#endif
