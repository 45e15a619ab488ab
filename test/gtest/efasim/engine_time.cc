/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiver not ready, silence, death, flush, order. */
#include "engine_test.h"

#include <algorithm>

/* One try and rnr_retry more, each rnr-us after the answer; then status 10. */
TEST(engine_rnr, counts_exactly)
{
    for (unsigned retry : {0, 1, 2, 6, (int)RIG_RNR_DEFAULT}) {
        Pair pair("rnr-us=100 rnr-retry=3", 0, 64, retry);
        unsigned tries = retry == RIG_RNR_DEFAULT ? 3 : retry;

        pair.send(1, 10);
        for (unsigned n = 1; n <= tries; ++n) {
            ASSERT_EQ(-1, pair.outcome());
            ASSERT_EQ(n, pair.rig.counter(1, "rnr"));
            pair.rig.now += 99000;
            ASSERT_EQ(-1, pair.outcome());
            ASSERT_EQ(n, pair.rig.counter(1, "rnr"));
            pair.rig.now += 1000;
        }
        EXPECT_EQ(10, pair.outcome());
        EXPECT_EQ(tries + 1, pair.rig.counter(1, "rnr"));
        EXPECT_FALSE(pair.rig.is_busy(0));
    }
}

/* And one receiver that is not ready does not hold up another. */
TEST(engine_rnr, endless_waits_and_then_delivers)
{
    Pair pair;
    Qp *silent = pair.rx;

    for (unsigned i = 0; i < 20; ++i) {
        pair.send(1, 10);
    }
    pair.rx = pair.rig.qp(1);
    pair.recv(9, 100);
    pair.send(2, 10);
    EXPECT_EQ(0, pair.outcome());
    EXPECT_EQ(2, pair.cqe.req_id);
    pair.rx = silent;
    for (unsigned i = 0; i < 2000; ++i) { /* far beyond the time-out */
        ASSERT_EQ(-1, pair.outcome());
        pair.rig.now += 10 * MS;
    }
    pair.recv(1, 100);
    EXPECT_EQ(0, pair.outcome());
    EXPECT_EQ(0, pair.received());
}

/* One way there, one way back: of messages, of RDMA, and of the answer that a
 * receiver is not ready, behind whose pause the message goes there once more. */
TEST(engine_latency, each_way)
{
    Pair pair("latency-us=1000 rnr-us=100");
    auto until = [&](uint64_t us, auto what) { /* at that time, not before */
        ASSERT_EQ(-1, what());
        pair.rig.now += us * 1000 - 1;
        ASSERT_EQ(-1, what());
        pair.rig.now += 1;
        EXPECT_EQ(0, what());
    };
    auto outcome  = [&] { return pair.outcome(); };
    auto received = [&] {
        pair.rig.settle();
        return pair.received();
    };

    pair.recv(1, 100);
    pair.send(1, 10);
    until(1000, received);
    until(1000, outcome);
    pair.read(2, 10);
    pair.rig.settle();
    pair.rig.now += 1000000;
    until(1000, outcome);
    pair.send(3, 10);
    pair.rig.settle();
    pair.rig.now += 1000000;
    pair.rig.settle();
    pair.recv(1, 100);
    until(2100, received);
    until(1000, outcome);
}

/* A process that is alive and says nothing: 15 if it never answered, 13 if it
 * did, at the time-out and not before. */
TEST(engine_silence, timeout)
{
    Pair pair("timeout-ms=1000");

    pair.recv(1, 100);
    pair.send(1, 10);
    pair.rig.progress(0);
    pair.rig.now += 999 * MS;
    pair.rig.progress(0);
    EXPECT_EQ(-1, pair.sent());
    pair.rig.now += 20 * MS;
    pair.rig.progress(0);
    EXPECT_EQ(15, pair.sent());

    pair.rig.settle(); /* it wakes up: the message was there all the time */
    EXPECT_EQ(0, pair.received());
    EXPECT_EQ(-1, pair.sent()); /* completed once */

    pair.send(2, 10);
    pair.rig.progress(0);
    pair.rig.now += 1020 * MS;
    pair.rig.progress(0);
    EXPECT_EQ(13, pair.sent());
}

/* Messages to a process that is killed, some of them in its ring and some that
 * wait for room: its NIC lives and answers for it, within 100 ms, or its host
 * is gone. Then a message to the dead, and one to a host that never was. */
TEST(engine_silence, death)
{
    const struct {
        const char *knobs;
        int status, later;
    } cases[] = {
        {"timeout-ms=1000", 9, 9},
        {"timeout-ms=1000 killed-status=8", 8, 9},
        {"timeout-ms=1000 killed-status=13", 13, 15},
    };

    for (auto &one : cases) {
        Pair pair(one.knobs);

        pair.recv(1, 100);
        EXPECT_EQ(0, pair.end(pair.send_of(1, 10)));
        for (unsigned i = 0; i < 50; ++i) {
            pair.send(2, 8928);
        }
        pair.rig.progress(0);
        pair.rig.proc[1].dead = true;
        for (unsigned i = 0; i < 2; ++i) {
            pair.rig.now += 60 * MS;
            pair.rig.settle();
        }
        EXPECT_EQ(50u, pair.ended(one.status));
        EXPECT_FALSE(pair.rig.is_busy(0));
        for (int status : {one.later, 15}) {
            int now = pair.end(pair.send_of(3, 10));

            EXPECT_EQ(status == 15 ? -1 : status, now);
            pair.rig.now += 1001 * MS;
            EXPECT_EQ(status == 15 ? 15 : -1, pair.outcome());
            pair.ah = pair.rig.ah(0, 5); /* no device was ever there */
        }
    }
}

