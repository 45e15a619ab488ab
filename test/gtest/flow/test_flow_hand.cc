/* SPDX-License-Identifier: BSD-3-Clause */
/* Which flows are calm, what they cost, and what the hand takes back. */
#include "flow_test.h"

#include <algorithm>

extern "C" {
#include "flow/grant_priv.h"
#include "flow/hand_priv.h"
}

using namespace flow_test;

namespace {

/* More senders than buffers for full windows. */
class flow_hand : public testing::Test {
protected:
    enum {
        PEERS    = 20,
        CALM_USE = FLOW_CALM_EARNED + FLOW_CALM_LOW
    };

    flow_hand() :
        a(1), b(2, [](flow_params_t *p) {
            p->rx_posted  = 500;
            p->rx_reserve = 20;
        })
    {
        for (int i = 0; i < PEERS; ++i) {
            txs.push_back(a.open(b));
        }
        settle(a, b);
        for (flow_tx_t *tx : txs) {
            rxs.push_back(rx_of(b, a, tx));
            for (int i = 0; i < FLOW_INIT_WINDOW_MAX; ++i) {
                EXPECT_TRUE(a.send(tx, "x")); /* the hand begins */
            }
            settle(a, b);
        }
        rounds(3 * FLOW_QUIET_ROUNDS); /* all that may be recalled is */
    }

    /* One tick of the hand. */
    void tick()
    {
        b.now += b.core->params.rnr_min;
        flow_timer_run(b.core, b.now);
        settle(a, b);
        ASSERT_STREQ(nullptr, b.check());
    }
    void rounds(int count)
    {
        for (int i = 0; i < count * FLOW_HAND_TICKS; ++i) {
            tick();
        }
    }
    void send(int flow, int count = 1)
    {
        for (int i = 0; i < count; ++i) {
            ASSERT_TRUE(a.send(txs[flow], "x")) << i;
            settle(a, b);
        }
    }
    bool active(int flow) { return rxs[flow]->flags & FLOW_RXF_ACTIVE; }
    int left(int flow)
    {
        return flow_psn_diff(flow_rx_use(rxs[flow]),
                             flow_rx_psn(rxs[flow]));
    }

    Node                    a, b;
    std::vector<flow_tx_t*> txs;
    std::vector<flow_rx_t*> rxs;
};

} /* namespace */

/* A flow that uses much at a time gets a window of its own. */
TEST_F(flow_hand, active__by_what_it_uses)
{
    send(0);
    tick();
    send(0, CALM_USE / 2);
    EXPECT_FALSE(active(0));
    rounds(2);
    send(0, CALM_USE / 2);
    EXPECT_FALSE(active(0)) << "the visit between them was forgotten";
    send(0, CALM_USE);
    EXPECT_TRUE(active(0));
    EXPECT_GT(left(0), FLOW_CALM_WINDOW);
}

/* Its credits last, however much others use. */
TEST_F(flow_hand, calm__beside_one_that_uses_much)
{
    for (int round = 0; round < 4; ++round) {
        send(0, 3 * CALM_USE);
        ASSERT_TRUE(active(0));
        send(1, FLOW_CALM_WINDOW - FLOW_CALM_LOW);
        rounds(1);
    }
    EXPECT_FALSE(active(1));
}

/* Where all are active each has less than it had as a calm one: the receive
 * queue is emptied, and all are calm again. */
TEST_F(flow_hand, active__not_where_calm_ones_have_more)
{
    send(0, left(0)); /* the hand begins */
    flow_core_rx_backlog(b.core, 1);
    for (int i = 0; i <= FLOW_BACKLOG_TICKS; ++i) {
        tick();
    }
    for (int flow = 0; flow < PEERS; ++flow) {
        send(flow, left(flow));
        ASSERT_TRUE(active(flow));
    }
    flow_core_rx_backlog(b.core, 0);
    for (int round = 0; round < 4; ++round) {
        rounds(1);
        for (int flow = 0; flow < PEERS; ++flow) {
            send(flow, std::min(left(flow) / 2 + 1, 12)); /* to a look */
        }
    }
    rounds(1);
    for (int flow = 0; flow < PEERS; ++flow) {
        EXPECT_FALSE(active(flow)) << flow;
    }
}

