/* SPDX-License-Identifier: BSD-3-Clause */
/* A look at a flow (look.h). */
#include "flow_test.h"

#include "flow/look.h"

using namespace flow_test;

class flow_look_test : public testing::Test {
protected:
    flow_look_test() : a(1), b(2)
    {
        std::tie(ab, ba) = connect(a, b);
    }

    static flow_look_t look(const Node &node, const flow_tx_t *tx)
    {
        flow_look_t told;

        memset(&told, 0xff, sizeof(told));
        flow_look(node.core, tx, &told);
        return told;
    }

    /* Messages until the flow is blocked. */
    unsigned fill()
    {
        unsigned count = 0;

        while (a.send(ab, "more")) {
            ++count;
        }
        return count;
    }

    Node       a, b;
    flow_tx_t *ab, *ba;
};

TEST_F(flow_look_test, wait__nothing)
{
    flow_look_t told = look(a, ab);

    EXPECT_EQ(FLOW_LOOK_FREE, told.wait);
    EXPECT_EQ(told.psn, told.oldest);
    EXPECT_EQ(0, told.depth);
    EXPECT_EQ(0, told.lost);
}

TEST_F(flow_look_test, wait__a_limit_until_it_comes)
{
    unsigned    count = fill();
    flow_look_t told  = look(a, ab);

    EXPECT_EQ(FLOW_LOOK_LIMIT, told.wait);
    EXPECT_EQ(FLOW_WINDOW_MAX, (int)count);
    EXPECT_EQ(1u, a.counters().stalls);
    EXPECT_EQ(count, told.psn);
    EXPECT_EQ(0u, told.oldest);
    lose(a); /* all are complete; the receiver read none */
    told = look(a, ab);
    EXPECT_EQ(FLOW_LOOK_LIMIT, told.wait);
    EXPECT_EQ(count, told.oldest);
}

TEST_F(flow_look_test, wait__the_answer_to_a_hello)
{
    Node        c(3);
    flow_tx_t  *ac = a.open(c);

    while (a.send(ac, "early")) {
    }
    EXPECT_EQ(FLOW_LOOK_HELLO, look(a, ac).wait);
}

TEST_F(flow_look_test, wait__receiver_not_ready)
{
    ASSERT_TRUE(a.send(ab, "refused"));
    a.complete(a.out.back(), FLOW_SEND_RNR);
    a.out.clear();
    EXPECT_FALSE(a.send(ab, "behind it"));
    EXPECT_EQ(FLOW_LOOK_RNR, look(a, ab).wait);
    EXPECT_EQ(0u, look(a, ab).oldest);
}

TEST_F(flow_look_test, wait__nothing_any_more)
{
    flow_tx_fail(a.core, ab, FLOW_SEND_ERROR);
    EXPECT_EQ(FLOW_LOOK_FAILED, look(a, ab).wait);
}

/* The receiver consumed them; their completions are still to come. */
TEST_F(flow_look_test, wait__completions)
{
    fill();
    for (const Packet &packet : a.out) {
        b.receive(packet);
    }
    b.progress();
    pass_on(b, a);
    EXPECT_FALSE(a.send(ab, "one more"));
    EXPECT_EQ(FLOW_LOOK_SENT, look(a, ab).wait);
}

/* UD: what is next was acknowledged, and waits to be handed up. */
TEST(flow_look_ud, depth__of_the_next)
{
    Node a(1, ud), b(2, ud);
    auto [ab, ba] = connect(a, b);
    flow_look_t told;

    ASSERT_TRUE(a.send(ab, "x"));
    b.hold_all = true;
    EXPECT_EQ(FLOW_RX_HOLD, b.receive(a.out.back()));
    flow_look(b.core, ba, &told);
    EXPECT_EQ(1, told.depth);
}

/* The flow that comes with it: how much of it was consumed, and how far ahead
 * the highest packet is that waits. */
TEST_F(flow_look_test, depth__of_the_pair)
{
    ASSERT_TRUE(a.send(ab, "first"));
    settle(a, b);
    for (unsigned i = 0; i < 4; ++i) {
        ASSERT_TRUE(a.send(ab, "late"));
    }
    std::vector<Packet> out = take(a);
    EXPECT_EQ(1u, look(b, ba).rx_psn);
    b.receive(out[3]);
    EXPECT_EQ(4, look(b, ba).depth);
    b.receive(out[0]);
    EXPECT_EQ(3, look(b, ba).depth);
    EXPECT_EQ(2u, look(b, ba).rx_psn);
}

/* A trace may end at any time, and nothing else changes. */
TEST(flow_trace, ends)
{
    Node a(1), b(2), c(3), d(4);
    uint64_t hash = flow_trace_hash(c.core);

    flow_trace_end(c.core);
    for (auto pair : {std::make_pair(&a, &b), std::make_pair(&c, &d)}) {
        flow_tx_t *tx = connect(*pair.first, *pair.second).first;
        for (int i = 0; i < 100; ++i) {
            ASSERT_TRUE(pair.first->send(tx, "x"));
            settle(*pair.first, *pair.second);
        }
    }
    EXPECT_EQ(hash, flow_trace_hash(c.core));
    EXPECT_NE(hash, flow_trace_hash(a.core));
    EXPECT_EQ(a.counters().ctl_sent, c.counters().ctl_sent);
}
