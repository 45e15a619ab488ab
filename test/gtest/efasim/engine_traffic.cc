/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random traffic under an oracle: three processes on two hosts, sends and
 * reads of random sizes, receivers that run dry, reordering. Every request
 * completes once, every message arrives once and whole. Seeds are printed;
 * one is replayed with EFASIM_TEST_SEED.
 */
#include "engine_test.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

namespace {

class Traffic {
public:
    enum { PROCS = 3, SLOT = 9000, DEPTH = 64 };

    Traffic(unsigned seed, const char *knobs) : rig({0, 0, 1}), random(seed)
    {
        for (unsigned i = 0; i < PROCS; ++i) {
            EXPECT_EQ(0, rig_knobs(rig, i, knobs));
        }
        for (unsigned i = 0; i < PROCS; ++i) {
            qp[i]  = rig.qp(i, 7, DEPTH);
            tx[i]  = new Memory(rig, i, DEPTH * SLOT);
            rx[i]  = new Memory(rig, i, DEPTH * SLOT);
            for (unsigned node = 0; node < 2; ++node) {
                ah[i][node] = rig.ah(i, node);
            }
        }
    }

    ~Traffic()
    {
        for (unsigned i = 0; i < PROCS; ++i) {
            delete tx[i];
            delete rx[i];
        }
    }

    void run(unsigned requests)
    {
        unsigned idle = 0;

        while ((completed < requests) && (idle < 100000)) {
            unsigned before = completed + delivered;

            for (unsigned i = 0; i < PROCS; ++i) {
                if (posted < requests) {
                    post(i);
                }
                if (random() % 4) {
                    post_recv(i);
                }
                rig_progress(rig, i);
                poll(i);
            }
            rig_advance(rig, random() % 50000);
            idle = (completed + delivered > before) ? 0 : idle + 1;
        }
        EXPECT_EQ(requests, completed);
        EXPECT_EQ(sends, delivered);
        EXPECT_TRUE(messages.empty());
    }

private:
    void post(unsigned i)
    {
        unsigned id = 0, to = random() % PROCS;

        while ((id < DEPTH) && busy[i][id]) {
            ++id;
        }
        if (id == DEPTH) {
            return;
        }

        busy[i][id] = true;
        ++posted;
        uint32_t length = (random() % 4) ? random() % 64 :
                                           random() % (RIG_MAX_MSG + 1);
        if (random() % 4) {
            send(i, id, to, length);
        } else {
            read(i, id, to, length);
        }
    }

    void send(unsigned i, unsigned id, unsigned to, uint32_t length)
    {
        uint8_t *bytes = tx[i]->data() + id * SLOT;
        rig_send send  = {};

        for (uint32_t at = 0; at < length; ++at) {
            bytes[at] = random();
        }
        messages[next] = std::vector<uint8_t>(bytes, bytes + length);
        send.req_id = id;
        send.ah     = ah[i][to / 2];
        send.qpn    = rig_qpn(rig, qp[to]);
        send.buf    = bytes;
        send.length = length;
        send.key    = tx[i]->key;
        send.flags  = RIG_IMM;
        send.imm    = next++;
        ++sends;
        rig_post_send(rig, qp[i], &send);
    }

    /* Reads fetch from memory that nobody writes meanwhile: the upper end of
     * the target's slot is filled here. */
    void read(unsigned i, unsigned id, unsigned to, uint32_t length)
    {
        rig_read read = {};

        read.req_id = id;
        read.ah     = ah[i][to / 2];
        read.qpn    = rig_qpn(rig, qp[to]);
        read.buf    = tx[i]->data() + id * SLOT;
        read.length = length % 1000;
        read.key    = tx[i]->key;
        read.remote = (uintptr_t)(tx[to]->data());
        read.rkey   = tx[to]->key;
        rig_post_read(rig, qp[i], &read);
    }

    void post_recv(unsigned i)
    {
        uint32_t length = SLOT;
        void *buf;

        if (receives[i] == DEPTH / 2) {
            return;
        }
        buf = rx[i]->data() + recv_next[i] * SLOT;
        rig_post_recv(rig, qp[i], recv_next[i], 1, &buf, &length, rx[i]->key);
        recv_next[i] = (recv_next[i] + 1) % DEPTH;
        ++receives[i];
    }

    void poll(unsigned i)
    {
        rig_cqe cqe;

        while (rig_poll_send(rig, qp[i], &cqe)) {
            ASSERT_EQ(0, cqe.status);
            ASSERT_TRUE(busy[i][cqe.req_id]); /* once */
            busy[i][cqe.req_id] = false;
            ++completed;
        }
        while (rig_poll_recv(rig, qp[i], &cqe)) {
            auto it = messages.find(cqe.imm);

            ASSERT_EQ(0, cqe.status);
            ASSERT_TRUE(it != messages.end()); /* once */
            ASSERT_EQ(it->second.size(), cqe.length);
            ASSERT_TRUE(std::equal(it->second.begin(), it->second.end(),
                                   rx[i]->data() + cqe.req_id * SLOT));
            messages.erase(it);
            --receives[i];
            ++delivered;
        }
    }

    Rig          rig;
    std::mt19937 random;
    int          qp[PROCS];
    Memory      *tx[PROCS], *rx[PROCS];
    uint16_t     ah[PROCS][2];
    bool         busy[PROCS][DEPTH] = {};
    unsigned     receives[PROCS]    = {};
    unsigned     recv_next[PROCS]   = {};
    unsigned     posted = 0, completed = 0, sends = 0, delivered = 0;
    uint32_t     next   = 0;
    std::map<uint32_t, std::vector<uint8_t>> messages;
};

void run_seeds(const char *knobs)
{
    const char *replay = getenv("EFASIM_TEST_SEED");
    unsigned first     = replay ? atoi(replay) : 1;
    unsigned last      = replay ? first : 10;

    for (unsigned seed = first; seed <= last; ++seed) {
        SCOPED_TRACE("EFASIM_TEST_SEED=" + std::to_string(seed));
        Traffic(seed, (std::string(knobs) + " seed=" +
                       std::to_string(seed)).c_str()).run(3000);
        if (::testing::Test::HasFailure()) {
            return;
        }
    }
}

} // namespace

TEST(engine_traffic, plain)
{
    run_seeds("rnr-us=20");
}

TEST(engine_traffic, reordered)
{
    run_seeds("rnr-us=20 reorder=0.3");
}

TEST(engine_traffic, delayed_and_reordered)
{
    run_seeds("rnr-us=50 delay-us=30 reorder=0.9");
}

/* A packet on its way to a QP that is gone does not reach the next one of the
 * same number and key; a later packet does. */
TEST(engine_traffic, reused_number)
{
    Pair pair;
    uint16_t qpn = rig_qpn(pair.rig, pair.rx);

    pair.recv(1, 100);
    pair.send(1, 100);
    rig_progress(pair.rig, 0);
    rig_qp_destroy(pair.rig, pair.rx);
    pair.rx = pair.rig.qp(1);
    ASSERT_EQ(qpn, rig_qpn(pair.rig, pair.rx));
    pair.recv(2, 100);
    EXPECT_EQ(9, pair.outcome());
    EXPECT_EQ(-1, pair.received());
    pair.send(3, 100);
    EXPECT_EQ(0, pair.outcome());
    EXPECT_EQ(0, pair.received());
}
