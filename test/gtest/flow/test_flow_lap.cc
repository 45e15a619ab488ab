/* SPDX-License-Identifier: BSD-3-Clause */
/* A limit that the network held back while thousands of messages passed. */
#include "flow_test.h"

extern "C" {
#include "flow/grant_priv.h"
#include "flow/lap_priv.h"
}

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
                if (keeps && (from == &b) && is_kept(packet)) {
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

    virtual bool is_kept(const Packet &packet) const
    {
        return packet.ctl && (type_of(packet) == FLOW_CTL_LIMIT);
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
        EXPECT_EQ(sent + others, b.got.size());
        EXPECT_EQ(0u, b.counters().overflows);
        EXPECT_EQ(0u, a.counters().failed_flows + b.counters().failed_flows);
    }

    Node                a, b;
    bool                keeps = false;
    std::vector<Packet> kept;
    unsigned            sent  = 0, others = 0;
};

/* A message of the pair carries a limit, and is held back. Its flow sends
 * nothing new then, so that limits go on in packets of their own. */
class flow_lap_header : public flow_lap {
protected:
    bool is_kept(const Packet &packet) const override
    {
        return !packet.ctl;
    }
};

TEST_F(flow_lap_header, pair__is_waited_for)
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

/* Both directions busy: the limit packet is held back, headers pass it, and
 * take the flow across one line. */
class flow_lap_both : public flow_lap {
protected:
    void hold_one()
    {
        std::tie(ab, ba) = connect(a, b);
        keeps            = true;
        stream(ab, 300);
        ASSERT_EQ(1u, kept.size());
        for (int i = 0; i < 2000; ++i) {
            b.send(ba, "y");
            stream(ab, sent + 40);
        }
        EXPECT_GE(sent, (unsigned)FLOW_LAP + FLOW_WINDOW_MAX);
        EXPECT_LE(sent, 2u * FLOW_LAP + 2 * FLOW_WINDOW_MAX);
    }

    flow_tx_t *ab, *ba;
};

/* A flow that waits for an old limit lets others pass that wait for buffers. */
TEST_F(flow_lap_both, held__is_no_obstacle)
{
    hold_one();
    flow_rx_t *held = rx_of(b, a, ab);
    EXPECT_TRUE(flow_lap_holds(b.core, held));
    EXPECT_TRUE(held->lists & FLOW_LIST_STARVED);

    Node c(3), hoard(4);
    flow_tx_t *other = c.open(b);
    settle(c, b);
    hoard.open(b); /* has all credits that there are, and sends nothing */
    settle(hoard, b);
    flow_core_rx_posted(b.core, 0);
    while (c.send(other, "z")) {
        ++others;
        ASSERT_LT(others, 1000u);
        settle(c, b);
    }
    EXPECT_TRUE(rx_of(b, c, other)->lists & FLOW_LIST_STARVED);
    flow_core_rx_posted(b.core, 1024);
    settle(c, b);
    EXPECT_TRUE(c.send(other, "z")) << "behind one that waits for something else";
    ++others;
    settle(c, b);
    expect_well(ab);
}
