/* SPDX-License-Identifier: BSD-3-Clause */
/* The common part of the engine's tests: a rig, memory, QPs, shorthand. */
#ifndef TEST_EFASIM_ENGINE_TEST_H
#define TEST_EFASIM_ENGINE_TEST_H

#include "engine_rig.h"

/* Registered memory of one process in PD 0, with a pattern. */
struct Memory {
    Memory(Rig &rig, unsigned proc, size_t size,
           uint32_t access = RIG_LOCAL | RIG_READ) :
        bytes(size)
    {
        EXPECT_EQ(0, rig.mr(proc, bytes.data(), size, access, &key));
    }

    void fill(unsigned seed)
    {
        for (size_t i = 0; i < bytes.size(); ++i) {
            bytes[i] = (uint8_t)(i * 131 + seed * 17 + (i >> 8));
        }
    }

    uint8_t *data()
    {
        return bytes.data();
    }

    std::vector<uint8_t> bytes;
    uint32_t key = 0;
};

/* A request of `length` bytes; the rest of its fields is up to the caller. */
static inline io_tx_wqe request(uint16_t id, io_tx_op op, uint16_t ah,
                                uint16_t qpn, const void *buf, uint32_t length,
                                uint32_t key)
{
    io_tx_wqe wqe = {};

    wqe.meta.req_id   = id;
    wqe.meta.ctrl1    = op;
    wqe.meta.ah       = ah;
    wqe.meta.dest_qpn = qpn;
    wqe.meta.qkey     = RIG_QKEY;
    wqe.meta.length   = 1;
    (op == IO_OP_SEND ? wqe.sgl[0] : wqe.rdma.local) = {
            length, key, (uint32_t)(uintptr_t)buf,
            (uint32_t)((uintptr_t)buf >> 32)};
    return wqe;
}

static inline void set_remote(io_tx_wqe &wqe, uint64_t addr, uint32_t rkey)
{
    wqe.rdma.remote = {wqe.rdma.local.length, rkey, (uint32_t)addr,
                       (uint32_t)(addr >> 32)};
}

static inline void set_imm(io_tx_wqe &wqe, uint32_t imm)
{
    wqe.meta.ctrl1 |= IO_TX_HAS_IMM;
    wqe.meta.imm    = imm;
}

/* A sender (process 0) and a receiver (process 1) on two hosts, both with these
 * knobs and QPs, and under a plan. */
struct Pair {
    explicit Pair(const char *knobs = "", unsigned flags = 0,
                  unsigned depth = 64, unsigned rnr_retry = 7,
                  const char *plan = nullptr) :
        rig({0, 1}),
        is_set(set(knobs, plan)),
        tx(rig.qp(0, flags, depth, rnr_retry)),
        rx(rig.qp(1, flags, depth, rnr_retry)),
        src(rig, 0, 1 << 20, RIG_LOCAL),
        dst(rig, 1, 1 << 20, RIG_LOCAL),
        ah(rig.ah(0, 1))
    {
        src.fill(1);
    }

    int set(const char *knobs, const char *plan)
    {
        EXPECT_EQ(0, rig.knobs(0, knobs));
        EXPECT_EQ(0, rig.knobs(1, knobs));
        if (plan != nullptr) {
            EXPECT_EQ("", rig.set_plan(plan));
        }
        return 0;
    }

    io_tx_wqe send_of(uint16_t id, uint32_t length)
    {
        return request(id, IO_OP_SEND, ah, rx->qp->qpn, src.data(), length,
                       src.key);
    }

    /* A read or write of the receiver's memory, which is opened for it; and the
     * receiver knows the sender. */
    io_tx_wqe rdma_of(io_tx_op op, uint16_t id, uint32_t length)
    {
        io_tx_wqe wqe = request(id, op, ah, rx->qp->qpn, src.data(), length,
                                src.key);

        if (rkey == 0) {
            back = rig.ah(1, 0);
            EXPECT_EQ(0, rig.mr(1, dst.data(), 1 << 20,
                                RIG_LOCAL | (op == IO_OP_READ ? RIG_READ :
                                                                RIG_WRITE),
                                &rkey));
        }
        set_remote(wqe, (uintptr_t)dst.data(), rkey);
        return wqe;
    }

    void send(uint16_t id, uint32_t length)
    {
        tx->post(send_of(id, length));
    }

    void read(uint16_t id, uint32_t length)
    {
        tx->post(rdma_of(IO_OP_READ, id, length));
    }

    void recv(uint16_t id, uint32_t length, size_t offset = 0)
    {
        rx->recv(id, {{dst.data() + offset, length}}, dst.key);
    }

    /* Status of the one send completion there must be; -1: there is none. */
    int sent()
    {
        return tx->poll_send(&cqe) ? cqe.status : -1;
    }

    int received()
    {
        return rx->poll_recv(&cqe) ? cqe.status : -1;
    }

    /* How many of this status there are. */
    unsigned ended(uint8_t status)
    {
        unsigned count = 0;

        for (; sent() >= 0; ++count) {
            EXPECT_EQ(status, cqe.status) << cqe.req_id;
        }
        return count;
    }

    /* Everything that can happen without time passing; then the status. */
    int outcome()
    {
        rig.settle();
        return sent();
    }

    int end(const io_tx_wqe &wqe)
    {
        tx->post(wqe);
        return outcome();
    }

    bool is_equal(uint32_t length)
    {
        return memcmp(src.data(), dst.data(), length) == 0;
    }

    Rig      rig;
    int      is_set;
    Qp      *tx, *rx;
    Memory   src, dst;
    uint16_t ah, back = 0;
    uint32_t rkey = 0;
    io_cqe   cqe  = {}; /* the last */
};

static const uint64_t MS = 1000000;

#endif
