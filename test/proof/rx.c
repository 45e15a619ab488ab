/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * src/flow/rx.h, rx.c, rx_record.c and rx_life.c: whatever a packet says, in
 * whatever state the flows are, they read and write within it and within the
 * records, no assertion fails, and the records stay sound. Other files of the
 * core are stubs.
 */
#include "world.h"

#include "flow/ctl_priv.h"
#include "flow/ctl_rx_priv.h"
#include "flow/grant_priv.h"
#include "flow/hash_priv.h"
#include "flow/list_priv.h"
#include "flow/pair_priv.h"
#include "flow/peer_priv.h"
#include "flow/pool_priv.h"
#include "flow/rx_life_priv.h"
#include "flow/rx_record_priv.h"
#include "flow/rx_stranger_priv.h"
#include "flow/stranger_priv.h"
#include "flow/timer_priv.h"
#include "flow/turn_priv.h"

/* ------------------------------------------------------------ other files */

flow_rx_verdict_t flow_ctl_rx_accept(flow_core_t *core, const uint8_t *pkt,
                                     size_t len, flow_src_t src,
                                     flow_rx_out_t *out)
{
    PROVE((len >= 1) && (pkt[0] & FLOW_WIRE_CTL));
    out->token = nondet_u32() & FLOW_WIRE_TOKEN_MASK;
    return FLOW_RX_CONTROL;
}

/* A grant may end its flow, at a goodbye, and changes what others may send. */
static void grant(flow_rx_t *rx)
{
    uint32_t token = flow_rx_token(rx);
    uint32_t ring  = rx->ring;
    uint64_t psn   = rx->expect >> FLOW_WIRE_PSN_SHIFT;
    unsigned state = rx->state;

    PROVE(is_rx(rx));
    any_rx();
    ASSUME(flow_rx_token(rx) == token);
    ASSUME((rx->ring == ring) || (rx->ring == 0));
    ASSUME((rx->expect >> FLOW_WIRE_PSN_SHIFT) == psn);
    ASSUME((rx->state == state) || (rx->state > FLOW_RX_ACTIVE));
}

void flow_grant_flow_used(flow_core_t *core, flow_rx_t *rx)
{
    PROVE(rx->state == FLOW_RX_ACTIVE);
    grant(rx);
}

/* The number at which to look again, and a limit if there is none to come. */
static void mark(flow_rx_t *rx)
{
    rx->look_low = nondet_u8();
    rx->expect  |= (rx->limit == flow_rx_psn(rx)) ? FLOW_RX_SHUT : 0;
    ASSUME(sound_rx(rx, 1));
}

void flow_grant_flow_open(flow_core_t *core, flow_rx_t *rx)
{
    PROVE(is_rx(rx) && (rx->state == FLOW_RX_ACTIVE));
    rx->limit = nondet_u16();
    mark(rx);
}

void flow_grant_next_look(flow_rx_t *rx)
{
    PROVE(is_rx(rx) && (rx->state == FLOW_RX_ACTIVE));
    mark(rx);
}

void flow_grant_flow_close(flow_core_t *core, flow_rx_t *rx)
{
    PROVE(rx->state > FLOW_RX_ACTIVE);
    rx->counted_low = (uint8_t)rx->limit;
    if (rx->flags & FLOW_RXF_GRANTED) {
        rx->flags &= ~(unsigned)(FLOW_RXF_GRANTED | FLOW_RXF_MOVED);
    }
}

static uint32_t world_head;

uint32_t *flow_hash_rx(flow_core_t *core, uint32_t peer, uint32_t ep)
{
    PROVE((peer != 0) && (peer < WORLD_COUNT));
    world_head = (is_rx(&world_rx) && nondet_u8()) ? 1 : 0;
    return &world_head;
}

void flow_hash_insert_rx(flow_core_t *core, flow_rx_t *rx)
{
    PROVE(is_rx(rx));
}

void flow_hash_remove_rx(flow_core_t *core, flow_rx_t *rx)
{
    PROVE(is_rx(rx));
}

void flow_list_add_rx(flow_peer_t *peer, flow_rx_t *rx)
{
    PROVE(is_peer(peer) && is_rx(rx));
}

void flow_list_unlist_rx(flow_core_t *core, flow_peer_t *peer, flow_rx_t *rx)
{
    PROVE(is_peer(peer) && is_rx(rx));
    PROVE(!(rx->flags & FLOW_RXF_UNLISTED)); /* once */
    rx->flags |= FLOW_RXF_UNLISTED;
}

/* Free: a new generation, nothing held. */
static void freed(const flow_rx_t *rx)
{
    PROVE(is_rx(rx));
    PROVE(rx->ring == 0);
    any_rx();
    ASSUME((rx->state == FLOW_RX_FREE) || (rx->state == FLOW_RX_GONE));
}

void flow_list_free_rx(flow_core_t *core, flow_peer_t *peer, flow_rx_t *rx)
{
    PROVE(is_peer(peer));
    freed(rx);
}

void flow_list_free_unlisted_rx(flow_core_t *core, flow_rx_t *rx)
{
    PROVE(rx->flags & FLOW_RXF_UNLISTED);
    freed(rx);
}

static int rx_is_free; /* as was said last */

void flow_list_sweep(flow_core_t *core)
{
}

uint32_t flow_pool_rx_free(const flow_core_t *core)
{
    rx_is_free = nondet_u8() & 1;
    return (uint32_t)rx_is_free;
}

int flow_pool_peer_free(const flow_core_t *core)
{
    world_peer_fits = nondet_u8() & 1;
    return world_peer_fits;
}

