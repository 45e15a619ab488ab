/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiver not ready, silence, death, flush, order, completion queues. */
#include "engine_test.h"

#include <algorithm>

/* One try and rnr_retry more, each rnr-us after the answer; then status 10. */
TEST(engine_rnr, counts_exactly)
{
    for (unsigned retry = 0; retry < 7; ++retry) {
        Pair pair(retry, "rnr-us=100");

        pair.send(1, 10);
        for (unsigned tries = 1; tries <= retry; ++tries) {
            ASSERT_EQ(-1, pair.outcome());
            ASSERT_EQ(tries, rig_counter(pair.rig, 1, RIG_RNR));
            rig_advance(pair.rig, 99000);
            ASSERT_EQ(-1, pair.outcome());
            ASSERT_EQ(tries, rig_counter(pair.rig, 1, RIG_RNR));
            rig_advance(pair.rig, 1000);
        }
        EXPECT_EQ(10, pair.outcome());
        EXPECT_EQ(retry + 1, rig_counter(pair.rig, 1, RIG_RNR));
        EXPECT_FALSE(rig_is_busy(pair.rig, 0));
    }
}

TEST(engine_rnr, endless_waits_and_then_delivers)
{
    Pair pair(7);

    pair.send(1, 10);
    for (unsigned i = 0; i < 2000; ++i) { /* far beyond the time-out */
        ASSERT_EQ(-1, pair.outcome());
        rig_advance(pair.rig, 10 * MS);
    }
    pair.recv(1, 100);
    EXPECT_EQ(0, pair.outcome());
    EXPECT_EQ(0, pair.received());
    EXPECT_EQ(0, memcmp(pair.src.data(), pair.dst.data(), 10));
}

/* One receiver that is not ready does not hold up another. */
TEST(engine_rnr, blocks_nobody_else)
{
    Pair pair(7);
    int other       = pair.rig.qp(1);
    void *buf       = pair.dst.data();
    uint32_t length = 100;
    rig_send send   = pair.message(2, 10);

    for (unsigned i = 0; i < 20; ++i) {
        pair.send(1, 10);
    }
    send.qpn = rig_qpn(pair.rig, other);
    rig_post_recv(pair.rig, other, 9, 1, &buf, &length, pair.dst.key);
    rig_post_send(pair.rig, pair.tx, &send);
    EXPECT_EQ(0, pair.outcome());
}

/* A process that is alive and says nothing: 15 if it never answered, 13 if it
 * did, at the time-out and not before. */
