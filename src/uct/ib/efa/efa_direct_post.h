/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_DIRECT_POST_H_
#define EFA_DIRECT_POST_H_

#include "efa_barrier.h"
#include "efa_qp.h"

#include <string.h>

/*
 * Work requests are written in place: 64 bytes, upwards, then a fence, then the
 * doorbell. The device's memory is write-combining and never read. There is
 * always room: the queue takes as many requests as its owner has.
 */

/* Where a request goes: as verbs have it, and words of it for this path. */
typedef __typeof__(((struct ibv_send_wr*)NULL)->wr.ud) efa_verbs_dest_t;

typedef struct efa_dest {
    union {
        struct {
            struct ibv_ah *ah;
            uint32_t       remote_qpn, remote_qkey; /* word 2: the latter */
        };
        efa_verbs_dest_t verbs;
    };
    uint64_t direct_qpn; /* of word 0 */
    uint64_t direct_ah;  /* word 1 */
} efa_dest_t;

_Static_assert(offsetof(efa_dest_t, remote_qkey) ==
                       offsetof(efa_verbs_dest_t, remote_qkey), "as in verbs");

/* `ah` is the device's number of the handle `ibah`. */
static inline efa_dest_t
efa_dest(struct ibv_ah *ibah, uint16_t ah, uint32_t qpn, uint32_t qkey)
{
    efa_dest_t dest = {
        .ah          = ibah,
        .remote_qpn  = qpn,
        .remote_qkey = qkey,
        .direct_qpn  = (uint64_t)(qpn & 0xffff) << EFA_IO_WR_QPN_SHIFT,
        .direct_ah   = (uint64_t)ah << EFA_IO_WR_AH_SHIFT
    };

    return dest;
}

static inline uint64_t efa_direct_load(const void *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof(word));
    return word;
}

/* The words of the request at hand. `first`: its id, operation and length. */
static inline volatile uint64_t *
efa_direct_head(const efa_direct_sq_t *sq, const efa_dest_t *dest,
                uint64_t first)
{
    volatile uint64_t *slot = (volatile uint64_t*)sq->slot;

    slot[0] = sq->must | dest->direct_qpn | first;
    slot[1] = dest->direct_ah;
    slot[2] = dest->remote_qkey;
    slot[3] = 0;
    return slot + EFA_IO_WR_HEAD / sizeof(*slot);
}

/* It is written, of `size` bytes: the device may have it. Where it returns 1
 * efa_direct_sq_turn follows before the next one. */
static inline int efa_direct_ring(efa_direct_sq_t *sq, unsigned size)
{
    uint8_t *next = sq->slot + size;

    efa_barrier_send();
    *sq->doorbell = ++sq->written;
    sq->slot      = next;
    return __builtin_expect(next == sq->turn, 0);
}

/*
 * A SEND of two words, and of `length` bytes (at most 16) behind them, of which
 * 16 can be read, that travel inside a request of 64 bytes. As efa_direct_ring.
 */
static inline __attribute__((always_inline)) int
efa_direct_send_words(efa_direct_sq_t *sq, const efa_dest_t *dest,
                      uint16_t id, uint64_t word, uint64_t next,
                      const uint8_t *bytes, unsigned length)
{
    uint64_t           size = 2 * sizeof(word) + length;
    volatile uint64_t *slot;

    slot    = efa_direct_head(sq, dest, id | EFA_IO_WR_INLINE |
                                        (size << EFA_IO_WR_LENGTH_SHIFT));
    slot[0] = word;
    slot[1] = next;
    if (length > 0) {
        slot[2] = efa_direct_load(bytes);
        slot[3] = efa_direct_load(bytes + sizeof(*slot));
    } else { /* a whole line, which goes to the device as one */
        slot[2] = 0;
        slot[3] = 0;
    }
    return efa_direct_ring(sq, EFA_IO_WR_SIZE);
}

static inline void efa_direct_piece(volatile uint64_t *slot, uint64_t addr,
                                    uint32_t length, uint32_t key)
{
    slot[0] = length | ((uint64_t)key << 32);
    slot[1] = addr;
}

/* A SEND of one piece of memory, by a request of 64 bytes. As
 * efa_direct_ring. */
static inline int
efa_direct_send_piece(efa_direct_sq_t *sq, const efa_dest_t *dest,
                      uint16_t id, const struct ibv_sge *piece)
{
    volatile uint64_t *slot;

    slot = efa_direct_head(sq, dest, id | (1ull << EFA_IO_WR_LENGTH_SHIFT));
    efa_direct_piece(slot, piece->addr, piece->length, piece->lkey);
    slot[2] = 0;
    slot[3] = 0;
    return efa_direct_ring(sq, EFA_IO_WR_SIZE);
}

/* The same of two pieces. */
static inline int
efa_direct_send_pieces(efa_direct_sq_t *sq, const efa_dest_t *dest,
                       uint16_t id, const struct ibv_sge *pieces)
{
    volatile uint64_t *slot;

    slot = efa_direct_head(sq, dest, id | (2ull << EFA_IO_WR_LENGTH_SHIFT));
    efa_direct_piece(slot, pieces[0].addr, pieces[0].length, pieces[0].lkey);
    efa_direct_piece(slot + 2, pieces[1].addr, pieces[1].length,
                     pieces[1].lkey);
    return efa_direct_ring(sq, EFA_IO_WR_SIZE);
}

