/* SPDX-License-Identifier: BSD-3-Clause */
/* A flow that fails takes its pair along. */
#include "flow_test.h"

using namespace flow_test;

class flow_broken_pair : public testing::Test {
protected:
    flow_broken_pair() : a(1), b(2)
    {
        std::tie(ab, ba) = connect(a, b);
    }

    Node       a, b;
    flow_tx_t *ab, *ba;
};

TEST_F(flow_broken_pair, late_first_message_starts_no_flow)
{
    flow_tx_t *ab2 = a.open(b);
    settle(a, b);
    flow_tx_t *ba2 = b.open(a);
    for (Packet &packet : take(b)) {
        a.receive(packet); /* the hello; its answer stays out */
        b.complete(packet);
    }
    ASSERT_TRUE(b.send(ba2, "first"));
    Packet first = take(b).at(0);
    flow_tx_fail(a.core, ab2, FLOW_SEND_ERROR);
    settle(a, b);
    EXPECT_EQ(FLOW_TX_FAILED, ba2->state);
    EXPECT_EQ(FLOW_RX_DROP, a.receive(first));
    EXPECT_TRUE(a.got.empty());
    b.complete(first);
}

/* Closed, and what was out is lost then: b learns that its pair lost something,
 * as soon as it is heard. */
TEST_F(flow_broken_pair, by_a_time_out_of_a_closed_one)
{
    ASSERT_TRUE(a.send(ab, "lost"));
    Packet lost = take(a).at(0);
    flow_tx_close(a.core, ab);
    a.complete(lost, FLOW_SEND_LOST);
    flow_tx_ping(b.core, ba);
    settle(a, b);
    EXPECT_EQ(FLOW_TX_FAILED, ba->state);
    EXPECT_EQ(FLOW_END_PAIR, b.events.back().why);
    EXPECT_EQ(0u, a.counters().tx_flows);
}

/* The answer names a flow whose hello is late: another one whose hello comes
 * first is not its pair. */
TEST(flow_pair, hello__of_another_than_is_awaited)
{
    Node a(1), b(2);
    flow_tx_t *ab = a.open(b), *ba = b.open(a), *ba2 = b.open(a);

    std::vector<Packet> first = take(b);
    ASSERT_EQ(1u, first.size());
    b.complete(first[0]);
    std::vector<Packet> second = take(b);
    ASSERT_EQ(1u, second.size());
    b.complete(second[0]);
    move_all(a, b);
    move_all(b, a);
    EXPECT_EQ(FLOW_TX_OPEN, ab->state);
    a.receive(second[0]);
    EXPECT_STREQ(nullptr, a.check());
    EXPECT_EQ(0u, rx_of(a, b, ba2)->pair);
    a.receive(first[0]);
    EXPECT_EQ((ab->ep & (FLOW_INDEX_MAX - 1)), rx_of(a, b, ba)->pair);
    settle(a, b);
}
