/* SPDX-License-Identifier: BSD-3-Clause */
#include "ring.h"

#include <stddef.h>

/* head and tail are free-running byte counts; they wrap at 2^32, a multiple
 * of the ring's size. */
#define RING_MASK   (SIM_RING_BYTES - 1)
#define RING_ALIGN  16u
#define RING_AHEAD  128u /* bytes that are fetched before they are written */

_Static_assert(sizeof(struct ring_pkt) % RING_ALIGN == 0, "packet header");

static struct ring_pkt *ring_at(struct ring *ring, uint32_t pos)
{
    return (struct ring_pkt*)&ring->data[pos & RING_MASK];
}

static uint32_t ring_pkt_size(uint32_t length)
{
    return (sizeof(struct ring_pkt) + length + RING_ALIGN - 1) &
           ~(RING_ALIGN - 1);
}

void ring_tx_open(struct ring_tx *tx, struct ring *ring)
{
    tx->ring     = ring;
    tx->head     = atomic_load(&ring->head);
    tx->tail     = atomic_load(&ring->tail);
    tx->ack_tail = atomic_load(&ring->ack_tail);
    tx->ack_head = tx->ack_tail;
}

void ring_rx_open(struct ring_rx *rx, struct ring *ring)
{
    rx->ring     = ring;
    rx->tail     = atomic_load(&ring->tail) & ~(RING_ALIGN - 1);
    rx->head     = rx->tail;
    rx->ack_head = atomic_load(&ring->ack_head);
    rx->ack_tail = atomic_load(&ring->ack_tail);
}

/* Are `size` bytes free? Looks at the consumer's position when it must. */
static int ring_has_room(struct ring_tx *tx, uint32_t size)
{
    if (SIM_RING_BYTES - (tx->head - tx->tail) >= size) {
        return 1;
    }

    tx->tail = atomic_load_explicit(&tx->ring->tail, memory_order_acquire);
    return SIM_RING_BYTES - (tx->head - tx->tail) >= size;
}

struct ring_pkt *ring_reserve(struct ring_tx *tx, uint32_t length)
{
    uint32_t size = ring_pkt_size(length);
    uint32_t left = SIM_RING_BYTES - (tx->head & RING_MASK);
    struct ring_pkt *pkt;

    if (left < size) {
        if (!ring_has_room(tx, left + size)) {
            return NULL;
        }
        pkt       = ring_at(tx->ring, tx->head);
        pkt->type = RING_PKT_PAD;
        pkt->size = left;
        ring_commit(tx, pkt);
    } else if (!ring_has_room(tx, size)) {
        return NULL;
    }

    pkt       = ring_at(tx->ring, tx->head);
    pkt->size = size;
    return pkt;
}

void ring_commit(struct ring_tx *tx, const struct ring_pkt *pkt)
{
    tx->head += pkt->size;
    atomic_store_explicit(&tx->ring->head, tx->head, memory_order_release);
    /* the consumer had the next line a round ago: ask for it in time */
    __builtin_prefetch(ring_at(tx->ring, tx->head + RING_AHEAD), 1);
}

static int ring_pkt_is_sane(const struct ring_pkt *pkt, uint32_t size,
                            uint32_t used, uint32_t left)
{
    if ((size < RING_ALIGN) || (size % RING_ALIGN) || (size > used) ||
        (size > left)) {
        return 0;
    }

    return (pkt->type == RING_PKT_PAD) ||
           ((pkt->type <= RING_PKT_WRITE) && (pkt->length <= SIM_MAX_MSG) &&
            (size == ring_pkt_size(pkt->length)));
}

struct ring_pkt *ring_peek(struct ring_rx *rx, int *broken)
{
    struct ring_pkt *pkt;
    uint32_t size;

    *broken = 0;
    for (;;) {
        if (rx->head == rx->tail) {
            rx->head = atomic_load_explicit(&rx->ring->head,
                                            memory_order_acquire);
            if (rx->head == rx->tail) {
                return NULL;
            }
        }

        pkt  = ring_at(rx->ring, rx->tail);
        size = pkt->size;
        if ((rx->head - rx->tail > SIM_RING_BYTES) ||
            !ring_pkt_is_sane(pkt, size, rx->head - rx->tail,
                              SIM_RING_BYTES - (rx->tail & RING_MASK))) {
            *broken = 1;
            return NULL;
        }

        rx->size = size;
        if (pkt->type != RING_PKT_PAD) {
            return pkt;
        }
        ring_consume(rx);
    }
}

void ring_consume(struct ring_rx *rx)
{
    rx->tail += rx->size;
}

int ring_answer(struct ring_rx *rx, uint32_t token, uint32_t status)
{
    struct ring_ack *ack = &rx->ring->ack[rx->ack_head % SIM_RING_ACKS];

    if (rx->ack_head - rx->ack_tail >= SIM_RING_ACKS) {
        rx->ack_tail = atomic_load_explicit(&rx->ring->ack_tail,
                                            memory_order_acquire);
        if (rx->ack_head - rx->ack_tail >= SIM_RING_ACKS) {
            return -1;
        }
    }

    ack->token  = token;
    ack->status = status;
    ++rx->ack_head;
    return 0;
}

void ring_publish(struct ring_rx *rx)
{
    atomic_store_explicit(&rx->ring->ack_head, rx->ack_head,
                          memory_order_release);
    atomic_store_explicit(&rx->ring->tail, rx->tail, memory_order_release);
}

int ring_answer_take(struct ring_tx *tx, struct ring_ack *ack)
{
    if (tx->ack_head == tx->ack_tail) {
        tx->ack_head = atomic_load_explicit(&tx->ring->ack_head,
                                            memory_order_acquire);
        if ((tx->ack_head == tx->ack_tail) ||
            (tx->ack_head - tx->ack_tail > SIM_RING_ACKS)) {
            tx->ack_head = tx->ack_tail; /* none, or not to be believed */
            return 0;
        }
    }

    *ack = tx->ring->ack[tx->ack_tail++ % SIM_RING_ACKS];
    if (tx->ack_head == tx->ack_tail) { /* all: the consumer may go on */
        atomic_store_explicit(&tx->ring->ack_tail, tx->ack_tail,
                              memory_order_release);
    }
    return 1;
}