/* One that keeps on sending, a little at a time, needs fewer limits. */
TEST_F(flow_hand, calm__gets_more_while_it_sends)
{
    int most[2] = {0, 0}; /* before and after it has earned them */

    send(1, left(1));
    rounds(3 * FLOW_RECALL_ROUNDS);
    ASSERT_FALSE(rxs[1]->flags & FLOW_RXF_EARNED); /* by the recall */
    for (int i = 0; i < 2 * FLOW_RECALL_EVERY; ++i) {
        send(1);
        tick();
        ASSERT_FALSE(active(1));
        int &seen = most[(rxs[1]->flags & FLOW_RXF_EARNED) != 0];
        seen      = std::max(seen, left(1));
    }
    EXPECT_GE(FLOW_CALM_WINDOW, most[0]);
    EXPECT_LT(FLOW_IDLE_WINDOW, most[0]);
    EXPECT_LT(FLOW_CALM_WINDOW, most[1]);
}

/* Credits that it holds and does not use come back, once for many packets. */
TEST_F(flow_hand, recall__worth_its_cost)
{
    send(0, 3 * CALM_USE);
    ASSERT_TRUE(active(0));
    uint64_t before = b.counters().recalls;
    rounds(3 * FLOW_RECALL_ROUNDS);
    EXPECT_FALSE(active(0));
    EXPECT_EQ((500 - 20) / PEERS, left(0)) << "its share of the buffers";
    flow_grant_recall(b.core, rxs[0]); /* of what there is not */
    EXPECT_EQ(before + 1, b.counters().recalls);
    before = b.counters().recalls;
    for (int i = 0; i < 2 * FLOW_RECALL_EVERY; ++i) {
        send(0);
        rounds(3 * FLOW_RECALL_ROUNDS);
    }
    EXPECT_GE(b.counters().recalls, before + 1);
    EXPECT_LE(b.counters().recalls, before + 3);
}

/* A silent sender gets nothing back, and no limit, since we send to it. */
TEST_F(flow_hand, recall__stays_while_the_pair_sends)
{
    flow_tx_t *back = b.open(a);

    settle(a, b);
    ASSERT_TRUE(back->flags & FLOW_TXF_CARRIES);
    flow_rx_t *rx = flow_core_rx(b.core, back->carries);
    ASSERT_TRUE(rx->flags & FLOW_RXF_RECALLED);
    int kept       = flow_psn_diff(flow_rx_use(rx), flow_rx_psn(rx));
    uint64_t alone = b.counters().limits_alone;
    windows(b, a, back, 4);
    EXPECT_TRUE(rx->flags & FLOW_RXF_RECALLED);
    EXPECT_EQ(kept,
              flow_psn_diff(flow_rx_use(rx), flow_rx_psn(rx)));
    EXPECT_EQ(alone, b.counters().limits_alone);
}

/* Each message is answered: a limit rides when half of the one before is used,
 * and no sooner, as whoever sees another limit in a header has to look. */
TEST_F(flow_hand, calm__few_looks_where_the_pair_answers)
{
    enum { PINGS = 160 };
    flow_tx_t *back = b.open(a);
    unsigned looks  = 0;

    settle(a, b);
    ASSERT_TRUE(back->flags & FLOW_TXF_CARRIES);
    flow_rx_t *rx = flow_core_rx(b.core, back->carries);
    int flow      = (int)(std::find(rxs.begin(), rxs.end(), rx) - rxs.begin());
    send(flow);
    uint64_t alone = b.counters().limits_alone;
    for (int i = 0; i < PINGS; ++i) {
        uint8_t look = rx->look_low;

        send(flow);
        looks += rx->look_low != look;
        ASSERT_TRUE(b.send(back, "y"));
        settle(a, b);
        tick();
    }
    EXPECT_FALSE(active(flow));
    EXPECT_LE(looks, PINGS / 8u);
    EXPECT_GE(alone + 1, b.counters().limits_alone); /* the first */
}