TEST(engine_flush, completes_all_with_1)
{
    Pair pair;

    for (unsigned i = 0; i < 15; ++i) { /* no receives: these wait */
        pair.send(i, 10);
        if (i == 9) {
            pair.rig.settle(); /* the others it has not even seen */
        }
    }
    ASSERT_EQ(0, pair.tx->modify(SIM_QPS_ERR));
    EXPECT_EQ(15u, pair.ended(1));
    EXPECT_FALSE(pair.rig.is_busy(0));

    pair.rx->recv(77, {{pair.dst.data(), 100}, {pair.dst.data() + 100, 100}},
                  pair.dst.key);
    pair.recv(78, 100);
    ASSERT_EQ(0, pair.rx->modify(SIM_QPS_ERR));
    for (unsigned id : {77, 78}) {
        EXPECT_EQ(1, pair.received());
        EXPECT_EQ(id, pair.cqe.req_id);
    }
    EXPECT_EQ(-1, pair.received());
}

TEST(engine_flush, destroy_with_work_in_flight)
{
    Pair pair;

    pair.recv(1, 100);
    pair.send(1, 10);
    pair.rig.progress(0);
    sim_qp_destroy(pair.tx->qp);
    EXPECT_EQ(1, pair.sent());
    pair.rig.settle(); /* the answer finds nobody, and that is all */
    EXPECT_EQ(0, pair.received());
    EXPECT_EQ(-1, pair.sent());
}

TEST(engine_flush, reset_forgets)
{
    Pair pair;

    pair.send(1, 10);
    pair.rig.settle();
    ASSERT_EQ(0, pair.tx->modify(SIM_QPS_RESET));
    pair.rig.now += 100 * MS;
    EXPECT_EQ(-1, pair.outcome());
    EXPECT_FALSE(pair.rig.is_busy(0));
}

/* A packet on its way to a QP that is gone does not reach the next one of the
 * same number and key; a later packet does. */
TEST(engine_flush, reused_number)
{
    Pair pair;
    uint16_t qpn = pair.rx->qp->qpn;

    pair.recv(1, 100);
    pair.send(1, 100);
    pair.rig.progress(0);
    sim_qp_destroy(pair.rx->qp);
    pair.rx = pair.rig.qp(1);
    ASSERT_EQ(qpn, pair.rx->qp->qpn);
    pair.recv(2, 100);
    EXPECT_EQ(9, pair.outcome());
    EXPECT_EQ(-1, pair.received());
    pair.send(3, 100);
    EXPECT_EQ(0, pair.outcome());
    EXPECT_EQ(0, pair.received());
}

namespace {

struct Orders {
    std::vector<unsigned> delivered, completed;
};

Orders orders(const char *knobs)
{
    Pair pair(knobs, 0, 512);
    Orders result;

    for (unsigned i = 0; i < 300; ++i) {
        io_tx_wqe wqe = pair.send_of(i, 16);

        set_imm(wqe, i);
        pair.recv(i, 16, 16 * i);
        pair.tx->post(wqe);
    }
    pair.rig.settle();
    pair.rig.now += 100000; /* what was delayed leaves */
    pair.rig.settle();
    while (pair.sent() == 0) {
        result.completed.push_back(pair.cqe.req_id);
    }
    while (pair.received() == 0) {
        result.delivered.push_back(pair.cqe.imm);
    }
    for (auto order : {result.completed, result.delivered}) {
        std::sort(order.begin(), order.end());
        EXPECT_EQ(300u, order.size());
        for (unsigned i = 0; i < order.size(); ++i) {
            EXPECT_EQ(i, order[i]);
        }
    }
    return result;
}

unsigned overtaken(const std::vector<unsigned> &order)
{
    unsigned later = 0;

    for (unsigned i = 1; i < order.size(); ++i) {
        later += order[i] < order[i - 1];
    }
    return later;
}

} // namespace

/* A delay puts all of them off, and some are overtaken all the same. */
TEST(engine_order, seeded)
{
    Orders one   = orders("reorder=0.3 seed=1");
    Orders same  = orders("reorder=0.3 seed=1");
    Orders other = orders("reorder=0.3 seed=2");

    EXPECT_EQ(0u, overtaken(orders("seed=1").delivered));
    EXPECT_EQ(0u, overtaken(orders("delay-us=50").delivered));
    EXPECT_GT(overtaken(orders("delay-us=50 reorder=0.3").delivered), 30u);
    for (auto *result : {&one, &other}) {
        EXPECT_GT(overtaken(result->delivered), 0u);
        EXPECT_NE(result->delivered, result->completed);
    }
    EXPECT_EQ(one.delivered, same.delivered);
    EXPECT_EQ(one.completed, same.completed);
    EXPECT_NE(one.delivered, other.delivered);
}
