/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_test.h"

extern "C" {
#include "flow/pool_priv.h"
}

#include <algorithm>

using namespace flow_test;

/* Two connected nodes, in every run also just before the wrap of numbers. */
class flow_rx_wrap : public testing::TestWithParam<unsigned> {
protected:
    flow_rx_wrap() : a(1, tweak()), b(2, tweak())
    {
        std::tie(ab, ba) = connect(a, b);
    }

    void (*tweak())(flow_params_t*)
    {
        first = (flow_psn_t)GetParam();
        return [](flow_params_t *p) { p->first_psn = first; };
    }

    /* Send n messages and take their packets off the wire. */
    std::vector<Packet> packets(int n)
    {
        std::vector<Packet> result;

        for (int i = 0; i < n; ++i) {
            EXPECT_TRUE(a.send(ab, std::to_string(sent++)));
            result.push_back(a.out.back());
            a.out.pop_back();
        }
        return result;
    }

    void expect_in_order()
    {
        for (size_t i = 0; i < b.got.size(); ++i) {
            ASSERT_EQ(std::to_string(i), b.got[i]);
        }
        EXPECT_STREQ(nullptr, b.check());
    }

    static flow_psn_t first;
    Node              a, b;
    flow_tx_t        *ab, *ba;
    int               sent = 0;
};

flow_psn_t flow_rx_wrap::first;

TEST_P(flow_rx_wrap, accept__past_expected_duplicate_future)
{
    std::vector<Packet> p = packets(4);

    EXPECT_EQ(FLOW_RX_DELIVER, b.receive(p[0]));   /* expected */
    EXPECT_EQ(FLOW_RX_DROP, b.receive(p[0]));      /* past */
    EXPECT_EQ(FLOW_DROP_DUPLICATE, b.last.reason);
    EXPECT_EQ(FLOW_RX_HOLD, b.receive(p[2]));      /* future */
    EXPECT_EQ(FLOW_RX_DROP, b.receive(p[2]));      /* duplicate of a held one */
    EXPECT_EQ(FLOW_DROP_DUPLICATE, b.last.reason);
    EXPECT_EQ(1u, b.counters().rings);
    EXPECT_EQ(FLOW_RX_DELIVER, b.receive(p[1]));
    EXPECT_EQ(3u, b.got.size());
    EXPECT_EQ(0u, b.counters().rings);
    EXPECT_EQ(FLOW_RX_DELIVER, b.receive(p[3]));
    EXPECT_EQ(4u, b.got.size());
    EXPECT_EQ(2u, b.counters().drops[FLOW_DROP_DUPLICATE]);
    expect_in_order();
}

TEST_P(flow_rx_wrap, accept__beyond_the_limit_fails_the_flow)
{
    std::vector<Packet> p = packets(1);
    uint64_t word         = flow_wire_load64(p[0].bytes.data());

    word += (uint64_t)FLOW_WINDOW_MAX << FLOW_WIRE_PSN_SHIFT;
    flow_wire_store64(p[0].bytes.data(), word);
    EXPECT_EQ(FLOW_RX_DROP, b.receive(p[0]));
    EXPECT_EQ(FLOW_DROP_BEYOND, b.last.reason);
    EXPECT_EQ(1u, b.counters().overflows);
    settle(a, b);
    EXPECT_EQ(FLOW_TX_FAILED, ab->state); /* never silently */
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_FAILED));
    EXPECT_FALSE(a.send(ab, "x"));
    flow_tx_close(a.core, ab);
    a.complete(p[0]);
    settle(a, b);
    EXPECT_EQ(0u, a.counters().tx_flows + b.counters().rx_flows);
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_GONE));
}

