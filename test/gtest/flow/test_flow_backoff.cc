/* SPDX-License-Identifier: BSD-3-Clause */
/* Back-off and counted time-outs begin anew once something got through. */
#include "flow_test.h"

using namespace flow_test;

namespace {

const flow_time_t MS = 1000000;

/* How long a node waits for what was refused just now. */
flow_time_t wait_of(Node &node)
{
    return flow_timer_next(node.core) - node.now;
}

/* Everything that a node has to send is refused `times` times. The waits of the
 * first and of the last time. */
std::pair<flow_time_t, flow_time_t> refuse(Node &from, int times)
{
    std::pair<flow_time_t, flow_time_t> waits;

    for (int i = 0; i < times; ++i) {
        from.progress();
        EXPECT_EQ(1u, from.out.size());
        Packet packet = from.out.front();
        from.out.pop_front();
        from.complete(packet, FLOW_SEND_RNR);
        waits.second = wait_of(from);
        waits.first  = (i == 0) ? waits.second : waits.first;
        from.now     = flow_timer_next(from.core);
    }
    return waits;
}

} /* namespace */

TEST(flow_backoff, data__begins_anew_with_a_limit)
{
    Node a(1), b(2);
    auto [ab, ba] = connect(a, b);

    ASSERT_TRUE(a.send(ab, "x"));
    auto waits = refuse(a, 5);
    EXPECT_EQ(16 * waits.first, waits.second);
    settle(a, b);
    flow_psn_t limit = ab->limit;
    for (int i = 0; i < FLOW_WINDOW_MAX; ++i) {
        ASSERT_TRUE(a.send(ab, "x"));
        settle(a, b);
    }
    ASSERT_NE(limit, ab->limit);
    ASSERT_TRUE(a.send(ab, "x"));
    EXPECT_EQ(waits.first, refuse(a, 1).first);
    (void)ba;
}

TEST(flow_backoff, control__of_a_sending_flow)
{
    Node a(1), b(2);
    flow_tx_t *tx = a.open(b);
    auto waits    = refuse(a, 4); /* its hello */

    EXPECT_EQ(8 * waits.first, waits.second);
    a.progress();
    ASSERT_EQ(1u, a.out.size());
    a.complete(a.out.front());
    a.out.clear();
    flow_tx_close(a.core, tx);
    EXPECT_EQ(waits.first, refuse(a, 1).first) << "its goodbye";
}

TEST(flow_backoff, control__of_a_receiving_flow)
{
    Node a(1), b(2);
    flow_tx_t *tx = a.open(b);

    a.progress();
    ASSERT_EQ(1u, a.out.size());
    Packet hello = a.out.front();
    a.out.clear();
    b.receive(hello);
    a.complete(hello);
    auto waits = refuse(b, 4); /* its answer */
    EXPECT_EQ(8 * waits.first, waits.second);
    settle(a, b);
    EXPECT_EQ(FLOW_TX_OPEN, tx->state);
    b.receive(hello);
    EXPECT_EQ(waits.first, refuse(b, 1).first) << "its second answer";
}

/* UD: nothing gets through for 40 time-outs, then all does, and so on. The flow
 * is never idle, when it would begin anew anyway. */
TEST(flow_backoff, ud__what_was_acknowledged_is_not_counted)
{
    Node a(1, ud), b(2, ud);
    auto [ab, ba] = connect(a, b);

    ASSERT_TRUE(a.send(ab, "x"));
    for (int round = 0; round < 3; ++round) {
        uint64_t before = a.counters().timeouts;
        while (a.counters().timeouts < before + 40) {
            ASSERT_EQ(0u, a.count(FLOW_EVENT_TX_FAILED)) << "round " << round;
            a.progress();
            while (!a.out.empty()) {
                a.complete(a.out.front());
                a.out.pop_front();
            }
            a.now += MS;
        }
        size_t got = b.got.size();
        for (int i = 0; i < 2000; ++i) { /* longer than any wait */
            b.now = a.now;
            settle(a, b);
            if (flow_tx_ready(a.core, ab)) {
                ASSERT_TRUE(a.send(ab, "x"));
            }
            a.now += MS;
        }
        ASSERT_LT(got + 1000, b.got.size());
    }
    (void)ba;
}
