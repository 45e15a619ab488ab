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
            ASSERT_EQ(n, rig_counter(pair.rig, 1, "rnr"));
            rig_advance(pair.rig, 99000);
            ASSERT_EQ(-1, pair.outcome());
            ASSERT_EQ(n, rig_counter(pair.rig, 1, "rnr"));
            rig_advance(pair.rig, 1000);
        }
        EXPECT_EQ(10, pair.outcome());
        EXPECT_EQ(tries + 1, rig_counter(pair.rig, 1, "rnr"));
        EXPECT_FALSE(rig_is_busy(pair.rig, 0));
    }
}

/* And one receiver that is not ready does not hold up another. */
TEST(engine_rnr, endless_waits_and_then_delivers)
{
    Pair pair;
    int silent = pair.rx;

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
        rig_advance(pair.rig, 10 * MS);
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
        rig_advance(pair.rig, us * 1000 - 1);
        ASSERT_EQ(-1, what());
        rig_advance(pair.rig, 1);
        EXPECT_EQ(0, what());
    };
    auto outcome  = [&] { return pair.outcome(); };
    auto received = [&] {
        rig_settle(pair.rig);
        return pair.received();
    };

    pair.recv(1, 100);
    pair.send(1, 10);
    until(1000, received);
    until(1000, outcome);
    pair.read(2, 10);
    rig_settle(pair.rig);
    rig_advance(pair.rig, 1000000);
    until(1000, outcome);
    pair.send(3, 10);
    rig_settle(pair.rig);
    rig_advance(pair.rig, 1000000);
    rig_settle(pair.rig);
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
    rig_progress(pair.rig, 0);
    rig_advance(pair.rig, 999 * MS);
    rig_progress(pair.rig, 0);
    EXPECT_EQ(-1, pair.sent());
    rig_advance(pair.rig, 20 * MS);
    rig_progress(pair.rig, 0);
    EXPECT_EQ(15, pair.sent());

    rig_settle(pair.rig); /* it wakes up: the message was there all the time */
    EXPECT_EQ(0, pair.received());
    EXPECT_EQ(-1, pair.sent()); /* completed once */

    pair.send(2, 10);
    rig_progress(pair.rig, 0);
    rig_advance(pair.rig, 1020 * MS);
    rig_progress(pair.rig, 0);
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
        rig_progress(pair.rig, 0);
        rig_kill(pair.rig, 1);
        for (unsigned i = 0; i < 2; ++i) {
            rig_advance(pair.rig, 60 * MS);
            rig_settle(pair.rig);
        }
        EXPECT_EQ(50u, pair.ended(one.status));
        EXPECT_FALSE(rig_is_busy(pair.rig, 0));
        for (int status : {one.later, 15}) {
            int now = pair.end(pair.send_of(3, 10));

            EXPECT_EQ(status == 15 ? -1 : status, now);
            rig_advance(pair.rig, 1001 * MS);
            EXPECT_EQ(status == 15 ? 15 : -1, pair.outcome());
            pair.ah = pair.rig.ah(0, 5); /* no device was ever there */
        }
    }
}

TEST(engine_flush, completes_all_with_1)
{
    Pair pair;
    void *buf[2]       = { pair.dst.data(), pair.dst.data() + 100 };
    uint32_t length[2] = { 100, 100 };

    for (unsigned i = 0; i < 15; ++i) { /* no receives: these wait */
        pair.send(i, 10);
        if (i == 9) {
            rig_settle(pair.rig); /* the others it has not even seen */
        }
    }
    ASSERT_EQ(0, rig_qp_modify(pair.rig, pair.tx, RIG_ERR));
    EXPECT_EQ(15u, pair.ended(1));
    EXPECT_FALSE(rig_is_busy(pair.rig, 0));

    rig_post_recv(pair.rig, pair.rx, 77, 2, buf, length, pair.dst.key);
    pair.recv(78, 100);
    ASSERT_EQ(0, rig_qp_modify(pair.rig, pair.rx, RIG_ERR));
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
    rig_progress(pair.rig, 0);
    rig_qp_destroy(pair.rig, pair.tx);
    EXPECT_EQ(1, pair.sent());
    rig_settle(pair.rig); /* the answer finds nobody, and that is all */
    EXPECT_EQ(0, pair.received());
    EXPECT_EQ(-1, pair.sent());
}

TEST(engine_flush, reset_forgets)
{
    Pair pair;

    pair.send(1, 10);
    rig_settle(pair.rig);
    ASSERT_EQ(0, rig_qp_modify(pair.rig, pair.tx, RIG_RESET));
    rig_advance(pair.rig, 100 * MS);
    EXPECT_EQ(-1, pair.outcome());
    EXPECT_FALSE(rig_is_busy(pair.rig, 0));
}

/* A packet on its way to a QP that is gone does not reach the next one of the
 * same number and key; a later packet does. */
TEST(engine_flush, reused_number)
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
        pair.post(wqe);
    }
    rig_settle(pair.rig);
    rig_advance(pair.rig, 100000); /* what was delayed leaves */
    rig_settle(pair.rig);
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