/* The short way alone, as a caller with few buffers uses it. */
TEST_P(flow_rx_wrap, short__what_it_leaves)
{
    std::vector<Packet> p = packets(4);
    uint64_t word         = 0;
    int handle            = 0;
    auto way = [&](const Packet &packet, size_t len, int may_hold) {
        return flow_rx_short(b.core, packet.bytes.data(), len, &handle,
                             may_hold, packet.src, &word);
    };

    ASSERT_EQ(FLOW_RX_DELIVER, b.receive(p[0]));
    EXPECT_EQ(FLOW_RX_OTHER, way(p[2], p[2].bytes.size(), 0));
    EXPECT_EQ(0u, b.counters().rings);
    ASSERT_EQ(FLOW_RX_HOLD, b.receive(p[2]));
    EXPECT_EQ(FLOW_RX_OTHER, way(p[3], p[3].bytes.size(), 0));
    EXPECT_EQ(FLOW_RX_OTHER, way(p[2], p[2].bytes.size(), 1)) << "held";
    EXPECT_EQ(FLOW_RX_OTHER, way(p[1], FLOW_SHORT_HDR - 1, 1));
    EXPECT_EQ(FLOW_RX_FILL, way(p[1], p[1].bytes.size(), 0));
    EXPECT_EQ(5u, word & FLOW_WIRE_AM_MASK);
    b.drain(flow_wire_token(word));
    EXPECT_EQ((std::vector<std::string>{"0", "2"}), b.got);
    EXPECT_EQ(FLOW_RX_DELIVER, way(p[3], p[3].bytes.size(), 0));
    EXPECT_EQ(FLOW_RX_OTHER, way(p[3], p[3].bytes.size(), 1)) << "again";
    EXPECT_STREQ(nullptr, b.check());
}

TEST_P(flow_rx_wrap, accept__malformed)
{
    std::vector<Packet> p = packets(1);
    Bytes good            = p[0].bytes;

    for (size_t len = 0; len < FLOW_SHORT_HDR; ++len) {
        EXPECT_EQ(FLOW_RX_DROP, b.receive(Bytes(good.begin(),
                                                good.begin() + len),
                                          p[0].src));
        EXPECT_EQ(FLOW_DROP_SHORT, b.last.reason);
    }
    Bytes longer = good;
    longer.resize(FLOW_LONG_HDR - 1);
    longer[0] = (uint8_t)((longer[0] & ~FLOW_WIRE_LIMIT) | FLOW_WIRE_LONG);
    EXPECT_EQ(FLOW_RX_DROP, b.receive(longer, p[0].src));
    EXPECT_EQ(FLOW_DROP_SHORT, b.last.reason);
    longer.resize(FLOW_LONG_HDR);
    longer[0] |= FLOW_WIRE_LIMIT;
    EXPECT_EQ(FLOW_RX_DROP, b.receive(longer, p[0].src));
    EXPECT_EQ(FLOW_DROP_FLAGS, b.last.reason);
    EXPECT_EQ(FLOW_RX_DELIVER, b.receive(p[0]));
}

TEST_P(flow_rx_wrap, accept__token)
{
    std::vector<Packet> p = packets(1);

    for (unsigned bit = 0; bit < 24; ++bit) {
        Bytes bad = p[0].bytes;
        bad[1 + bit / 8] ^= 1u << (bit % 8);
        EXPECT_EQ(FLOW_RX_DROP, b.receive(bad, p[0].src)) << bit;
        EXPECT_EQ(FLOW_DROP_TOKEN, b.last.reason) << bit;
    }
    EXPECT_EQ(24u, b.counters().drops[FLOW_DROP_TOKEN]);
    EXPECT_EQ(FLOW_RX_DELIVER, b.receive(p[0]));
}

TEST_P(flow_rx_wrap, goodbye__data_behind_it)
{
    std::vector<Packet> p = packets(2);
    Packet bye            = p[0];

    bye.bytes.resize(8);
    bye.bytes[0] = FLOW_WIRE_CTL | FLOW_CTL_GOODBYE |
                   (bye.bytes[0] & FLOW_WIRE_LIMIT);
    bye.bytes[6] += 1;
    if (bye.bytes[6] == 0) {
        ++bye.bytes[7];
    }
    EXPECT_EQ(FLOW_RX_CONTROL, b.receive(bye));
    EXPECT_EQ(FLOW_RX_DROP, b.receive(p[1]));
    EXPECT_EQ(FLOW_DROP_BEYOND, b.last.reason);
}

