/* SPDX-License-Identifier: BSD-3-Clause */
/* A refused hello: the data of its flow waits until the next one got through,
 * or it would make a stranger at the receiver. */
#include "flow_test.h"

extern "C" {
#include "flow/ctl_priv.h"
}

using namespace flow_test;

namespace {

/* Hello and one message of a flow are refused. */
class flow_refused : public testing::Test {
protected:
    flow_refused() : a(1), b(2), ab(a.open(b))
    {
        a.progress();
        EXPECT_TRUE(a.send(ab, "one"));
        refuse(2);
    }

    /* This many packets are out; all are refused. */
    void refuse(size_t count)
    {
        std::vector<Packet> out = take(a);

        ASSERT_EQ(count, out.size());
        for (const Packet &packet : out) {
            a.complete(packet, FLOW_SEND_RNR);
            EXPECT_STREQ(nullptr, a.check());
        }
    }

    /* The next moment at which the core has something to do. */
    void step()
    {
        ASSERT_NE(FLOW_TIME_NEVER, flow_timer_next(a.core));
        a.now = flow_timer_next(a.core);
        a.progress();
        EXPECT_STREQ(nullptr, a.check());
    }

    /* ... and something to send. */
    unsigned wait()
    {
        unsigned steps = 0;

        do {
            step();
            ++steps;
        } while (a.out.empty() && (steps < 100));
        return steps;
    }

    Node       a, b;
    flow_tx_t *ab;
};

} /* namespace */

TEST_F(flow_refused, hello__nothing_goes_until_it_got_through)
{
    for (int i = 0; i < 5; ++i) {
        wait();
        ASSERT_EQ(1u, a.out.size()) << i;
        ASSERT_TRUE(a.out.front().ctl);
        EXPECT_FALSE(flow_tx_ready(a.core, ab));
        refuse(1);
    }
    wait();
    std::vector<Packet> hello = take(a);
    ASSERT_EQ(1u, hello.size());
    step(); /* it is out: nothing yet */
    ASSERT_TRUE(a.out.empty());
    a.complete(hello[0]);
    EXPECT_LT(wait(), 3u);
    ASSERT_EQ(1u, a.out.size());
    EXPECT_FALSE(a.out.front().ctl);
    b.receive(hello[0]);
    settle(a, b);
    EXPECT_EQ("one", b.got.at(0));
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_READY));
    EXPECT_TRUE(a.send(ab, "two"));
}

/* The answer to an earlier hello will do, too. */
TEST_F(flow_refused, hello__an_answer_ends_the_wait)
{
    wait();
    std::vector<Packet> hello = take(a);
    ASSERT_EQ(1u, hello.size());
    a.complete(hello[0]);
    flow_due_tx_ctl(a.core, ab, FLOW_CTL_TX_HELLO); /* as who-are-you does */
    refuse(1);
    EXPECT_FALSE(flow_tx_ready(a.core, ab));
    b.receive(hello[0]);
    move_all(b, a);
    EXPECT_EQ(FLOW_TX_OPEN, ab->state);
    for (int i = 0; (i < 9) && b.got.empty(); ++i) {
        step();
        for (const Packet &packet : take(a)) { /* again no hello */
            if (!packet.ctl) {
                b.receive(packet);
            }
            a.complete(packet, packet.ctl ? FLOW_SEND_RNR : FLOW_SEND_OK);
        }
    }
    EXPECT_EQ(1u, b.got.size());
}

/* A flow that is given up says no hello any more. */
TEST_F(flow_refused, given_up__data_fails)
{
    flow_tx_fail(a.core, ab, FLOW_SEND_GIVEN_UP);
    for (int i = 0; (i < 9) && (a.failed_ops == 0); ++i) {
        step();
    }
    EXPECT_EQ(1u, a.failed_ops);
    EXPECT_TRUE(a.out.empty());
}