/* Packets in the receive queue were not seen yet: nobody is judged, and the
 * credits that calm flows use are counted. */
TEST_F(flow_hand, backlog)
{
    send(0, 3 * CALM_USE);
    ASSERT_TRUE(active(0));
    flow_core_rx_backlog(b.core, 1);
    for (int i = 0; i < FLOW_HELD_TICKS - FLOW_HAND_TICKS; ++i) {
        tick();
        ASSERT_TRUE(active(0)) << i;
    }
    ASSERT_FALSE(active(1));
    send(1, left(1));
    EXPECT_TRUE(active(1));
    for (int i = 0; i < 3 * FLOW_HELD_TICKS; ++i) {
        tick(); /* but not for ever */
    }
    EXPECT_FALSE(active(0));
    flow_core_rx_backlog(b.core, 0);
    tick();
    send(2, 2);
    EXPECT_FALSE(active(2));
}

/* All wake at once: together they get no more than there is until the queue was
 * seen empty. */
TEST_F(flow_hand, lent__what_there_is)
{
    for (int turn = 0; turn < 20; ++turn) { /* and no tick */
        for (flow_tx_t *tx : txs) {
            a.send(tx, "x");
        }
        settle(a, b);
        ASSERT_LE(b.core->owed + b.core->lent, 480);
    }
    EXPECT_GT(b.core->starved.count, 0u);
    EXPECT_EQ(0u, b.core->active);
    rounds(1);
    EXPECT_EQ(0u, b.core->starved.count);
}

/* The hand stops though packets lie in the queue: what was lent until then is
 * consumed when it begins anew. */
TEST_F(flow_hand, lent__not_after_the_hand_stopped)
{
    flow_core_rx_backlog(b.core, 1);
    for (int turn = 0; (turn < 20) && (b.core->lent < 100); ++turn) {
        for (int i = 1; i < PEERS; ++i) {
            a.send(txs[i], "x");
        }
        settle(a, b);
    }
    ASSERT_LE(100, b.core->lent);
    b.core->params.rx_posted = 5000; /* enough for all */
    tick();
    ASSERT_EQ(FLOW_TIME_NEVER, b.core->tick_due);
    flow_core_rx_backlog(b.core, 0);
    b.core->params.rx_posted = 500;
    send(0, FLOW_WAKE_WINDOW);
}

/* Nor to less, where its share shrank meanwhile: the first recall may come
 * last, after what was granted since. */
TEST_F(flow_hand, recall__not_again_before_it_was_obeyed)
{
    flow_tx_t *tx = txs[0];

    send(0, 3 * CALM_USE);
    flow_grant_recall(b.core, rxs[0]);
    Packet late = take(b).at(0);
    for (int i = 0; i < PEERS / 5; ++i) {
        a.open(b);
    }
    settle(a, b);
    ASSERT_LT(flow_grant_idle_window(b.core), left(0));
    flow_grant_recall(b.core, rxs[0]);
    settle(a, b);
    send(0, flow_psn_diff(tx->limit, flow_tx_psn(tx)));
    a.receive(late);
    b.complete(late);
    send(0, 4 * FLOW_WINDOW_MAX);
}

/* A limit that is told once more was granted is no recall, or the two of them
 * in the wrong order would leave the sender with nothing. */
