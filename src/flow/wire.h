/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wire layout of headers: with ctl_wire.c, for control packets, the only place
 * that knows where a field lies. All numbers are little endian.
 * docs/PROTOCOL.md says what each packet is for.
 *
 * Short header, 8 B, one 64-bit word:
 *   bits  0..4  active message id, or type of a control packet
 *   bit   5     FLOW_WIRE_LONG: the long header follows
 *   bit   6     FLOW_WIRE_LIMIT: the limit field is valid
 *   bit   7     FLOW_WIRE_CTL: control packet
 *   bits  8..31 token: receiver index (low) and generation (high)
 *   bits 32..47 limit of the flow that goes the other way
 *   bits 48..63 PSN; on top, so that adding one wraps without touching the rest
 * Long header, 28 B: the word with token 0, then
 *   8 B incarnation of the sender, 8 B of the receiver it means, 4 B number of
 *   the sending endpoint.
 * Acknowledging header, 16 B, UD only: LONG and LIMIT both set, the word as in
 *   the short header, then one more for the flow that goes the other way:
 *   bits  0..15 the lowest number not received
 *   bits 16..63 bit 16 + i: that number + 1 + i was received
 */
#ifndef FLOW_WIRE_H_
#define FLOW_WIRE_H_

#include <stdint.h>
#include <string.h>
#include "flow/limits.h"
#include "flow/psn.h"

enum flow_wire_lens {
    FLOW_VERSION   = 1, /* of all this, in every hello                        */
    FLOW_SHORT_HDR = 8, /* bytes                                              */
    FLOW_LONG_HDR  = 28,
    FLOW_ACK_HDR   = 16
};

#define FLOW_WIRE_AM_MASK     (FLOW_AM_ID_MAX - 1u)
#define FLOW_WIRE_LONG        0x20u
#define FLOW_WIRE_LIMIT       0x40u
#define FLOW_WIRE_ACK         (FLOW_WIRE_LONG | FLOW_WIRE_LIMIT)
#define FLOW_WIRE_CTL         0x80u
#define FLOW_WIRE_TOKEN_SHIFT 8
#define FLOW_WIRE_TOKEN_MASK  ((1u << (FLOW_INDEX_BITS + FLOW_GEN_BITS)) - 1)
#define FLOW_WIRE_LIMIT_SHIFT 32
#define FLOW_WIRE_PSN_SHIFT   48
#define FLOW_WIRE_MAP_SHIFT   (64 - FLOW_ACK_BITS) /* in the second word */
#define FLOW_WIRE_PSN_ONE     (1ull << FLOW_WIRE_PSN_SHIFT)
/* All but the message id: the known part of a flow's next packet. */
#define FLOW_WIRE_EXPECT_MASK (~(uint64_t)FLOW_WIRE_AM_MASK)
/* The part of it that a receiver takes from the packet before. */
#define FLOW_WIRE_SEEN_MASK \
    ((0xffffull << FLOW_WIRE_LIMIT_SHIFT) | FLOW_WIRE_LIMIT)

