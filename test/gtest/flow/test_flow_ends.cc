/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows and peers that end while something of them is queued or on its way. */
#include "flow_test.h"

#include <algorithm>

extern "C" {
#include "flow/ctl_priv.h"
#include "flow/pair_priv.h"
}

using namespace flow_test;

namespace {

/* Data and goodbye of a flow whose hello is still under way. */
TEST(flow_ends, late_hello__all_was_delivered)
{
    Node                a(1), b(2);
    flow_tx_t          *tx    = a.open(b);
    Packet              hello = take(a).at(0);
    std::vector<Packet> data;

    for (const char *text : {"0", "1"}) {
        EXPECT_TRUE(a.send(tx, text));
        data.push_back(a.out.back());
    }
    a.out.clear();
    a.complete(hello);
    a.complete(data[0]);
    a.complete(data[1]);
    flow_tx_close(a.core, tx);
    Packet bye = take(a).at(0);
    EXPECT_EQ(FLOW_RX_DELIVER, b.receive(data[0]));
    EXPECT_EQ(FLOW_RX_CONTROL, b.receive(bye));
    EXPECT_EQ(FLOW_RX_DELIVER, b.receive(data[1]));
    EXPECT_EQ(1u, b.counters().rx_flows) << "nobody to part from yet";
    EXPECT_EQ(FLOW_RX_CONTROL, b.receive(hello));
    EXPECT_TRUE(take(b).empty()) << "no answer to what has ended";
    b.pull_events();
    EXPECT_EQ(0u, b.counters().rx_flows);
    EXPECT_EQ(0u, b.counters().owed);
    EXPECT_EQ(1u, b.count(FLOW_EVENT_PEER_GONE));
    EXPECT_STREQ(nullptr, b.check());
}

/* A goodbye far ahead: grants go on as before, early packets are held. */
TEST(flow_ends, goodbye__many_packets_behind)
{
    enum { MANY = FLOW_WINDOW_MAX - 4 };
    Node a(1), b(2);
    flow_tx_t *ab = connect(a, b).first;
    std::vector<Packet> p;

    for (int i = 0; i < MANY; ++i) {
        ASSERT_TRUE(a.send(ab, std::to_string(i)));
        p.push_back(a.out.back());
        a.complete(p.back());
    }
    a.out.clear();
    flow_tx_close(a.core, ab);
    Packet bye = take(a).at(0);
    EXPECT_EQ(FLOW_RX_HOLD, b.receive(p[3]));
    EXPECT_EQ(FLOW_RX_CONTROL, b.receive(bye));
    EXPECT_EQ(FLOW_RX_HOLD, b.receive(p[2]));
    for (int i = 0; i < MANY; ++i) {
        EXPECT_EQ(1u, b.counters().rx_flows) << i;
        EXPECT_EQ(((i == 2) || (i == 3)) ? FLOW_RX_DROP : FLOW_RX_DELIVER,
                  b.receive(p[i])) << i;
    }
    ASSERT_EQ((size_t)MANY, b.got.size());
    for (int i = 0; i < MANY; ++i) {
        EXPECT_EQ(std::to_string(i), b.got[i]);
    }
    EXPECT_EQ(0u, b.counters().rx_flows);
}

/* Closed while a limit of it is queued, and its peer dies: nothing more is said or
 * kept. */
TEST(flow_ends, closed_with_a_limit_queued__peer_dead)
{
    Node a(1), b(2);
    auto [ab, ba]  = connect(a, b);
    flow_rx_t *rx  = rx_of(b, a, ab);

    flow_due_rx_ctl(b.core, rx, FLOW_CTL_RX_LIMIT);
    Packet limit = take(b).at(0);
    flow_due_rx_ctl(b.core, rx, FLOW_CTL_RX_LIMIT);
    flow_tx_close(a.core, ab);
    EXPECT_EQ(FLOW_RX_CONTROL, b.receive(take(a).at(0)));
    EXPECT_EQ(FLOW_RX_CLOSED, rx->state);
    EXPECT_EQ(1u, b.counters().rx_flows);
    flow_peer_dead(b.core, flow_tx_peer(b.core, ba));
    b.complete(limit);
    EXPECT_TRUE(take(b).empty());
    EXPECT_EQ(0u, b.counters().rx_flows);
    EXPECT_STREQ(nullptr, b.check());
    EXPECT_EQ(1u, b.counters().failed_flows) << "ba; it had ended before";
}

/* The completion of a packet must not touch who has its flow's index now. */
TEST(flow_ends, done__index_in_use_again)
{
    Node a(1), b(2);
    flow_tx_t *ab = a.open(b);

    settle(a, b);
    flow_rx_t *rx  = rx_of(b, a, ab);
    uint32_t index = flow_rx_index(rx);
    flow_due_rx_ctl(b.core, rx, FLOW_CTL_RX_LIMIT);
    Packet limit = take(b).at(0);
    flow_tx_close(a.core, ab);
    settle(a, b);
    do {
        ab = a.open(b);
        settle(a, b);
        rx = rx_of(b, a, ab);
        ASSERT_NE(nullptr, rx);
    } while (flow_rx_index(rx) != index);
    while (flow_timer_next(b.core) != FLOW_TIME_NEVER) { /* the hand's ticks */
        b.now = flow_timer_next(b.core) + b.core->params.rnr_min;
        flow_timer_run(b.core, b.now);
        settle(a, b);
    }
    b.complete(limit, FLOW_SEND_RNR);
    EXPECT_EQ(0u, rx->ctl);
    EXPECT_EQ(FLOW_TIME_NEVER, flow_timer_next(b.core));
    EXPECT_STREQ(nullptr, b.check());
}

} /* namespace */

