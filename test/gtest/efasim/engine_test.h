/* SPDX-License-Identifier: BSD-3-Clause */
/* The common part of the engine's tests: a rig, memory, QPs, shorthand. */
#ifndef TEST_EFASIM_ENGINE_TEST_H
#define TEST_EFASIM_ENGINE_TEST_H

#include "engine_rig.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

/* Several processes; by default process i on host i. */
class Rig {
public:
    explicit Rig(std::vector<unsigned> nodes) :
        rig(rig_open(nodes.size(), nodes.data()))
    {
    }

    ~Rig()
    {
        rig_close(rig);
    }

    operator struct rig *()
    {
        return rig;
    }

    int qp(unsigned proc, unsigned rnr_retry = 7, unsigned depth = 64,
           unsigned flags = 0)
    {
        rig_qp_conf conf = {};

        conf.proc      = proc;
        conf.rnr_retry = rnr_retry;
        conf.sq        = depth;
        conf.rq        = depth;
        conf.cq        = 2 * depth;
        conf.flags     = flags;
        return rig_qp(rig, &conf);
    }

    uint16_t ah(unsigned proc, unsigned node)
    {
        uint16_t number = 0xffff;

        EXPECT_EQ(0, rig_ah(rig, proc, 0, node, &number));
        return number;
    }

private:
    struct rig *rig;
};

/* Registered memory of one process in PD 0, with a pattern. */
struct Memory {
    Memory(Rig &rig, unsigned proc, size_t size,
           uint32_t access = RIG_LOCAL | RIG_READ) :
        bytes(size)
    {
        EXPECT_EQ(0, rig_mr(rig, proc, 0, bytes.data(), size, access, &key));
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

/* A sender (process 0) and a receiver (process 1) on two hosts, both with these
 * knobs, and under a plan. */
struct Pair {
    explicit Pair(unsigned rnr_retry = 7, const char *knobs = "",
                  unsigned depth = 64, unsigned flags = 0,
                  unsigned tx_flags = 0, const char *plan = nullptr) :
        rig({0, 1}),
        is_set(set(knobs, plan)),
        tx(rig.qp(0, rnr_retry, depth, tx_flags)),
        rx(rig.qp(1, rnr_retry, depth, flags)),
        src(rig, 0, 1 << 20),
        dst(rig, 1, 1 << 20),
        ah(rig.ah(0, 1))
    {
        src.fill(1);
    }

    int set(const char *knobs, const char *plan)
    {
        char err[320] = "";

        EXPECT_EQ(0, rig_knobs(rig, 0, knobs));
        EXPECT_EQ(0, rig_knobs(rig, 1, knobs));
        if (plan != nullptr) {
            EXPECT_EQ(0, rig_plan(rig, plan, err)) << err;
        }
        return 0;
    }

    rig_send message(uint16_t id, uint32_t length)
    {
        rig_send send = {};

        send.req_id = id;
        send.ah     = ah;
        send.qpn    = rig_qpn(rig, rx);
        send.buf    = src.data();
        send.length = length;
        send.key    = src.key;
        return send;
    }

    void send(uint16_t id, uint32_t length)
    {
        rig_send s = message(id, length);

        rig_post_send(rig, tx, &s);
    }

    void recv(uint16_t id, uint32_t length, size_t offset = 0)
    {
        void *buf = dst.data() + offset;

        rig_post_recv(rig, rx, id, 1, &buf, &length, dst.key);
    }

    rig_read read_of(uint16_t id, uint32_t length)
    {
        rig_read read = {};

        read.req_id = id;
        read.ah     = ah;
        read.qpn    = rig_qpn(rig, rx);
        read.buf    = src.data();
        read.length = length;
        read.key    = src.key;
        read.remote = (uintptr_t)dst.data();
        read.rkey   = dst.key;
        return read;
    }

    void read(uint16_t id, uint32_t length)
    {
        rig_read r = read_of(id, length);

        rig_post_read(rig, tx, &r);
    }

    /* Status of the one send completion there must be; -1: there is none. */
    int sent()
    {
        rig_cqe cqe;

        return rig_poll_send(rig, tx, &cqe) ? cqe.status : -1;
    }

    int received()
    {
        rig_cqe cqe;

        return rig_poll_recv(rig, rx, &cqe) ? cqe.status : -1;
    }

    /* Everything that can happen without time passing; then the status. */
    int outcome()
    {
        rig_settle(rig);
        return sent();
    }

    Rig      rig;
    int      is_set;
    int      tx, rx;
    Memory   src, dst;
    uint16_t ah;
};

static const uint64_t MS = 1000000;

#endif
