/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools of flows, peers and rings in chunks that the caller hands over.
 *
 * Free objects queue first in, first out: an index that was just freed is the
 * last to come back, and FLOW_QUARANTINE of them always rest, so that a late
 * packet meets a free index with another generation, not a new flow.
 */
#include "flow/internal.h"

static size_t flow_pool_object_size(flow_pool_t pool)
{
    switch (pool) {
    case FLOW_POOL_TX:
        return sizeof(flow_tx_t);
    case FLOW_POOL_RX:
        return sizeof(flow_rx_t);
    case FLOW_POOL_PEER:
        return sizeof(flow_peer_t);
    default:
        return sizeof(flow_ring_t);
    }
}

size_t flow_core_chunk_size(const flow_core_t *core, flow_pool_t pool)
{
    uint32_t size;

    if (pool == FLOW_POOL_HASH) {
        size = (core->hash_size == 0) ? FLOW_CHUNK : core->hash_size * 2;
        return (size_t)size * 2 * sizeof(uint32_t);
    }
    if (pool == FLOW_POOL_RING) {
        return flow_pool_object_size(pool) << FLOW_RING_SHIFT;
    }
    return flow_pool_object_size(pool) << FLOW_CHUNK_SHIFT;
}

unsigned flow_core_grow_needed(const flow_core_t *core)
{
    unsigned pools = 0;

    if ((core->tx_free.count < 1) && (core->tx_count < FLOW_INDEX_MAX)) {
        pools |= 1u << FLOW_POOL_TX;
    }
    if ((core->rx_free.count < FLOW_QUARANTINE + FLOW_RX_BATCH) &&
        (core->rx_count < FLOW_INDEX_MAX)) {
        pools |= 1u << FLOW_POOL_RX;
    }
    if ((core->peer_free.count < FLOW_RX_BATCH + 1) &&
        (core->peer_count < FLOW_INDEX_MAX)) {
        pools |= 1u << FLOW_POOL_PEER;
    }
    if ((core->ring_free.count < FLOW_RX_BATCH) &&
        (core->ring_count < FLOW_INDEX_MAX)) {
        pools |= 1u << FLOW_POOL_RING;
    }
    if (core->hash_used + FLOW_RX_BATCH + 1 > core->hash_size) {
        pools |= 1u << FLOW_POOL_HASH;
    }
    return pools;
}

/* Add the objects from..to-1 to a free queue. */
#define FLOW_POOL_FILL(_core, _fifo, _get, _name, _count, _n) \
    do { \
        uint32_t _i; \
        for (_i = (_count); _i < (_count) + (_n); ++_i) { \
            _get(_core, _i)->index = _i; \
            if (_i != 0) { \
                flow_fifo_##_name##_push(_core, _fifo, _i); \
            } \
        } \
        (_count) += (_n); \
    } while (0)

static void flow_pool_grow_rx(flow_core_t *core, void *mem)
{
    flow_rx_t *chunk = mem;
    unsigned i;

    for (i = 0; i < FLOW_CHUNK; ++i) {
        chunk[i].src = FLOW_SRC_NONE;
        chunk[i].gen = (core->params.seed + i) & ((1u << FLOW_GEN_BITS) - 1);
    }
    core->rx_chunks[core->rx_count >> FLOW_CHUNK_SHIFT] = chunk;
    FLOW_POOL_FILL(core, &core->rx_free, flow_core_rx, rx_ctl, core->rx_count,
                   FLOW_CHUNK);
}

static uint32_t flow_hash_slot(const flow_core_t *core, uint64_t key)
{
    return (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 32) &
           (core->hash_size - 1);
}

static uint64_t flow_hash_addr_key(const flow_addr_t *addr)
{
    return flow_wire_get64(addr->gid) ^
           (flow_wire_get64(addr->gid + 8) * 0xff51afd7ed558ccdull) ^
           ((uint64_t)addr->qpn << 20);
}

uint32_t *flow_hash_incarnation(flow_core_t *core, uint64_t incarnation)
{
    return &core->hash[flow_hash_slot(core, incarnation)];
}

uint32_t *flow_hash_addr(flow_core_t *core, const flow_addr_t *addr)
{
    return &core->hash[core->hash_size +
                       flow_hash_slot(core, flow_hash_addr_key(addr))];
}

