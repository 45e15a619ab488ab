/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reorder ring of a receiving flow: the packets that came before their
 * turn, a slot for each number of a window. The caller knows that a number is
 * within the window: at or after the next one, before the limit. No two numbers
 * share a slot then, and each operation takes constant time in any order.
 *
 * A ring comes from flow_pool_ring_get and goes by flow_pool_ring_release when
 * it is empty; a handle in it is the core's until flow_ring_take returns it, or
 * FLOW_EVENT_RX_RELEASE does.
 */
#ifndef FLOW_RING_H_
#define FLOW_RING_H_

#include "flow/psn.h"
#include "flow/state_priv.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Nonzero: the packet of this number is in its slot. */
static inline int flow_ring_holds(const flow_ring_t *ring, flow_psn_t psn)
{
    return (ring->mask & flow_psn_bit(psn)) != 0;
}

/* Puts a packet into the slot of its number, which is empty. */
static inline void flow_ring_keep(flow_ring_t *ring, flow_psn_t psn,
                                  void *handle)
{
    ring->mask                       |= flow_psn_bit(psn);
    ring->slot[psn % FLOW_MAP_BITS] = handle;
}

/*
 * Takes out the packets with the numbers next, next + 1, ... until the first
 * that is missing, at most max of them (max >= 1), into handles in this order.
 * Returns their count: 0 where next is missing.
 */
unsigned flow_ring_take(flow_ring_t *ring, flow_psn_t next, void **handles,
                        unsigned max);

#ifdef __cplusplus
}
#endif

#endif
