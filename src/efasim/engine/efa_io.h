/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Entries of the queues in host memory, which the device reads and writes: work
 * requests, receive descriptors and completions of EFA, little endian. The
 * layouts are the device's published interface (rdma-core, providers/efa).
 */
#ifndef EFASIM_ENGINE_EFA_IO_H
#define EFASIM_ENGINE_EFA_IO_H

#include "util/efa_status.h"

#include <stdint.h>

enum { /* queue a completion belongs to */
    IO_Q_SEND = 1,
    IO_Q_RECV = 2,
};

enum io_tx_op { /* operation of a work request */
    IO_OP_SEND  = 0,
    IO_OP_READ  = 1,
    IO_OP_WRITE = 2,
};

/* Work request: meta descriptor, first 32 of its 64 bytes */
struct io_tx_meta {
    uint16_t req_id;
    uint8_t  ctrl1;     /* 3:0 operation, 4 imm, 5 inline, 6 MBZ, 7 meta */
    uint8_t  ctrl2;     /* 0 phase, 1 MBZ, 2 first, 3 last, 4 comp, 7:5 MBZ */
    uint16_t dest_qpn;
    uint16_t length;    /* inline: bytes; else: number of buffers */
    uint32_t imm;
    uint16_t ah;
    uint8_t  ctrl3;     /* processing hints (rdma-core 64) */
    uint8_t  reserved;
    uint32_t qkey;
    uint8_t  reserved2[6];
    uint16_t req_id_ex[3]; /* 64-bit request ids: bits 16 to 63; else MBZ */
};

#define IO_TX_OP(_m)      ((_m)->ctrl1 & 0xf)
#define IO_TX_HAS_IMM     0x10
#define IO_TX_INLINE      0x20
#define IO_TX_META_EXT    0x40
#define IO_TX_META        0x80
#define IO_TX_PHASE       0x01
#define IO_TX_CTRL2_MUST  0x1c /* first, last, completion requested */
#define IO_TX_CTRL2_MBZ   0xe2

struct io_buf {
    uint32_t length;
    uint32_t lkey;      /* 24 bits, the rest must be zero */
    uint32_t addr_lo;
    uint32_t addr_hi;
};

struct io_remote {
    uint32_t length;
    uint32_t rkey;
    uint32_t addr_lo;
    uint32_t addr_hi;
};

/* 128 bytes; a queue of 64 B requests has the first half of it. */
struct io_tx_wqe {
    struct io_tx_meta meta;
    union {
        struct io_buf sgl[2];
        uint8_t       inl[80];
        struct {
            struct io_remote remote;
            union {
                struct io_buf local;
                uint8_t       inl[80];
            };
        } rdma;
    };
};

enum {
    IO_TX_WQE_SMALL     = 64,
    IO_TX_WQE_LARGE     = 128,
    IO_TX_INLINE_SMALL  = 32,
    IO_TX_INLINE_LARGE  = 80,
};

struct io_rx_desc {
    uint32_t addr_lo;
    uint32_t addr_hi;
    uint16_t req_id;
    uint16_t length;
    uint32_t lkey_ctrl; /* 23:0 lkey, 29:24 MBZ, 30 first, 31 last */
};

#define IO_LKEY_MASK      0x00ffffffu
#define IO_RX_LKEY        IO_LKEY_MASK
#define IO_RX_MBZ         0x3f000000u
#define IO_RX_FIRST       0x40000000u
#define IO_RX_LAST        0x80000000u

struct io_cqe { /* 16 B; a 32 B entry appends src_addr */
    uint16_t req_id;
    uint8_t  status;
    uint8_t  flags;     /* 0 phase, 2:1 queue, 3 imm, 6:4 operation,
                           7 unsolicited */
    uint16_t qpn;
    union {
        uint16_t req_id_ex[3];  /* send: bits 16 to 63 of a long id */
        struct {                /* receive */
            uint16_t length;    /* bits 0 to 15 */
            uint16_t ah;
            uint16_t src_qpn;
        };
    };
    uint32_t imm;               /* receive */
    union {
        uint8_t  src_addr[16];  /* of a message whose AH is unknown */
        uint16_t length_hi;     /* of an RDMA write: bits 16 to 31 */
    };
};

enum {
    IO_CQE_SMALL       = 16,
    IO_CQE_LARGE       = 32,
    IO_CQE_IMM         = 0x08,
    IO_CQE_UNSOLICITED = 0x80,
    IO_AH_UNKNOWN      = 0xffff,
};

/* CQ doorbell */
#define IO_CQ_DB_CONSUMER 0x0000ffffu
#define IO_CQ_DB_ARM      0x80000000u
#define IO_CQ_DB_EVENTS(_db) (((_db) >> 29) & 3)

static inline uint64_t io_addr(uint32_t lo, uint32_t hi)
{
    return ((uint64_t)hi << 32) | lo;
}

_Static_assert(sizeof(struct io_tx_meta) == 32, "meta descriptor");
_Static_assert(sizeof(struct io_tx_wqe) == IO_TX_WQE_LARGE, "work request");
_Static_assert(sizeof(struct io_rx_desc) == 16, "receive descriptor");
_Static_assert(sizeof(struct io_cqe) == 32, "completion");

#endif
