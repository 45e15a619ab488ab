/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools of flows, peers and rings in chunks that the caller hands over.
 *
 * Free objects queue first in, first out: an index that was just freed is the
 * last to come back, and FLOW_QUARANTINE of them are never used, so that a late
 * packet meets a free index with another generation, not a new flow.
 */
#include "flow/assert.h"
#include "flow/fifo_priv.h"
#include "flow/hash_priv.h"
#include "flow/pool_priv.h"
#include "flow/rx_priv.h"

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

size_t flow_pool_chunk_size(const flow_core_t *core, flow_pool_t pool)
{
    if (pool == FLOW_POOL_HASH) {
        return (size_t)flow_hash_next_size(core) * FLOW_INDEX_LAST *
               sizeof(uint32_t);
    }
    if (pool == FLOW_POOL_RING) {
        return flow_pool_object_size(pool) << FLOW_RING_SHIFT;
    }
    return (flow_pool_object_size(pool) +
            (((pool == FLOW_POOL_TX) && flow_is_ud(core)) ?
                     sizeof(flow_path_t) : 0)) << FLOW_CHUNK_SHIFT;
}

unsigned flow_pool_grow_needed(const flow_core_t *core)
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
    if (flow_hash_full(core)) {
        pools |= 1u << FLOW_POOL_HASH;
    }
    return pools;
}

/* Number the objects of a new chunk and queue them as free, but for no. 0. */
#define FLOW_POOL_FILL(_core, _fifo, _name, _count, _n, _set) \
    do { \
        uint32_t _end = (_count) + (_n); \
        uint32_t _i; \
        for (_i = (_count); _i < _end; ++_i) { \
            _set(_core, _i); \
            if (_i != 0) { \
                flow_fifo_##_name##_push(_core, _fifo, _i); \
            } \
        } \
        (_count) = _end; \
    } while (0)

static void flow_pool_set_tx(flow_core_t *core, uint32_t index)
{
    flow_core_tx(core, index)->ep = index;
}

/* A free flow keeps index and generation in the word that fits no packet. */
static void flow_pool_set_rx_token(flow_core_t *core, uint32_t index,
                                   uint64_t gen)
{
    uint32_t token = index | (((uint32_t)gen & ((1u << FLOW_GEN_BITS) - 1))
                              << FLOW_INDEX_BITS);

    flow_core_rx(core, index)->expect = flow_wire_set_token(FLOW_RX_SHUT,
                                                            token);
}

static void flow_pool_set_rx(flow_core_t *core, uint32_t index)
{
    flow_pool_set_rx_token(core, index, core->params.seed + index);
}

static void flow_pool_set_peer(flow_core_t *core, uint32_t index)
{
    flow_core_peer(core, index)->index = index & (FLOW_INDEX_MAX - 1);
}

static void flow_pool_set_ring(flow_core_t *core, uint32_t index)
{
    flow_core_ring(core, index)->index = index;
}

void *flow_pool_grow(flow_core_t *core, flow_pool_t pool, void *mem)
{
    memset(mem, 0, flow_pool_chunk_size(core, pool));
    switch (pool) {
    case FLOW_POOL_TX:
        core->tx_chunks[core->tx_count >> FLOW_CHUNK_SHIFT] = mem;
        FLOW_POOL_FILL(core, &core->tx_free, tx_ctl, core->tx_count,
                       FLOW_CHUNK, flow_pool_set_tx);
        return NULL;
    case FLOW_POOL_RX:
        core->rx_chunks[core->rx_count >> FLOW_CHUNK_SHIFT] = mem;
        FLOW_POOL_FILL(core, &core->rx_free, rx_ctl, core->rx_count,
                       FLOW_CHUNK, flow_pool_set_rx);
        return NULL;
    case FLOW_POOL_PEER:
        core->peer_chunks[core->peer_count >> FLOW_CHUNK_SHIFT] = mem;
        FLOW_POOL_FILL(core, &core->peer_free, peer_event, core->peer_count,
                       FLOW_CHUNK, flow_pool_set_peer);
        return NULL;
    case FLOW_POOL_RING:
        core->ring_chunks[core->ring_count >> FLOW_RING_SHIFT] = mem;
        FLOW_POOL_FILL(core, &core->ring_free, ring, core->ring_count,
                       1u << FLOW_RING_SHIFT, flow_pool_set_ring);
        return NULL;
    default:
        return flow_hash_move(core, mem);
    }
}

