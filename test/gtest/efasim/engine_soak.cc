/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mixed traffic under random plans of faults, in virtual time: for each seed a
 * plan, four processes on three hosts, sends, reads and writes at random, a
 * time in which faults have ended, and the account: each request completed
 * once and well, each message arrived once, as it was sent.
 *
 * SOAK_SEED is the first seed (default 1), SOAK_SECONDS the time (default 5;
 * at least 20 seeds are run). A failure names its seed.
 */
#include "engine_test.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <unistd.h>

namespace {

enum {
    SOAK_PROCS = 4,
    SOAK_DEPTH = 256,
    SOAK_RECVS = 8,    /* of a process: it runs dry at times */
    SOAK_SLOT  = 9000, /* bytes of a receive buffer */
    SOAK_OPS   = 600,
    SOAK_PARTS = 64,   /* of each process's RDMA memory */
    SOAK_PART  = 4096,
};

long resident_kb()
{
    long size = 0, resident = 0;

    std::ifstream("/proc/self/statm") >> size >> resident;
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

std::string random_plan(std::mt19937 &random, unsigned seed)
{
    auto pick        = [&](unsigned n) { return (unsigned)(random() % n); };
    std::string plan = "timeout-ms 600000\nseed " + std::to_string(seed) + "\n";

    if (pick(2)) {
        plan += "reorder 0." + std::to_string(pick(9)) + "\n";
    }
    if (pick(2)) {
        plan += "delay-us " + std::to_string(pick(500)) + "\n";
    }
    if (pick(2)) {
        plan += "jitter-us " + std::to_string(1 + pick(3000)) + "\n";
    }
    if (pick(3) == 0) {
        plan += "on " + std::to_string(pick(3)) + " rate-mbps " +
                std::to_string(1000 + pick(50000)) + "\n";
    }
    if (pick(3) == 0) {
        plan += "on " + std::to_string(pick(3)) + " receive-us " +
                std::to_string(1 + pick(50)) + "\n";
    }
    for (unsigned at = 2; at < 60; at += 1 + pick(30)) {
        unsigned a = pick(3), b = (a + 1 + pick(2)) % 3;

        plan += "at " + std::to_string(at) + "ms " +
                (pick(2) ? "partition " : "clog ") + std::to_string(a) + " " +
                std::to_string(b) + "\n";
        plan += "at " + std::to_string(at + 1 + pick(20)) + "ms heal\n";
    }
    return plan + "at 100ms heal\n";
}

class Soak {
public:
    explicit Soak(unsigned seed) : random(seed), rig({0, 1, 2, 0})
    {
        for (unsigned i = 0; i < SOAK_PROCS; ++i) {
            EXPECT_EQ(0, rig.knobs(i, "device=efa2"));
        }
        plan = random_plan(random, seed);
        EXPECT_EQ("", rig.set_plan(plan.c_str()));
        for (unsigned i = 0; i < SOAK_PROCS; ++i) {
            open(i);
        }
    }

    void run()
    {
        unsigned posted = 0;

        for (unsigned ms = 0; posted < SOAK_OPS || !pending.empty(); ++ms) {
            ASSERT_LT(ms, 5000u) << pending.size() << " never completed";
            for (unsigned i = 0; i < 4 && posted < SOAK_OPS &&
                                 pending.size() < SOAK_DEPTH / 2; ++i) {
                post(posted++);
            }
            rig.now += MS / 4;
            for (unsigned p = 0; p < SOAK_PROCS; ++p) {
                rig.progress(p);
                reap(p);
                if (testing::Test::HasFailure()) {
                    return;
                }
            }
        }
        rig.settle();
        for (unsigned p = 0; p < SOAK_PROCS; ++p) {
            reap(p);
        }
        EXPECT_TRUE(messages.empty()) << messages.size() << " never arrived";
    }

    std::string plan;

private:
    struct Op {
        unsigned from, to, part, length, kind;
    };

    struct Proc {
        std::unique_ptr<Memory> out, in, far;
        Qp *qp;
        std::vector<uint16_t> ah;
        uint32_t far_key;
    };

    void open(unsigned i)
    {
        Proc &p = proc[i];

        p.qp = rig.qp(i, 0, SOAK_DEPTH);
        p.out.reset(new Memory(rig, i, SOAK_DEPTH * SOAK_SLOT));
        p.in.reset(new Memory(rig, i, SOAK_DEPTH * SOAK_SLOT));
        p.far.reset(new Memory(rig, i, SOAK_PARTS * SOAK_PART));
        EXPECT_EQ(0, rig.mr(i, p.far->data(),
                            SOAK_PARTS * SOAK_PART,
                            RIG_LOCAL | RIG_READ | RIG_WRITE, &p.far_key));
        p.out->fill(i);
        for (unsigned node = 0; node < 3; ++node) {
            p.ah.push_back(rig.ah(i, node));
        }
        for (unsigned slot = 0; slot < SOAK_RECVS; ++slot) {
            receive(i, slot);
        }
    }

    static unsigned node(unsigned p)
    {
        return p % 3;
    }

    void receive(unsigned i, unsigned slot)
    {
        proc[i].qp->recv(slot, {{proc[i].in->data() + slot * SOAK_SLOT,
                                 SOAK_SLOT}}, proc[i].in->key);
    }

    /* A buffer of the process that no request uses */
    unsigned free_part(unsigned from)
    {
        std::vector<bool> used(SOAK_DEPTH);

        for (auto &it : pending) {
            if (it.second.from == from) {
                used[it.second.part] = true;
            }
        }
        return std::find(used.begin(), used.end(), false) - used.begin();
    }

    void post(unsigned number)
    {
        Op op;

        op.from   = random() % SOAK_PROCS;
        op.to     = random() % SOAK_PROCS;
        op.kind   = random() % 3;
        op.part   = free_part(op.from);
        op.length = random() % (op.kind ? SOAK_PART : 8929);
        uint8_t *buf = proc[op.from].out->data() + op.part * SOAK_SLOT;
        for (unsigned i = 0; i < op.length && op.kind != 1; ++i) {
            buf[i] = number * 7 + i * 13 + (i >> 8);
        }
        pending[number % 65536] = op;
        io_tx_wqe wqe = request(number, (io_tx_op)op.kind,
                                proc[op.from].ah[node(op.to)],
                                proc[op.to].qp->qp->qpn, buf, op.length,
                                proc[op.from].out->key);
        if (op.kind == IO_OP_SEND) {
            set_imm(wqe, number);
            messages[number] = op;
        } else {
            set_remote(wqe, (uintptr_t)proc[op.to].far->data() +
                            far_part++ % SOAK_PARTS * SOAK_PART,
                       proc[op.to].far_key);
        }
        proc[op.from].qp->post(wqe);
    }

    void reap(unsigned p)
    {
        io_cqe cqe;

        while (proc[p].qp->poll_send(&cqe)) {
            ASSERT_EQ(0, cqe.status) << "request " << cqe.req_id;
            ASSERT_EQ(1u, pending.count(cqe.req_id)) << "completed twice";
            ASSERT_EQ(p, pending[cqe.req_id].from);
            pending.erase(cqe.req_id);
        }
        while (proc[p].qp->poll_recv(&cqe)) {
            ASSERT_EQ(0, cqe.status);
            ASSERT_EQ(1u, messages.count(cqe.imm)) << "arrived twice";
            Op op          = messages[cqe.imm];
            uint8_t *bytes = proc[p].in->data() + cqe.req_id * SOAK_SLOT;

            ASSERT_EQ(p, op.to);
            ASSERT_EQ(op.length, cqe.length);
            for (unsigned i = 0; i < op.length; ++i) {
                ASSERT_EQ((uint8_t)(cqe.imm * 7 + i * 13 + (i >> 8)), bytes[i])
                        << "byte " << i << " of message " << cqe.imm;
            }
            messages.erase(cqe.imm);
            receive(p, cqe.req_id);
        }
    }

    std::mt19937 random;
    Rig rig;
    Proc proc[SOAK_PROCS];
    std::map<unsigned, Op> pending, messages;
    unsigned far_part = 0;
};

unsigned number_from(const char *name, unsigned otherwise)
{
    const char *value = getenv(name);

    return value ? strtoul(value, nullptr, 0) : otherwise;
}

} // namespace

TEST(engine_soak, random_plans)
{
    using clock    = std::chrono::steady_clock;
    unsigned first = number_from("SOAK_SEED", 1);
    auto end       = clock::now() +
                     std::chrono::seconds(number_from("SOAK_SECONDS", 5));
    long before    = 0;
    unsigned seed;

    for (seed = first; seed < first + 20 || clock::now() < end; ++seed) {
        Soak soak(seed);

        soak.run();
        if (HasFailure()) {
            FAIL() << "SOAK_SEED=" << seed << ", the plan:\n" << soak.plan;
        }
        if (seed == first + 10) {
            before = resident_kb();
        }
    }
    printf("%u plans from seed %u, memory %ld kB, then %ld kB\n",
           seed - first, first, before, resident_kb());
    EXPECT_LT(resident_kb() - before, 8192);
}
