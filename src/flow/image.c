/* SPDX-License-Identifier: BSD-3-Clause */
/* A core's state as bytes: saved, checked and loaded. */
#include "flow/image.h"
#include "flow/core.h"
#include "flow/owner_priv.h"
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

/* Has the ring operations, not packets? A ring that goes round keeps the number
 * of the flow that it was of. */
static int flow_image_sends(const flow_core_t *core, const flow_ring_t *ring)
{
    uint32_t tx = ring->unacked.tx;

    return (tx != 0) && (tx < core->tx_count) &&
           (flow_core_tx(core, tx)->ring == ring->index);
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

/* -------------------------------------------------------------- check */

/*
 * A loaded image may come from anywhere: every number that finds a record or a
 * slot must be that of an existing one, and each is in one place (owner.c). The
 * core of an image that passes stays within its memory, whatever it does.
 */
#define FLOW_IMAGE_CHECK(_expr) \
    do { \
        if (!(_expr)) { \
            return #_expr; \
        } \
    } while (0)

static int flow_image_count(uint32_t count, uint32_t chunk)
{
    return (count != 0) && (count <= FLOW_INDEX_MAX) && (count % chunk == 0);
}

static const char *flow_image_queues_error(const flow_core_t *core)
{
    uint32_t tx = core->tx_count, rx = core->rx_count, peer = core->peer_count;
    uint32_t hash = core->hash_size, ring = core->ring_count;
    const flow_batch_t *batch = core->batch;

    FLOW_IMAGE_CHECK(flow_image_count(tx, FLOW_CHUNK));
    FLOW_IMAGE_CHECK(flow_image_count(rx, FLOW_CHUNK));
    FLOW_IMAGE_CHECK(flow_image_count(peer, FLOW_CHUNK));
    FLOW_IMAGE_CHECK(flow_image_count(ring, 1u << FLOW_RING_SHIFT));
    FLOW_IMAGE_CHECK(flow_image_count(hash, FLOW_CHUNK) &&
                     ((hash & (hash - 1)) == 0));
    FLOW_IMAGE_CHECK(core->tx_free.head < tx);
    FLOW_IMAGE_CHECK(core->rx_free.head < rx);
    FLOW_IMAGE_CHECK(core->peer_free.head < peer);
    FLOW_IMAGE_CHECK(core->ring_free.head < ring);
    FLOW_IMAGE_CHECK(core->tombstones.head < peer);
    FLOW_IMAGE_CHECK(core->ctl_tx.head < tx);
    FLOW_IMAGE_CHECK(core->ctl_rx.head < rx);
    FLOW_IMAGE_CHECK(core->event_tx.head < tx);
    FLOW_IMAGE_CHECK(core->event_peer.head < peer);
    FLOW_IMAGE_CHECK(core->event_ring.head < ring);
    FLOW_IMAGE_CHECK(core->starved.head < rx);
    FLOW_IMAGE_CHECK(core->parted_wait.head < rx);
    FLOW_IMAGE_CHECK(core->parted_gather.head < rx);
    FLOW_IMAGE_CHECK((core->hand < rx) && (core->alarms < ring));
    for (; batch < core->batch + FLOW_LEVELS; ++batch) {
        FLOW_IMAGE_CHECK(batch->tx_wait.head < tx);
        FLOW_IMAGE_CHECK(batch->tx_gather.head < tx);
        FLOW_IMAGE_CHECK(batch->rx_wait.head < rx);
        FLOW_IMAGE_CHECK(batch->rx_gather.head < rx);
    }
    return NULL;
}

/* Faults of the core itself, before its chunks are there; NULL: none. */
static const char *flow_image_core_error(const flow_core_t *core)
{
    unsigned i;

    FLOW_IMAGE_CHECK(flow_params_valid(&core->params));
    for (i = 0; i <= FLOW_EXPIRED; ++i) {
        FLOW_IMAGE_CHECK(core->expired_next[i] <= FLOW_EXPIRED);
        FLOW_IMAGE_CHECK((i == FLOW_EXPIRED) ||
                         (core->expired_head[i] <= FLOW_EXPIRED));
    }
    for (i = 0; i < FLOW_STRANGERS; ++i) {
        FLOW_IMAGE_CHECK((core->strangers[i] & (FLOW_INDEX_MAX - 1)) <
                         core->rx_count);
    }
    return NULL;
}

/* A flow of either kind, as turn.c names it. */
static int flow_image_turn(const flow_core_t *core, uint32_t turn)
{
    return (turn & (FLOW_INDEX_MAX - 1)) <
           ((turn >= FLOW_INDEX_MAX) ? core->rx_count : core->tx_count);
}

static const char *flow_image_tx_error(const flow_core_t *core, uint32_t index)
{
    const flow_tx_t *tx = flow_core_tx(core, index);

    FLOW_IMAGE_CHECK(flow_tx_index(tx) == index);
    FLOW_IMAGE_CHECK(tx->state <= FLOW_TX_GONE);
    FLOW_IMAGE_CHECK((tx->flags & FLOW_TXF_AWAITS) ?
                             !(tx->flags & (FLOW_TXF_CARRIES |
                                            FLOW_TXF_PAIRED)) :
                             (tx->carries < core->rx_count));
    FLOW_IMAGE_CHECK(!(tx->flags & FLOW_TXF_CARRIES) ==
                     !(tx->hdr & FLOW_WIRE_LIMIT));
    FLOW_IMAGE_CHECK(!flow_is_ud(core) || (tx->ring != 0) ||
                     (tx->stop == flow_tx_psn(tx)));
    FLOW_IMAGE_CHECK(tx->peer < core->peer_count);
    FLOW_IMAGE_CHECK(tx->peer_next < core->tx_count);
    FLOW_IMAGE_CHECK(tx->ring < core->ring_count);
    FLOW_IMAGE_CHECK(flow_image_turn(core, (uint32_t)tx->ctl_next));
    FLOW_IMAGE_CHECK(tx->event_next < core->tx_count);
    FLOW_IMAGE_CHECK((tx->ring == 0) ||
                     (flow_core_ring(core, tx->ring)->unacked.tx == index));
    return NULL;
}

static const char *flow_image_rx_error(const flow_core_t *core, uint32_t index)
{
    const flow_rx_t *rx = flow_core_rx(core, index);

    FLOW_IMAGE_CHECK(flow_rx_index(rx) == index);
    FLOW_IMAGE_CHECK(rx->hash_next < core->rx_count);
    FLOW_IMAGE_CHECK(rx->peer < core->peer_count);
    FLOW_IMAGE_CHECK(rx->peer_next < core->rx_count);
    FLOW_IMAGE_CHECK(rx->pair < core->tx_count);
    FLOW_IMAGE_CHECK(rx->ring < core->ring_count);
    FLOW_IMAGE_CHECK(flow_image_turn(core, (uint32_t)rx->ctl_next));
    FLOW_IMAGE_CHECK(rx->starved_next < core->rx_count);
    return NULL;
}

static const char *
flow_image_peer_error(const flow_core_t *core, uint32_t index)
{
    const flow_peer_t *peer = flow_core_peer(core, index);

    FLOW_IMAGE_CHECK(peer->index == index);
    FLOW_IMAGE_CHECK(peer->prefix < FLOW_PREFIXES);
    FLOW_IMAGE_CHECK(flow_image_turn(core, (uint32_t)peer->parked));
    FLOW_IMAGE_CHECK(peer->hash_next < core->peer_count);
    FLOW_IMAGE_CHECK(peer->addr_next < core->peer_count);
    FLOW_IMAGE_CHECK(peer->tx_list <
                     (peer->entombed ? core->peer_count : core->tx_count));
    FLOW_IMAGE_CHECK(peer->rx_list < core->rx_count);
    FLOW_IMAGE_CHECK(peer->event_next < core->peer_count);
    return NULL;
}

/* No operation may be missing, nor one be taken for a packet. */
static const char *
flow_image_ring_error(const flow_core_t *core, uint32_t index)
{
    const flow_ring_t *ring = flow_core_ring(core, index);
    unsigned slot;

    FLOW_IMAGE_CHECK(ring->index == index);
    FLOW_IMAGE_CHECK(ring->next < core->ring_count);
    FLOW_IMAGE_CHECK(ring->unacked.tx < core->tx_count);
    FLOW_IMAGE_CHECK(ring->unacked.place <= core->alarms);
    FLOW_IMAGE_CHECK(ring->unacked.heap < core->ring_count);
    FLOW_IMAGE_CHECK(!flow_image_sends(core, ring) || flow_is_ud(core));
    FLOW_IMAGE_CHECK(((ring->unacked.lost & ~ring->mask) == 0) ||
                     !flow_image_sends(core, ring));
    for (slot = 0; slot < FLOW_MAP_BITS; ++slot) {
        FLOW_IMAGE_CHECK(!((ring->mask >> slot) & 1) ||
                         (ring->slot[slot] != NULL));
    }
    return NULL;
}

static const char *flow_image_hash_error(const flow_core_t *core)
{
    uint32_t slot;

    for (slot = 0; slot < FLOW_INDEX_LAST * core->hash_size; ++slot) {
        FLOW_IMAGE_CHECK(core->hash[slot] <
                         ((slot / core->hash_size == FLOW_INDEX_RX) ?
                                  core->rx_count :
                                  core->peer_count));
    }
    return NULL;
}

const char *flow_image_end(flow_core_t *core)
{
    const struct {
        uint32_t count;
        const char *(*look)(const flow_core_t *core, uint32_t index);
    } records[] = {
        {core->tx_count, flow_image_tx_error},
        {core->rx_count, flow_image_rx_error},
        {core->peer_count, flow_image_peer_error},
        {core->ring_count, flow_image_ring_error}
    };
    const char *error = NULL;
    uint32_t index;
    unsigned i;

    for (i = 0; i < sizeof(records) / sizeof(records[0]); ++i) {
        for (index = 0; (index < records[i].count) && (error == NULL);
             ++index) {
            error = records[i].look(core, index);
        }
    }
    error = (error == NULL) ? flow_image_hash_error(core) : error;
    return (error == NULL) ? flow_owner_error(core) : error;
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
    return ((flow_image_queues_error(core) == NULL) &&
            (flow_image_core_error(core) == NULL)) ? core : NULL;
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

/* ------------------------------------------------------------ records */

uint32_t flow_image_tx_count(const flow_core_t *core)
{
    return core->tx_count;
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
    uint32_t peer = (uint32_t)(cookie >> 32) & (FLOW_INDEX_MAX - 1);

    return (peer < core->peer_count) &&
           (flow_core_peer(core, peer)->ctl_out != 0) &&
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
