/* SPDX-License-Identifier: BSD-3-Clause */
/* Back-off and counted time-outs begin anew once something got through. */
#include "flow_test.h"

using namespace flow_test;

namespace {

const flow_time_t MS = 1000000;

/* The packets of a node are refused `times` times: it waits for rnr_min, twice
 * that, and so on, up to twice as long at random and rnr_max; before its first
 * messages arrived the waits grow by these levels. */
void refuse(Node &from, int times, bool fresh = false)
{
    static const int begins[] = {0, 1, 2, 2, 2, 3, 3, 3,
                                 3, 3, 4, 4, 4, 4, 6, 11};

    for (int i = 0; i < times; ++i) {
        flow_time_t least = from.core->params.rnr_min
                            << (fresh ? begins[std::min(i, 15)] : i);
        while (least > from.core->params.rnr_max) {
            least /= 2;
        }
        from.progress();
        ASSERT_EQ(1u, from.out.size());
        Packet packet = from.out.front();
        from.out.pop_front();
        from.complete(packet, FLOW_SEND_RNR);
        flow_time_t wait = flow_timer_next(from.core) - from.now;
        EXPECT_GE(wait, least) << i;
        EXPECT_LE(wait, 2 * least) << i;
        from.now += wait;
    }
}

} /* namespace */

TEST(flow_backoff, data__begins_anew_when_it_arrived)
{
    Node a(1), b(2);
    flow_tx_t *ab = connect(a, b).first;

    ASSERT_TRUE(a.send(ab, "x"));
    refuse(a, 16, true);
    settle(a, b);
    for (int i = 1; i < FLOW_INIT_WINDOW_MAX; ++i) {
        ASSERT_TRUE(a.send(ab, "x"));
        refuse(a, (i < 3) ? 6 : 0, true); /* its first messages, not one */
        settle(a, b);
    }
    flow_psn_t limit = ab->limit;
    ASSERT_TRUE(a.send(ab, "x"));
    refuse(a, 14);
    settle(a, b);
    ASSERT_TRUE(a.send(ab, "x"));
    refuse(a, 1);
    EXPECT_EQ(limit, ab->limit) << "no control packet helped";
}

TEST(flow_backoff, control__of_a_sending_flow)
{
    Node a(1), b(2);
    flow_tx_t *tx = a.open(b);

    refuse(a, 18, true); /* its hello */
    a.progress();
    ASSERT_EQ(1u, a.out.size());
    a.complete(a.out.front());
    a.out.clear();
    flow_tx_close(a.core, tx);
    refuse(a, 1); /* its goodbye */
}

TEST(flow_backoff, control__of_a_receiving_flow)
{
    Node a(1), b(2);
    flow_tx_t *tx = a.open(b);

    a.progress();
    ASSERT_EQ(1u, a.out.size());
    Packet hello = pop(a);
    b.receive(hello);
    a.complete(hello);
    refuse(b, 4); /* its answer */
    settle(a, b);
    EXPECT_EQ(FLOW_TX_OPEN, tx->state);
    b.receive(hello);
    refuse(b, 1); /* its second answer */
}

/* A back-off may be over just as a control packet is asked for, or the caller's
 * queue is full: the message stays due, though no timer runs. */
TEST(flow_backoff, data__due_until_it_is_taken)
{
    Node a(1), b(2);
    flow_tx_t *ab = connect(a, b).first;
    flow_ctl_t ctl;
    int fail;

    settle(a, b);
    ASSERT_TRUE(a.send(ab, "x"));
    Packet packet = a.out.front();
    a.out.pop_front();
    a.complete(packet, FLOW_SEND_RNR);
    a.core->tick_due = FLOW_TIME_NEVER; /* no other timer */
    a.now += 100 * MS;
    EXPECT_EQ(0, flow_ctl_next(a.core, a.now, &ctl));
    EXPECT_TRUE(flow_is_due(a.core));
    EXPECT_GE(a.now, flow_timer_next(a.core));
    flow_op_t *op = flow_tx_repost_next(a.core, a.now, &fail);
    ASSERT_NE(nullptr, op);
    flow_timer_run(a.core, a.now);
    EXPECT_FALSE(flow_is_due(a.core)) << "it is out";
    flow_tx_repost_return(a.core, op);
    EXPECT_TRUE(flow_is_due(a.core)) << "it is not";
    a.pull_reposts();
    settle(a, b);
    EXPECT_EQ(1u, b.counters().delivered);
}
