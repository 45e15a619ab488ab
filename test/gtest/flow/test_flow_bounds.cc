/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounded things at their bound, and indices where records meet in one
 * chain. */
#include "flow_test.h"

extern "C" {
#include "flow/ack_priv.h"
#include "flow/hash_priv.h"
#include "flow/pair_priv.h"
}

#include <set>

using namespace flow_test;

namespace {

/* More flows rest than a peer can count: the next one does not. */
TEST(flow_bounds, peer__rests)
{
    Node a(1, ud), b(2, ud);
    flow_tx_t *ab = connect(a, b).first;
    flow_peer_t *peer = flow_peer_find(b.core, a.addr.incarnation);

    while (flow_peer_ref(peer)) {
    }
    EXPECT_EQ((unsigned)FLOW_PEER_REFS_MAX, peer->refs);
    flow_tx_close(a.core, ab);
    for (int i = 0; i < 10; ++i) {
        a.now += 1000000;
        b.now  = a.now;
        settle(a, b);
    }
    EXPECT_EQ((unsigned)FLOW_PEER_REFS_MAX, peer->refs);
    EXPECT_EQ(0u, peer->rx_list);
    flow_peer_unref(b.core, peer);
    EXPECT_EQ(FLOW_PEER_REFS_MAX - 1u, peer->refs);
}

/* Only the newest flows are searched for one without a pair. */
TEST(flow_bounds, pair__search)
{
    Node a(1), b(2);
    std::vector<flow_tx_t*> flows;
    const unsigned more = 8;

    for (unsigned i = 0; i < FLOW_PAIR_SEARCH + more; ++i) {
        flows.push_back(a.open(b));
        settle(a, b);
    }
    flow_tx_t *ba = b.open(a);
    ASSERT_TRUE(ba->flags & FLOW_TXF_PAIRED);
    EXPECT_EQ(flows[more]->ep, flow_core_rx(b.core, ba->carries)->ep);
    settle(a, b);
    EXPECT_TRUE(ba->flags & FLOW_TXF_CARRIES);
}

/* The peer sees further than we did: our flow was beyond the search. */
TEST(flow_bounds, pair__by_the_answer_alone)
{
    Node a(1), b(2);
    std::vector<flow_tx_t*> to_a, to_b;

    for (unsigned i = 0; i <= FLOW_PAIR_SEARCH; ++i) {
        to_a.push_back(b.open(a));
        settle(a, b);
    }
    for (unsigned i = 0; i < FLOW_PAIR_SEARCH; ++i) {
        to_b.push_back(a.open(b));
        settle(a, b);
    }
    flow_tx_t *last = a.open(b);
    ASSERT_FALSE(last->flags & FLOW_TXF_PAIRED);
    flow_tx_close(b.core, to_a.back());
    while (b.count(FLOW_EVENT_TX_GONE) == 0) { /* the hello comes later */
        b.progress();
        for (; !b.out.empty(); b.out.pop_front()) {
            a.receive(b.out.front());
            b.complete(b.out.front());
        }
    }
    settle(a, b);
    ASSERT_TRUE(last->flags & FLOW_TXF_CARRIES);
    EXPECT_EQ(to_a.front()->ep, flow_core_rx(a.core, last->carries)->ep);
    EXPECT_TRUE(to_a.front()->flags & FLOW_TXF_CARRIES);
}

static void bury(Node &a, unsigned from, unsigned count)
{
    for (unsigned i = from; i < from + count; ++i) {
        flow_addr_t addr = a.addr;

        addr.incarnation += 1000 + i;
        addr.qpn          = 100;
        flow_tx_t *tx     = a.Driver::open(addr, &a);
        ASSERT_NE(nullptr, tx);
        flow_tx_fail(a.core, tx, FLOW_SEND_DEAD);
        flow_tx_close(a.core, tx);
        a.pull_control();
        a.pull_events();
    }
}

/* The oldest tombstone is needed, to tell a peer that it was taken for dead: a
 * younger one is forgotten, and this one in its turn. */
TEST(flow_bounds, tombstones__the_oldest_is_in_use)
{
    Node a(1), b(2);
    const uint64_t incarnation = b.addr.incarnation;
    flow_tx_t *ba              = b.open(a);

    settle(a, b);
    flow_peer_dead(a.core, flow_peer_find(a.core, incarnation));
    settle(a, b);
    EXPECT_EQ(FLOW_TX_FAILED, ba->state);
    ba = b.open(a); /* no word of the first one is left to say */
    for (const Packet &hello : take(b)) {
        EXPECT_EQ(FLOW_RX_DROP, a.receive(hello));
        b.complete(hello);
    }
    auto reset = take(a);
    ASSERT_EQ(1u, reset.size());
    bury(a, 0, FLOW_TOMBSTONES + 8);
    EXPECT_LE(a.counters().peers, FLOW_TOMBSTONES + 1u);
    ASSERT_NE(nullptr, flow_peer_find(a.core, incarnation));
    b.receive(reset[0]);
    EXPECT_EQ(FLOW_TX_FAILED, ba->state);
    a.complete(reset[0]);
    a.pull_events();
    EXPECT_EQ(0u, a.counters().rx_flows);
    EXPECT_STREQ(nullptr, a.check());
    bury(a, FLOW_TOMBSTONES + 8, 2 * FLOW_TOMBSTONES);
    EXPECT_EQ(nullptr, flow_peer_find(a.core, incarnation));
    EXPECT_EQ((uint64_t)FLOW_TOMBSTONES, a.counters().peers);
}

/* Peers that share QPN and chain, but not the address. */
class flow_reborn : public testing::Test {
protected:
    uint32_t *head(uint64_t gid, unsigned prefix)
    {
        flow_peer_t peer;

        memset(&peer, 0, sizeof(peer));
        peer.qpn    = qpn;
        peer.gid    = gid;
        peer.prefix = prefix;
        return flow_hash_addr(c.core, &peer);
    }

