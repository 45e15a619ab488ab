/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_IO_H_
#define EFA_IO_H_

#include <stdint.h>

/*
 * The queues as the device reads and writes them, for those who do so without
 * libefa (efa_direct.h). All fields are little endian. Source: the device's
 * published interface, rdma-core's providers/efa/efa_io_defs.h and
 * efa_io_regs_defs.h (rdma-core 65), and how providers/efa/verbs.c uses it.
 */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the queues are little endian"
#endif

/*
 * A work request is 64 or 128 bytes. The first 32 are in 64 bit words:
 *   0  15:0 request id, 23:16 and 31:24 control, 47:32 the peer's QPN,
 *      63:48 bytes that are inside, or pieces of memory
 *   1  31:0 immediate, 47:32 address handle, 63:48 zero
 *   2  31:0 QKEY, 63:32 zero
 *   3  zero (bits 16 to 63 of a long request id, which is not used)
 * Behind them: the bytes inside, or the pieces, or of RDMA the remote piece and
 * one local (behind the remote one, in 128 bytes, the bytes inside).
 */
#define EFA_IO_WR_SIZE      64
#define EFA_IO_WR_SIZE_WIDE 128
#define EFA_IO_WR_HEAD      32

#define EFA_IO_WR_READ   (1ull << 16) /* operation; 0 is a send */
#define EFA_IO_WR_WRITE  (2ull << 16)
#define EFA_IO_WR_INLINE (1ull << 21)
#define EFA_IO_WR_PHASE  (1ull << 24) /* 0 in the first round of the ring */
/* that it is a request, its first and last descriptor, and wants completion */
#define EFA_IO_WR_MUST ((1ull << 23) | (7ull << 26))

#define EFA_IO_WR_QPN_SHIFT    32
#define EFA_IO_WR_LENGTH_SHIFT 48
#define EFA_IO_WR_AH_SHIFT     32 /* of word 1 */

#define EFA_IO_LKEY 0xffffffu /* its bits; others end the queue pair */

/* A piece of memory, local (with an lkey) or remote. */
typedef struct efa_io_piece {
    uint32_t length;
    uint32_t key;
    uint64_t addr;
} efa_io_piece_t;

/* A receive descriptor; of 64 bit words: 0 the address; 1 15:0 request id,
 * 31:16 bytes, 55:32 lkey, 62 first, 63 last. */
typedef struct efa_io_recv {
    uint64_t addr;
    uint64_t rest;
} efa_io_recv_t;

#define EFA_IO_RECV_LENGTH_SHIFT 16
#define EFA_IO_RECV_LKEY_SHIFT   32
#define EFA_IO_RECV_MUST         (3ull << 62)

/*
 * A completion is 16 bytes or 32 (the source address behind these), and its
 * first word tells whether it is there: 15:0 request id, 23:16 status, 24
 * phase (1 in the first round), 26:25 queue, 27 immediate, 30:28 operation, 31
 * it has no request.
 */
typedef struct efa_io_cqe {
    uint32_t first;
    uint16_t qpn;    /* ours */
    uint16_t length; /* of a receive, as the rest */
    uint32_t src;    /* 15:0 our address handle for the sender, 0xffff: unknown,
                        31:16 its QPN */
    uint32_t immediate;
} efa_io_cqe_t;

_Static_assert(sizeof(efa_io_piece_t) == 16, "a piece");
_Static_assert(sizeof(efa_io_recv_t) == 16, "a receive descriptor");
_Static_assert(sizeof(efa_io_cqe_t) == 16, "a completion");

#define EFA_IO_CQE_ID(_first)     ((_first) & 0xffff)
#define EFA_IO_CQE_STATUS(_first) (((_first) >> 16) & 0xff)
#define EFA_IO_CQE_PHASE          (1u << 24)
#define EFA_IO_CQE_SEND           (1u << 25)
#define EFA_IO_CQE_RECV           (2u << 25)
#define EFA_IO_CQE_IMMEDIATE      (1u << 27)
#define EFA_IO_CQE_OPERATION      (7u << 28) /* 0: SEND */
#define EFA_IO_CQE_NO_REQUEST     (1u << 31)

/* Doorbell of a completion queue: 15:0 completions read, 30:29 events that
 * came, 31 wants one. Those of the other queues: requests written, 16 bits. */
#define EFA_IO_CQ_EVENTS_SHIFT 29
#define EFA_IO_CQ_ARM          (1u << 31)

#endif