/* Operations of RDMA. */
typedef enum efa_rdma {
    EFA_RDMA_READ,
    EFA_RDMA_WRITE
} efa_rdma_t;

/* In the first word of a request. */
static inline uint64_t efa_direct_rdma_bits(efa_rdma_t rdma)
{
    switch (rdma) {
    case EFA_RDMA_READ:
        return EFA_IO_WR_READ;
    case EFA_RDMA_WRITE:
        return EFA_IO_WR_WRITE;
    }
    __builtin_unreachable();
}

/* An RDMA operation of one piece, by a request of 64 bytes. As
 * efa_direct_ring. */
static inline int
efa_direct_rdma_piece(efa_direct_sq_t *sq, const efa_dest_t *dest,
                      uint16_t id, efa_rdma_t rdma, uint64_t remote_addr,
                      uint32_t rkey, const struct ibv_sge *piece)
{
    volatile uint64_t *slot;

    slot = efa_direct_head(sq, dest,
                           id | efa_direct_rdma_bits(rdma) |
                                   (1ull << EFA_IO_WR_LENGTH_SHIFT));
    efa_direct_piece(slot, remote_addr, piece->length, rkey);
    efa_direct_piece(slot + 2, piece->addr, piece->length, piece->lkey);
    return efa_direct_ring(sq, EFA_IO_WR_SIZE);
}

/* A list's request is written, of `size` bytes: the next one's place. */
static inline void efa_direct_list_step(efa_direct_sq_t *sq, unsigned size)
{
    sq->slot += size;
    if (__builtin_expect(sq->slot == sq->end, 0)) {
        sq->slot  = sq->ring;
        sq->must ^= EFA_IO_WR_PHASE;
    }
}

/*
 * An RDMA operation of one piece as the next request of a list, of 64 bytes,
 * through a copy of the queue, which the compiler keeps in registers; `bits`
 * are efa_direct_rdma_bits. efa_direct_list_ring follows for as many as the
 * device takes with one doorbell (sq->most) and for the rest, then
 * efa_direct_list_end; nothing else may be posted before.
 */
static inline __attribute__((always_inline)) void
efa_direct_list_piece(efa_direct_sq_t *sq, const efa_dest_t *dest,
                      uint16_t id, uint64_t bits, uint64_t remote_addr,
                      uint32_t rkey, const struct ibv_sge *piece)
{
    volatile uint64_t *slot;

    slot = efa_direct_head(sq, dest,
                           id | bits | (1ull << EFA_IO_WR_LENGTH_SHIFT));
    efa_direct_piece(slot, remote_addr, piece->length, rkey);
    efa_direct_piece(slot + 2, piece->addr, piece->length, piece->lkey);
    efa_direct_list_step(sq, EFA_IO_WR_SIZE);
}

/* The same without a copy, for requests of either size, and with the doorbells
 * that it takes. */
void efa_direct_list_add(efa_qp_t *qp, const efa_dest_t *dest,
                         uint16_t id, efa_rdma_t rdma,
                         const efa_io_piece_t *remote,
                         const struct ibv_sge *piece);

/* The forms of a SEND: its bytes inside, or up to two pieces. */
void efa_direct_send(efa_qp_t *qp, const efa_dest_t *dest, uint16_t id,
                     const struct ibv_sge *pieces, int count, int inlined);

/* An RDMA READ or WRITE of one piece, or of bytes that travel inside. */
void efa_direct_rdma(efa_qp_t *qp, const efa_dest_t *dest, uint16_t id,
                     efa_rdma_t rdma, const efa_io_piece_t *remote,
                     const struct ibv_sge *piece, int inlined);

/* ---- receives ---- */

static inline efa_io_recv_t
efa_direct_recv_desc(const struct ibv_sge *piece, uint16_t id)
{
    efa_io_recv_t desc = {
        .addr = piece->addr,
        .rest = id | EFA_IO_RECV_MUST |
                ((uint64_t)(uint16_t)piece->length
                 << EFA_IO_RECV_LENGTH_SHIFT) |
                ((uint64_t)piece->lkey << EFA_IO_RECV_LKEY_SHIFT)
    };

    return desc;
}

/* Writes one; the device sees it with the next efa_direct_recv_ring. */
static inline void
efa_direct_recv(efa_direct_rq_t *rq, const efa_io_recv_t *desc)
{
    *rq->slot++ = *desc;
    if (__builtin_expect(rq->slot == rq->end, 0)) {
        rq->slot = rq->ring;
    }
}

/* Those `count` that were written since the last call. */
static inline void efa_direct_recv_ring(efa_direct_rq_t *rq, unsigned count)
{
    efa_barrier_recv();
    rq->written  += count;
    *rq->doorbell = rq->written;
}

#endif