/* Move all peers to a table of twice the size; the old one is returned. */
static void *flow_pool_rehash(flow_core_t *core, void *mem, size_t bytes)
{
    uint32_t *old     = core->hash;
    uint32_t old_size = core->hash_size;
    uint32_t bucket, index, next, *head;
    flow_peer_t *peer;

    core->hash      = mem;
    core->hash_size = (uint32_t)(bytes / (2 * sizeof(uint32_t)));
    for (bucket = 0; bucket < 2 * old_size; ++bucket) {
        for (index = old[bucket]; index != 0; index = next) {
            peer = flow_core_peer(core, index);
            if (bucket < old_size) {
                next            = peer->hash_next;
                head            = flow_hash_incarnation(core,
                                                        peer->addr.incarnation);
                peer->hash_next = *head;
            } else {
                next            = peer->addr_next;
                head            = flow_hash_addr(core, &peer->addr);
                peer->addr_next = *head;
            }
            *head = index;
        }
    }
    return old;
}

void *flow_core_grow(flow_core_t *core, flow_pool_t pool, void *mem)
{
    size_t bytes = flow_core_chunk_size(core, pool);

    memset(mem, 0, bytes);
    switch (pool) {
    case FLOW_POOL_TX:
        core->tx_chunks[core->tx_count >> FLOW_CHUNK_SHIFT] = mem;
        FLOW_POOL_FILL(core, &core->tx_free, flow_core_tx, tx_ctl,
                       core->tx_count, FLOW_CHUNK);
        return NULL;
    case FLOW_POOL_RX:
        flow_pool_grow_rx(core, mem);
        return NULL;
    case FLOW_POOL_PEER:
        core->peer_chunks[core->peer_count >> FLOW_CHUNK_SHIFT] = mem;
        FLOW_POOL_FILL(core, &core->peer_free, flow_core_peer, peer_event,
                       core->peer_count, FLOW_CHUNK);
        return NULL;
    case FLOW_POOL_RING:
        core->ring_chunks[core->ring_count >> FLOW_RING_SHIFT] = mem;
        FLOW_POOL_FILL(core, &core->ring_free, flow_core_ring, ring,
                       core->ring_count, 1u << FLOW_RING_SHIFT);
        return NULL;
    default:
        return flow_pool_rehash(core, mem, bytes);
    }
}

uint32_t flow_pool_tx_get(flow_core_t *core)
{
    uint32_t index = flow_fifo_tx_ctl_pop(core, &core->tx_free);

    if (index != 0) {
        ++core->counters.tx_flows;
    }
    return index;
}

void flow_pool_tx_put(flow_core_t *core, uint32_t index)
{
    flow_tx_t *tx = flow_core_tx(core, index);

    memset(tx, 0, sizeof(*tx));
    tx->index = index;
    --core->counters.tx_flows;
    flow_fifo_tx_ctl_push(core, &core->tx_free, index);
}

uint32_t flow_pool_rx_free(const flow_core_t *core)
{
    return (core->rx_free.count > FLOW_QUARANTINE) ?
                   core->rx_free.count - FLOW_QUARANTINE :
                   0;
}

int flow_pool_peer_free(const flow_core_t *core)
{
    return (core->peer_free.count > 0) && (core->hash_used < core->hash_size);
}

uint32_t flow_pool_rx_get(flow_core_t *core)
{
    uint32_t index;

    if (flow_pool_rx_free(core) == 0) {
        return 0;
    }

    index = flow_fifo_rx_ctl_pop(core, &core->rx_free);
    if (index != 0) {
        ++core->counters.rx_flows;
    }
    return index;
}

void flow_pool_rx_put(flow_core_t *core, uint32_t index)
{
    flow_rx_t *rx = flow_core_rx(core, index);
    uint8_t gen   = (rx->gen + 1) & ((1u << FLOW_GEN_BITS) - 1);

    memset(rx, 0, sizeof(*rx));
    rx->index = index;
    rx->gen   = gen;
    rx->src   = FLOW_SRC_NONE;
    --core->counters.rx_flows;
    flow_fifo_rx_ctl_push(core, &core->rx_free, index);
}

uint32_t flow_pool_peer_get(flow_core_t *core)
{
    uint32_t index;

    if (!flow_pool_peer_free(core)) {
        return 0;
    }

    index = flow_fifo_peer_event_pop(core, &core->peer_free);
    if (index != 0) {
        ++core->counters.peers;
        ++core->hash_used;
    }
    return index;
}

void flow_pool_peer_put(flow_core_t *core, uint32_t index)
{
    flow_peer_t *peer = flow_core_peer(core, index);

    memset(peer, 0, sizeof(*peer));
    peer->index = index;
    --core->counters.peers;
    --core->hash_used;
    flow_fifo_peer_event_push(core, &core->peer_free, index);
}

uint32_t flow_pool_ring_get(flow_core_t *core)
{
    uint32_t index = flow_fifo_ring_pop(core, &core->ring_free);

    if (index != 0) {
        ++core->counters.rings;
        flow_core_ring(core, index)->mask = 0;
    }
    return index;
}

void flow_pool_ring_put(flow_core_t *core, uint32_t index)
{
    --core->counters.rings;
    flow_fifo_ring_push(core, &core->ring_free, index);
}
