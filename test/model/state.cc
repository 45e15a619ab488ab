/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which states are the same: those equal in flows, peers, held packets, queues,
 * back-offs and what is on the wire as a set. Counters, the trace and the clock
 * have no influence on what can happen next (time only ever passes far enough
 * to end every back-off). Sides are told apart by nothing but their place, so
 * with equal tasks a state and its mirror image are the same, too.
 */
#include "model.h"

namespace model {

static uint64_t mix_word(uint64_t hash, uint64_t word)
{
    hash  = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    return hash ^ (hash >> 32);
}

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

uint64_t state_packet_hash(const Packet &packet)
{
    uint8_t bytes[FLOW_CTL_MAX];
    uint64_t hash;

    memcpy(bytes, packet.bytes, sizeof(bytes));
    if (packet.ctl || (bytes[0] & FLOW_WIRE_LONG)) {
        memset(bytes + 8, 0, 16); /* incarnations: the side says it all */
    }
    if (bytes[0] == (FLOW_WIRE_CTL | FLOW_CTL_HELLO)) {
        memset(bytes + 40, 0, 8); /* QPN and QKEY: likewise */
    }
    hash = mix(7, bytes, packet.len);
    hash = mix_word(hash, packet.cookie);
    return mix_word(hash, ((uint64_t)packet.ctl << 8) | packet.op);
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
    if (ring->tx != 0) { /* its slots are operations, in order of number */
        return mix_word(hash, ((uint64_t)ring->due << 32) |
                                      ((uint64_t)ring->level << 16) |
                                      ring->tries);
    }
    for (uint64_t left = ring->mask; left != 0; left &= left - 1) {
        hash = mix_word(hash, (uintptr_t)ring->slot[__builtin_ctzll(left)]);
    }
    return hash;
}

/* SRD: time passes by ending all back-offs; UD: when they end counts, too. */
static uint64_t mix_due(uint64_t hash, flow_time_t due)
{
    return mix_word(hash, (bounds.profile == FLOW_UD) ? due - world.now : 1);
}

static uint64_t mix_timers(uint64_t hash, const flow_core_t *core, unsigned id)
{
    for (unsigned level = 0; level < FLOW_LEVELS; ++level) {
        const flow_batch_t *batch = &core->batch[level];
        if (batch->due == FLOW_TIME_NEVER) {
            continue;
        }
        hash = mix_due(mix_word(hash, level), batch->due);
        hash = mix(hash, &batch->tx_wait, 4 * sizeof(flow_fifo_t));
        for (const flow_fifo_t *fifo : {&batch->ring_wait,
                                        &batch->ring_gather}) {
            for (uint32_t ring = fifo->head; ring != 0;
                 ring = flow_core_ring(core, ring)->next) {
                hash = mix_word(hash, flow_core_ring(core, ring)->tx);
            }
            hash = mix_word(hash, 99);
        }
        for (const flow_op_t *list : {batch->op_wait, batch->op_gather}) {
            for (; list != nullptr; list = list->next) {
                hash = mix_word(hash, (uint64_t)(list - world.ops[id]) + 1);
            }
            hash = mix_word(hash, 0);
        }
    }
    if (core->parted_due != FLOW_TIME_NEVER) {
        hash = mix_due(hash, core->parted_due);
        hash = mix_word(hash, core->parted_wait.count);
        hash = mix_word(hash, core->parted_gather.count);
    }
    return hash;
}

static uint64_t mix_flows(uint64_t hash, const flow_core_t *core)
{
    flow_tx_t tx = *flow_core_tx(core, 1);

    hash    = mix_ring(hash, core, tx.ring);
    tx.ring = 0;
    hash    = mix(hash, &tx, sizeof(tx));
    for (unsigned index = 1; index <= 2; ++index) {
        flow_rx_t rx = *flow_core_rx(core, index);
        hash    = mix_ring(hash, core, rx.ring);
        rx.ring = 0;
        hash    = mix(hash, &rx, sizeof(rx));
    }
    return hash;
}

/* One side, in words that do not depend on which side it is. */
static uint64_t side_hash(unsigned id)
{
    const flow_core_t *core = cores[id];
    uint64_t hash           = mix_flows(1, core);
    uint64_t wire           = 0;
    const flow_peer_t *peer;

    peer = core->peer_chunks[0] + 1;
    hash = mix_word(hash, ((uint64_t)peer->tx_list << 32) | peer->rx_list);
    hash = mix_word(hash, ((uint64_t)peer->out << 32) | peer->state);
    hash = mix_word(hash, ((uint64_t)peer->pin << 16) | peer->events);
    hash = mix_timers(hash, core, id);
    hash = mix(hash, core->owed, sizeof(core->owed));
    for (unsigned i = 0; i < world.on_wire; ++i) { /* a set */
        wire += (world.wire[i].from == id) ? world.wire[i].hash : 0;
    }
    hash = mix_word(hash, wire);
    for (unsigned op = 0; op < world.sent[id]; ++op) {
        hash = mix_word(hash, ((uint64_t)world.ops[id][op].flags << 8) |
                                      world.ops[id][op].linked);
    }
    hash = mix_word(hash, ((uint64_t)world.sent[id] << 32) | world.got[id]);
    return mix_word(hash, world.closed[id]);
}

uint64_t state_hash()
{
    uint64_t a    = side_hash(0);
    uint64_t b    = side_hash(1);
    uint64_t hash = mix_word(3, ((uint64_t)world.losses << 8) | world.repeats);

    if ((bounds.messages[0] == bounds.messages[1]) && (a > b)) {
        return mix_word(mix_word(hash, b), a);
    }
    return mix_word(mix_word(hash, a), b);
}

void state_check()
{
    for (unsigned id = 0; id < NODES; ++id) {
        const char *error = flow_core_check(cores[id]);
        if (error != nullptr) {
            broken(error);
        }
    }
}

void state_check_end()
{
    flow_counters_t counters;
    char text[256];

    for (unsigned id = 0; id < NODES; ++id) {
        flow_core_counters(cores[id], &counters);
        if ((world.got[id] != bounds.messages[id ^ 1]) ||
            (world.tx[id] != nullptr) || counters.rings || counters.rx_flows ||
            counters.peers) {
            snprintf(text, sizeof(text),
                     "nothing moves, and not everything is done; node %u: got "
                     "%u, flow %s, rings %u, receiving %u, peers %u", id,
                     world.got[id], world.tx[id] ? "left" : "gone",
                     (unsigned)counters.rings, (unsigned)counters.rx_flows,
                     (unsigned)counters.peers);
            broken(text);
        }
    }
}

} /* namespace model */
