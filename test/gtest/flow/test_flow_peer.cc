/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_test.h"

using namespace flow_test;

TEST(flow_peer, dead__everything_of_it_ends)
{
    Node a(1), b(2);
    auto [ab, ba] = connect(a, b);
    flow_tx_t *ab2 = a.open(b);

    settle(a, b);
    ASSERT_TRUE(b.send(ba, "0"));
    ASSERT_TRUE(b.send(ba, "1"));
    Packet p0 = b.out[0], p1 = b.out[1];
    a.receive(p1);
    flow_tx_fail(a.core, ab, 1);
    a.pull_events();
    EXPECT_EQ(2u, a.count(FLOW_EVENT_TX_FAILED));
    for (const flow_event_t &event : a.events) {
        if (event.type == FLOW_EVENT_TX_FAILED) {
            EXPECT_TRUE(event.dead);
        }
    }
    EXPECT_EQ(1u, a.released);
    EXPECT_EQ(FLOW_RX_DROP, a.receive(p0));
    EXPECT_EQ(nullptr, a.open(b)); /* that incarnation is gone */
    flow_tx_close(a.core, ab);
    flow_tx_close(a.core, ab2);
    a.pull_events();
    EXPECT_EQ(2u, a.count(FLOW_EVENT_TX_GONE));
    EXPECT_EQ(0u, a.count(FLOW_EVENT_PEER_GONE));
    a.pull_control();
    ASSERT_EQ(1u, a.out.size()); /* a reset, should it live after all */
    a.complete(a.out[0], FLOW_SEND_DEAD);
    a.pull_events();
    EXPECT_EQ(0u, a.counters().rx_flows);
    EXPECT_EQ(1u, a.count(FLOW_EVENT_PEER_GONE));
    EXPECT_EQ(nullptr, a.open(b)); /* even now */
    EXPECT_STREQ(nullptr, a.check());
}

TEST(flow_peer, dead__packets_have_no_effect)
{
    Node a(1), b(2);
    flow_tx_t *tx = b.open(a);

    b.pull_events();
    b.pull_control();
    ASSERT_TRUE(b.send(tx, "x"));
    std::deque<Packet> old = b.out;
    settle(a, b);
    ASSERT_TRUE(b.send(tx, "y"));
    old.push_back(b.out.back());
    b.out.clear();
    a.pull_events();
    for (const flow_event_t &event : a.events) {
        if (event.type == FLOW_EVENT_PEER_INTRODUCED) {
            flow_peer_dead(a.core, event.peer);
        }
    }
    a.pull_events();
    size_t got = a.got.size();
    for (Packet &packet : old) {
        EXPECT_EQ(FLOW_RX_DROP, a.receive(packet));
    }
    EXPECT_EQ(got, a.got.size());
    EXPECT_EQ(2u, a.counters().drops[FLOW_DROP_DEAD]);
    settle(a, b);
    EXPECT_EQ(0u, a.counters().rx_flows);
}

/* Taken for dead while it lives: it learns that its flow has ended. */
TEST(flow_peer, dead__but_alive)
{
    Node a(1), b(2);
    auto [ab, ba] = connect(a, b);

    flow_peer_dead(a.core, flow_tx_peer(a.core, ab));
    a.pull_events();
    flow_tx_close(a.core, ab);
    ASSERT_TRUE(b.send(ba, "into the void"));
    settle(a, b);
    EXPECT_EQ(FLOW_TX_FAILED, ba->state);
    EXPECT_EQ(1u, b.count(FLOW_EVENT_TX_FAILED));
    EXPECT_TRUE(a.got.empty());
    flow_tx_close(b.core, ba);
    settle(a, b);
    EXPECT_EQ(1u, a.count(FLOW_EVENT_PEER_GONE));
    EXPECT_EQ(0u, a.counters().rx_flows + a.counters().tx_flows);
    EXPECT_EQ(0u, b.counters().tx_flows);
}

TEST(flow_peer, dead__tombstones_are_bounded)
{
    Node a(1);

    for (int i = 0; i < 3 * FLOW_TOMBSTONES; ++i) {
        flow_addr_t addr = a.addr;
        flow_tx_t *tx;

        addr.incarnation += 1000 + i;
        addr.qpn          = 100;
        a.grow();
        ASSERT_EQ(FLOW_OK, flow_tx_open(a.core, &addr, nullptr, &tx));
        flow_tx_fail(a.core, tx, 1);
        flow_tx_close(a.core, tx);
        a.pull_control();
        a.pull_events();
    }
    EXPECT_TRUE(a.out.empty());
    EXPECT_EQ((uint64_t)FLOW_TOMBSTONES, a.counters().peers);
    EXPECT_STREQ(nullptr, a.check());
}

TEST(flow_peer, reborn__younger_wins)
{
    static uint64_t born;
    auto tweak = [](flow_params_t *p) {
        p->born              = born << 16; /* the core's unit */
        p->self.incarnation += born;
    };
    Node a(1);
    born = 1000;
    Node old(2, tweak);
    born = 2000;
    Node young(2, tweak);
    flow_tx_t *tx = old.open(a);

    settle(a, old);
    ASSERT_TRUE(old.send(tx, "old"));
    Packet late = old.out.back();
    young.open(a);
    young.pull_events();
    young.pull_control();
    Packet hello = young.out.front();
    EXPECT_EQ(FLOW_RX_CONTROL, a.receive(hello));
    EXPECT_EQ(FLOW_RX_DROP, a.receive(late));
    a.pull_events();
    a.pull_control();
    for (Packet &packet : a.out) {
        a.complete(packet); /* a reset to the old one among them */
    }
    EXPECT_EQ(1u, a.counters().rx_flows);

    /* the other way round: a late hello of the old one does no harm */
    Node c(3);
    Node old2(2, [](flow_params_t *p) { p->born = 1 << 16; });
    old2.open(c);
    old2.pull_events();
    old2.pull_control();
    hello.bytes[16] = (uint8_t)c.addr.incarnation;
    EXPECT_EQ(FLOW_RX_CONTROL, c.receive(hello));
    EXPECT_EQ(FLOW_RX_DROP, c.receive(old2.out.front()));
    EXPECT_EQ(FLOW_DROP_DEAD, c.last.reason);
    c.pull_events();
    EXPECT_EQ(1u, c.counters().rx_flows);
    EXPECT_STREQ(nullptr, c.check());
}

TEST(flow_peer, churn__memory_is_flat)
{
    Node a(1), b(2);
    size_t memory = 0;

    for (int i = 0; i < 3000; ++i) {
        auto [ab, ba] = connect(a, b);
        ASSERT_TRUE(a.send(ab, "x"));
        ASSERT_TRUE(b.send(ba, "y"));
        if (i % 2) {
            flow_tx_close(a.core, ab);
            flow_tx_close(b.core, ba);
            settle(a, b);
        } else {
            settle(a, b);
            flow_tx_close(a.core, ab);
            settle(a, b);
            flow_tx_close(b.core, ba);
            settle(a, b);
        }
        ASSERT_EQ(0u, a.counters().tx_flows + a.counters().rx_flows +
                              a.counters().peers + a.counters().lingering);
        if (i == 1000) {
            memory = a.memory + b.memory;
        }
        a.events.clear();
        b.events.clear();
    }
    EXPECT_EQ(memory, a.memory + b.memory);
    EXPECT_EQ(0u, a.counters().owed);
}
