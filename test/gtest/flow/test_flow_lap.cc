/* SPDX-License-Identifier: BSD-3-Clause */
/* A limit that the network held back while thousands of messages passed. */
#include "flow_test.h"

using namespace flow_test;

enum { AROUND = 1 << 16, MOST = AROUND + 8 * FLOW_WINDOW_MAX };

class flow_lap : public testing::Test {
protected:
    flow_lap() : a(1), b(2)
    {
    }

    /* All that is out moves, but for the one packet that the network keeps. */
    void step()
    {
        b.now += 100000; /* whoever waits asks again */
        a.now  = b.now;
        for (Node *from : {&a, &b}) {
            Node &to = (from == &a) ? b : a;
            from->progress();
            std::deque<Packet> packets;
            packets.swap(from->out);
            for (const Packet &packet : packets) {
                if (keeps && (from == &b) && !packet.ctl) {
                    kept.push_back(packet);
                    keeps = false;
                } else {
                    to.receive(packet);
                    from->complete(packet);
                }
            }
        }
        flow_timer_run(b.core, b.now);
    }

    /* Messages of a until `most` were sent, or nothing moves any more. */
    void stream(flow_tx_t *tx, unsigned most)
    {
        for (int idle = 0; (idle < 100) && (sent < most); ++idle) {
            while ((sent < most) && a.send(tx, "x")) {
                ++sent;
                idle = 0;
                if (sent % 8 == 0) {
                    break;
                }
            }
            step();
        }
    }

    /* It arrives after all. */
    void arrive()
    {
        for (const Packet &packet : kept) {
            a.receive(packet);
            b.complete(packet);
        }
        kept.clear();
    }

    /* The granted packets may be sent, and all of them get there. */
    void expect_well(flow_tx_t *tx)
    {
        unsigned before = sent;

        EXPECT_LE(flow_psn_diff(flow_tx_last_limit(tx),
                                rx_of(b, a, tx)->limit), 0);
        arrive();
        EXPECT_LE(flow_psn_diff(flow_tx_last_limit(tx),
                                rx_of(b, a, tx)->limit), 0);
        stream(tx, MOST);
        settle(a, b);
        EXPECT_GT(sent, before);
        EXPECT_EQ((unsigned)MOST, sent);
        EXPECT_EQ(sent, b.got.size());
        EXPECT_EQ(0u, b.counters().overflows);
        EXPECT_EQ(0u, a.counters().failed_flows + b.counters().failed_flows);
    }

    Node                a, b;
    bool                keeps = false;
    std::vector<Packet> kept;
    unsigned            sent  = 0;
};

/* A message of the pair carries a limit, and is held back. Its flow sends
 * nothing new then, so that limits go on in packets of their own. */
TEST_F(flow_lap, pair__is_waited_for)
{
    auto [ab, ba] = connect(a, b);

    stream(ab, 100);
    ASSERT_TRUE(rx_of(b, a, ab)->flags & FLOW_RXF_CARRIED);
    keeps = true;
    ASSERT_TRUE(b.send(ba, "late"));
    step();
    ASSERT_EQ(1u, kept.size());
    stream(ab, AROUND);
    EXPECT_GE(sent, (unsigned)FLOW_LAP);
    EXPECT_LE(sent, 2u * FLOW_LAP + 2 * FLOW_WINDOW_MAX);
    EXPECT_FALSE(b.send(ba, "not before"));
    expect_well(ab);
    EXPECT_TRUE(b.send(ba, "now"));
    settle(a, b);
    EXPECT_EQ((std::vector<std::string>{"late", "now"}), a.got);
}