TEST(engine_silence, timeout)
{
    Pair pair(7, "timeout-ms=1000");

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

TEST(engine_silence, no_such_host)
{
    Pair pair(7, "timeout-ms=1000");
    rig_send send = pair.message(1, 10);

    send.ah = pair.rig.ah(0, 5); /* no device was ever there */
    rig_post_send(pair.rig, pair.tx, &send);
    EXPECT_EQ(-1, pair.outcome());
    rig_advance(pair.rig, 1001 * MS);
    EXPECT_EQ(15, pair.outcome());
}

/* Messages to a process that is killed, some of them in its ring and some that
 * wait for room: the status of all. */
struct KilledPair : Pair {
    explicit KilledPair(const char *knobs = "") : Pair(7, knobs)
    {
        recv(1, 100);
        send(1, 10);
        EXPECT_EQ(0, outcome());
        for (unsigned i = 0; i < 50; ++i) {
            send(2, 8928);
        }
        rig_progress(rig, 0);
        rig_kill(rig, 1);
        rig_advance(rig, 60 * MS);
        rig_progress(rig, 0);
        rig_advance(rig, 60 * MS);
        rig_settle(rig);
    }

    void expect(int status)
    {
        for (unsigned i = 0; i < 50; ++i) {
            ASSERT_EQ(status, sent()) << i;
        }
        EXPECT_FALSE(rig_is_busy(rig, 0));
    }
};

/* Its NIC lives and answers for it, within 100 ms; so it does later. */
TEST(engine_silence, death)
{
    KilledPair pair;

    pair.expect(9);
    pair.send(3, 10);
    EXPECT_EQ(9, pair.outcome());
}

TEST(engine_silence, death_told_as_a_reset)
{
    KilledPair pair("killed-status=8");

    pair.expect(8);
    pair.send(3, 10);
    EXPECT_EQ(9, pair.outcome());
}

TEST(engine_silence, death_of_a_whole_host)
{
    KilledPair pair("killed-status=13 timeout-ms=1000");

    pair.expect(13);
    pair.send(3, 10);
    EXPECT_EQ(-1, pair.outcome());
    rig_advance(pair.rig, 1001 * MS);
    EXPECT_EQ(15, pair.outcome());
}

TEST(engine_flush, error_state_completes_all_with_1)
{
    Pair pair;
    unsigned flushed = 0;
    rig_cqe cqe;

    for (unsigned i = 0; i < 10; ++i) {
        pair.send(i, 10); /* no receives: these wait */
    }
    rig_settle(pair.rig);
    for (unsigned i = 10; i < 15; ++i) {
        pair.send(i, 10); /* these the device has not even seen */
    }
    ASSERT_EQ(0, rig_qp_modify(pair.rig, pair.tx, RIG_ERR, 0));
    while (rig_poll_send(pair.rig, pair.tx, &cqe)) {
        EXPECT_EQ(1, cqe.status);
        ++flushed;
    }
    EXPECT_EQ(15u, flushed);
    EXPECT_FALSE(rig_is_busy(pair.rig, 0));

    void *buf[2]       = { pair.dst.data(), pair.dst.data() + 100 };
    uint32_t length[2] = { 100, 100 };
    rig_post_recv(pair.rig, pair.rx, 77, 2, buf, length, pair.dst.key);
    pair.recv(78, 100);
    ASSERT_EQ(0, rig_qp_modify(pair.rig, pair.rx, RIG_ERR, 0));
    ASSERT_EQ(1, rig_poll_recv(pair.rig, pair.rx, &cqe));
    EXPECT_EQ(77, cqe.req_id);
    EXPECT_EQ(1, cqe.status);
    ASSERT_EQ(1, rig_poll_recv(pair.rig, pair.rx, &cqe));
    EXPECT_EQ(78, cqe.req_id);
    EXPECT_EQ(0, rig_poll_recv(pair.rig, pair.rx, &cqe));
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
    ASSERT_EQ(0, rig_qp_modify(pair.rig, pair.tx, RIG_RESET, 0));
    rig_advance(pair.rig, 100 * MS);
    EXPECT_EQ(-1, pair.outcome());
    EXPECT_FALSE(rig_is_busy(pair.rig, 0));
}

namespace {

struct Orders {
    std::vector<unsigned> delivered, completed;
};

Orders orders(const char *knobs)
{
    Pair pair(7, knobs, 512);
    Orders result;
    rig_cqe cqe;

    for (unsigned i = 0; i < 300; ++i) {
        pair.recv(i, 16, 16 * i);
    }
    for (unsigned i = 0; i < 300; ++i) {
        rig_send send = pair.message(i, 16);

        send.flags = RIG_IMM;
        send.imm   = i;
        rig_post_send(pair.rig, pair.tx, &send);
    }
    rig_settle(pair.rig);
    rig_advance(pair.rig, 100000); /* what was delayed leaves */
    rig_settle(pair.rig);
    while (rig_poll_send(pair.rig, pair.tx, &cqe)) {
        EXPECT_EQ(0, cqe.status);
        result.completed.push_back(cqe.req_id);
    }
    while (rig_poll_recv(pair.rig, pair.rx, &cqe)) {
        result.delivered.push_back(cqe.imm);
    }
    return result;
}

bool is_permutation_of_all(std::vector<unsigned> order)
{
    std::sort(order.begin(), order.end());
    for (unsigned i = 0; i < order.size(); ++i) {
        if (order[i] != i) {
            return false;
        }
    }
    return order.size() == 300;
}

} // namespace

TEST(engine_order, seeded)
{
    Orders plain = orders("seed=1");
    Orders one   = orders("reorder=0.3 seed=1");
    Orders same  = orders("reorder=0.3 seed=1");
    Orders other = orders("reorder=0.3 seed=2");

    EXPECT_TRUE(std::is_sorted(plain.delivered.begin(),
                               plain.delivered.end()));
    EXPECT_TRUE(is_permutation_of_all(plain.delivered));
    for (auto *result : {&one, &other}) {
        EXPECT_TRUE(is_permutation_of_all(result->delivered));
        EXPECT_TRUE(is_permutation_of_all(result->completed));
        EXPECT_FALSE(std::is_sorted(result->delivered.begin(),
                                    result->delivered.end()));
        EXPECT_NE(result->delivered, result->completed);
    }
    EXPECT_EQ(one.delivered, same.delivered);
    EXPECT_EQ(one.completed, same.completed);
    EXPECT_NE(one.delivered, other.delivered);
}

/* A delay puts all of them off, and some are overtaken all the same. */
TEST(engine_order, delayed)
{
    Orders plain   = orders("delay-us=50");
    Orders held    = orders("delay-us=50 reorder=0.3 seed=1");
    unsigned later = 0;

    EXPECT_TRUE(is_permutation_of_all(plain.delivered));
    EXPECT_TRUE(std::is_sorted(plain.delivered.begin(),
                               plain.delivered.end()));
    EXPECT_TRUE(is_permutation_of_all(held.delivered));
    for (unsigned i = 1; i < 300; ++i) {
        later += held.delivered[i] < held.delivered[i - 1];
    }
    EXPECT_GT(later, 30u);
}

TEST(engine_order, delay)
{
    Pair pair(7, "delay-us=500");

    pair.recv(1, 100);
    pair.send(1, 10);
    EXPECT_EQ(-1, pair.outcome());
    rig_advance(pair.rig, 499000);
    EXPECT_EQ(-1, pair.outcome());
    rig_advance(pair.rig, 1000);
    EXPECT_EQ(0, pair.outcome());
}

TEST(engine_inject, count_and_skip)
{
    Pair pair(7, "inject=send:8:2:1,recv:5:1,read:13:1");
    const int expected[] = { 12, 8, 8, 0, 0 };

    for (int status : expected) {
        pair.recv(1, 100);
        pair.send(1, 10);
        EXPECT_EQ(status, pair.outcome());
    }
    EXPECT_EQ(5, pair.received()); /* of the first */
    EXPECT_EQ(0, pair.received());
    EXPECT_EQ(0, pair.received());
    EXPECT_EQ(-1, pair.received()); /* the other two never left */
    pair.rig.ah(1, 0);
    pair.read(1, 10);
    EXPECT_EQ(13, pair.outcome());
    pair.read(1, 10);
    EXPECT_EQ(0, pair.outcome());
}

/* Requests of process 0 that fail at once, with ids from 0, and what its
 * program then finds in its send CQ of four entries. */
struct SmallCq {
    SmallCq() :
        rig({0})
    {
        rig_qp_conf conf = {};

        conf.cq  = 4;
        qp       = rig_qp(rig, &conf);
        send.ah  = rig.ah(0, 0);
        send.qpn = 250; /* nobody's: status 9 */
    }

    void post(unsigned num)
    {
        for (; num > 0; --num) {
            rig_post_send(rig, qp, &send);
            ++send.req_id;
        }
        rig_settle(rig);
    }

    std::vector<int> poll()
    {
        std::vector<int> ids;
        rig_cqe cqe;

        while (rig_poll_send(rig, qp, &cqe)) {
            ids.push_back(cqe.req_id);
        }
        return ids;
    }

    uint64_t overruns()
    {
        return rig_counter(rig, 0, RIG_CQ_OVERRUNS);
    }

    Rig      rig;
    rig_send send = {};
    int      qp;
};

TEST(engine_cq, overrun__none_where_the_program_keeps_up)
{
    SmallCq cq;

    for (int i = 0; i < 100; ++i) {
        cq.post(4);
        EXPECT_EQ((std::vector<int>{4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3}),
                  cq.poll());
    }
    EXPECT_EQ(0u, cq.overruns());
}

TEST(engine_cq, overrun__loses_what_was_not_read)
{
    SmallCq cq;

    cq.post(5);
    EXPECT_EQ(1u, cq.overruns());
    EXPECT_NE(nullptr, strstr(rig_log(cq.rig), "overrun"));
    EXPECT_EQ(std::vector<int>{}, cq.poll()); /* the place of 0 is 4's */
    cq.post(4);
    /* The second round, 4 to 7, is lost too: 8 is where 0 and 4 were. */
    EXPECT_EQ(std::vector<int>{8}, cq.poll());
    cq.post(3);
    EXPECT_EQ((std::vector<int>{9, 10, 11}), cq.poll());
}

TEST(engine_cq, event_once_per_arm)
{
    Pair pair;

    pair.recv(1, 100);
    pair.send(1, 10);
    rig_settle(pair.rig);
    EXPECT_EQ(0u, rig_events(pair.rig)); /* not armed */
    rig_arm_recv(pair.rig, pair.rx);
    EXPECT_EQ(1u, rig_events(pair.rig)); /* one was there already */
    EXPECT_EQ(0, pair.received());

    rig_arm_recv(pair.rig, pair.rx);
    EXPECT_EQ(1u, rig_events(pair.rig));
    pair.recv(2, 100);
    pair.recv(3, 100);
    pair.send(2, 10);
    pair.send(3, 10);
    rig_settle(pair.rig);
    EXPECT_EQ(2u, rig_events(pair.rig)); /* one for both */
}
