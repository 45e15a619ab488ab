/* SPDX-License-Identifier: BSD-3-Clause */
/* peer.c, for the core alone. */
#ifndef FLOW_PEER_PRIV_H_
#define FLOW_PEER_PRIV_H_

#include "flow/core_priv.h"
#include "flow/peer.h"

flow_peer_t *flow_peer_find(flow_core_t *core, uint64_t incarnation);
/* NULL: no slot (grow). The new peer has no flow, and of an address the QPN. */
flow_peer_t *flow_peer_create(flow_core_t *core, uint64_t incarnation,
                              flow_src_t src);
/* Its address became known, or a flow to or from it begins: the caller is told
 * where it has to give a handle. */
void flow_peer_introduce(flow_core_t *core, flow_peer_t *peer,
                         const flow_addr_t *addr);
/* A packet of it came: what waited for that may go. */
void flow_peer_heard(flow_core_t *core, flow_peer_t *peer);
/* A control packet did not get through and no flow of the peer is live: all
 * others wait until flow_peer_heard or flow_peer_introduce. */
void flow_peer_suspend(flow_core_t *core, flow_peer_t *peer);
/* It has just proved that it lives: whoever else was at its QPN does not. By a
 * completion of its device: whoever else had another QKEY. */
void flow_peer_proved(flow_core_t *core, flow_peer_t *peer, int by_device);
/* Could an address be kept: is it valid, and is there room for its prefix? */
int  flow_peer_fits(const flow_core_t *core, const flow_addr_t *addr);
/* Does a known peer have this address? */
int  flow_peer_same_addr(const flow_core_t *core, const flow_peer_t *peer,
                         const flow_addr_t *addr);
void flow_peer_event(flow_core_t *core, flow_peer_t *peer, unsigned due);
/* A flow is done with: was it the last? */
void flow_peer_check_idle(flow_core_t *core, flow_peer_t *peer);
/* References: flows that are not on its lists but need it. 0: too many. */
enum { FLOW_PEER_REFS_MAX = (1 << FLOW_PEER_REF_BITS) - 2 };
int  flow_peer_ref(flow_peer_t *peer);
void flow_peer_unref(flow_core_t *core, flow_peer_t *peer);
static inline int flow_peer_in_use(const flow_peer_t *peer)
{
    return ((peer->tx_list != 0) && !peer->entombed) ||
           (peer->rx_list != 0) || (peer->refs != 0) || (peer->ctl_out != 0);
}
/* Nobody refers to it: forget it, or keep a tombstone. */
void flow_peer_release(flow_core_t *core, flow_peer_t *peer);
/*
 * May control packets go to it? To a dead one only resets are ever due: it may
 * live after all, and would else send into the void with good completions.
 */
int  flow_peer_reachable(const flow_peer_t *peer);
/* May a packet of this sender belong to the peer, as far as is known? */
int  flow_peer_sent(const flow_peer_t *peer, flow_src_t src);
/* As what its next packets will come: like this one if it has no handle. */
flow_src_t flow_peer_src(const flow_peer_t *peer, flow_src_t seen);

#endif
