/* SPDX-License-Identifier: BSD-3-Clause */
#include "world.h"

#include "flow/rx_priv.h"
#include "flow/tx_priv.h"

flow_core_t world_core;
flow_rx_t   world_rx;
flow_tx_t   world_tx;
flow_peer_t world_peer;
flow_ring_t world_ring;
flow_psn_t  world_slot;

static flow_rx_t   no_rx; /* of index 0 */
static flow_tx_t   no_tx;
static flow_peer_t no_peer;
static flow_ring_t no_ring;

flow_rx_t   nondet_rx(void);
flow_tx_t   nondet_tx(void);
flow_peer_t nondet_peer(void);
flow_ring_t nondet_ring(void);

void flow_assert_failed(const char *expr, const char *file, int line)
{
    PROVE(!"an assertion of the core holds");
}

flow_rx_t *world_get_rx(uint32_t index)
{
    PROVE(index < world_core.rx_count);
    return (index == 0) ? &no_rx : &world_rx;
}

flow_tx_t *world_get_tx(uint32_t index)
{
    PROVE(index < WORLD_COUNT);
    return (index == 0) ? &no_tx : &world_tx;
}

flow_peer_t *world_get_peer(uint32_t index)
{
    PROVE(index < WORLD_COUNT);
    return (index == 0) ? &no_peer : &world_peer;
}

flow_ring_t *world_get_ring(uint32_t index)
{
    PROVE(index < WORLD_COUNT);
    return (index == 0) ? &no_ring : &world_ring;
}

int is_rx(const flow_rx_t *rx)
{
    return (rx == &world_rx) && (rx->state != FLOW_RX_FREE) &&
           (rx->state != FLOW_RX_GONE);
}

int is_tx(const flow_tx_t *tx)
{
    return (tx == &world_tx) && (tx->state != FLOW_TX_FREE) &&
           (tx->state != FLOW_TX_GONE);
}

int is_peer(const flow_peer_t *peer)
{
    return (peer == &world_peer) && (peer->state != FLOW_PEER_FREE);
}

/* Is the grant looked at before the limit is reached? */
static int sound_mark(const flow_rx_t *rx, int rest)
{
    uint8_t step = (uint8_t)(rx->look_low - flow_rx_psn(rx));

    return (rest == 0) ? (rx->expect & FLOW_RX_SHUT) != 0 :
                         (step >= 1) && (step <= rest);
}

/* It holds something, and nothing from the limit on: of one slot, which may be
 * any. Each keeps that by itself, and one is much less work than 64. */
static int sound_ring(const flow_rx_t *rx, int rest)
{
    int ahead = (world_slot - flow_rx_psn(rx)) & (FLOW_MAP_BITS - 1);

    return (rx->ring == 0) ||
           ((world_ring.mask != 0) &&
            (!(world_ring.mask & flow_psn_bit(world_slot)) || (ahead < rest)));
}

/* One bit is MOVED of a flow that grant.c knows, and then UNLISTED. */
static int sound_flags(const flow_rx_t *rx)
{
    int granted = (rx->flags & FLOW_RXF_GRANTED) != 0;

    return (rx->state > FLOW_RX_ACTIVE) ?
                   !granted : (granted || !(rx->flags & FLOW_RXF_MOVED));
}

int sound_rx(const flow_rx_t *rx, uint32_t index)
{
    int rest = flow_psn_diff(rx->limit, flow_rx_psn(rx));

    if ((flow_rx_index(rx) != index) || (rx->pair >= WORLD_COUNT) ||
        (rx->ring >= WORLD_COUNT) || (rx->peer >= WORLD_COUNT) ||
        (rx->hash_next != 0)) {
        return 0;
    }
    if ((rx->state == FLOW_RX_FREE) || (rx->state == FLOW_RX_GONE)) {
        return (rx->expect & FLOW_RX_SHUT) && (rx->ring == 0);
    }
    if ((index >= world_core.rx_count) || (index == 0) || (rx->peer == 0) ||
        (world_peer.state == FLOW_PEER_FREE) || !sound_flags(rx)) {
        return 0;
    }
    if (rx->state > FLOW_RX_ACTIVE) {
        return (rx->expect & FLOW_RX_SHUT) && (rx->ring == 0);
    }
    return (rest >= 0) && (rest <= FLOW_WINDOW_MAX) &&
           ((rx->state == FLOW_RX_ACTIVE) ? sound_mark(rx, rest) :
                                            (rx->expect & FLOW_RX_SHUT) != 0) &&
           sound_ring(rx, rest);
}

int sound_tx(const flow_tx_t *tx, uint32_t index)
{
    if ((flow_tx_index(tx) != index) || (tx->peer >= WORLD_COUNT) ||
        (tx->ring >= WORLD_COUNT)) {
        return 0;
    }
    if ((tx->state == FLOW_TX_FREE) || (tx->state == FLOW_TX_GONE)) {
        return 1;
    }
    return (index != 0) && (tx->peer != 0) &&
           (world_peer.state != FLOW_PEER_FREE) &&
           ((tx->state != FLOW_TX_OPEN) || !flow_wire_is_long(tx->hdr)) &&
           (!(tx->wait & FLOW_WAIT_PART) || (tx->busy == 0));
}

void any_rx(void)
{
    world_rx = nondet_rx();
    ASSUME(sound_rx(&world_rx, 1));
}

void any_tx(void)
{
    world_tx = nondet_tx();
    ASSUME(sound_tx(&world_tx, 1));
}

static void world_init(void)
{
    world_core.rx_count                = nondet_u8() ? WORLD_COUNT : 0;
    world_core.tx_count                = WORLD_COUNT;
    world_core.peer_count              = WORLD_COUNT;
    world_core.params.profile          = nondet_u8() ? FLOW_SRD : FLOW_UD;
    world_core.params.self.incarnation = nondet_u64();
    world_core.params.first_psn        = nondet_u16();
    world_core.peer_free.count         = nondet_u32();
    ASSUME(world_core.params.self.incarnation != 0);

    world_slot       = nondet_u16();
    world_ring       = nondet_ring();
    world_peer       = nondet_peer();
    world_peer.index = 1;
    any_rx();
    any_tx();
    no_rx = nondet_rx();
    no_tx = nondet_tx();
    ASSUME(sound_rx(&no_rx, 0) && sound_tx(&no_tx, 0));
}

static void world_prove_sound(void)
{
    PROVE(sound_rx(&world_rx, 1));
    PROVE(sound_tx(&world_tx, 1));
    PROVE(sound_rx(&no_rx, 0));
    PROVE(sound_tx(&no_tx, 0));
}

int main(void)
{
    world_init();
    PROOF_ENTRY();
    world_prove_sound();
    PROOF_END();
    return 0;
}
