/* SPDX-License-Identifier: BSD-3-Clause */
/* A core's state as bytes: saved, and loaded. image_check.c checks loaded
 * bytes. */
#include "flow/image.h"
#include "flow/core.h"
#include "flow/image_priv.h"
#include "flow/peer_priv.h"
#include "flow/pool.h"
#include "flow/rx_priv.h"
#include "flow/rx_record_priv.h"
#include "flow/trace_priv.h"
#include "flow/tx_priv.h"

enum {
    FLOW_IMAGE_REPOST  = 1, /* places: lists ...                              */
    FLOW_IMAGE_RELEASE = 2,
    FLOW_IMAGE_BATCH   = 3, /* ... of each level, the wait and what gathers   */
    FLOW_IMAGE_SLOT    = FLOW_IMAGE_BATCH + 2 * FLOW_LEVELS,
                            /* ... then those of each ring                    */
    FLOW_IMAGE_PLACES  = FLOW_IMAGE_SLOT + FLOW_MAP_BITS * FLOW_INDEX_MAX
};

uint64_t flow_image_layout(void)
{
    static const uint32_t facts[] = {
        FLOW_VERSION, sizeof(flow_core_t), sizeof(flow_tx_t),
        sizeof(flow_rx_t), sizeof(flow_peer_t), sizeof(flow_ring_t),
        sizeof(flow_path_t), sizeof(flow_params_t), FLOW_DROP_LAST,
        offsetof(flow_core_t, params), offsetof(flow_core_t, hash),
        offsetof(flow_core_t, batch), offsetof(flow_core_t, counters),
        offsetof(flow_core_t, strangers), FLOW_CHUNK_SHIFT, FLOW_RING_SHIFT
    };
    uint64_t hash = 1;
    unsigned i;

    for (i = 0; i < sizeof(facts) / sizeof(facts[0]); ++i) {
        hash = flow_trace_mix(hash, facts[i]);
    }
    return hash;
}

/* Chunks of each pool, in the order of parts. */
static uint32_t flow_image_chunks(const flow_core_t *core, flow_pool_t pool)
{
    switch (pool) {
    case FLOW_POOL_TX:
        return core->tx_count >> FLOW_CHUNK_SHIFT;
    case FLOW_POOL_RX:
        return core->rx_count >> FLOW_CHUNK_SHIFT;
    case FLOW_POOL_PEER:
        return core->peer_count >> FLOW_CHUNK_SHIFT;
    case FLOW_POOL_RING:
        return core->ring_count >> FLOW_RING_SHIFT;
    default:
        return core->hash_size != 0;
    }
}

uint32_t flow_image_parts(const flow_core_t *core)
{
    uint32_t parts = 1;
    int pool;

    for (pool = 0; pool < FLOW_POOL_LAST; ++pool) {
        parts += flow_image_chunks(core, (flow_pool_t)pool);
    }
    return parts;
}

/* The pool of a part that is not the core itself, and its place there. */
static flow_pool_t flow_image_pool(const flow_core_t *core, uint32_t part,
                                   uint32_t *chunk)
{
    int pool = 0;

    for (--part; part >= flow_image_chunks(core, (flow_pool_t)pool); ++pool) {
        part -= flow_image_chunks(core, (flow_pool_t)pool);
    }
    *chunk = part;
    return (flow_pool_t)pool;
}

size_t flow_image_size(const flow_core_t *core, uint32_t part)
{
    flow_pool_t pool;
    uint32_t chunk;

    if (part == 0) {
        return sizeof(*core);
    }
    pool = flow_image_pool(core, part, &chunk);
    return (pool == FLOW_POOL_HASH) ?
                   (size_t)core->hash_size * FLOW_INDEX_LAST *
                           sizeof(uint32_t) :
                   flow_pool_chunk_size(core, pool);
}

/* Where a chunk lies. */
static void **flow_image_chunk(flow_core_t *core, flow_pool_t pool,
                               uint32_t chunk)
{
    switch (pool) {
    case FLOW_POOL_TX:
        return (void**)&core->tx_chunks[chunk];
    case FLOW_POOL_RX:
        return (void**)&core->rx_chunks[chunk];
    case FLOW_POOL_PEER:
        return (void**)&core->peer_chunks[chunk];
    case FLOW_POOL_RING:
        return (void**)&core->ring_chunks[chunk];
    default:
        return (void**)&core->hash;
    }
}

