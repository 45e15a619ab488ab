/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_test.h"

using namespace flow_test;

TEST(flow_hello, stranger_of_another_qp)
{
    Node a(1), b(2);
    flow_tx_t *tx = a.open(b);
    std::vector<Packet> hello = take(a);

    ASSERT_TRUE(a.send(tx, "x"));
    Packet data = pop(a);
    EXPECT_EQ(FLOW_RX_DELIVER, b.receive(data));
    Packet next = data;
    next.bytes[6] += 1;
    EXPECT_EQ(FLOW_RX_DROP, b.receive(next.bytes, flow_src(ah_of(9), 9)));
    EXPECT_EQ(FLOW_DROP_SENDER, b.last.reason);
    Bytes other = hello[0].bytes; /* as if it were QPN 9's */
    other[40]   = 9;
    EXPECT_EQ(FLOW_RX_DROP, b.receive(other, flow_src(ah_of(9), 9)));
    EXPECT_EQ(FLOW_DROP_SENDER, b.last.reason);
    EXPECT_EQ(FLOW_RX_CONTROL, b.receive(hello[0]));
}

/* Thousands of flows whose hellos are all late: nothing is lost. */
TEST(flow_hello, late_for_very_many_flows)
{
    Node a(1, [](flow_params_t *p) { p->max_linger = 10000; });
    Node b(2);
    std::vector<Packet> data;
    const int flows = 5000;

    a.pull_events();
    for (int i = 0; i < flows; ++i) {
        flow_tx_t *tx = a.open(b);
        ASSERT_TRUE(a.send(tx, "x"));
        data.push_back(a.out.back());
        a.out.clear();
        flow_tx_close(a.core, tx);
    }
    for (Packet &packet : data) {
        b.grow();
        EXPECT_EQ(FLOW_RX_DELIVER, b.receive(packet));
        a.complete(packet);
    }
    EXPECT_EQ((size_t)flows, b.got.size());
    for (int i = 0; (i < 4 * flows) && (a.counters().tx_flows != 0); ++i) {
        Node &from = (i & 1) ? b : a, &to = (i & 1) ? a : b;
        for (const Packet &packet : take(from)) {
            to.grow();
            to.receive(packet);
            from.complete(packet);
        }
    }
    EXPECT_EQ(0u, b.counters().rx_flows + a.counters().tx_flows);
}

TEST(flow_who, known_peer_is_asked)
{
    Node a(1), b(2);
    connect(a, b);
    flow_tx_t *second = a.open(b);
    std::vector<Packet> hello = take(a);

    /* the hello of the second flow is lost in b's memory, its data is not */
    a.complete(hello[0]);
    ASSERT_TRUE(a.send(second, "x"));
    settle(a, b);
    EXPECT_EQ(FLOW_TX_OPEN, second->state);
    EXPECT_EQ(1u, b.got.size());
}

/* The most frequent packet of control has a short way: it looks at as much. */
TEST(flow_limit, liars)
{
    Node a(1), b(2), c(3);
    flow_tx_t *tx = a.open(b);
    a.open(c);
    settle(a, b);
    settle(a, c);
    ASSERT_TRUE(a.send(tx, "x"));
    settle(a, b);

    flow_psn_t before  = tx->limit;
    flow_ctl_msg_t msg = message(FLOW_CTL_LIMIT, b, a, tx->ep);
    msg.limit          = before + 1;
    Bytes bytes        = encode(msg);
    EXPECT_EQ(FLOW_RX_DROP, a.receive(bytes, src_of(c)));
    EXPECT_EQ(FLOW_DROP_SENDER, a.last.reason);
    Bytes other = bytes;
    other[8] ^= 0x40; /* of an incarnation that is not known */
    EXPECT_EQ(FLOW_RX_DROP, a.receive(other, src_of(b)));
    EXPECT_EQ(FLOW_DROP_STALE, a.last.reason);
    other = encode(message(FLOW_CTL_LIMIT, c, a, tx->ep)); /* of another's */
    EXPECT_EQ(FLOW_RX_DROP, a.receive(other, src_of(c)));
    EXPECT_EQ(FLOW_DROP_STALE, a.last.reason);
    EXPECT_EQ(FLOW_RX_DROP, a.receive(other, src_of(b)));
    EXPECT_EQ(FLOW_DROP_SENDER, a.last.reason);
    other = bytes;
    other[16] ^= 0x40; /* for another incarnation than ours */
    EXPECT_EQ(FLOW_RX_DROP, a.receive(other, src_of(b)));
    EXPECT_EQ(FLOW_DROP_NOT_FOR_US, a.last.reason);
    for (uint32_t ep : {tx->ep ^ 0x4000, tx->ep ^ 0x40000000,
                        a.core->tx_count | FLOW_INDEX_MAX}) {
        other = encode(message(FLOW_CTL_LIMIT, b, a, ep)); /* that never was */
        EXPECT_EQ(FLOW_RX_DROP, a.receive(other, src_of(b))) << ep;
        EXPECT_EQ(FLOW_DROP_STALE, a.last.reason);
    }
    other = bytes;
    other[1] = FLOW_LIMIT_RECALL + 1; /* flags that do not exist */
    EXPECT_EQ(FLOW_RX_DROP, a.receive(other, src_of(b)));
    EXPECT_EQ(FLOW_DROP_FIELD, a.last.reason);
    other.pop_back();
    EXPECT_EQ(FLOW_RX_DROP, a.receive(other, src_of(b)));
    EXPECT_EQ(FLOW_DROP_LENGTH, a.last.reason);
    EXPECT_EQ(before, tx->limit);
    EXPECT_EQ(FLOW_RX_CONTROL, a.receive(bytes, src_of(b)));
    EXPECT_EQ((flow_psn_t)(before + 1), tx->limit);
}