TEST_P(flow_rx_wrap, next__flow_gone)
{
    std::vector<Packet> p = packets(3);

    b.receive(p[1]);
    b.receive(p[2]);
    flow_peer_dead(b.core, flow_tx_peer(b.core, ba));
    EXPECT_EQ(nullptr, flow_rx_next(b.core, b.last.token));
    EXPECT_EQ(nullptr, flow_rx_next(b.core, 0));
    EXPECT_EQ(nullptr, flow_rx_next(b.core, 0xffffff));
    b.pull_events();
    EXPECT_EQ(2u, b.released);
    EXPECT_EQ(0u, b.counters().rings);
    EXPECT_EQ(FLOW_RX_DROP, b.receive(p[0]));
}

/* Nor is a packet at the limit held, were others held already. */
TEST_P(flow_rx_wrap, accept__early_at_the_limit_fails_the_flow)
{
    std::vector<Packet> p = packets(4);
    uint64_t word         = flow_wire_load64(p[3].bytes.data());

    EXPECT_EQ(FLOW_RX_DELIVER, b.receive(p[0]));
    EXPECT_EQ(FLOW_RX_HOLD, b.receive(p[2]));
    word &= ~(0xffffull << FLOW_WIRE_PSN_SHIFT);
    word |= (uint64_t)ab->limit << FLOW_WIRE_PSN_SHIFT;
    flow_wire_store64(p[3].bytes.data(), word);
    EXPECT_EQ(FLOW_RX_DROP, b.receive(p[3]));
    EXPECT_EQ(FLOW_DROP_BEYOND, b.last.reason);
    EXPECT_EQ(1u, b.counters().overflows);
}

TEST_P(flow_rx_wrap, goodbye__impossible_number)
{
    std::vector<Packet> p = packets(2);
    Packet bye            = p[0];

    EXPECT_EQ(FLOW_RX_DELIVER, b.receive(p[0]));
    bye.bytes.resize(8);
    bye.bytes[0] = FLOW_WIRE_CTL | FLOW_CTL_GOODBYE;
    EXPECT_EQ(FLOW_RX_DROP, b.receive(bye));        /* in the past */
    EXPECT_EQ(FLOW_DROP_FIELD, b.last.reason);
    flow_wire_store64(bye.bytes.data(),
                      flow_wire_load64(bye.bytes.data()) +
                              (200 * FLOW_WIRE_PSN_ONE));
    EXPECT_EQ(FLOW_RX_DROP, b.receive(bye));        /* beyond the limit */
    EXPECT_EQ(FLOW_DROP_FIELD, b.last.reason);
    EXPECT_EQ(FLOW_RX_DELIVER, b.receive(p[1]));
}

INSTANTIATE_TEST_SUITE_P(psn, flow_rx_wrap,
                         testing::Values(0u, 0xffc5u, 0xfffeu, 0xffffu,
                                         0x7ff0u));

TEST(flow_rx_token, generations__reuse_is_seen)
{
    Node a(1), b(2);
    std::vector<uint32_t> tokens;

    /* b must go through all its indices before one comes back */
    for (int i = 0; i < 2000; ++i) {
        flow_tx_t *tx = a.open(b);
        ASSERT_NE(nullptr, tx);
        settle(a, b);
        ASSERT_TRUE(a.send(tx, "x"));
        settle(a, b);
        tokens.push_back(b.last.token);
        flow_tx_close(a.core, tx);
        settle(a, b);
        ASSERT_EQ(0u, b.counters().rx_flows);
        ASSERT_EQ(0u, a.counters().tx_flows);
    }
    std::sort(tokens.begin(), tokens.end());
    EXPECT_EQ(tokens.end(), std::unique(tokens.begin(), tokens.end()));
}
