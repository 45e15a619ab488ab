/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every limit of limits.h beside the fields that must hold it. A larger limit
 * that no longer fits is refused here, by the name of the field; it would
 * otherwise compile, and wrap. test/tidy/check_limits.sh tries each of them.
 */
#include "flow/ctl_priv.h"
#include "flow/ctl_wire.h"
#include "flow/limits.h"
#include "flow/peer_priv.h"
#include "flow/tx.h"

#define FLOW_LIMIT(_fits, _field) _Static_assert(_fits, _field)

/* A bit field of this many bits holds the values 0 to _most. */
#define FLOW_LIMIT_BITS(_most, _bits, _field) \
    FLOW_LIMIT((uint64_t)(_most) < (1ull << (_bits)), _field)

/* A field of this many bits has room for each bit of a set, whose _end is one
 * more than the last. */
#define FLOW_LIMIT_SET(_end, _bits, _field) \
    FLOW_LIMIT_BITS((_end) - 1, _bits, #_end ": one bit each in " _field)

#define FLOW_LIMIT_POWER(_value, _field) \
    FLOW_LIMIT(((_value) & ((_value) - 1)) == 0, _field)

/* A map has one bit for each of so many numbers, no more and no less: bit
 * psn % FLOW_MAP_BITS, which turns round with the map. */
#define FLOW_LIMIT_MAP(_map, _field) \
    FLOW_LIMIT(FLOW_MAP_BITS == 8 * sizeof(_map), \
               "FLOW_MAP_BITS: one bit each in " _field)

/* Windows. */
FLOW_LIMIT_MAP(((flow_tx_t*)0)->busy, "flow_tx.busy");
FLOW_LIMIT_MAP(((flow_ring_t*)0)->mask, "flow_ring.mask");
FLOW_LIMIT_MAP(((flow_unacked_t*)0)->lost, "flow_unacked.lost (resend.c)");
FLOW_LIMIT_MAP(((flow_ctl_msg_t*)0)->acked, "an ack (ctl_wire.c, ack.c)");
FLOW_LIMIT_MAP(flow_psn_bit(0), "the maps of psn.h");
FLOW_LIMIT_MAP(flow_psn_rotate_down(0, 0), "what psn.h turns");
FLOW_LIMIT_MAP(flow_tx_busy(0), "flow_reserve_moves, and what asks it");
FLOW_LIMIT_POWER(FLOW_MAP_BITS, "FLOW_MAP_BITS: numbers wrap at 2^16");
FLOW_LIMIT(FLOW_WINDOW_MAX <= FLOW_MAP_BITS,
           "FLOW_WINDOW_MAX: a map has a place for each");
FLOW_LIMIT_BITS(FLOW_WINDOW_MAX, FLOW_ADVERTISED_BITS,
                "FLOW_WINDOW_MAX: flow_rx.advertised_low");
FLOW_LIMIT_BITS(FLOW_WINDOW_MAX, 7, "FLOW_WINDOW_MAX: flow_tx.linked");
FLOW_LIMIT_BITS(FLOW_WINDOW_MAX, 8,
                "FLOW_WINDOW_MAX: flow_rx.look_low, raised_low, final_low and "
                "counted_low");
FLOW_LIMIT(FLOW_INIT_WINDOW_MAX <= FLOW_WINDOW_MAX,
           "FLOW_INIT_WINDOW_MAX: within a window (flow_ring.slot)");
FLOW_LIMIT(FLOW_WAKE_WINDOW <= FLOW_WINDOW_MAX,
           "FLOW_WAKE_WINDOW: within a window");
FLOW_LIMIT((FLOW_IDLE_WINDOW >= 1) && (FLOW_IDLE_WINDOW <= FLOW_WAKE_WINDOW),
           "FLOW_IDLE_WINDOW: one credit at least, no more than a wake gets");
FLOW_LIMIT((FLOW_CALM_WINDOW < FLOW_CALM_EARNED) &&
                   (FLOW_CALM_EARNED < FLOW_SCARCE_WINDOW),
           "FLOW_CALM_WINDOW, FLOW_CALM_EARNED: a small part of a window");
FLOW_LIMIT(FLOW_CALM_LOW * 4 < FLOW_CALM_WINDOW,
           "FLOW_CALM_LOW: a small part of what a calm flow holds");
FLOW_LIMIT(FLOW_RECALL_EVERY <= 128,
           "FLOW_RECALL_EVERY: of the 256 packets that flow_rx.counted_low "
           "tells apart");
FLOW_LIMIT_POWER(FLOW_RECALL_EVERY, "FLOW_RECALL_EVERY: a mask (hand.c)");
FLOW_LIMIT((FLOW_HAND_TICKS <= 8) &&
           (FLOW_BACKLOG_TICKS < FLOW_LENT_TICKS),
           "FLOW_HAND_TICKS, FLOW_BACKLOG_TICKS: less than FLOW_LENT_TICKS");
FLOW_LIMIT((FLOW_LENT_TICKS * 8 <= FLOW_HELD_TICKS) && (FLOW_HELD_TICKS <= 64),
           "FLOW_LENT_TICKS, FLOW_HELD_TICKS: a few ms of ticks");
FLOW_LIMIT((FLOW_RECALL_ROUNDS * 2 < FLOW_QUIET_ROUNDS) &&
           (FLOW_QUIET_ROUNDS <= 9),
           "FLOW_RECALL_ROUNDS, FLOW_QUIET_ROUNDS: all is recalled before the "
           "hand stops, and that is soon");
FLOW_LIMIT(2 * (FLOW_LAP + FLOW_WINDOW_MAX) < 1 << 15,
           "FLOW_LAP: two of them, and what was told before, are less than "
           "flow_psn_diff tells apart");
FLOW_LIMIT_POWER(FLOW_LAP, "FLOW_LAP: a mask (lap.c)");
FLOW_LIMIT(FLOW_SCARCE_WINDOW <= FLOW_WINDOW_MAX,
           "FLOW_SCARCE_WINDOW: within a window");

/* The header words (wire.h). */
FLOW_LIMIT((FLOW_AM_ID_MAX == 32) && (FLOW_WIRE_AM_MASK < FLOW_WIRE_LONG),
           "FLOW_AM_ID_MAX: 5 bits of the header word, below its flags");
FLOW_LIMIT((FLOW_INDEX_BITS + FLOW_GEN_BITS) ==
                   (FLOW_WIRE_LIMIT_SHIFT - FLOW_WIRE_TOKEN_SHIFT),
           "FLOW_INDEX_BITS, FLOW_GEN_BITS: the token's 24 bits on the wire");
FLOW_LIMIT(FLOW_GEN_BITS >= 6,
           "FLOW_GEN_BITS: a late packet meets another generation");
FLOW_LIMIT(FLOW_ACK_BITS == 64 - 16,
           "FLOW_ACK_BITS: beside a number in the second header word");
FLOW_LIMIT(FLOW_QPN_MAX == (1 << 24) - 1,
           "FLOW_QPN_MAX: flow_peer.qpn, 24 bits on the wire");
FLOW_LIMIT((int)FLOW_CTL_MAX >= (int)FLOW_CTL_HELLO_LEN,
           "FLOW_CTL_MAX: the longest control packet");

/* Records; 10,000 peers have 10,000 of them. */
FLOW_LIMIT(FLOW_INDEX_MAX == 1 << FLOW_INDEX_BITS,
           "FLOW_INDEX_MAX: names a record, in fields of FLOW_INDEX_BITS");
FLOW_LIMIT(FLOW_INDEX_BITS + 1 <= 20,
           "FLOW_INDEX_BITS: the peer in a control packet's cookie (ctl.c)");
FLOW_LIMIT(sizeof(struct flow_tx) <= 56,
           "FLOW_INDEX_BITS, FLOW_MAP_BITS: struct flow_tx");
FLOW_LIMIT(sizeof(struct flow_rx) <= 40,
           "FLOW_INDEX_BITS, FLOW_MAP_BITS: struct flow_rx");
FLOW_LIMIT(sizeof(struct flow_peer) <= 56,
           "FLOW_INDEX_BITS, FLOW_PEER_REF_BITS: words of struct flow_peer");
FLOW_LIMIT((int)FLOW_PEER_REFS_MAX == (1 << FLOW_PEER_REF_BITS) - 2,
           "FLOW_PEER_REF_BITS: flow_peer.refs, and one more while it dies");
FLOW_LIMIT_BITS(FLOW_PEER_CTL_MAX, 4,
                "FLOW_PEER_CTL_MAX: flow_peer.ctl_out, flow_peer.woken, "
                "flow_tx.ctl_out");
FLOW_LIMIT_BITS(FLOW_PREFIXES - 1, 6, "FLOW_PREFIXES: flow_peer.prefix");
FLOW_LIMIT_POWER(FLOW_ALIGN, "FLOW_ALIGN: an alignment");
FLOW_LIMIT(FLOW_ALIGN >= _Alignof(struct flow_core),
           "FLOW_ALIGN: all memory of the core");

/* Time: levels of back-off and numbers of tries. */
FLOW_LIMIT_BITS(FLOW_LEVELS - 1, 4, "FLOW_LEVELS: flow_tx.backoff, "
                                    "flow_rx.backoff");
FLOW_LIMIT(FLOW_TICK_LEVEL < FLOW_LEVELS,
           "FLOW_TICK_LEVEL: a level of flow_core.batch");
FLOW_LIMIT((FLOW_TICK_UD >= 1) && (FLOW_TICK_UD <= 32),
           "FLOW_TICK_UD: flow_core.tick_due, ticks of 60 us at least");
FLOW_LIMIT(FLOW_PART_LEVEL < FLOW_LEVELS,
           "FLOW_PART_LEVEL: a level of flow_core.batch");
FLOW_LIMIT_BITS(FLOW_TRIES_MAX, 7, "FLOW_TRIES_MAX: flow_tx.linked, "
                                   "flow_path.tries");
FLOW_LIMIT_BITS(FLOW_GOODBYE_TRIES, 7, "FLOW_GOODBYE_TRIES: flow_tx.linked");

/* Tables. */
FLOW_LIMIT(FLOW_EXPIRED <= UINT16_MAX,
           "FLOW_EXPIRED: flow_core.expired_next, flow_core.expired_head");
FLOW_LIMIT_POWER(FLOW_TRACE_LEN, "FLOW_TRACE_LEN: flow_core.trace_pos");
FLOW_LIMIT(FLOW_STRANGERS < FLOW_INDEX_MAX,
           "FLOW_STRANGERS: each is a receiving flow");
FLOW_LIMIT(FLOW_TOMBSTONES < FLOW_INDEX_MAX,
           "FLOW_TOMBSTONES: each is a peer");
FLOW_LIMIT(FLOW_QUARANTINE + FLOW_SPARE + FLOW_RX_BATCH < FLOW_INDEX_MAX,
           "FLOW_QUARANTINE, FLOW_SPARE, FLOW_RX_BATCH: receiver indices");
FLOW_LIMIT(FLOW_GONE_MIN < FLOW_INDEX_MAX, "FLOW_GONE_MIN: flows");

/* Sets of bits. */
FLOW_LIMIT_SET(FLOW_PAUSE_END, 4, "flow_tx.paused");
FLOW_LIMIT_SET(FLOW_TXF_END, 8, "flow_tx.flags");
FLOW_LIMIT_SET(FLOW_WAIT_END, 8, "flow_tx.wait");
FLOW_LIMIT_SET(FLOW_RXF_END, 8, "flow_rx.flags");
FLOW_LIMIT_SET(FLOW_LIST_END, 2, "flow_rx.lists");
FLOW_LIMIT_SET(FLOW_CTL_DUE_END, 7, "flow_tx.ctl and flow_rx.ctl");
FLOW_LIMIT_SET(FLOW_OPF_END, 8, "flow_op.flags");