TEST(flow_rma, waits_for_the_handle)
{
    Node a(1), b(2);
    b.rma_peers   = false;
    flow_tx_t *tx = a.open(b);

    settle(a, b);
    EXPECT_FALSE(flow_tx_rma_ready(a.core, tx));
    EXPECT_FALSE(flow_tx_rma_refused(tx));
    settle(a, b);
    EXPECT_EQ(1u, b.count(FLOW_EVENT_PEER_WANTS_RMA));
    EXPECT_FALSE(flow_tx_rma_ready(a.core, tx));
    for (const flow_event_t &event : b.events) {
        if (event.type == FLOW_EVENT_PEER_WANTS_RMA) {
            flow_peer_set_ah(b.core, event.peer, ah_of(1), FLOW_RMA_READY);
        }
    }
    settle(a, b);
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_RMA));
    EXPECT_TRUE(flow_tx_rma_ready(a.core, tx));
}

/* The wish comes with the hello that introduces the peer. */
TEST(flow_rma, wished_at_the_introduction)
{
    Node a(1), b(2);
    b.rma_peers   = false;
    flow_tx_t *tx = a.open(b);

    EXPECT_FALSE(flow_tx_rma_ready(a.core, tx));
    settle(a, b);
    EXPECT_EQ(1u, b.count(FLOW_EVENT_PEER_INTRODUCED));
    EXPECT_EQ(1u, b.count(FLOW_EVENT_PEER_WANTS_RMA));
}

TEST(flow_rma, refused)
{
    Node a(1), b(2);
    b.auto_ah     = false;
    flow_tx_t *tx = a.open(b);

    settle(a, b);
    for (const flow_event_t &event : b.events) {
        if (event.type == FLOW_EVENT_PEER_INTRODUCED) {
            flow_peer_set_ah(b.core, event.peer, ah_of(1), FLOW_RMA_REFUSED);
        }
    }
    settle(a, b);
    EXPECT_FALSE(flow_tx_rma_ready(a.core, tx));
    EXPECT_TRUE(flow_tx_rma_refused(tx));
    EXPECT_TRUE(a.send(tx, "messages go on"));
}

/* A flow that failed asks for nothing. */
TEST(flow_rma, wished_when_the_flow_has_failed)
{
    Node a(1), b(2);
    b.rma_peers   = false;
    flow_tx_t *tx = a.open(b);

    settle(a, b);
    flow_tx_fail(a.core, tx, FLOW_SEND_GIVEN_UP);
    EXPECT_FALSE(flow_tx_rma_ready(a.core, tx));
    EXPECT_TRUE(take(a).empty());
    flow_tx_close(a.core, tx);
    settle(a, b);
    EXPECT_EQ(0u, b.count(FLOW_EVENT_PEER_WANTS_RMA));
    EXPECT_EQ(0u, a.counters().tx_flows + b.counters().rx_flows);
}
