/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending on UD: acknowledged, lost, late, doubled, never answered. */
#include "resend_test.h"

#include <random>

using namespace flow_test;

namespace {

class flow_resend : public Resend {
};

TEST_F(flow_resend, expired__sent_again_until_acknowledged)
{
    connect_both();
    ASSERT_TRUE(a.send(ab, "one"));
    lose(a);
    a.now += 20 * MS;
    a.pull_reposts();
    ASSERT_EQ(1u, a.out.size());
    EXPECT_EQ(1u, a.counters().timeouts);
    settle(a, b);
    EXPECT_EQ(1u, a.acked);
    EXPECT_EQ((std::vector<std::string>{"one"}), b.got);
}

TEST_F(flow_resend, gaps__fast)
{
    connect_both();
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(a.send(ab, std::string(1, (char)('a' + i))));
    }
    std::deque<Packet> sent = take_sent();
    b.receive(sent[1]);
    b.receive(sent[2]);
    settle(b, a);
    EXPECT_EQ(0u, a.counters().fast_resends) << "two may be reordering";
    b.receive(sent[3]);
    settle(b, a);
    EXPECT_EQ(0u, a.counters().fast_resends) << "they may be, too, for a while";
    wait_for_gap();
    EXPECT_EQ(1u, a.counters().fast_resends);
    EXPECT_EQ((std::vector<std::string>{"a", "b", "c", "d"}), b.got);
    EXPECT_EQ(4u, a.acked);
    pass(50 * MS);
    EXPECT_EQ(5u, b.got.size());
    EXPECT_EQ(5u, a.acked);
}

/* It waits again for as long as it turned out that late ones take. */
TEST_F(flow_resend, look__patience_is_learned)
{
    connect_both();
    path(a, ab).reorder = flow_path_stamp(GAP / 2);
    ASSERT_TRUE(a.send(ab, "0"));
    a.now += 1000;
    ASSERT_TRUE(a.send(ab, "1"));
    std::deque<Packet> sent = take_sent();
    b.now = a.now;
    b.receive(sent[1]);
    settle(b, a);
    a.now += GAP / 2 - 6000;
    b.now  = a.now;
    b.receive(sent[0]);
    b.pull_control();
    a.receive(b.out.back());
    EXPECT_GE(flow_path_ns(path(a, ab).reorder), GAP / 2 + 6000);
}

/* A packet that counted as lost and came late takes nothing from the window; of
 * two of which one did not come, the window stays as it is. */
TEST_F(flow_resend, arrived__late_ones_give_the_window_back)
{
    connect_both();
    for (size_t lost : {0, 1}) {
        for (const char *text : {"0", "1", "2"}) {
            ASSERT_TRUE(a.send(ab, text));
            a.now += 1000;
        }
        std::deque<Packet> sent = take_sent();
        flow_path_t &way = path(a, ab);
        b.now = a.now;
        b.receive(sent[2]);
        settle(b, a);
        way.latest = way.rtt = flow_path_stamp(MS); /* a queue */
        way.least  = way.rtt;
        way.var    = way.start = 0;
        way.window = 8 << 16;
        way.calm   = 5;
        a.now += 2 * MS;
        flow_timer_run(a.core, a.now);
        EXPECT_EQ(4u << 16, way.window);
        a.pull_reposts();
        lose(a);
        for (size_t i = 0; i < 2 - lost; ++i) {
            b.receive(sent[i]);
            settle(b, a);
        }
        EXPECT_EQ(lost == 0, way.kept_window == 0) << "settled";
        EXPECT_TRUE((lost != 0) || (way.window == 8u << 16));
        EXPECT_TRUE((lost != 0) || (way.calm >= 5));
        pass(500 * MS);
        a.pull_reposts();
        settle(a, b);
        settle(b, a);
    }
}

/* However the clock stands, and however long nothing was sent: what arrived last
 * is not taken for newer than what is sent now. */
TEST_F(flow_resend, commit__stamps_wrap)
{
    connect_both();
    for (int i = 0; i < 8; ++i) {
        a.now += 100ull << 30; /* 107 s: a stamp wraps after 275 */
        b.now  = a.now;
        ASSERT_TRUE(a.send(ab, "x"));
        lose(a);
        a.now += MS;
        flow_timer_run(a.core, a.now);
        a.pull_reposts();
        EXPECT_EQ(0u, a.counters().fast_resends) << i;
        pass(500 * MS);
        EXPECT_EQ((unsigned)i + 1, a.acked);
    }
}

TEST_F(flow_resend, ack__impossible_numbers)
{
    connect_both();
    ASSERT_TRUE(a.send(ab, "one"));
    Packet packet = pop(a);
    a.complete(packet);
    flow_psn_t psn = flow_tx_psn(ab);
    for (int d : {1, 2, 100, 32767, -65, -66, -1000, -32768}) {
        flow_resend_ack(a.core, ab, (flow_psn_t)(psn + d), 0);
        EXPECT_EQ(1u, flow_tx_outstanding(ab)) << d;
    }
    flow_resend_ack(a.core, ab, (flow_psn_t)(psn - 1), ~0ull);
    a.pull_releases();
    EXPECT_EQ(0u, a.acked);
    flow_resend_ack(a.core, ab, psn, ~0ull);
    a.pull_releases();
    EXPECT_EQ(1u, a.acked);
}

