/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers, as the transport sees them: addresses, address handles, deaths. */
#ifndef FLOW_PEER_H_
#define FLOW_PEER_H_

#include "flow/state_priv.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The core's record of a peer. The address is constant while it lives. */
flow_addr_t flow_peer_addr(const flow_core_t *core, const flow_peer_t *peer);
static inline uint32_t flow_peer_qpn(const flow_peer_t *peer)
{
    return peer->qpn;
}
static inline uint32_t flow_peer_qkey(const flow_peer_t *peer)
{
    return peer->qkey;
}

/* Was it ever heard, or did something ever get through to it? */
int flow_peer_spoke(const flow_peer_t *peer);

/* The caller's word for a peer (its address handle); NULL at first. */
static inline void *flow_peer_cookie(const flow_peer_t *peer)
{
    return peer->cookie;
}
void flow_peer_set_cookie(flow_peer_t *peer, void *cookie);

/*
 * May the peer use RMA on us? A device serves only peers for which it has an
 * address handle, and may have few of them.
 */
typedef enum flow_rma {
    FLOW_RMA_NOT_YET, /* not now; asked again by FLOW_EVENT_PEER_WANTS_RMA    */
    FLOW_RMA_READY,   /* the handle is kept until FLOW_EVENT_PEER_GONE        */
    FLOW_RMA_REFUSED  /* no room: RMA of this peer fails by name              */
} flow_rma_t;

/*
 * The caller holds an address handle numbered ah for the peer (FLOW_AH_UNKNOWN:
 * none, the sender check is by QPN only). Call it in answer to
 * FLOW_EVENT_PEER_INTRODUCED, and again on any change. The answer to the peer's
 * hello waits for the first call.
 */
void flow_peer_set_ah(flow_core_t *core, flow_peer_t *peer, uint16_t ah,
                      flow_rma_t rma);

/*
 * Nothing gets through to the peer, or no answer from it: the flows to it fail,
 * those from it go on. It may live: a reset tells it of each flow that was
 * lost, once that is closed, and then it fails the other flow of the pair. If
 * the reset does not get through either, it waits until the peer is heard or a
 * flow is opened to it. New flows, of either side, are not affected.
 */
void flow_peer_lost(flow_core_t *core, flow_peer_t *peer);

/*
 * The peer's incarnation is gone, for certain: its flows in both directions
 * fail, no flow to it can be opened, its packets have no effect but a reset in
 * answer to a hello, should it live after all.
 */
void flow_peer_dead(flow_core_t *core, flow_peer_t *peer);

/*
 * taken: packets that were given to the core so far; posted: receive buffers
 * posted so far; both may wrap. A device that has no address handle for a
 * sender reports FLOW_AH_UNKNOWN. That is believed only of packets received
 * before the handle was made, so the core has to know which those are: call
 * this before flow_peer_set_ah for a new handle, and before a packet of an
 * unknown handle is given to flow_rx_accept. If it is never called, all of them
 * are accepted.
 */
void flow_peer_age(flow_core_t *core, uint32_t taken, uint32_t posted);

#ifdef __cplusplus
}
#endif

#endif