static void flow_image_forget(flow_core_t *core)
{
    unsigned level;

    memset(core->rx_chunks, 0, sizeof(core->rx_chunks));
    memset(core->tx_chunks, 0, sizeof(core->tx_chunks));
    memset(core->peer_chunks, 0, sizeof(core->peer_chunks));
    memset(core->ring_chunks, 0, sizeof(core->ring_chunks));
    core->hash = NULL;
    core->user = NULL;
    memset(&core->repost, 0, sizeof(core->repost));
    memset(&core->release, 0, sizeof(core->release));
    for (level = 0; level < FLOW_LEVELS; ++level) {
        core->batch[level].op_wait   = NULL;
        core->batch[level].op_gather = NULL;
    }
}

/* Slots that are not taken hold nothing; operations are told apart from the
 * rest. */
static void flow_image_save_rings(const flow_core_t *core, flow_ring_t *ring)
{
    flow_ring_t *end = ring + (1u << FLOW_RING_SHIFT);
    unsigned slot;

    for (; ring < end; ++ring) {
        for (slot = 0; slot < FLOW_MAP_BITS; ++slot) {
            if (flow_image_sends(core, ring) || !((ring->mask >> slot) & 1)) {
                ring->slot[slot] = NULL;
            }
        }
    }
}

void flow_image_save(const flow_core_t *core, uint32_t part, void *bytes)
{
    flow_pool_t pool;
    uint32_t chunk;

    if (part == 0) {
        memcpy(bytes, core, sizeof(*core));
        flow_image_forget(bytes);
        return;
    }
    pool = flow_image_pool(core, part, &chunk);
    memcpy(bytes, *flow_image_chunk((flow_core_t*)core, pool, chunk),
           flow_image_size(core, part));
    if (pool == FLOW_POOL_RING) {
        flow_image_save_rings(core, bytes);
    }
}

/* --------------------------------------------------- operations: save */

/* The head of a list; the records behind it are linked. */
static flow_op_t **flow_image_head(const flow_core_t *core, uint32_t place)
{
    flow_core_t *own = (flow_core_t*)core;

    switch (place) {
    case FLOW_IMAGE_REPOST:
        return &own->repost.head;
    case FLOW_IMAGE_RELEASE:
        return &own->release.head;
    default:
        place -= FLOW_IMAGE_BATCH;
        return (place & 1) ? &own->batch[place / 2].op_gather :
                             &own->batch[place / 2].op_wait;
    }
}

/* The first operation at this place or a later one. */
static int flow_image_from(const flow_core_t *core, flow_image_op_t *at)
{
    const flow_ring_t *ring;
    uint32_t slot;

    for (; at->place < FLOW_IMAGE_SLOT; ++at->place) {
        at->op = *flow_image_head(core, at->place);
        if (at->op != NULL) {
            return 1;
        }
    }
    slot = at->place - FLOW_IMAGE_SLOT;
    for (; slot / FLOW_MAP_BITS < core->ring_count; ++slot) {
        ring = flow_core_ring(core, slot / FLOW_MAP_BITS);
        if (!flow_image_sends(core, ring) || (ring->mask == 0)) {
            slot |= FLOW_MAP_BITS - 1;
        } else if ((ring->mask >> (slot % FLOW_MAP_BITS)) & 1) {
            at->place = FLOW_IMAGE_SLOT + slot;
            at->op    = ring->slot[slot % FLOW_MAP_BITS];
            return 1;
        }
    }
    return 0;
}

int flow_image_op(const flow_core_t *core, flow_image_op_t *at)
{
    if ((at->place < FLOW_IMAGE_SLOT) && (at->op != NULL) &&
        (at->op->next != NULL)) {
        at->op = at->op->next;
    } else {
        ++at->place;
        if (!flow_image_from(core, at)) {
            return 0;
        }
    }
    at->tx = flow_tx_index(at->op->tx);
    return 1;
}

/* --------------------------------------------------------------- load */

flow_core_t *flow_image_begin(void *mem, size_t mem_size, const void *bytes,
                              size_t size)
{
    flow_core_t *core = mem;

    if ((size != sizeof(*core)) || (mem_size < size) ||
        (((uintptr_t)mem % FLOW_ALIGN) != 0)) {
        return NULL;
    }
    memcpy(core, bytes, size);
    flow_image_forget(core);
    return (flow_image_core_error(core) == NULL) ? core : NULL;
}

void flow_image_load(flow_core_t *core, uint32_t part, void *mem)
{
    uint32_t chunk;
    flow_pool_t pool = flow_image_pool(core, part, &chunk);

    if (pool == FLOW_POOL_RING) {
        flow_image_save_rings(core, mem);
    }
    *flow_image_chunk(core, pool, chunk) = mem;
}

