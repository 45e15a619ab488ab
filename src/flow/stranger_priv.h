/* SPDX-License-Identifier: BSD-3-Clause */
/* stranger.c, for the core alone: flows whose data came before their hello. */
#ifndef FLOW_STRANGER_PRIV_H_
#define FLOW_STRANGER_PRIV_H_

#include "flow/core_priv.h"

/* A new one: the oldest makes room. */
void flow_stranger_add(flow_core_t *core, flow_rx_t *rx);
/* A packet of a stranger is held in its ring; all of them are not any more. */
void flow_stranger_hold(flow_core_t *core, flow_ring_t *ring, size_t len);
void flow_stranger_unhold(flow_core_t *core, flow_ring_t *ring);
/* It is none any more. */
void flow_stranger_leave(flow_core_t *core, const flow_rx_t *rx);
/* Too many bytes are held: others expire, not this one. */
void flow_stranger_bound(flow_core_t *core, const flow_rx_t *rx);
/* Data of a flow was thrown away, and it is not known whom to tell. Was it? */
void flow_stranger_remember(flow_core_t *core, uint64_t incarnation,
                            uint32_t ep);
int  flow_stranger_expired(flow_core_t *core, uint64_t incarnation,
                           uint32_t ep);

#endif
