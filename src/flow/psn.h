/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packet sequence numbers: 16 bits, compared by wrap.
 *
 * Two numbers can be ordered as long as they are less than 2^15 apart; a window
 * is at most FLOW_WINDOW_MAX, so all numbers that may legally meet are far
 * inside. Nothing else in the core may compare numbers with < or >.
 */
#ifndef FLOW_PSN_H_
#define FLOW_PSN_H_

#include <stdint.h>
#include "flow/limits.h"

typedef uint16_t flow_psn_t;

/* Signed distance from b to a: positive when a is newer. */
static inline int flow_psn_diff(flow_psn_t a, flow_psn_t b)
{
    return (int16_t)(uint16_t)(a - b);
}

/* Nonzero when a comes before b. Not an order over more than 2^15 numbers. */
static inline int flow_psn_lt(flow_psn_t a, flow_psn_t b)
{
    return flow_psn_diff(a, b) < 0;
}

/* The older of two. */
static inline flow_psn_t flow_psn_min(flow_psn_t a, flow_psn_t b)
{
    return flow_psn_lt(a, b) ? a : b;
}

/* Its bit in a map. */
static inline uint64_t flow_psn_bit(flow_psn_t psn)
{
    return 1ull << (psn % FLOW_MAP_BITS);
}

/* Such a map with the bit of number n as bit 0, and back. */
static inline uint64_t flow_psn_rotate_down(uint64_t map, unsigned n)
{
    return (map >> n) | (map << ((FLOW_MAP_BITS - n) % FLOW_MAP_BITS));
}

static inline uint64_t flow_psn_rotate_up(uint64_t map, unsigned n)
{
    return (map << n) | (map >> ((FLOW_MAP_BITS - n) % FLOW_MAP_BITS));
}

/* How many numbers a map has; popcount would need libgcc. */
static inline unsigned flow_psn_count(uint64_t map)
{
    map -= (map >> 1) & 0x5555555555555555ull;
    map  = (map & 0x3333333333333333ull) +
           ((map >> 2) & 0x3333333333333333ull);
    map  = (map + (map >> 4)) & 0x0f0f0f0f0f0f0f0full;
    return (unsigned)((map * 0x0101010101010101ull) >> 56);
}

#endif
