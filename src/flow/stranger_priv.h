/* SPDX-License-Identifier: BSD-3-Clause */
/* stranger.c, for the core alone: flows whose data came before their hello. */
#ifndef FLOW_STRANGER_PRIV_H_
#define FLOW_STRANGER_PRIV_H_

#include "flow/state_priv.h"

/* A packet of len bytes is held in the ring of a stranger; none is any more. */
void flow_stranger_hold(flow_core_t *core, flow_ring_t *ring, size_t len);
void flow_stranger_unhold(flow_core_t *core, flow_ring_t *ring);
/* Its hello came, or it ends. */
void flow_stranger_leave(flow_core_t *core, const flow_rx_t *rx);
/* Data of a flow of an unknown sender was thrown away: remember that, until its
 * hello says whom to tell. Is it remembered? */
void flow_stranger_remember(flow_core_t *core, uint64_t incarnation,
                            uint32_t ep);
int  flow_stranger_expired(flow_core_t *core, uint64_t incarnation,
                           uint32_t ep);
/* The chain of such a hash, in core->expired_head. */
static inline uint32_t flow_stranger_bucket(uint64_t hash)
{
    return (uint32_t)(hash >> 32) % FLOW_EXPIRED;
}

#endif
