/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of other files of the core, as both rx.c and ctl_rx.c see them. */
#include "world.h"

#include "flow/end_priv.h"
#include "flow/peer_priv.h"
#include "flow/pool_priv.h"
#include "flow/resend_priv.h"
#include "flow/stranger_priv.h"
#include "flow/trace_priv.h"
#include "flow/tx_priv.h"

int world_peer_fits;

void flow_trace_note(flow_core_t *core, flow_trace_what_t what, uint32_t ep,
                     flow_psn_t psn, uint64_t arg)
{
}

flow_peer_t *flow_peer_find(flow_core_t *core, uint64_t incarnation)
{
    return ((incarnation != 0) && is_peer(&world_peer) && nondet_u8()) ?
                   &world_peer : NULL;
}

flow_peer_t *flow_peer_create(flow_core_t *core, uint64_t incarnation,
                              flow_src_t src)
{
    PROVE(world_peer_fits && (incarnation != 0));
    ASSUME(world_peer.state == FLOW_PEER_FREE);
    world_peer.state = FLOW_PEER_UNKNOWN;
    return &world_peer;
}

void flow_peer_heard(flow_core_t *core, flow_peer_t *peer)
{
    PROVE(is_peer(peer));
}

/* It kills another peer; this one's flows stay. */
void flow_peer_proved(flow_core_t *core, flow_peer_t *peer, int by_device)
{
    PROVE(is_peer(peer));
    peer->rival = 0;
}

int flow_peer_sent(const flow_peer_t *peer, flow_src_t src)
{
    PROVE(is_peer(peer));
    return nondet_u8() & 1;
}

int flow_peer_answered(const flow_peer_t *peer, flow_src_t src)
{
    PROVE(is_peer(peer));
    return nondet_u8() & 1;
}

int flow_peer_addr_sent(flow_core_t *core, const flow_addr_t *addr,
                        flow_src_t src)
{
    return nondet_u8() & 1;
}

void flow_resend_ack(flow_core_t *core, flow_tx_t *tx, flow_psn_t ack,
                     uint64_t map)
{
    PROVE(tx == &world_tx);
}

void flow_resend_told(flow_core_t *core, const flow_tx_t *tx, uint32_t clock,
                      uint16_t heard, flow_psn_t ack)
{
    PROVE(tx == &world_tx);
}

void flow_resend_answered(flow_core_t *core, const flow_tx_t *tx)
{
    PROVE(tx == &world_tx);
}

void flow_resend_heard(flow_tx_t *tx)
{
    PROVE(tx == &world_tx);
}

void flow_tx_limit(flow_core_t *core, flow_tx_t *tx, flow_psn_t limit)
{
    PROVE(tx == &world_tx);
}

void flow_tx_window(flow_core_t *core, flow_tx_t *tx)
{
    PROVE(flow_is_ud(core) && (tx == &world_tx));
}

int flow_pool_is_full(const flow_core_t *core, int new_peer)
{
    return nondet_u8() & 1;
}

int flow_stranger_expired(flow_core_t *core, uint64_t incarnation,
                          uint32_t ep)
{
    PROVE((incarnation != 0) && (ep != 0));
    return nondet_u8() & 1;
}