/* Builtins: the core is compiled freestanding, where memcpy is a call. */
static inline uint64_t flow_wire_load64(const void *p)
{
    uint64_t v;

    __builtin_memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

static inline void flow_wire_store64(void *p, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    __builtin_memcpy(p, &v, sizeof(v));
}

static inline uint32_t flow_wire_load32(const void *p)
{
    uint32_t v;

    __builtin_memcpy(&v, p, sizeof(v));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap32(v);
#endif
    return v;
}

static inline void flow_wire_store32(void *p, uint32_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap32(v);
#endif
    __builtin_memcpy(p, &v, sizeof(v));
}

static inline uint16_t flow_wire_load16(const void *p)
{
    const uint8_t *b = (const uint8_t*)p;

    return (uint16_t)(b[0] | (b[1] << 8));
}

static inline void flow_wire_store16(void *p, uint16_t v)
{
    uint8_t *b = (uint8_t*)p;

    b[0] = (uint8_t)v;
    b[1] = (uint8_t)(v >> 8);
}

/* The fields of a header word. */
static inline flow_psn_t flow_wire_psn(uint64_t word)
{
    return (flow_psn_t)(word >> FLOW_WIRE_PSN_SHIFT);
}

static inline flow_psn_t flow_wire_limit(uint64_t word)
{
    return (flow_psn_t)(word >> FLOW_WIRE_LIMIT_SHIFT);
}

static inline uint32_t flow_wire_token(uint64_t word)
{
    return (uint32_t)(word >> FLOW_WIRE_TOKEN_SHIFT) & FLOW_WIRE_TOKEN_MASK;
}

/* A header word with another limit field. */
static inline uint64_t flow_wire_set_limit(uint64_t word, flow_psn_t limit)
{
    return (word & ~(0xffffull << FLOW_WIRE_LIMIT_SHIFT)) |
           ((uint64_t)limit << FLOW_WIRE_LIMIT_SHIFT);
}

/* A header word whose token was 0. */
static inline uint64_t flow_wire_set_token(uint64_t word, uint32_t token)
{
    return word | ((uint64_t)token << FLOW_WIRE_TOKEN_SHIFT);
}

/* Does the header of this word name incarnations and endpoint? */
static inline int flow_wire_is_long(uint64_t word)
{
    return (word & FLOW_WIRE_ACK) == FLOW_WIRE_LONG;
}

/* Bytes of the header that begins with this word. */
static inline unsigned flow_wire_word_len(uint64_t word)
{
    if (__builtin_expect(!(word & FLOW_WIRE_LONG), 1)) {
        return FLOW_SHORT_HDR;
    }
    return (word & FLOW_WIRE_LIMIT) ? FLOW_ACK_HDR : FLOW_LONG_HDR;
}

/* Message id and flags: the byte that every packet begins with. */
static inline unsigned flow_wire_first(const void *pkt)
{
    return *(const uint8_t*)pkt;
}

/* Active message id of a data packet the core accepted. */
static inline unsigned flow_wire_am_id(const void *pkt)
{
    return flow_wire_first(pkt) & FLOW_WIRE_AM_MASK;
}

/* Bytes before the payload of a data packet the core accepted. */
static inline unsigned flow_wire_hdr_len(const void *pkt)
{
    return flow_wire_word_len(flow_wire_first(pkt));
}

/* The rest of a long header: sender, receiver, its endpoint. */
typedef struct flow_wire_names {
    uint64_t from, to;
    uint32_t ep;
} flow_wire_names_t;

static inline flow_wire_names_t flow_wire_load_names(const void *pkt)
{
    const uint8_t *p        = (const uint8_t*)pkt;
    flow_wire_names_t names = {flow_wire_load64(p + 8),
                               flow_wire_load64(p + 16),
                               flow_wire_load32(p + 24)};

    return names;
}

static inline void flow_wire_store_names(void *pkt, uint64_t from, uint64_t to,
                                         uint32_t ep)
{
    uint8_t *p = (uint8_t*)pkt;

    flow_wire_store64(p + 8, from);
    flow_wire_store64(p + 16, to);
    flow_wire_store32(p + 24, ep);
}

/* And in an acknowledging one, as flow_resend_ack takes it. */
static inline flow_psn_t flow_wire_load_ack(const void *pkt, uint64_t *map)
{
    uint64_t word = flow_wire_load64((const uint8_t*)pkt + FLOW_SHORT_HDR);

    *map = word >> FLOW_WIRE_MAP_SHIFT;
    return (flow_psn_t)word;
}

static inline void flow_wire_store_ack(void *pkt, flow_psn_t ack, uint64_t map)
{
    flow_wire_store64((uint8_t*)pkt + FLOW_SHORT_HDR,
                      ack | (map << FLOW_WIRE_MAP_SHIFT));
}

#endif