TEST_F(flow_hand, recall__not_after_it_was_granted_more)
{
    send(0, 3 * CALM_USE);
    flow_grant_recall(b.core, rxs[0]);
    settle(a, b);
    flow_psn_t recalled_to = flow_rx_use(rxs[0]);
    send(0, left(0) - 1);
    ASSERT_EQ(recalled_to, flow_rx_use(rxs[0])) << "it may come late";
    ASSERT_TRUE(a.send(txs[0], "x"));
    Packet last = pop(a);
    b.receive(last);
    a.complete(last);
    std::vector<Packet> first = take(b);
    ASSERT_EQ(1u, first.size());
    EXPECT_TRUE(rxs[0]->flags & FLOW_RXF_RECALLED);
    rounds(2); /* it is calm again, and this limit is refused and repeated */
    EXPECT_FALSE(active(0));
    flow_ctl_msg_t msg;
    ASSERT_EQ(FLOW_DROP_NONE, flow_ctl_decode(first[0].bytes.data(),
                                              first[0].bytes.size(), &msg));
    EXPECT_EQ(0u, msg.flags);
    b.complete(first[0], FLOW_SEND_RNR);
    for (int i = 0; (i < 8) && b.out.empty(); ++i) {
        b.now = flow_timer_next(b.core);
        b.progress();
    }
    ASSERT_EQ(1u, b.out.size());
    ASSERT_EQ(FLOW_DROP_NONE, flow_ctl_decode(b.out[0].bytes.data(),
                                              b.out[0].bytes.size(), &msg));
    EXPECT_EQ(0u, msg.flags);
    settle(a, b);
    EXPECT_TRUE(a.send(txs[0], "y"));
}

/* When nothing moves for some rounds, the hand stops. */
TEST_F(flow_hand, round__the_last_one)
{
    int ticks = 0;

    send(0, 3 * CALM_USE);
    ASSERT_TRUE(active(0));
    rounds(2); /* the last in which something moved */
    while ((ticks < 1000) && flow_hand_tick(b.core)) {
        ++ticks;
    }
    EXPECT_EQ(FLOW_QUIET_ROUNDS * FLOW_HAND_TICKS - 1, ticks);
}

/* Where there are many the hand sees a part of them at a time. */
TEST(flow_hand_many, visits__a_part_of_them)
{
    const unsigned PEERS = FLOW_HAND_LOOKS_MIN * 3 / 2;
    Node           a(1), b(2);

    for (unsigned i = 0; i < PEERS; ++i) {
        EXPECT_TRUE(a.send(a.open(b), "x"));
    }
    settle(a, b);
    while (b.core->ticks != FLOW_HAND_TICKS - 1) {
        ASSERT_TRUE(flow_hand_tick(b.core));
    }
    ASSERT_EQ(0u, b.core->hand);
    flow_hand_tick(b.core);
    EXPECT_EQ((unsigned)FLOW_HAND_LOOKS_MIN, b.core->hand);
}

/* The first of several has a whole window. Its unused credits come back once
 * there are others, which have sent nothing yet. */
TEST(flow_hand_few, first__gives_back_when_others_come)
{
    Node a(1), b(2, [](flow_params_t *p) {
        p->rx_posted  = 240;
        p->rx_reserve = 20;
    });
    flow_rx_t *first = rx_of(b, a, connect(a, b).first);

    ASSERT_TRUE(first->flags & FLOW_RXF_ACTIVE);
    for (int i = 0; i < 3; ++i) {
        (void)a.open(b);
        settle(a, b);
    }
    for (int i = 0; i < FLOW_QUIET_ROUNDS * FLOW_HAND_TICKS; ++i) {
        b.now += b.core->params.rnr_min;
        flow_timer_run(b.core, b.now);
        settle(a, b);
    }
    EXPECT_FALSE(first->flags & FLOW_RXF_ACTIVE);
    EXPECT_EQ(flow_grant_idle_window(b.core),
              flow_psn_diff(flow_rx_use(first), flow_rx_psn(first)));
}

/* A quarter of the receives is left to calm flows, however few there are. */
TEST(flow_hand_few, short_of_windows__beyond_three_quarters)
{
    Node a(1), b(2, [](flow_params_t *p) {
        p->rx_posted  = 4 * 5 + 20;
        p->rx_reserve = 20;
    });

    for (int i = 0; i < 4; ++i) { /* one less than a quarter */
        (void)a.open(b);
        settle(a, b);
    }
    ASSERT_EQ(0u, b.core->active);
    b.core->params.grant = 4;
    EXPECT_TRUE(flow_grant_is_short(b.core)) << "16 of 15";
    ++b.core->params.rx_posted;
    EXPECT_FALSE(flow_grant_is_short(b.core));
}
