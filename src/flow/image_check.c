/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of a loaded image, which may come from anywhere: every number that
 * finds a record or a slot must be that of an existing one. The core of an
 * image that passes stays within its memory, whatever it does.
 */
#include "flow/core.h"
#include "flow/image_priv.h"
#include "flow/rx_priv.h"
#include "flow/tx_priv.h"

#define FLOW_IMAGE_CHECK(_expr) \
    do { \
        if (!(_expr)) { \
            return #_expr; \
        } \
    } while (0)

/* The queue's ends are records; count is only compared. */
static int flow_image_fifo(const flow_fifo_t *fifo, uint32_t count)
{
    return (fifo->head < count) && (fifo->tail < count) &&
           ((fifo->head == 0) == (fifo->tail == 0));
}

static const char *flow_image_counts_error(const flow_core_t *core)
{
    uint32_t hash = core->hash_size;

    FLOW_IMAGE_CHECK(core->tx_count <= FLOW_INDEX_MAX);
    FLOW_IMAGE_CHECK(core->rx_count <= FLOW_INDEX_MAX);
    FLOW_IMAGE_CHECK(core->peer_count <= FLOW_INDEX_MAX);
    FLOW_IMAGE_CHECK(core->ring_count <= FLOW_INDEX_MAX);
    FLOW_IMAGE_CHECK((core->tx_count % FLOW_CHUNK) == 0);
    FLOW_IMAGE_CHECK((core->rx_count % FLOW_CHUNK) == 0);
    FLOW_IMAGE_CHECK((core->peer_count % FLOW_CHUNK) == 0);
    FLOW_IMAGE_CHECK((core->ring_count % (1u << FLOW_RING_SHIFT)) == 0);
    FLOW_IMAGE_CHECK((hash >= FLOW_CHUNK) && (hash <= FLOW_INDEX_MAX) &&
                     ((hash & (hash - 1)) == 0));
    FLOW_IMAGE_CHECK((core->tx_count != 0) && (core->rx_count != 0) &&
                     (core->peer_count != 0) && (core->ring_count != 0));
    return NULL;
}

static const char *flow_image_batch_error(const flow_core_t *core)
{
    const flow_batch_t *batch = core->batch;

    for (; batch < core->batch + FLOW_LEVELS; ++batch) {
        FLOW_IMAGE_CHECK(flow_image_fifo(&batch->tx_wait, core->tx_count));
        FLOW_IMAGE_CHECK(flow_image_fifo(&batch->tx_gather, core->tx_count));
        FLOW_IMAGE_CHECK(flow_image_fifo(&batch->rx_wait, core->rx_count));
        FLOW_IMAGE_CHECK(flow_image_fifo(&batch->rx_gather, core->rx_count));
    }
    return NULL;
}

static const char *flow_image_queues_error(const flow_core_t *core)
{
    FLOW_IMAGE_CHECK(flow_image_fifo(&core->tx_free, core->tx_count));
    FLOW_IMAGE_CHECK(flow_image_fifo(&core->rx_free, core->rx_count));
    FLOW_IMAGE_CHECK(flow_image_fifo(&core->peer_free, core->peer_count));
    FLOW_IMAGE_CHECK(flow_image_fifo(&core->ring_free, core->ring_count));
    FLOW_IMAGE_CHECK(flow_image_fifo(&core->tombstones, core->peer_count));
    FLOW_IMAGE_CHECK(flow_image_fifo(&core->ctl_tx, core->tx_count));
    FLOW_IMAGE_CHECK(flow_image_fifo(&core->ctl_rx, core->rx_count));
    FLOW_IMAGE_CHECK(flow_image_fifo(&core->event_tx, core->tx_count));
    FLOW_IMAGE_CHECK(flow_image_fifo(&core->event_peer, core->peer_count));
    FLOW_IMAGE_CHECK(flow_image_fifo(&core->event_ring, core->ring_count));
    FLOW_IMAGE_CHECK(flow_image_fifo(&core->starved, core->rx_count));
    FLOW_IMAGE_CHECK(flow_image_fifo(&core->parted_wait, core->rx_count));
    FLOW_IMAGE_CHECK(flow_image_fifo(&core->parted_gather, core->rx_count));
    FLOW_IMAGE_CHECK(core->hand < core->rx_count);
    FLOW_IMAGE_CHECK(core->alarms < core->ring_count);
    return flow_image_batch_error(core);
}

const char *flow_image_core_error(const flow_core_t *core)
{
    const char *error = flow_image_counts_error(core);
    unsigned i;

    if (error == NULL) {
        error = flow_image_queues_error(core);
    }
    if (error != NULL) {
        return error;
    }
    FLOW_IMAGE_CHECK(flow_params_valid(&core->params));
    for (i = 0; i <= FLOW_EXPIRED; ++i) {
        FLOW_IMAGE_CHECK(core->expired_next[i] <= FLOW_EXPIRED);
    }
    for (i = 0; i < FLOW_EXPIRED; ++i) {
        FLOW_IMAGE_CHECK(core->expired_head[i] <= FLOW_EXPIRED);
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
    FLOW_IMAGE_CHECK((tx->flags & FLOW_TXF_AWAITS) ||
                     (tx->carries < core->rx_count));
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
    FLOW_IMAGE_CHECK((rx->ring == 0) ||
                     !flow_image_sends(core, flow_core_ring(core, rx->ring)));
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

static const char *
flow_image_each(const flow_core_t *core, uint32_t count,
                const char *(*look)(const flow_core_t*, uint32_t))
{
    const char *error = NULL;
    uint32_t index;

    for (index = 0; (index < count) && (error == NULL); ++index) {
        error = look(core, index);
    }
    return error;
}

const char *flow_image_error(const flow_core_t *core)
{
    const char *error = flow_image_each(core, core->tx_count,
                                        flow_image_tx_error);

    if (error == NULL) {
        error = flow_image_each(core, core->rx_count, flow_image_rx_error);
    }
    if (error == NULL) {
        error = flow_image_each(core, core->peer_count, flow_image_peer_error);
    }
    if (error == NULL) {
        error = flow_image_each(core, core->ring_count, flow_image_ring_error);
    }
    return (error == NULL) ? flow_image_hash_error(core) : error;
}