    flow_peer_t *hello(uint64_t incarnation, uint64_t gid, unsigned network,
                       uint32_t qkey)
    {
        flow_ctl_msg_t msg = message(FLOW_CTL_HELLO, c, c, 1);

        msg.version     = FLOW_VERSION;
        msg.src         = incarnation;
        msg.window      = 1;
        msg.addr        = c.addr;
        msg.addr.qkey   = qkey;
        msg.addr.qpn    = qpn;
        msg.addr.gid[1] = (uint8_t)network;
        memcpy(msg.addr.gid + sizeof(gid), &gid, sizeof(gid));
        c.receive(encode(msg), flow_src(FLOW_AH_UNKNOWN, qpn));
        return flow_peer_find(c.core, incarnation);
    }

    static const uint32_t qpn = 9;
    Node                  c{3};
};

TEST_F(flow_reborn, only_at_the_same_address)
{
    const uint64_t gid = 1;
    uint64_t other     = 1;

    while ((other == gid) || (head(other, 0) != head(gid, 0))) {
        ++other;
    }
    flow_peer_t *first   = hello(100, gid, 0, 5);
    flow_peer_t *host    = hello(101, other, 0, 6);
    flow_peer_t *network = hello(102, gid, 1, 7);
    flow_peer_t *twin    = hello(103, gid, 0, 5);
    for (flow_peer_t *peer : {first, host, network, twin}) {
        ASSERT_NE(nullptr, peer);
        EXPECT_NE(FLOW_PEER_DEAD, peer->state) << peer->incarnation;
        EXPECT_EQ(peer == twin, peer->rival);
    }
    flow_peer_t *young = hello(105, gid, 0, 8);
    EXPECT_TRUE(young->rival);
    flow_peer_proved(c.core, twin, 1); /* first has its QKEY, young has not */
    EXPECT_EQ(FLOW_PEER_DEAD, young->state);
    EXPECT_NE(FLOW_PEER_DEAD, first->state);
    EXPECT_TRUE(twin->rival);
    young = hello(106, gid, 0, 9);
    flow_peer_proved(c.core, young, 0);
    for (flow_peer_t *peer : {host, network, young}) {
        EXPECT_NE(FLOW_PEER_DEAD, peer->state) << peer->incarnation;
    }
    EXPECT_EQ(FLOW_PEER_DEAD, first->state);
    EXPECT_EQ(FLOW_PEER_DEAD, twin->state);
    EXPECT_FALSE(young->rival);
    EXPECT_STREQ(nullptr, c.check());
}

/* The same of answers. */
TEST(flow_bounds, timer__gathers_answers)
{
    Node a(1), b(2);

    a.open(b);
    flow_tx_peer(a.core, a.open(b))->answers = 1;
    for (const Packet &hello : take(a)) {
        EXPECT_EQ(FLOW_RX_CONTROL, b.receive(hello));
        a.complete(hello);
    }
    auto answers = take(b);
    ASSERT_EQ(2u, answers.size());
    b.complete(answers[0], FLOW_SEND_RNR);
    flow_time_t first = flow_timer_next(b.core);
    flow_time_t delay = b.core->params.rnr_min;
    b.now += delay / 2;
    b.complete(answers[1], FLOW_SEND_RNR);
    EXPECT_EQ(first, flow_timer_next(b.core));
    for (const Packet &answer : answers) {
        b.now      = flow_timer_next(b.core);
        auto again = take(b);
        ASSERT_EQ(1u, again.size());
        EXPECT_EQ(answer.bytes, again[0].bytes);
    }
    EXPECT_EQ(first + delay, b.now);
    EXPECT_EQ(FLOW_TIME_NEVER, flow_timer_next(b.core));
}

/* Many who are refused together do not come back together. */
TEST(flow_bounds, timer__at_random)
{
    static uint64_t seed;
    std::set<flow_time_t> times;

    for (seed = 1; seed <= 16; ++seed) {
        Node a(1, [](flow_params_t *p) { p->seed = seed; }), b(2);
        a.open(b);
        a.pull_events();
        a.pull_control();
        a.complete(a.out.front(), FLOW_SEND_RNR);
        times.insert(flow_timer_next(a.core));
    }
    EXPECT_GE(times.size(), 12u);
}

/*
 * Ten flows used up, and credits for some. The others wait in line, and end
 * there.
 */
TEST(flow_bounds, starved__ends_in_line)
{
    Node a(1);
    Node b(2, [](flow_params_t *p) {
        p->rx_posted  = 10;
        p->rx_reserve = 2;
    });
    std::vector<flow_tx_t*> flows;
    std::vector<flow_rx_t*> rx;

    for (int i = 0; i < 10; ++i) {
        flows.push_back(a.open(b));
    }
    settle(a, b);
    for (int i = 0; i < 10; ++i) {
        while (a.send(flows[i], "x")) {
        }
        pass_on(a, b);
        rx.push_back(rx_of(b, a, flows[i]));
    }
    b.pull_control(); /* limits, which a does not see */
    for (const Packet &packet : b.out) {
        b.complete(packet);
    }
    b.out.clear();
    uint32_t waiting = b.core->starved.count;
    ASSERT_GE(waiting, 2u);
    int ends[2] = {-1, -1};
    for (int i = 0; i < 10; ++i) {
        uint32_t index = flow_rx_index(rx[i]);
        ends[0]        = (index == b.core->starved.tail) ? i : ends[0];
        ends[1]        = (index == b.core->starved.head) ? i : ends[1];
    }
    for (int i : ends) { /* the last in line, then the first */
        ASSERT_GE(i, 0);
        EXPECT_EQ(10u, b.counters().rx_flows);
        flow_tx_close(a.core, flows[i]);
        a.pull_control();
        ASSERT_EQ(1u, a.out.size());
        EXPECT_EQ(FLOW_RX_CONTROL, b.receive(a.out.front()));
        a.complete(a.out.front());
        a.out.clear();
        EXPECT_STREQ(nullptr, b.check());
    }
    EXPECT_EQ(9u, b.counters().rx_flows);
    EXPECT_EQ(waiting - 1, b.core->starved.count);
    settle(a, b);
    EXPECT_STREQ(nullptr, b.check());
}

/* An endpoint number that no flow of ours can have. */
TEST(flow_bounds, limit__endpoint_out_of_range)
{
    Node a(1), b(2);

    connect(a, b);
    for (uint32_t ep : {(uint32_t)FLOW_INDEX_MAX, FLOW_INDEX_MAX - 1u}) {
        EXPECT_EQ(FLOW_RX_DROP,
                  a.receive(encode(message(FLOW_CTL_LIMIT, b, a, ep)),
                            src_of(b)));
        EXPECT_EQ(FLOW_DROP_STALE, a.last.reason);
    }
}

} /* namespace */