TEST_F(flow_resend, expired__peer_lost)
{
    connect_both();
    ASSERT_TRUE(a.send(ab, "one"));
    for (int i = 0; (i < 100000) && !a.count(FLOW_EVENT_TX_FAILED); ++i) {
        a.pull_reposts();
        lose(a);
        a.pull_releases();
        a.pull_events();
        a.now += 2 * MS;
    }
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_FAILED));
    EXPECT_EQ(FLOW_END_LOST, a.events.back().why);
    EXPECT_EQ(1u, a.failed_ops);
    EXPECT_EQ(64u, a.counters().timeouts);
    flow_tx_close(a.core, ab);
    for (int i = 0; (i < 100000) && !a.count(FLOW_EVENT_TX_GONE); ++i) {
        a.pull_control(); /* resets, a few times */
        lose(a);
        a.pull_events();
        a.now += 2 * MS;
    }
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_GONE));
    EXPECT_STREQ(nullptr, a.check());
}

TEST_F(flow_resend, sent__our_device_refuses)
{
    connect_both();
    a.send(ab, "one");
    a.send(ab, "two");
    Packet one = a.out[0], two = a.out[1];
    a.out.clear();
    a.complete(one, FLOW_SEND_ERROR);
    a.pull_releases();
    a.pull_events();
    EXPECT_EQ(1u, a.failed_ops) << "the other post is out";
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_FAILED));
    EXPECT_EQ(FLOW_END_ERROR, a.events.back().why);
    flow_tx_close(a.core, ab);
    EXPECT_FALSE(flow_ctl_pending(a.core));
    a.complete(two);
    a.pull_releases();
    EXPECT_EQ(2u, a.failed_ops);
    pass(10 * MS); /* the reset, and its confirmation */
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_GONE));
}

/* Two nodes, both ways, everything may be lost, doubled and late. */
class flow_resend_storm : public ::testing::TestWithParam<unsigned> {
};

TEST_P(flow_resend_storm, all_arrive_once_in_order)
{
    std::mt19937 random(GetParam());
    auto chance = [&](unsigned percent) { return random() % 100 < percent; };
    Node a(1, ud), b(2, ud);
    Node *nodes[2]     = {&a, &b};
    flow_tx_t *flow[2] = {a.open(b), b.open(a)};
    unsigned sent[2]   = {0, 0};
    const unsigned messages = 300;
    std::vector<Packet> air[2];
    bool closed = false;
    for (unsigned step = 0; step < 400000; ++step) {
        unsigned loss = (step < 20000) ? 30 : 0;
        for (int i = 0; i < 2; ++i) {
            Node &node = *nodes[i];
            node.now += 50000;
            node.progress();
            if ((sent[i] < messages) && chance(40) &&
                node.send(flow[i], std::to_string(sent[i]))) {
                ++sent[i];
            }
            while (!node.out.empty()) {
                Packet packet = node.out.front();
                node.out.pop_front();
                for (int copies = 1 + chance(loss); copies > 0; --copies) {
                    if (!chance(loss)) {
                        air[i].push_back(packet);
                    }
                }
                node.complete(packet);
            }
            while (!air[1 - i].empty() && chance(70)) {
                size_t pick = random() % air[1 - i].size();
                node.receive(air[1 - i][pick]);
                air[1 - i].erase(air[1 - i].begin() + (long)pick);
            }
            if ((step % 64) == 0) {
                ASSERT_STREQ(nullptr, node.check());
            }
        }
        if (!closed && (a.got.size() == messages) &&
            (b.got.size() == messages) && (a.acked == messages) &&
            (b.acked == messages)) {
            flow_tx_close(a.core, flow[0]);
            flow_tx_close(b.core, flow[1]);
            closed = true;
        }
        if (closed && (a.counters().rx_flows + a.counters().tx_flows +
                       b.counters().rx_flows + b.counters().tx_flows == 0)) {
            break;
        }
    }
    for (Node *node : nodes) {
        node->pull_events();
        ASSERT_EQ(messages, node->got.size());
        for (unsigned i = 0; i < messages; ++i) {
            ASSERT_EQ(std::to_string(i), node->got[i]);
        }
        EXPECT_EQ(messages, node->acked);
        EXPECT_EQ(0u, node->failed_ops);
        EXPECT_EQ(1u, node->count(FLOW_EVENT_TX_GONE));
        EXPECT_EQ(0u, node->counters().rx_flows);
        EXPECT_EQ(0u, node->counters().rings);
        EXPECT_EQ(1u, node->count(FLOW_EVENT_PEER_GONE));
    }
}

INSTANTIATE_TEST_SUITE_P(seed, flow_resend_storm, ::testing::Range(1u, 17u));

} /* namespace */

/* The pool is empty: not now, and no harm done; after a growth it may. */
TEST_F(flow_resend, pass_one__no_slots_left)
{
    std::vector<uint32_t> taken;
    uint32_t ring;

    connect_both();
    pass(20 * MS);
    ASSERT_EQ(0u, ab->ring);
    while ((ring = flow_pool_ring_get(a.core)) != 0) {
        taken.push_back(ring);
    }
    flow_tx_pause(ab, FLOW_PAUSE_PENDING);
    flow_tx_pass_one(a.core, ab);
    EXPECT_FALSE(a.send(ab, "no"));
    EXPECT_STREQ(nullptr, a.check());
    for (uint32_t index : taken) {
        flow_pool_ring_release(a.core, index);
    }
    flow_tx_pass_one(a.core, ab);
    EXPECT_TRUE(a.send(ab, "1"));
    flow_tx_resume(a.core, ab, FLOW_PAUSE_PENDING);
    settle(a, b);
    EXPECT_EQ((std::vector<std::string>{"1"}), b.got);
}
