/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_test.h"

extern "C" {
#include "flow/grant_priv.h"
#include "flow/hand_priv.h"
}

using namespace flow_test;

static const flow_time_t MS = 1000000;

TEST(flow_grant, one_way__limits_alone_each_half_window)
{
    enum { WINDOWS = 100 };
    Node a(1), b(2);
    flow_tx_t *tx = a.open(b);

    settle(a, b);
    for (int i = 0; i < WINDOWS * FLOW_WINDOW_MAX; ++i) {
        ASSERT_TRUE(a.send(tx, "x")) << i;
        settle(a, b);
    }
    EXPECT_LE(b.counters().limits_alone, 2u * WINDOWS + 1);
    EXPECT_GE(b.counters().limits_alone, 1u * WINDOWS);
}

/* Messages, one by one, whose pair is silent. */
static void stream(Node &a, Node &b, flow_tx_t *tx, int count)
{
    for (int i = 0; i < count; ++i) {
        ASSERT_TRUE(a.send(tx, "x")) << i;
        settle(a, b);
    }
}

/* Nothing is due between two limits that go alone; who was silent carries one
 * with its next message that is a quarter old at most. */
TEST(flow_grant, silent_pair__one_look_a_limit_and_a_new_one_when_it_speaks)
{
    for (int consumed : {1, 17, 33, 47}) {
        Node a(1), b(2);
        auto [tx, back] = connect(a, b);
        flow_rx_t *rx   = rx_of(b, a, tx);
        unsigned looks  = 0, sent = 0;
        uint64_t alone  = b.counters().limits_alone;

        for (unsigned i = 0; i < 20 * FLOW_WINDOW_MAX; ++i) {
            uint8_t look = rx->look_low;

            ASSERT_TRUE(a.send(tx, "x"));
            settle(a, b);
            looks += rx->look_low != look;
        }
        alone = b.counters().limits_alone - alone;
        EXPECT_GE(alone, 20u);
        EXPECT_LE(looks, alone + 2);

        while (b.counters().limits_alone == alone) { /* up to the next */
            stream(a, b, tx, 1);
        }
        stream(a, b, tx, consumed);
        ASSERT_TRUE(b.send(back, "y"));
        settle(a, b);
        while (a.send(tx, "x")) {
            ++sent;
        }
        EXPECT_GE((int)sent, 3 * FLOW_WINDOW_MAX / 4) << consumed;
        EXPECT_STREQ(nullptr, b.check());
    }
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
        b.now += 20000; /* a tick: what was lent is consumed */
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
    pass_on(a, b);
    uint64_t starved = b.counters().starved;
    EXPECT_GT(starved, 0u);
    for (flow_tx_t *flow : txs) {
        flow_rx_t *rx = flow_rx_find(b.core, flow_peer_find(
                                     b.core, a.addr.incarnation), flow->ep);
        if ((rx != nullptr) && (rx->lists & FLOW_LIST_STARVED)) {
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

/* Time passes for b; what it says stays with it. */
static void ticks(Node &b, int count)
{
    for (int i = 0; i < count; ++i) {
        b.now += MS;
        flow_timer_run(b.core, b.now);
    }
}

/* Not enough for two whole windows. */
static void few_buffers(flow_params_t *p)
{
    p->rx_reserve = 4;
    p->rx_posted  = 3 * FLOW_WINDOW_MAX / 2 + p->rx_reserve;
}

/* Its sender never hears of it, and yet its credits are the others'. */
TEST(flow_grant, silent__counted_no_more)
{
    Node a(1), c(3), b(2, few_buffers);
    flow_tx_t *ab = a.open(b), *cb = c.open(b);

    settle(a, b);
    for (int i = 0; i < 100; ++i) {
        a.send(ab, "x");
        settle(a, b);
    }
    settle(c, b);
    flow_rx_t *silent = rx_of(b, a, ab), *busy = rx_of(b, c, cb);
    EXPECT_GE(flow_psn_diff(silent->limit, flow_rx_psn(silent)),
              FLOW_WINDOW_MAX / 2);
    for (int i = 0; i < 100; ++i) {
        while (c.send(cb, "x")) { /* all that it may */
        }
        settle(c, b);
        ticks(b, 1);
    }
    EXPECT_FALSE(silent->flags & FLOW_RXF_ACTIVE);
    EXPECT_TRUE(silent->flags & FLOW_RXF_RECALLED);
    EXPECT_EQ(flow_grant_idle_window(b.core),
              flow_psn_diff(flow_rx_use(silent), flow_rx_psn(silent)));
    EXPECT_GE(flow_psn_diff(busy->limit, flow_rx_psn(busy)),
              FLOW_WINDOW_MAX / 2);
    EXPECT_LE(1u, b.counters().recalls);
    EXPECT_EQ(1u, b.counters().active);
    EXPECT_STREQ(nullptr, b.check());
}

/* It sends no more: what it may yet send is what is on its way. */
TEST(flow_grant, silent__not_after_its_goodbye)
{
    Node a(1), b(2, [](flow_params_t *p) {
        p->rx_posted = 3 * FLOW_WINDOW_MAX * 15 / 16 + p->rx_reserve;
    });
    flow_tx_t *one = a.open(b), *two = a.open(b);

    a.open(b); /* too many for full windows */
    settle(a, b);
    flow_rx_t *closed = rx_of(b, a, one), *open = rx_of(b, a, two);
    stream(a, b, two, FLOW_WINDOW_MAX); /* it has earned more than it keeps */
    ASSERT_TRUE(a.send(one, "late"));
    Packet late = pop(a);
    a.complete(late);
    flow_tx_close(a.core, one);
    settle(a, b);
    ASSERT_TRUE(closed->flags & FLOW_RXF_FINAL);
    for (int i = 0; i < 9 * FLOW_HAND_TICKS; ++i) {
        flow_hand_tick(b.core);
    }
    EXPECT_TRUE(open->flags & FLOW_RXF_RECALLED);
    EXPECT_FALSE(closed->flags & FLOW_RXF_RECALLED);
    EXPECT_TRUE(closed->flags & FLOW_RXF_ACTIVE);
    EXPECT_EQ(FLOW_RX_DELIVER, b.receive(late));
    EXPECT_EQ(2u, b.counters().rx_flows);
    EXPECT_STREQ(nullptr, b.check());
}

/* It asks for more than it was ever given: it gets nothing. */
TEST(flow_grant, asked__beyond_the_limit)
{
    Node a(1), b(2);
    flow_tx_t *tx = a.open(b);

    settle(a, b);
    flow_rx_t *rx       = rx_of(b, a, tx);
    flow_psn_t limit    = rx->limit;
    uint64_t owed       = b.counters().owed;
    flow_ctl_msg_t want = message(FLOW_CTL_WANT, a, b, tx->ep);
    want.limit          = limit + 1;
    EXPECT_EQ(FLOW_RX_CONTROL, b.receive(encode(want), src_of(a)));
    EXPECT_TRUE(take(b).empty());
    EXPECT_EQ(limit, rx->limit);
    EXPECT_EQ(owed, b.counters().owed);
    want.limit = limit - 1; /* what was told got lost: again */
    EXPECT_EQ(FLOW_RX_CONTROL, b.receive(encode(want), src_of(a)));
    EXPECT_EQ((unsigned)FLOW_CTL_LIMIT, type_of(take(b).at(0)));
    EXPECT_STREQ(nullptr, b.check());
}

/* A flow that has sent a message. */
class flow_recall : public testing::Test {
protected:
    flow_recall() : a(1), b(2), tx(a.open(b))
    {
        settle(a, b);
        EXPECT_TRUE(a.send(tx, "x"));
        settle(a, b);
        rx = rx_of(b, a, tx);
    }

    Node       a, b;
    flow_tx_t *tx;
    flow_rx_t *rx;
};

/* The newest limit came first, then the recall, then an older one: the sender
 * has that, and no more. */
TEST_F(flow_recall, overtakes_one_limit_of_two)
{
    flow_ctl_msg_t old = message(FLOW_CTL_LIMIT, b, a, tx->ep);

    a.open(b); /* another one, which has all there is */
    settle(a, b);
    old.limit = (flow_psn_t)(rx->limit - 4);
    flow_grant_recall(b.core, rx);
    auto recall = take(b);
    ASSERT_EQ(1u, recall.size());
    a.receive(recall[0]);
    b.complete(recall[0]);
    EXPECT_EQ(FLOW_RX_CONTROL, a.receive(encode(old), src_of(b)));
    EXPECT_EQ(old.limit, tx->limit);
    while (a.send(tx, "y")) {
    }
    EXPECT_EQ(old.limit, flow_tx_psn(tx));
    flow_core_rx_posted(b.core, 0); /* nothing is granted beyond need */
    std::deque<Packet> wire;
    wire.swap(a.out);
    for (; !wire.empty(); wire.pop_back()) { /* the first comes last */
        b.receive(wire.back());
        a.complete(wire.back());
    }
    ticks(b, 4); /* sooner than by a recall */
    settle(a, b);
    EXPECT_TRUE(a.send(tx, "z"));
}

/* The recall comes after a header that was sent later: nothing may have been
 * granted beyond it meanwhile. */
TEST(flow_grant, recall__overtaken_by_the_pair)
{
    Node a(1), b(2);
    auto [tx, back] = connect(a, b);

    stream(a, b, tx, 1);
    flow_grant_recall(b.core, rx_of(b, a, tx));
    Packet recall = take(b).at(0);
    windows(b, a, back, 2);
    a.receive(recall);
    b.complete(recall);
    stream(a, b, tx, 4 * FLOW_WINDOW_MAX);
}

/* A header with the limit of before the recall says nothing new. */
TEST(flow_grant, recall__then_the_same_limit_again)
{
    Node a(1), b(2);
    auto [tx, back] = connect(a, b);
    flow_rx_t *rx   = rx_of(b, a, tx);

    ASSERT_TRUE(b.send(back, "y"));
    settle(a, b);
    flow_psn_t limit = rx->limit;
    flow_grant_recall(b.core, rx);
    settle(a, b);
    int keeps = flow_psn_diff(tx->limit, flow_tx_psn(tx));
    ASSERT_EQ(flow_grant_idle_window(b.core), keeps);
    b.core->params.grant = FLOW_WINDOW_MAX / 2;
    stream(a, b, tx, keeps);
    int left = (uint8_t)(rx->look_low - flow_tx_psn(tx));
    stream(a, b, tx, left - 1);
    b.core->params.grant = (uint16_t)(limit - flow_tx_psn(tx) - 1);
    stream(a, b, tx, 1);
    ASSERT_EQ(limit, flow_rx_use(rx));
    ASSERT_TRUE(b.send(back, "y"));
    settle(a, b);
    stream(a, b, tx, 4 * FLOW_WINDOW_MAX);
}

/* Nothing new until all that is out has arrived. */
TEST(flow_grant, receiver_not_ready__window_of_what_is_out)
{
    Node a(1), b(2);
    flow_tx_t *ab = connect(a, b).first;

    ASSERT_TRUE(a.send(ab, "0"));
    ASSERT_TRUE(a.send(ab, "1"));
    Packet p0 = a.out[0], p1 = a.out[1];
    a.out.clear();
    a.complete(p0, FLOW_SEND_RNR);
    EXPECT_FALSE(a.send(ab, "2"));
    b.receive(p1);
    a.complete(p1);
    EXPECT_FALSE(a.send(ab, "2"));
    a.now = flow_timer_next(a.core);
    settle(a, b);
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_READY));
    EXPECT_EQ(0u, (unsigned)ab->backoff);
    EXPECT_TRUE(a.send(ab, "2"));
}

/* Told once for each size of the queue. */
TEST(flow_grant, scarce__asks_for_buffers)
{
    Node a(1), b(2, few_buffers);
    std::vector<flow_tx_t*> txs;

    for (int i = 0; i < 10; ++i) {
        txs.push_back(a.open(b));
    }
    for (int round = 0; round < 20; ++round) {
        for (flow_tx_t *tx : txs) {
            a.send(tx, "x");
        }
        settle(a, b);
    }
    EXPECT_EQ(1u, b.count(FLOW_EVENT_RX_SCARCE));
    flow_core_rx_posted(b.core, 120);
    for (flow_tx_t *tx : txs) {
        a.send(tx, "x");
    }
    settle(a, b);
    EXPECT_EQ(2u, b.count(FLOW_EVENT_RX_SCARCE));
    flow_core_rx_posted(b.core, 4000);
    for (int round = 0; round < 20; ++round) {
        for (flow_tx_t *tx : txs) {
            a.send(tx, "x");
        }
        settle(a, b);
    }
    EXPECT_EQ(2u, b.count(FLOW_EVENT_RX_SCARCE));
}

/* Too few buffers for the grants of all: none gets more at a time than its
 * grant. */
TEST(flow_grant, short__of_small_grants)
{
    Node a(1), b(2, [](flow_params_t *p) {
        few_buffers(p);
        p->grant = 2;
    });
    std::vector<flow_tx_t*> txs;

    for (int i = 0; i < 60; ++i) {
        txs.push_back(a.open(b));
    }
    settle(a, b);
    for (int round = 0; round < 40; ++round) {
        for (flow_tx_t *tx : txs) {
            a.send(tx, "x");
        }
        settle(a, b);
        ticks(b, 1);
        settle(a, b);
        for (flow_tx_t *tx : txs) {
            flow_rx_t *rx = rx_of(b, a, tx);
            ASSERT_GE((round < 16) ? 16 : 2,
                      flow_psn_diff(rx->limit, flow_rx_psn(rx)));
        }
    }
    EXPECT_GT(b.counters().starved, 0u);
}