static void flow_image_append(flow_core_t *core, flow_op_t *op, uint32_t place)
{
    flow_op_t **link = flow_image_head(core, place);

    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link    = op;
    op->next = NULL;
    if (place == FLOW_IMAGE_REPOST) {
        core->repost.tail = op;
    } else if (place == FLOW_IMAGE_RELEASE) {
        core->release.tail = op;
    }
}

int flow_image_put(flow_core_t *core, flow_op_t *op, uint32_t place,
                   uint32_t tx)
{
    uint32_t slot = place - FLOW_IMAGE_SLOT;
    flow_ring_t *ring;

    if ((place == 0) || (place >= FLOW_IMAGE_PLACES) || (tx == 0) ||
        (tx >= core->tx_count)) {
        return 0;
    }
    op->tx = flow_core_tx(core, tx);
    if (place < FLOW_IMAGE_SLOT) {
        flow_image_append(core, op, place);
        return 1;
    }
    if (slot / FLOW_MAP_BITS >= core->ring_count) {
        return 0;
    }
    ring = flow_core_ring(core, slot / FLOW_MAP_BITS);
    if (!flow_image_sends(core, ring) ||
        !((ring->mask >> (slot % FLOW_MAP_BITS)) & 1)) {
        return 0;
    }
    ring->slot[slot % FLOW_MAP_BITS] = op;
    return 1;
}

const char *flow_image_end(flow_core_t *core)
{
    return flow_image_error(core);
}

/* ------------------------------------------------------------ records */

uint32_t flow_image_tx_count(const flow_core_t *core)
{
    return core->tx_count;
}

uint32_t flow_image_peer_count(const flow_core_t *core)
{
    return core->peer_count;
}

flow_tx_t *flow_image_tx(const flow_core_t *core, uint32_t number)
{
    flow_tx_t *tx;

    if ((number == 0) || (number >= core->tx_count)) {
        return NULL;
    }
    tx = flow_core_tx(core, number);
    return ((tx->state == FLOW_TX_FREE) || (tx->state == FLOW_TX_GONE)) ? NULL :
                                                                          tx;
}

flow_peer_t *flow_image_peer(const flow_core_t *core, uint32_t number)
{
    flow_peer_t *peer;

    if ((number == 0) || (number >= core->peer_count)) {
        return NULL;
    }
    peer = flow_core_peer(core, number);
    return (peer->state == FLOW_PEER_FREE) ? NULL : peer;
}

int flow_image_has_cookie(const flow_core_t *core, uint64_t cookie)
{
    uint32_t flow = (uint32_t)cookie & (FLOW_INDEX_MAX - 1);

    return (((cookie >> 32) & (FLOW_INDEX_MAX - 1)) < core->peer_count) &&
           (flow < ((cookie >> 63) ? core->rx_count : core->tx_count));
}

uint32_t flow_image_tx_ep(const flow_tx_t *tx)
{
    return tx->ep;
}

uint64_t flow_image_incarnation(const flow_core_t *core)
{
    return core->params.self.incarnation;
}

uint32_t flow_image_peer_number(const flow_peer_t *peer)
{
    return peer->index;
}

flow_src_t flow_image_peer_src(const flow_peer_t *peer)
{
    return flow_peer_src(peer, flow_src(FLOW_AH_UNKNOWN, peer->qpn));
}

uint32_t flow_image_rx_count(const flow_core_t *core)
{
    return core->rx_count;
}

int flow_image_rx(const flow_core_t *core, uint32_t number,
                  flow_image_rx_t *flow)
{
    const flow_rx_t *rx;

    if ((number == 0) || (number >= core->rx_count)) {
        return 0;
    }
    rx = flow_core_rx(core, number);
    if (rx->state != FLOW_RX_ACTIVE) {
        return 0;
    }
    flow->peer  = flow_core_peer(core, rx->peer);
    flow->ep    = rx->ep;
    flow->first = core->params.first_psn;
    flow->next  = flow_rx_psn(rx);
    flow->limit = flow_rx_use(rx);
    flow->told  = flow_rx_advertised(rx);
    flow->mask  = (rx->ring == 0) ? 0 : flow_core_ring(core, rx->ring)->mask;
    flow->held  = flow_psn_count(flow->mask);
    flow->ready = flow_rx_holds_next(core, rx);
    return 1;
}

uint32_t flow_image_rx_number(flow_core_t *core, uint64_t src, uint32_t ep)
{
    const flow_peer_t *peer = flow_peer_find(core, src);
    const flow_rx_t   *rx   = (peer == NULL) ? NULL :
                                               flow_rx_find(core, peer, ep);

    return (rx == NULL) ? 0 : flow_rx_index(rx);
}
