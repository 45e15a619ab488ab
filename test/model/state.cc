/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which states are the same: those equal in flows, peers, held packets, queues,
 * back-offs and what the packets on the wire, as a set, can still do. No
 * influence on what can happen next have: counters, trace, the clock (only when
 * a wait ends from now), links of lists that are no longer used, and what the
 * core brings up to date before it looks at it (low edge and stop of a sending
 * flow). Sides are told apart by nothing but their place, so with equal tasks a
 * state and its mirror image are the same, too. --prove checks it.
 */
#include "model.h"

#include <algorithm>

extern "C" {
#include "flow/path_priv.h"
#include "flow/turn_priv.h"
}

namespace model {

static uint64_t mix(uint64_t hash, const void *data, size_t size)
{
    const uint8_t *p = (const uint8_t*)data;
    uint64_t word;

    for (; size >= 8; size -= 8, p += 8) {
        memcpy(&word, p, 8);
        hash = mix_word(hash, word);
    }
    for (; size > 0; --size) {
        hash = mix_word(hash, *p++);
    }
    return hash;
}

static void stays_below(unsigned tries)
{
    if (tries >= TRIES_MAX) {
        broken("too many time-outs in a row to leave their number out");
    }
}

/* SRD: time passes by ending all back-offs; UD: when they end counts, too. */
static uint64_t mix_due(uint64_t hash, flow_time_t due)
{
    return mix_word(hash, !ud() ? 1 : (due > world.now) ? due - world.now : 0);
}

/* How long ago a stamp was: no more counts than that it is long. */
static uint64_t mix_ago(uint64_t hash, uint32_t stamp)
{
    uint32_t ago = flow_path_stamp(world.now) - stamp;

    return mix_word(hash, std::min(ago, (uint32_t)AGO_MAX));
}

/* The way of a sending flow, and what of it waits for time. */
static uint64_t mix_path(uint64_t hash, const flow_path_t &path)
{
    stays_below(path.tries);
    for (uint32_t word : {path.window, path.rtt, path.var,
                          path.latest, path.least, path.base, path.lately,
                          path.round_sum,
                          path.round_count, path.reorder, (uint32_t)path.bad,
                          (uint32_t)path.calm, (uint32_t)path.start,
                          (uint32_t)path.told, (uint32_t)path.trust,
                          (uint32_t)path.all, (uint32_t)path.own,
                          (uint32_t)path.rounds}) {
        hash = mix_word(hash, word);
    }
    for (uint32_t stamp : {path.round, path.cut, path.behind, path.pressed,
                           path.sent,
                           path.epoch, path.newest}) {
        hash = mix_ago(hash, stamp);
    }
    hash = mix_word(hash, (path.rtt == 0) && (path.hello != 0));
    hash = (path.rtt == 0) ? mix_ago(hash, path.hello) : hash;
    hash = mix_word(hash, path.newest_psn);
    hash = (path.tries != 0) ? mix_ago(hash, path.silent) : hash;
    return mix_word(hash, path.tries);
}

static uint64_t mix_unacked(uint64_t hash, const flow_core_t *core,
                            const flow_ring_t &ring)
{
    const flow_path_t &path = *flow_core_path(core, ring.unacked.tx);

    for (uint64_t left = ring.mask; left != 0; left &= left - 1) {
        const flow_op_t *op =
                (const flow_op_t*)ring.slot[__builtin_ctzll(left)];
        hash = mix_ago(hash, op->sent);
        hash = mix_word(hash, flow_path_is_older(&path, op->sent, op->psn));
    }
    hash = mix_word(hash, ring.unacked.lost);
    return mix_due(mix_word(hash, ring.unacked.place), ring.unacked.due);
}

/* A ring, whatever its index: slots that are not taken say nothing. */
static uint64_t mix_ring(uint64_t hash, const flow_core_t *core,
                         uint32_t index)
{
    const flow_ring_t *ring = flow_core_ring(core, index);

    if (index == 0) {
        return mix_word(hash, 0);
    }
    hash = mix_word(hash, ring->mask);
    if (ring->unacked.tx != 0) {
        return mix_unacked(hash, core, *ring);
    }
    for (uint64_t left = ring->mask; left != 0; left &= left - 1) {
        hash = mix_word(hash, (uintptr_t)ring->slot[__builtin_ctzll(left)]);
    }
    return hash;
}

static uint64_t mix_rx_list(uint64_t hash, const flow_core_t *core,
                            const flow_fifo_t &fifo, bool starved)
{
    for (uint32_t index = fifo.head; index != 0;) {
        const flow_rx_t *rx = flow_core_rx(core, index);
        hash  = mix_word(hash, index);
        index = starved ? rx->starved_next :
                          rx->ctl_next & (FLOW_INDEX_MAX - 1);
    }
    return mix_word(hash, 98);
}

/* Those that wait with their peer, the last first. */
static uint64_t mix_parked(uint64_t hash, const flow_core_t *core,
                           uint32_t last)
{
    uint32_t ref = last;

    while (last != 0) {
        hash = mix_word(hash, ref);
        ref  = (ref & FLOW_TURN_RX) ?
                       flow_core_rx(core, ref & (FLOW_INDEX_MAX - 1))->ctl_next :
                       flow_core_tx(core, ref)->ctl_next;
        if (ref == last) {
            break;
        }
    }
    return mix_word(hash, 96);
}

static uint64_t mix_tx_list(uint64_t hash, const flow_core_t *core,
                            const flow_fifo_t &fifo)
{
    for (uint32_t index = fifo.head; index != 0;
         index = flow_core_tx(core, index)->ctl_next) {
        hash = mix_word(hash, index);
    }
    return mix_word(hash, 95);
}

static uint64_t mix_batch(uint64_t hash, const flow_core_t *core,
                          const flow_batch_t &batch)
{
    hash = mix_due(hash, batch.due);
    hash = mix_tx_list(hash, core, batch.tx_wait);
    hash = mix_tx_list(hash, core, batch.tx_gather);
    hash = mix_rx_list(hash, core, batch.rx_wait, false);
    hash = mix_rx_list(hash, core, batch.rx_gather, false);
    for (const flow_op_t *list : {batch.op_wait, batch.op_gather}) {
        for (; list != nullptr; list = list->next) {
            unsigned which = (unsigned)(list - world.ops[0]);
            hash = mix_word(hash, handle_of(which / MESSAGES_MAX,
                                            which % MESSAGES_MAX));
        }
        hash = mix_word(hash, 0);
    }
    return hash;
}

static uint64_t mix_timers(uint64_t hash, const flow_core_t *core)
{
    for (unsigned level = 0; level < FLOW_LEVELS; ++level) {
        const flow_batch_t &batch = core->batch[level];
        if (batch.due != FLOW_TIME_NEVER) {
            hash = mix_batch(mix_word(hash, level), core, batch);
        }
    }
    if (core->tick_due != FLOW_TIME_NEVER) {
        hash = mix_word(mix_due(hash, core->tick_due), core->tick_due == 0);
        hash = mix_word(hash, ((uint64_t)core->ticks << 32) |
                              (core->round % FLOW_RECALL_ROUNDS));
        hash = mix_word(hash, ((uint64_t)std::min(core->quiet,
                                                  (uint32_t)FLOW_QUIET_ROUNDS)
                               << 32) | core->moved);
    }
    if ((core->tick_due != FLOW_TIME_NEVER) || has_second()) {
    }
    if (core->parted_due != FLOW_TIME_NEVER) {
        hash = mix_due(hash, core->parted_due);
        hash = mix_rx_list(hash, core, core->parted_wait, true);
        hash = mix_rx_list(hash, core, core->parted_gather, true);
    }
    return hash;
}

/* UD: a header that is brought up to date when it is sent again says less. */
static uint64_t mix_kept(uint64_t hash, const Kept &kept, const flow_tx_t &tx)
{
    hash = mix_word(hash, kept.len);
    if ((kept.len != FLOW_ACK_HDR) || (tx.flags & FLOW_TXF_CARRIES)) {
        return hash;
    }
    return mix(hash, kept.bytes, kept.len);
}

static uint64_t mix_tx(uint64_t hash, const flow_core_t *core, unsigned flow)
{
    flow_tx_t tx = *flow_core_tx(core, world.index[flow]);

    if ((world.index[flow] == 0) || (tx.state == FLOW_TX_FREE) ||
        (tx.state == FLOW_TX_GONE)) {
        return mix_word(hash, 5 + tx.state);
    }
    if (ud()) {
        hash = mix_path(hash, *flow_core_path(core, world.index[flow]));
    }
    hash = mix_ring(hash, core, tx.ring);
    while (flow_psn_lt(tx.una, flow_tx_psn(&tx)) &&
           !(tx.busy & flow_psn_bit(tx.una))) {
        ++tx.una;
    }
    if (ud() && !(tx.wait & FLOW_WAIT_PART) && !bounds.reborn) {
        /* few goodbyes are said; --reborn: few are enough to lose a peer */
        stays_below(tx.linked);
        tx.linked = 0;
    }
    tx.ring = 0;
    tx.stop = 0;
    tx.peer = tx.peer_next = tx.ctl_next = tx.event_next = 0;
    hash = mix(hash, &tx, sizeof(tx));
    for (unsigned i = 0; i < world.sent[flow]; ++i) {
        const flow_op_t &op = world.ops[flow][i];
        if (!(tx.busy & flow_psn_bit(op.psn))) {
            continue; /* it is the user's again */
        }
        hash = mix_word(hash, ((uint64_t)op.flags << 8) | op.linked);
        if (ud()) {
            hash = mix_kept(hash, world.kept[flow][i], tx);
        }
    }
    return hash;
}

static uint64_t mix_rx(uint64_t hash, const flow_core_t *core, uint32_t index)
{
    flow_rx_t rx            = *flow_core_rx(core, index);
    const flow_peer_t *peer = flow_core_peer(core, rx.peer);

    if (rx.state >= FLOW_RX_FAILED) { /* no numbers any more */
        hash = mix_word(hash, flow_rx_token(&rx));
        hash = mix_word(hash, ((uint64_t)rx.ctl << 32) | rx.flags);
        hash = mix_word(hash, (bounds.nodes > 2) ? peer->incarnation : 0);
        return mix_word(hash, ((uint64_t)rx.lists << 32) | rx.state);
    }
    hash      = mix_ring(hash, core, rx.ring);
    rx.ring   = 0;
    rx.expect &= ~FLOW_WIRE_SEEN_MASK; /* a limit that was taken */
    rx.src    = (rx.peer != 0) && flow_peer_sent(peer, rx.src);
    if ((bounds.nodes > 2) && (rx.peer != 0)) {
        hash = mix_word(hash, peer->incarnation);
    }
    rx.peer   = rx.peer_next = rx.hash_next = rx.ctl_next = 0;
    rx.starved_next = 0;
    return mix(hash, &rx, sizeof(rx));
}

static uint64_t mix_peer(uint64_t hash, const flow_core_t *core,
                         const flow_peer_t *peer)
{
    hash = mix_word(hash, peer->lapped);
    hash = mix_word(hash, ((uint64_t)peer->refs << 32) |
                                  ((uint64_t)peer->answers << 16) |
                                  ((uint64_t)peer->woken << 24) |
                                  ((uint64_t)peer->ctl_out << 8) |
                                  peer->state);
    hash = mix_parked(hash, core, peer->parked);
    hash = mix_word(hash, ((uint64_t)peer->rma << 16) |
                                  ((uint64_t)peer->rival << 1) |
                                  peer->introduced);
    for (uint32_t index = peer->rx_list; index != 0;
         index = flow_core_rx(core, index)->peer_next) {
        hash = mix_word(hash, index);
    }
    return hash;
}

/* One side, in words that do not depend on which side it is. */
static uint64_t side_hash(unsigned id)
{
    flow_core_t *core = cores[id];
    uint64_t hash     = 1;

    if (!world.alive[id]) {
        return 4;
    }
    for (unsigned flow = (id != 0); flow < FLOWS; flow += 2) {
        if ((bounds.messages[flow] != 0) && (from_of(flow) == id)) {
            hash = mix_tx(hash, core, flow);
            hash = mix_word(hash, ((uint64_t)world.sent[flow] << 32) |
                                  world.closed[flow]);
        }
        if ((bounds.messages[flow ^ 1] != 0) && (to_of(flow ^ 1) == id)) {
            hash = mix_word(hash, ((uint64_t)world.got[flow ^ 1] << 8) |
                                  (world.drain[flow ^ 1] != 0));
        }
    }
    for (uint32_t index = 1; index < core->rx_free.head; ++index) {
        hash = mix_rx(hash, core, index);
    }
    for (unsigned node = 0; node < bounds.nodes; ++node) {
        const flow_peer_t *peer = flow_peer_find(core, node + 1u);
        if (peer != nullptr) {
            hash = mix_peer(hash, core, peer);
        }
    }
    hash = mix_timers(mix_word(hash, 97), core);
    hash = mix_rx_list(hash, core, core->starved, true);
    hash = mix_word(hash, error_hash(id));
    hash = mix_word(hash, (uint64_t)core->owed);
    hash = mix_word(hash, (uint64_t)core->lent);
    return mix_word(hash, ((uint64_t)core->granted << 32) | core->active);
}

/* The effect of each packet; twins of others in front of it are marked. */
static void look_at_wire(uint64_t *sums)
{
    for (unsigned i = 0; i < world.on_wire; ++i) {
        Packet &packet = world.wire[i];

        packet.twin = 0;
        for (unsigned j = 0; (j < i) && !packet.twin; ++j) {
            packet.twin = (world.wire[j].effect == packet.effect) &&
                          (world.wire[j].from == packet.from) &&
                          (world.wire[j].to == packet.to);
        }
        sums[packet.from] += (packet.effect == 0) ?
                                     0 : mix_word(packet.effect, 11);
    }
}

/* SRD: what was refused is as good as on the wire. */
static uint64_t what_waits(unsigned flow)
{
    uint64_t sum = 0;

    for (unsigned op = 0; !ud() && (op < world.sent[flow]); ++op) {
        const Kept &kept = world.kept[flow][op];
        Packet packet;
        if (!world.ops[flow][op].linked) {
            continue;
        }
        memset(&packet, 0, sizeof(packet));
        packet.from = (uint8_t)from_of(flow);
        packet.to   = (uint8_t)to_of(flow);
        packet.flow = (uint8_t)flow;
        packet.op   = (uint8_t)op;
        packet.len  = kept.len;
        memcpy(packet.bytes, kept.bytes, sizeof(kept.bytes));
        sum += mix_word(effect_of(packet), 13);
    }
    return sum;
}

/* State that no side has alone. */
static uint64_t common_hash()
{
    uint64_t hash = mix_word(3, ((uint64_t)world.recalls << 16) |
                                        ((uint64_t)world.losses << 8) |
                                        world.repeats);

    hash = mix_word(hash, ((uint64_t)world.errors << 24) |
                          ((uint64_t)world.pings << 16) |
                          ((uint64_t)world.held << 8) | world.lost);
    hash = mix_word(hash, ((uint64_t)world.dead << 16) |
                          ((uint64_t)world.unsaid << 8) | world.late);
    return mix_word(hash, ((uint64_t)world.shown << 8) | world.hard);
}

/* Has either side the same to do, so that they may change places? */
static bool is_symmetric()
{
    return (bounds.nodes == 2) &&
           (bounds.messages[0] == bounds.messages[1]) &&
           (bounds.messages[2] == bounds.messages[3]);
}

uint64_t state_hash()
{
    uint64_t sums[NODES] = {};
    uint64_t hash        = common_hash();

    for (unsigned id = 0; id < bounds.nodes; ++id) {
        if (touched & (1u << id)) {
            world.side[id] = side_hash(id);
        }
    }
    look_at_wire(sums);
    for (unsigned flow = 0; flow < FLOWS; ++flow) {
        sums[from_of(flow)] += what_waits(flow);
    }
    for (unsigned id = 0; id < bounds.nodes; ++id) {
        sums[id] = mix_word(world.side[id], sums[id]);
    }
    if (is_symmetric() && (sums[0] > sums[1])) {
        std::swap(sums[0], sums[1]);
    }
    for (unsigned id = 0; id < bounds.nodes; ++id) {
        hash = mix_word(hash, sums[id]);
    }
    return hash;
}

/* The receiving flow whose limit a packet tells, and the limit; NULL: none. */
static const flow_rx_t *rx_told_of(const Packet &packet, flow_psn_t *limit)
{
    flow_core_t *core = cores[packet.from];
    const flow_peer_t *peer;
    flow_ctl_msg_t msg;
    uint64_t word;

    if (!packet.ctl) {
        const flow_tx_t *tx = world.tx[packet.flow];
        word   = flow_wire_load64(packet.bytes);
        *limit = flow_wire_limit(word);
        return ((word & FLOW_WIRE_LIMIT) && (tx != nullptr) &&
                (tx->carries != 0)) ? flow_core_rx(core, tx->carries) :
                                      nullptr;
    }
    if ((flow_ctl_decode(packet.bytes, packet.len, &msg) != FLOW_DROP_NONE) ||
        ((msg.type != FLOW_CTL_LIMIT) && (msg.type != FLOW_CTL_ANSWER))) {
        return nullptr;
    }
    *limit = msg.limit;
    peer   = flow_peer_find(core, msg.dst);
    return (peer == nullptr) ? nullptr : flow_rx_find(core, peer, msg.ep);
}

/* SRD: no packet tells a limit of more than two laps ago. */
static void check_ages()
{
    flow_psn_t limit;

    for (unsigned i = 0; !ud() && (i < world.on_wire); ++i) {
        if (!world.alive[world.wire[i].from]) {
            continue;
        }
        const flow_rx_t *rx = rx_told_of(world.wire[i], &limit);
        if ((rx != nullptr) && (rx->state == FLOW_RX_ACTIVE) &&
            (flow_psn_diff(flow_rx_psn(rx), limit) >=
             (int)(2 * bounds.lap + bounds.window - 1))) {
            broken("a limit is older than two laps");
        }
    }
}

void state_check()
{
    check_ages();
    for (unsigned id = 0; id < bounds.nodes; ++id) {
        const char *error = ((touched & (1u << id)) && world.alive[id]) ?
                                    flow_check(cores[id]) : nullptr;
        if (error != nullptr) {
            broken(error);
        }
    }
}

static void check_all_came()
{
    char text[128];

    for (unsigned flow = 0; flow < FLOWS; ++flow) {
        if (!world.alive[from_of(flow)] || !world.alive[to_of(flow)] ||
            ((world.given >> flow) & 1)) {
            continue;
        }
        if ((world.got[flow] != bounds.messages[flow]) ||
            (world.tx[flow] != nullptr)) {
            snprintf(text, sizeof(text),
                     "nothing moves, and not everything is done: of flow %u "
                     "came %u, it is %s", flow, world.got[flow],
                     world.tx[flow] ? "left" : "gone");
            broken(text);
        }
    }
}

/* All memory came back; of the dead nothing is left but who they were. */
static void check_memory()
{
    flow_counters_t counters;
    char text[128];

    for (unsigned id = 0; id < bounds.nodes; ++id) {
        flow_core_counters(cores[id], &counters);
        counters.peers -= cores[id]->tombstones.count;
        if (world.alive[id] && !may_keep(id) &&
            (counters.rings || counters.rx_flows || counters.tx_flows ||
             counters.peers)) {
            snprintf(text, sizeof(text),
                     "nothing moves, and node %u has rings %u, flows %u and "
                     "%u, peers %u", id, (unsigned)counters.rings,
                     (unsigned)counters.tx_flows, (unsigned)counters.rx_flows,
                     (unsigned)counters.peers);
            broken(text);
        }
    }
}

void state_check_end()
{
    if (!ud()) {
        check_okay();
    }
    check_failed_end();
    if (!world.hard) { /* who gives up a flow does not harm the others */
        check_all_came();
    }
    if (!world.lost && !world.unsaid && !world.dead) {
        check_memory();
    }
}

} /* namespace model */