uint32_t flow_pool_rx_get(flow_core_t *core)
{
    uint64_t expect = world_rx.expect;

    PROVE(rx_is_free);
    ASSUME((core->rx_count != 0) && (world_rx.state == FLOW_RX_FREE));
    world_rx        = (flow_rx_t){0};
    world_rx.expect = (expect & ((uint64_t)FLOW_WIRE_TOKEN_MASK
                                 << FLOW_WIRE_TOKEN_SHIFT)) | FLOW_RX_SHUT;
    return 1;
}

uint32_t flow_pool_ring_get(flow_core_t *core)
{
    uint32_t index = nondet_u8() & 1;

    ASSUME((index == 0) || (world_rx.ring != index));
    world_ring.mask = 0;
    return index;
}

void flow_pool_ring_release(flow_core_t *core, uint32_t index)
{
    PROVE(index == 1);
}

void flow_peer_check_idle(flow_core_t *core, flow_peer_t *peer)
{
    PROVE(is_peer(peer));
}

int flow_peer_ref(flow_peer_t *peer)
{
    PROVE(is_peer(peer));
    return nondet_u8() & 1;
}

void flow_peer_unref(flow_core_t *core, flow_peer_t *peer)
{
    PROVE(is_peer(peer));
}

flow_src_t flow_peer_src(const flow_peer_t *peer, flow_src_t seen)
{
    PROVE(is_peer(peer));
    return nondet_u32();
}

void flow_pair_hello(flow_core_t *core, flow_rx_t *rx)
{
    PROVE(is_rx(rx));
    rx->pair = nondet_u32() & (FLOW_INDEX_MAX - 1);
}

void flow_pair_rx_gone(flow_core_t *core, flow_rx_t *rx)
{
    PROVE(is_rx(rx));
    rx->pair = 0;
}

void flow_rx_stranger_add(flow_core_t *core, flow_rx_t *rx)
{
    PROVE(is_rx(rx) && (rx->state == FLOW_RX_STRANGER));
}

void flow_stranger_hold(flow_core_t *core, flow_ring_t *ring, size_t len)
{
    PROVE(ring == &world_ring);
}

void flow_stranger_unhold(flow_core_t *core, flow_ring_t *ring)
{
    PROVE(ring == &world_ring);
}

void flow_stranger_leave(flow_core_t *core, const flow_rx_t *rx)
{
    PROVE(is_rx(rx));
}

/* Other strangers may expire. */
void flow_rx_stranger_bound(flow_core_t *core, const flow_rx_t *rx)
{
    PROVE(is_rx(rx) && (rx->state == FLOW_RX_STRANGER));
}

void flow_stranger_remember(flow_core_t *core, uint64_t incarnation,
                            uint32_t ep)
{
    PROVE((incarnation != 0) && (ep != 0));
}

void flow_timer_parted(flow_core_t *core, uint32_t index)
{
    PROVE((index == 1) && is_rx(&world_rx));
}

void flow_turn_add_rx(flow_core_t *core, flow_rx_t *rx)
{
    PROVE(is_rx(rx) && (rx->ctl & FLOW_CTL_QUEUED));
}

/* ------------------------------------------------------------ the proof */

/* Is what the flow holds in order now? */
static int is_due(void)
{
    return (world_rx.ring != 0) &&
           (world_ring.mask & flow_psn_bit(flow_rx_psn(&world_rx))) != 0;
}

static void prove_out(flow_rx_verdict_t verdict, const flow_rx_out_t *out,
                      size_t len)
{
    PROVE((verdict != FLOW_RX_FILL) && (verdict != FLOW_RX_OTHER));
    if (verdict == FLOW_RX_DELIVER) {
        PROVE((out->offset >= FLOW_SHORT_HDR) && (out->offset <= len));
        PROVE(out->am_id < FLOW_AM_ID_MAX);
        PROVE(out->more || !is_due());
        PROVE(out->more || (out->token != flow_rx_token(&world_rx)) ||
              (world_rx.ring == 0));
    }
    if (verdict == FLOW_RX_DROP) {
        PROVE((out->reason > FLOW_DROP_NONE) &&
              (out->reason < FLOW_DROP_LAST));
    }
}

void prove_accept(void)
{
    flow_rx_verdict_t verdict;
    flow_rx_out_t out;
    uint8_t *bytes;
    size_t len;
    int handle;

    ASSUME(!is_due()); /* it was drained */
    bytes   = proof_packet(&len, PROOF_PACKET_MAX);
    verdict = flow_rx_accept(&world_core, bytes, len, &handle, nondet_u32(),
                             &out);
    prove_out(verdict, &out, len);
}

void prove_accept_held(void)
{
    flow_rx_verdict_t verdict;
    flow_rx_out_t out;
    uint8_t *bytes;
    size_t len;
    int handle;

    ASSUME(world_core.params.profile == FLOW_UD);
    bytes   = proof_packet(&len, PROOF_PACKET_MAX);
    verdict = flow_rx_accept_held(&world_core, bytes, len, &handle,
                                  nondet_u32(), &out);
    PROVE(verdict != FLOW_RX_DELIVER);
    prove_out(verdict, &out, len);
}

void prove_run(void)
{
    void *handles[FLOW_MAP_BITS];
    unsigned max = nondet_u8();
    int rest     = flow_psn_diff(world_rx.limit, flow_rx_psn(&world_rx));
    uint64_t held;
    unsigned count;

    ASSUME((max >= 1) && (max <= FLOW_MAP_BITS));
    held = flow_psn_rotate_down(world_ring.mask,
                                flow_rx_psn(&world_rx) % FLOW_MAP_BITS);
    ASSUME((world_rx.ring == 0) || (rest == FLOW_MAP_BITS) ||
           (held >> rest == 0)); /* as each slot says */
    count = flow_rx_run(&world_core, nondet_u32(), handles, max);
    PROVE(count <= max);
}
