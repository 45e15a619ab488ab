/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One direction between two processes: packets from the producer, answers
 * back from the consumer. Single producer, single consumer, no lock, plain
 * memory. Packets are variable in size and contiguous; the producer writes a
 * packet in place and then publishes it, so a producer that dies half-way
 * leaves nothing the consumer can see.
 *
 * Answers never block: the producer keeps at most SIM_RING_ACKS packets
 * unanswered, and the answer ring has that many entries: a consumer can
 * always take the next packet, and a full packet ring cannot close a cycle.
 *
 * A line that one side writes must be fetched by the other's core, at a cost
 * above all else here. Each side therefore keeps its positions in its memory,
 * looks at the other's only when it has used up the room or the packets that it
 * last saw, and the consumer reports once for many packets.
 *
 * The other side's memory is not trusted: positions and lengths read from the
 * ring are checked, and a bad one marks the ring broken.
 */
#ifndef EFASIM_ENGINE_RING_H
#define EFASIM_ENGINE_RING_H

#include "limits.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
    RING_PKT_PAD  = 0, /* rest of the ring is unused, wrap */
    RING_PKT_SEND = 1,
    RING_PKT_WRITE = 2, /* tells of an RDMA write with immediate, no payload */
};

enum { /* ring_pkt.flags */
    RING_FLAG_IMM         = 1 << 0,
    RING_FLAG_UNSOLICITED = 1 << 1, /* the sender's QP was created so */
    RING_FLAG_DATAGRAM    = 1 << 2, /* of a UD QP: there is no answer */
};

struct ring_pkt {
    uint32_t size;     /* bytes to the next packet, a multiple of 16 */
    uint8_t  type;
    uint8_t  flags;    /* RING_FLAG_ */
    uint16_t src_qpn;
    uint16_t dst_qpn;
    uint8_t  src_nic;
    uint8_t  dst_gen;  /* dir_qp.gen of the destination when it was sent */
    uint32_t qkey;
    uint32_t token;    /* returned in the answer */
    uint32_t imm;
    uint32_t length;   /* payload bytes, following the header */
    uint32_t written;  /* bytes of the RDMA write */
};

struct ring_ack {
    uint32_t token;
    uint32_t status;   /* efa_status_t */
};

/* Free-running positions; each is written by one side, for the other. */
struct ring {
    _Atomic uint32_t head __attribute__((aligned(64)));     /* producer */
    _Atomic uint32_t tail __attribute__((aligned(64)));     /* consumer */
    _Atomic uint32_t ack_head;                              /* consumer */
    _Atomic uint32_t ack_tail __attribute__((aligned(64))); /* producer */
    struct ring_ack  ack[SIM_RING_ACKS] __attribute__((aligned(64)));
    uint8_t          data[SIM_RING_BYTES] __attribute__((aligned(64)));
};

/* The producer's end */
struct ring_tx {
    struct ring *ring;              /* NULL: none */
    uint32_t     head, ack_tail;    /* ours */
    uint32_t     tail, ack_head;    /* the consumer's, as last seen */
};

/* The consumer's end */
struct ring_rx {
    struct ring *ring;              /* NULL: none */
    uint32_t     tail, ack_head;    /* ours */
    uint32_t     head, ack_tail;    /* the producer's, as last seen */
    uint32_t     size;              /* of the packet last peeked at */
};

/* Begin where the ring's users before us, if any, have ended. */
void ring_tx_open(struct ring_tx *tx, struct ring *ring);
void ring_rx_open(struct ring_rx *rx, struct ring *ring);

/*
 * Room for one packet with `length` bytes of payload (<= SIM_MAX_MSG).
 * Returns the header to fill, with size set, or NULL when the ring is full.
 * Nothing is visible to the consumer before ring_commit().
 */
struct ring_pkt *ring_reserve(struct ring_tx *tx, uint32_t length);

void ring_commit(struct ring_tx *tx, const struct ring_pkt *pkt);

/* Is there anything that was not taken yet? Costs a look at one line. */
static inline int ring_has_packets(const struct ring_rx *rx)
{
    return atomic_load_explicit(&rx->ring->head, memory_order_acquire) !=
           rx->tail;
}

/*
 * The oldest packet, or NULL when there is none. *broken is set when the bytes
 * in the ring cannot be a packet; the ring is then of no more use.
 */
struct ring_pkt *ring_peek(struct ring_rx *rx, int *broken);

/* Take the packet that ring_peek() returned. */
void ring_consume(struct ring_rx *rx);

/* Answer a packet. Returns 0, or -1 when the producer broke its promise. */
int ring_answer(struct ring_rx *rx, uint32_t token, uint32_t status);

/* Tell the producer how far packets were taken and answered: before the ring is
 * left. */
void ring_publish(struct ring_rx *rx);

/* Take the oldest answer. Returns 1, or 0 when there is none. */
int ring_answer_take(struct ring_tx *tx, struct ring_ack *ack);

#endif
