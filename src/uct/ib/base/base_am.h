/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_AM_H_
#define BASE_AM_H_

#include "base_types.h"

#include <string.h>

/* Active messages of UCT. */
ucs_status_t base_am_short(uct_ep_h tl_ep, uint8_t id, uint64_t header,
                           const void *payload, unsigned length);
ucs_status_t base_am_short_iov(uct_ep_h tl_ep, uint8_t id,
                               const uct_iov_t *iov, size_t iovcnt);
/* Forgets the endpoint's messages that are delayed. */
void base_am_delayed_drop(base_ep_t *ep);

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

#define BASE_AM_FEW 16

/* The payload of most short messages, by few instructions: a call of memcpy
 * costs as much as posting. `length` <= BASE_AM_FEW; src may be NULL at 0. */
static inline void
base_am_copy_few(uint8_t *dest, const uint8_t *src, unsigned length)
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

/* Puts the pieces of a message one behind the other, of any length (which may
 * have no address at 0). Returns how many bytes, or 0: they need more than
 * `room`. */
static inline __attribute__((always_inline)) size_t
base_am_gather(uint8_t *dest, size_t room, const uct_iov_t *iov, size_t count)
{
    size_t left = room, length;

    for (; count > 0; ++iov, --count) {
        length = iov->length;
        if (__builtin_expect(length > left, 0)) {
            return 0;
        }
        if (__builtin_expect(length <= BASE_AM_FEW, 1)) {
            base_am_copy_few(dest, iov->buffer, length);
        } else {
            memcpy(dest, iov->buffer, length);
        }
        dest += length;
        left -= length;
    }
    return room - left;
}

/* Bytes of a piece of user memory; SIZE_MAX where they cannot be counted. */
static inline size_t base_am_iov_size(const uct_iov_t *iov)
{
    size_t size;

    return __builtin_mul_overflow(iov->length, iov->count, &size) ? SIZE_MAX :
                                                                    size;
}

#endif