uint32_t flow_pool_tx_get(flow_core_t *core)
{
    uint32_t index = flow_fifo_tx_ctl_pop(core, &core->tx_free);

    flow_core_tx(core, index)->ep += FLOW_INDEX_MAX;
    ++core->counters.tx_flows;
    return index;
}

void flow_pool_tx_clear(flow_core_t *core, uint32_t index)
{
    flow_tx_t *tx = flow_core_tx(core, index);
    uint32_t ep   = tx->ep;

    memset(tx, 0, sizeof(*tx));
    tx->ep = ep;
    --core->counters.tx_flows;
}

void flow_pool_tx_release(flow_core_t *core, uint32_t index)
{
    flow_tx_t *tx = flow_core_tx(core, index);

    tx->state     = FLOW_TX_FREE;
    tx->peer_next = 0;
    if (tx->ep <= UINT32_MAX - FLOW_INDEX_MAX) { /* else its numbers are used
                                                    up */
        flow_fifo_tx_ctl_push(core, &core->tx_free, index);
    }
}

uint32_t flow_pool_rx_free(const flow_core_t *core)
{
    return (core->rx_free.count > FLOW_QUARANTINE) ?
                   core->rx_free.count - FLOW_QUARANTINE :
                   0;
}

int flow_pool_peer_free(const flow_core_t *core)
{
    return (core->peer_free.count > 0) && (core->hash_size > 0);
}

int flow_pool_is_full(const flow_core_t *core, int new_peer)
{
    return ((core->rx_count >= FLOW_INDEX_MAX) &&
            (flow_pool_rx_free(core) <= FLOW_SPARE)) ||
           (new_peer && (core->peer_count >= FLOW_INDEX_MAX) &&
            (core->peer_free.count <= FLOW_SPARE));
}

uint32_t flow_pool_rx_get(flow_core_t *core)
{
    flow_assert(flow_pool_rx_free(core) > 0);
    ++core->counters.rx_flows;
    return flow_fifo_rx_ctl_pop(core, &core->rx_free);
}

void flow_pool_rx_clear(flow_core_t *core, uint32_t index)
{
    flow_rx_t *rx = flow_core_rx(core, index);
    uint32_t gen  = (flow_rx_token(rx) >> FLOW_INDEX_BITS) + 1;

    memset(rx, 0, sizeof(*rx));
    flow_pool_set_rx_token(core, index, gen);
    --core->counters.rx_flows;
}

void flow_pool_rx_release(flow_core_t *core, uint32_t index)
{
    flow_rx_t *rx = flow_core_rx(core, index);

    rx->state     = FLOW_RX_FREE;
    rx->peer_next = 0;
    flow_fifo_rx_ctl_push(core, &core->rx_free, index);
}

uint32_t flow_pool_peer_get(flow_core_t *core)
{
    if (!flow_pool_peer_free(core)) {
        return 0;
    }

    ++core->counters.peers;
    return flow_fifo_peer_event_pop(core, &core->peer_free);
}

void flow_pool_peer_release(flow_core_t *core, uint32_t index)
{
    flow_peer_t *peer = flow_core_peer(core, index);

    memset(peer, 0, sizeof(*peer));
    peer->index = index;
    --core->counters.peers;
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

void flow_pool_ring_release(flow_core_t *core, uint32_t index)
{
    --core->counters.rings;
    flow_fifo_ring_push(core, &core->ring_free, index);
}
