/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_test.h"

using namespace flow_test;

TEST(flow_grant, sleeping_receiver__sender_stops_at_its_limit)
{
    Node a(1), b(2);
    auto [ab, ba] = connect(a, b);
    int sent      = 0;

    while (a.send(ab, "x")) {
        ++sent;
    }
    EXPECT_EQ(FLOW_WINDOW_MAX, sent);
    /* completions alone open nothing */
    std::deque<Packet> wire = a.out;
    a.out.clear();
    for (Packet &packet : wire) {
        a.complete(packet);
    }
    EXPECT_FALSE(a.send(ab, "x"));
    EXPECT_EQ(1u, a.counters().stalls);
    for (Packet &packet : wire) {
        b.receive(packet);
    }
    settle(a, b);
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_READY));
    EXPECT_TRUE(a.send(ab, "x"));
    (void)ba;
}

TEST(flow_grant, one_way__limits_alone_each_half_window)
{
    Node a(1), b(2);
    flow_tx_t *tx = a.open(b);

    settle(a, b);
    for (int i = 0; i < 6400; ++i) {
        ASSERT_TRUE(a.send(tx, "x")) << i;
        settle(a, b);
    }
    EXPECT_LE(b.counters().limits_alone, 6400u / 32 + 1);
    EXPECT_GE(b.counters().limits_alone, 6400u / 64);
}

TEST(flow_grant, invariant__owed_never_above_the_buffers)
{
    Node b(2, [](flow_params_t *p) {
        p->rx_posted  = 256;
        p->rx_reserve = 16;
    });
    std::vector<std::unique_ptr<Node>> peers;
    std::vector<flow_tx_t*> txs;

    for (unsigned i = 0; i < 7; ++i) {
        peers.emplace_back(new Node(10 + i));
        txs.push_back(peers[i]->open(b));
    }
    for (int round = 0; round < 300; ++round) {
        for (unsigned i = 0; i < 7; ++i) {
            while (peers[i]->send(txs[i], "x")) {
            }
            peers[i]->pull_events();
            peers[i]->pull_control();
            while (!peers[i]->out.empty()) {
                Packet packet = peers[i]->out.front();
                peers[i]->out.pop_front();
                b.receive(packet);
                peers[i]->complete(packet);
                ASSERT_LE(b.counters().owed, 240u);
            }
            b.pull_events();
            b.pull_control();
            for (Packet &packet : b.out) {
                for (auto &peer : peers) {
                    if (packet.dst == peer->addr.qpn) {
                        peer->receive(packet);
                    }
                }
                b.complete(packet);
            }
            b.out.clear();
            ASSERT_STREQ(nullptr, b.check());
        }
    }
    /* each gets its share */
    for (unsigned i = 0; i < 7; ++i) {
        EXPECT_GT(flow_tx_psn(txs[i]), 300 * 10);
    }
}

/* Far more flows than buffers, all but a few silent after their first words. */
TEST(flow_grant, rotation__silent_flows_do_not_starve_others)
{
    Node a(1, [](flow_params_t *p) { p->init_window = 4; });
    Node b(2, [](flow_params_t *p) {
        p->rx_posted  = 80;
        p->rx_reserve = 16;
    });
    const int flows = 400;
    std::vector<flow_tx_t*> txs;

    for (int i = 0; i < flows; ++i) {
        txs.push_back(a.open(b));
        ASSERT_NE(nullptr, txs.back());
    }
    settle(a, b);
    std::vector<int> done(flows, 0);
    for (int i = 0; i < flows; ++i) {
        for (int tries = 0; (done[i] < 50) && (tries < 500); ++tries) {
            while ((done[i] < 50) && a.send(txs[i], "x")) {
                ++done[i];
            }
            settle(a, b);
        }
        ASSERT_EQ(50, done[i]) << "flow " << i << " starved";
    }
    EXPECT_EQ((size_t)flows * 50, b.got.size());
    /* and all at once */
    for (int tries = 0; tries < 3000; ++tries) {
        bool busy = false;
        for (int i = 0; i < flows; ++i) {
            while ((done[i] < 100) && a.send(txs[i], "x")) {
                ++done[i];
            }
            busy |= done[i] < 100;
        }
        settle(a, b);
        if (!busy) {
            break;
        }
    }
    EXPECT_EQ((size_t)flows * 100, b.got.size());
    EXPECT_GT(b.counters().starved, 0u);
}

/* A sender that ignores its limit gets no further, not even in order. */
TEST(flow_grant, starved__in_order_beyond_the_limit)
{
    Node a(1);
    Node b(2, [](flow_params_t *p) {
        p->rx_posted  = 10;
        p->rx_reserve = 2;
    });
    std::vector<flow_tx_t*> txs;
    flow_tx_t *tx = nullptr;

    for (int i = 0; i < 9; ++i) { /* more credits given than there are */
        txs.push_back(a.open(b));
    }
    settle(a, b);
    for (flow_tx_t *flow : txs) {
        while (a.send(flow, "x")) {
        }
    }
    for (Packet &packet : a.out) { /* limits of b do not reach a */
        b.receive(packet);
        a.complete(packet);
    }
    a.out.clear();
    uint64_t starved = b.counters().starved;
    EXPECT_GT(starved, 0u);
    for (flow_tx_t *flow : txs) {
        flow_rx_t *rx = flow_rx_find(b.core, flow_peer_find(
                                     b.core, a.addr.incarnation), flow->ep);
        if ((rx != nullptr) && (rx->flags & FLOW_RXF_STARVED)) {
            tx = flow;
        }
    }
    ASSERT_NE(nullptr, tx);
    size_t got = b.got.size();
    tx->stop   = (flow_psn_t)(flow_tx_psn(tx) + 4); /* it cheats */
    ASSERT_TRUE(a.send(tx, "cheat"));
    EXPECT_EQ(FLOW_RX_DROP, b.receive(a.out.front()));
    EXPECT_EQ(FLOW_DROP_BEYOND, b.last.reason);
    EXPECT_EQ(got, b.got.size());
    EXPECT_EQ(1u, b.counters().overflows);
    EXPECT_STREQ(nullptr, b.check());
}

TEST(flow_grant, more_buffers_later)
{
    Node a(1);
    Node b(2, [](flow_params_t *p) { p->rx_posted = 0; });
    flow_tx_t *tx = a.open(b);

    settle(a, b);
    flow_core_rx_posted(b.core, 1000);
    for (int i = 0; i < 300; ++i) {
        ASSERT_TRUE(a.send(tx, "x")) << i;
        settle(a, b);
    }
    EXPECT_EQ(300u, b.got.size());
}
