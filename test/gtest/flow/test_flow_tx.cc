/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_test.h"

using namespace flow_test;

TEST(flow_tx, open__hello_then_answer)
{
    Node a(1), b(2);
    flow_tx_t *tx = a.open(b);

    EXPECT_EQ(FLOW_TX_HELLO, tx->state);
    EXPECT_EQ((unsigned)FLOW_LONG_HDR, flow_tx_header_len(tx));
    settle(a, b);
    EXPECT_EQ(FLOW_TX_OPEN, tx->state);
    EXPECT_EQ((unsigned)FLOW_SHORT_HDR, flow_tx_header_len(tx));
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_OPEN));
    EXPECT_EQ(1u, b.count(FLOW_EVENT_PEER_INTRODUCED));
}

TEST(flow_tx, send__stream_both_ways)
{
    Node a(1), b(2);
    auto [ab, ba] = connect(a, b);

    for (int i = 0; i < 1000; ++i) {
        ASSERT_TRUE(a.send(ab, "a" + std::to_string(i)));
        ASSERT_TRUE(b.send(ba, "b" + std::to_string(i)));
        settle(a, b);
    }
    ASSERT_EQ(1000u, b.got.size());
    ASSERT_EQ(1000u, a.got.size());
    for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ("a" + std::to_string(i), b.got[i]);
        EXPECT_EQ("b" + std::to_string(i), a.got[i]);
    }
    /* limits rode in the headers */
    EXPECT_EQ(0u, a.counters().limits_alone);
    EXPECT_EQ(0u, b.counters().limits_alone);
}