/* Work where no callback may run: a newcomer has its answer, and users are told
 * later, all of it. */
TEST(flow_ends, event_peer_next__answers_and_tells_no_user)
{
    Node a(1, ud), b(2, ud), c(3, ud);
    flow_event_t event;
    flow_tx_t *ab = connect(a, b).first;

    a.events.clear();
    flow_tx_fail(a.core, ab, FLOW_SEND_ERROR);
    ASSERT_NE(nullptr, c.open(a));
    c.progress();
    ASSERT_EQ(1u, c.out.size());
    EXPECT_EQ(FLOW_RX_CONTROL, a.receive(c.out[0]));
    a.out.clear();
    ASSERT_EQ(1, flow_event_peer_next(a.core, &event));
    EXPECT_EQ(FLOW_EVENT_PEER_INTRODUCED, event.type);
    EXPECT_EQ(c.addr.incarnation, flow_peer_addr(a.core, event.peer)
                                          .incarnation);
    flow_peer_set_ah(a.core, event.peer, ah_of(3), FLOW_RMA_READY);
    EXPECT_EQ(0, flow_event_peer_next(a.core, &event));
    EXPECT_TRUE(flow_event_pending(a.core));
    EXPECT_EQ(nullptr, flow_check(a.core));
    a.pull_control();
    EXPECT_EQ(1, std::count_if(a.out.begin(), a.out.end(), [&](auto &packet) {
        return (packet.dst == 3) && (type_of(packet) == FLOW_CTL_ANSWER);
    }));
    EXPECT_TRUE(a.events.empty());
    a.pull_events();
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_FAILED));
    EXPECT_EQ(0u, a.count(FLOW_EVENT_PEER_INTRODUCED)) << "each once";
}

/* A dead peer's tombstone has no address handle. */
TEST(flow_ends, tombstone__is_not_reachable)
{
    Node a(1), b(2);
    flow_tx_t *ab     = connect(a, b).first;
    flow_peer_t *peer = flow_peer_find(a.core, b.addr.incarnation);

    flow_peer_dead(a.core, peer);
    EXPECT_TRUE(flow_peer_reachable(peer)) << "should it live after all";
    flow_tx_close(a.core, ab);
    lose(a);
    a.progress();
    EXPECT_FALSE(flow_peer_in_use(peer));
    EXPECT_EQ(peer, flow_peer_find(a.core, b.addr.incarnation));
    EXPECT_FALSE(flow_peer_reachable(peer));
}

TEST(flow_ends, rma__failed_after_it_was_ready)
{
    Node a(1), b(2);
    flow_tx_t *ab = connect(a, b).first;

    EXPECT_TRUE(flow_tx_rma_ready(a.core, ab));
    flow_tx_fail(a.core, ab, FLOW_SEND_ERROR);
    EXPECT_FALSE(flow_tx_rma_ready(a.core, ab));
    EXPECT_FALSE(flow_tx_rma_refused(ab));
    EXPECT_FALSE(ab->flags & FLOW_TXF_RMA) << "there is nothing to ask for";
}

TEST(flow_ends, rma__peer_dead_before_it_was_asked)
{
    Node a(1), b(2);

    b.rma_peers   = false;
    flow_tx_t *tx = a.open(b);
    settle(a, b);
    flow_tx_rma_ready(a.core, tx);
    EXPECT_EQ(FLOW_RX_CONTROL, b.receive(take(a).at(0)));
    flow_peer_t *peer = flow_peer_find(b.core, a.addr.incarnation);
    flow_peer_dead(b.core, peer);
    b.pull_events();
    EXPECT_EQ(0u, b.count(FLOW_EVENT_PEER_WANTS_RMA));
    EXPECT_STREQ(nullptr, b.check());
}

/* Lost are flows of ours, so with none, or with none any more, nothing is. */
TEST(flow_ends, peer__lost_without_a_flow)
{
    Node a(1), b(2);
    flow_tx_t *ab = a.open(b);

    settle(a, b);
    flow_peer_lost(b.core, flow_peer_find(b.core, a.addr.incarnation));
    ASSERT_TRUE(a.send(ab, "x"));
    settle(a, b);
    EXPECT_EQ(1u, b.got.size());
    EXPECT_EQ(FLOW_TX_OPEN, ab->state);
    flow_peer_t *peer = flow_tx_peer(a.core, ab);
    flow_peer_dead(a.core, peer);
    flow_peer_lost(a.core, peer);
    a.pull_events();
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_FAILED));
    EXPECT_EQ(FLOW_END_DEAD, a.events.back().why);
    EXPECT_STREQ(nullptr, a.check());
}

/* UD: confirmations nobody asked for, and what a failed flow leaves unsaid. */
TEST(flow_ends, parted__without_a_goodbye)
{
    Node a(1, ud), b(2, ud);
    flow_tx_t *ab = connect(a, b).first;

    EXPECT_EQ(FLOW_RX_DROP, a.receive(encode(message(FLOW_CTL_PARTED, b, a,
                                                     ab->ep)), src_of(b)));
    EXPECT_EQ(FLOW_DROP_STALE, a.last.reason);
    EXPECT_TRUE(a.send(ab, "goes on"));
    settle(a, b);
    EXPECT_EQ(1u, a.acked);
}
