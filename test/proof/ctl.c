/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * src/flow/ctl_rx.c (with the decoder, ctl_wire.c): whatever a control packet
 * says, in whatever state flows and peers are, it reads within the packet and
 * the records, no assertion fails, and the records stay sound. Other files of
 * the core are stubs.
 */
#include "world.h"

#include "flow/ctl_priv.h"
#include "flow/ctl_rx_priv.h"
#include "flow/ctl_wire.h"
#include "flow/drop_priv.h"
#include "flow/due_priv.h"
#include "flow/end_priv.h"
#include "flow/grant_priv.h"
#include "flow/pair_priv.h"
#include "flow/peer_priv.h"
#include "flow/rx_life_priv.h"
#include "flow/rx_record_priv.h"
#include "flow/tx_life_priv.h"

/* ------------------------------------------------------------ other files */

static int fits; /* flow_rx_room said so */

flow_rx_verdict_t flow_rx_room(flow_core_t *core, int new_peer,
                               flow_rx_out_t *out)
{
    fits            = nondet_u8() & 1;
    world_peer_fits = fits && new_peer;
    out->reason     = fits ? FLOW_DROP_NONE : FLOW_DROP_FULL;
    return fits ? FLOW_RX_CONTROL :
                  (nondet_u8() ? FLOW_RX_DROP : FLOW_RX_NO_MEMORY);
}

flow_rx_verdict_t flow_drop_packet(flow_core_t *core, flow_drop_t reason,
                                   flow_rx_out_t *out)
{
    PROVE((reason > FLOW_DROP_NONE) && (reason < FLOW_DROP_LAST));
    out->reason = reason;
    return FLOW_RX_DROP;
}

flow_rx_t *flow_rx_find(flow_core_t *core, const flow_peer_t *peer,
                        uint32_t ep)
{
    PROVE(is_peer(peer) && (ep != 0));
    return (is_rx(&world_rx) && nondet_u8()) ? &world_rx : NULL;
}

flow_tx_t *flow_tx_find(flow_core_t *core, const flow_peer_t *peer,
                        uint32_t ep)
{
    PROVE(is_peer(peer) && (ep != 0));
    return (is_tx(&world_tx) && nondet_u8()) ? &world_tx : NULL;
}

flow_rx_t *flow_rx_create(flow_core_t *core, flow_peer_t *peer, uint32_t ep)
{
    PROVE(fits && is_peer(peer) && (ep != 0));
    ASSUME((core->rx_count != 0) && (world_rx.state == FLOW_RX_FREE));
    any_rx();
    ASSUME((world_rx.state == FLOW_RX_STRANGER) && (world_rx.ring == 0));
    return &world_rx;
}

/* Any change of the flow. It may be over, but not another one. */
static void changed(const flow_rx_t *rx)
{
    PROVE(is_rx(rx));
    any_rx();
}

void flow_rx_introduce(flow_core_t *core, flow_rx_t *rx, flow_src_t src,
                       unsigned window)
{
    PROVE(rx->state == FLOW_RX_STRANGER);
    PROVE((window >= 1) && (window <= FLOW_INIT_WINDOW_MAX));
    changed(rx);
    ASSUME(rx->state >= FLOW_RX_ACTIVE);
}

void flow_due_rx_ctl(flow_core_t *core, flow_rx_t *rx, unsigned due)
{
    PROVE(is_rx(rx) && (due < FLOW_CTL_QUEUED));
    rx->ctl |= due | FLOW_CTL_QUEUED;
}

void flow_rx_end(flow_core_t *core, flow_rx_t *rx)
{
    changed(rx);
}

int flow_rx_end_later(flow_core_t *core, flow_rx_t *rx)
{
    PROVE(is_rx(rx));
    if (nondet_u8() & 1) {
        return 0;
    }
    changed(rx);
    return 1;
}

void flow_rx_fail(flow_core_t *core, flow_rx_t *rx)
{
    PROVE(rx->state <= FLOW_RX_ACTIVE);
    changed(rx);
}

void flow_grant_limit_asked(flow_core_t *core, flow_rx_t *rx, flow_psn_t limit)
{
    PROVE(rx->state == FLOW_RX_ACTIVE);
    changed(rx);
}

void flow_pair_answer(flow_core_t *core, flow_tx_t *tx, uint32_t ep)
{
    PROVE(is_tx(tx) && (tx->state == FLOW_TX_OPEN));
    PROVE(!flow_wire_is_long(tx->hdr));
}

int flow_peer_fits(const flow_core_t *core, const flow_addr_t *addr)
{
    return nondet_u8() & 1;
}

int flow_peer_same_addr(const flow_core_t *core, const flow_peer_t *peer,
                        const flow_addr_t *addr)
{
    PROVE(is_peer(peer));
    return nondet_u8() & 1;
}

/* It may turn out dead. */
void flow_peer_introduce(flow_core_t *core, flow_peer_t *peer,
                         const flow_addr_t *addr)
{
    PROVE(is_peer(peer) && (addr->incarnation != 0));
    if (nondet_u8()) {
        peer->state = FLOW_PEER_DEAD;
    }
}

void flow_due_tx_ctl(flow_core_t *core, flow_tx_t *tx, unsigned due)
{
    PROVE(is_tx(tx) && (due < FLOW_CTL_TX_TIMED));
}

void flow_due_tx_event(flow_core_t *core, flow_tx_t *tx, unsigned due)
{
    PROVE(is_tx(tx) && (due != 0) && (due < FLOW_DUE_QUEUED));
}

void flow_tx_died(flow_core_t *core, flow_tx_t *tx, flow_end_t why)
{
    PROVE(is_tx(tx) && (why != 0));
    any_tx();
}

void flow_tx_recall(flow_core_t *core, flow_tx_t *tx, flow_psn_t limit)
{
    PROVE(is_tx(tx));
}

void flow_tx_hello_ended(flow_core_t *core, flow_tx_t *tx, int refused)
{
    PROVE(is_tx(tx) && !refused && !flow_wire_is_long(tx->hdr));
}

int flow_tx_ready_slow(flow_core_t *core, flow_tx_t *tx)
{
    PROVE(is_tx(tx));
    return nondet_u8() & 1;
}

/* It may be over and gone. */
void flow_tx_try_release(flow_core_t *core, flow_tx_t *tx)
{
    PROVE(is_tx(tx));
    any_tx();
}

/* ------------------------------------------------------------ the proof */

void prove_control(void)
{
    flow_rx_verdict_t verdict;
    flow_rx_out_t out = {0};
    uint8_t *bytes;
    size_t len;

    bytes = proof_packet(&len, PROOF_PACKET_MAX);
    ASSUME((len >= 1) && (bytes[0] & FLOW_WIRE_CTL));
    verdict = flow_ctl_rx_accept(&world_core, bytes, len, nondet_u32(), &out);
    PROVE((verdict == FLOW_RX_CONTROL) || (verdict == FLOW_RX_DROP) ||
          (verdict == FLOW_RX_NO_MEMORY));
    PROVE((verdict != FLOW_RX_DROP) || ((out.reason > FLOW_DROP_NONE) &&
                                        (out.reason < FLOW_DROP_LAST)));
}
