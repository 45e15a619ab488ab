/* SPDX-License-Identifier: BSD-3-Clause */
/* peer.c, for the core alone. */
#ifndef FLOW_PEER_PRIV_H_
#define FLOW_PEER_PRIV_H_

#include "flow/due_priv.h"
#include "flow/state_priv.h"
#include "flow/peer.h"

flow_peer_t *flow_peer_find(flow_core_t *core, uint64_t incarnation);
/* A peer without flows, of whose address the QPN is known. NULL: grow. */
flow_peer_t *flow_peer_create(flow_core_t *core, uint64_t incarnation,
                              flow_src_t src);
/* Its address became known, or a flow to or from it begins: an event asks the
 * caller for an address handle where there is none, and control packets that
 * flow_peer_suspend held may go. */
void flow_peer_introduce(flow_core_t *core, flow_peer_t *peer,
                         const flow_addr_t *addr);
/* Control packets that flow_peer_suspend held may go. */
static inline void flow_peer_resume(flow_core_t *core, flow_peer_t *peer)
{
    if (flow_unlikely((peer->state == FLOW_PEER_KNOWN) && peer->handled)) {
        flow_due_peer_event(core, peer, FLOW_DUE_PEER_INTRO);
    }
}
/* A packet of it came, or one got through to it. */
static inline void flow_peer_heard(flow_core_t *core, flow_peer_t *peer)
{
    peer->heard = 1;
    peer->spoke = 1;
    flow_peer_resume(core, peer);
}
/* A control packet did not get through, the peer was not heard since, and no
 * flow to it is live: all others wait until flow_peer_heard or
 * flow_peer_introduce. */
void flow_peer_suspend(flow_core_t *core, flow_peer_t *peer);
/* Is it, and does nothing say that it is there again? */
static inline int flow_peer_is_suspended(const flow_peer_t *peer)
{
    return (peer->state == FLOW_PEER_KNOWN) && peer->handled &&
           !(peer->events & FLOW_DUE_PEER_INTRO);
}
/*
 * A QPN has one owner at a time, so of two incarnations at one GID and QPN one
 * is dead, but which? The times at which they were born do not tell: a clock
 * may be set back, and a hello may come late. Therefore the newcomer has to
 * prove that it lives, by an answer to a packet that was sent after the other
 * was known (flow_peer_proved); until then both are taken for alive. A packet
 * that its device took is such an answer, as far as the device tells them apart
 * by QKEY.
 */
static inline int flow_peer_is_rival(const flow_peer_t *peer,
                                     const flow_peer_t *other)
{
    return (other != peer) && (other->state != FLOW_PEER_DEAD) &&
           (other->qpn == peer->qpn) && (other->gid == peer->gid) &&
           (other->prefix == peer->prefix);
}
/* Is there room for the upper half of its GID? */
int  flow_peer_fits(const flow_core_t *core, const flow_addr_t *addr);
/* Does a known peer have this address? */
int  flow_peer_same_addr(const flow_core_t *core, const flow_peer_t *peer,
                         const flow_addr_t *addr);
/* Something of it ended; if that was the last, it goes. */
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
 * May control packets go to it? To a dead one, too: the resets that tell it, if
 * it lives after all, that its messages are thrown away.
 */
int  flow_peer_reachable(const flow_peer_t *peer);
/* May a packet that the device reports as from src be of this peer? */
int  flow_peer_sent(const flow_peer_t *peer, flow_src_t src);
/* May it be of a newcomer at this address? One that lives there has a handle,
 * which is its host's and so the newcomer's, too. */
int  flow_peer_addr_sent(flow_core_t *core, const flow_addr_t *addr,
                         flow_src_t src);
/* May src know a token of the peer's by our answer, which goes when the device
 * has a handle of it? A number of 7 bits is soon guessed: a stranger to the
 * device does not prove that the peer lives, whether the caller keeps the
 * peer's handle or not. */
int  flow_peer_answered(const flow_peer_t *peer, flow_src_t src);
/* The sender to expect in its next packets: by its handle, or, where it has
 * none, as in the packet just seen. */
flow_src_t flow_peer_src(const flow_peer_t *peer, flow_src_t seen);

#endif
