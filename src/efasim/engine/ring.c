#include "ring.h"

#include <stddef.h>

/* head and tail are free-running byte counts; they wrap at 2^32, a multiple
 * of the ring's size. */
#define RING_MASK   (SIM_RING_BYTES - 1)
#define RING_ALIGN  16u

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

struct ring_pkt *ring_reserve(struct ring *ring, uint32_t length)
{
    uint32_t size = ring_pkt_size(length);
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    uint32_t left = SIM_RING_BYTES - (head & RING_MASK);
    uint32_t room = SIM_RING_BYTES - (head - tail);
    struct ring_pkt *pkt;

    if (left < size) {
        if (room < left + size) {
            return NULL;
        }
        pkt       = ring_at(ring, head);
        pkt->type = RING_PKT_PAD;
        pkt->size = left;
        atomic_store_explicit(&ring->head, head + left, memory_order_release);
        head += left;
    } else if (room < size) {
        return NULL;
    }

    pkt       = ring_at(ring, head);
    pkt->size = size;
    return pkt;
}

void ring_commit(struct ring *ring, struct ring_pkt *pkt)
{
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

    atomic_store_explicit(&ring->head, head + pkt->size,
                          memory_order_release);
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

struct ring_pkt *ring_peek(struct ring *ring, int *broken)
{
    struct ring_pkt *pkt;
    uint32_t head, tail;

    *broken = 0;
    for (;;) {
        tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
        head = atomic_load_explicit(&ring->head, memory_order_acquire);
        if (head == tail) {
            return NULL;
        }

        pkt = ring_at(ring, tail);
        if ((head - tail > SIM_RING_BYTES) ||
            !ring_pkt_is_sane(pkt, pkt->size, head - tail,
                              SIM_RING_BYTES - (tail & RING_MASK))) {
            *broken = 1;
            return NULL;
        }

        if (pkt->type != RING_PKT_PAD) {
            return pkt;
        }
        ring_consume(ring, pkt);
    }
}

void ring_consume(struct ring *ring, const struct ring_pkt *pkt)
{
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

    atomic_store_explicit(&ring->tail, tail + pkt->size,
                          memory_order_release);
}

int ring_answer(struct ring *ring, uint32_t token, uint32_t status)
{
    uint32_t head = atomic_load_explicit(&ring->ack_head,
                                         memory_order_relaxed);
    uint32_t tail = atomic_load_explicit(&ring->ack_tail,
                                         memory_order_acquire);

    if (head - tail >= SIM_RING_ACKS) {
        return -1;
    }

    ring->ack[head % SIM_RING_ACKS].token  = token;
    ring->ack[head % SIM_RING_ACKS].status = status;
    atomic_store_explicit(&ring->ack_head, head + 1, memory_order_release);
    return 0;
}

int ring_answer_take(struct ring *ring, struct ring_ack *ack)
{
    uint32_t tail = atomic_load_explicit(&ring->ack_tail,
                                         memory_order_relaxed);
    uint32_t head = atomic_load_explicit(&ring->ack_head,
                                         memory_order_acquire);

    if (head == tail) {
        return 0;
    }

    *ack = ring->ack[tail % SIM_RING_ACKS];
    atomic_store_explicit(&ring->ack_tail, tail + 1, memory_order_release);
    return 1;
}
