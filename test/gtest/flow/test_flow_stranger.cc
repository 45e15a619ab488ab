/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_test.h"

extern "C" {
#include "flow/stranger_priv.h"
}

using namespace flow_test;

static void few(flow_params_t *params)
{
    params->max_strangers  = 8;
    params->stranger_bytes = 10 * (FLOW_STRANGER_ROOM + 100);
}

/* Data of a made-up flow, as long as 100 bytes. */
static Bytes made_up(const Node &to, uint64_t incarnation, unsigned psn)
{
    Bytes bytes(100);

    flow_wire_store64(&bytes[0], FLOW_WIRE_LONG | 5 |
                                         ((uint64_t)psn << FLOW_WIRE_PSN_SHIFT));
    flow_wire_store64(&bytes[8], incarnation);
    flow_wire_store64(&bytes[16], to.addr.incarnation);
    flow_wire_store32(&bytes[24], 77);
    return bytes;
}

static const flow_src_t NOBODY = flow_src(FLOW_AH_UNKNOWN, 999);

/* However many, only so many are kept, and all of what they held comes back. */
TEST(flow_stranger, add__the_oldest_expires)
{
    Node b(2, few);

    for (uint64_t i = 0; i < 1000; ++i) {
        b.grow();
        EXPECT_EQ(FLOW_RX_HOLD, b.receive(made_up(b, 100 + i, 3), NOBODY));
        b.pull_events();
        ASSERT_LE(b.counters().rx_flows, 8u);
        ASSERT_LE(b.counters().peers, 8u);
        ASSERT_LE(b.held(), 8u);
    }
    EXPECT_EQ(992u, b.counters().expired);
    EXPECT_EQ(992u, b.released);
    EXPECT_STREQ(nullptr, b.check());
}

/* Few that hold much: the oldest of those that hold expires. */
TEST(flow_stranger, bound__of_bytes)
{
    Node b(2, few);

    EXPECT_EQ(FLOW_RX_DELIVER, b.receive(made_up(b, 99, 0), NOBODY));
    for (unsigned psn = 1; psn < FLOW_INIT_WINDOW_MAX; ++psn) {
        for (uint64_t i = 0; i < 3; ++i) {
            b.receive(made_up(b, 100 + i, psn), NOBODY);
            b.pull_events();
            ASSERT_LE(b.held(), 10u + FLOW_INIT_WINDOW_MAX);
        }
    }
    EXPECT_NE(0u, b.counters().expired);
    EXPECT_LE(b.core->stranger_bytes, 15u * (FLOW_STRANGER_ROOM + 100));
    EXPECT_NE(nullptr, flow_peer_find(b.core, 99)) << "it holds nothing";
    EXPECT_STREQ(nullptr, b.check());
}

/* One whose data came before its hello. */
class flow_former_stranger : public testing::Test {
protected:
    flow_former_stranger() : a(1), b(2, few), ab(a.open(b)),
                             hello(take(a).at(0))
    {
        EXPECT_TRUE(a.send(ab, "early"));
        EXPECT_EQ(FLOW_RX_DELIVER, b.receive(a.out.front()));
    }

    Node       a, b;
    flow_tx_t *ab;
    Packet     hello;
};

/* Nor is one who has the index of a former stranger, which is gone. */
TEST_F(flow_former_stranger, add__not_who_has_the_index_now)
{
    uint32_t index = flow_rx_index(rx_of(b, a, ab));
    b.receive(hello);
    a.complete(hello);
    for (unsigned i = 0; b.core->rx_free.head != index; ++i) {
        ASSERT_LT(i, b.core->rx_count);
        settle(a, b);
        flow_tx_close(a.core, ab);
        settle(a, b);
        ab = a.open(b); /* not with data first: it is no stranger */
        settle(a, b);
    }
    for (uint64_t i = 0; i < 8; ++i) {
        b.receive(made_up(b, 100 + i, 3), NOBODY);
    }
    EXPECT_EQ(FLOW_RX_STRANGER, flow_core_rx(b.core, index)->state);
    EXPECT_EQ(0u, b.counters().expired);
    b.receive(made_up(b, 200, 3), NOBODY);
    b.pull_events();
    EXPECT_EQ(nullptr, flow_peer_find(b.core, 100)) << "the oldest of all";
    EXPECT_EQ(1u, b.counters().expired);
    EXPECT_STREQ(nullptr, b.check());
}

/* A held packet stops counting when it is handed out or its sender is known. */
TEST(flow_stranger, unhold__counts)
{
    Node a(1), b(2);
    flow_tx_t *ab = a.open(b), *ac = a.open(b);

    a.progress();
    std::deque<Packet> hellos;
    hellos.swap(a.out);
    for (flow_tx_t *tx : {ab, ac}) {
        ASSERT_TRUE(a.send(tx, "one"));
        ASSERT_TRUE(a.send(tx, "two"));
    }
    EXPECT_EQ(FLOW_RX_HOLD, b.receive(a.out[1]));
    EXPECT_EQ(FLOW_RX_HOLD, b.receive(a.out[3]));
    uint64_t both = b.core->stranger_bytes;
    EXPECT_NE(0u, both);
    EXPECT_EQ(FLOW_RX_DELIVER, b.receive(a.out[2])); /* and the held one */
    EXPECT_EQ(both / 2, b.core->stranger_bytes);
    EXPECT_EQ(FLOW_RX_CONTROL, b.receive(hellos[0]));
    EXPECT_EQ(0u, b.core->stranger_bytes);
    EXPECT_EQ(FLOW_RX_DELIVER, b.receive(a.out[0]));
    EXPECT_EQ(4u, b.got.size());
}

/* However full the table is, nobody is taken for one in it. */
TEST(flow_stranger, expired__by_no_chance)
{
    Node b(2);

    for (uint64_t i = 0; i < FLOW_EXPIRED; ++i) {
        flow_stranger_remember(b.core, 0x123456789abcdefull * (i + 1), 7);
    }
    for (uint64_t i = 0; i < FLOW_EXPIRED; ++i) {
        ASSERT_TRUE(flow_stranger_expired(b.core, 0x123456789abcdefull *
                                                          (i + 1), 7));
    }
    for (uint32_t i = 0; i < 4000000; ++i) {
        ASSERT_FALSE(flow_stranger_expired(b.core,
                                           0xfedcba9876543211ull + i * 977, i))
                << i;
    }
}

/* The last ones are remembered, whatever their hashes, and no others. */
TEST(flow_stranger, remember__the_last)
{
    Node b(2);

    for (uint64_t i = 0; i < 3 * FLOW_EXPIRED; ++i) {
        flow_stranger_remember(b.core, i * 0x123456789, (uint32_t)i);
        ASSERT_TRUE(flow_stranger_expired(b.core, i * 0x123456789,
                                          (uint32_t)i));
        if (i >= FLOW_EXPIRED - 1) {
            uint64_t old = i - (FLOW_EXPIRED - 1);
            ASSERT_TRUE(flow_stranger_expired(b.core, old * 0x123456789,
                                              (uint32_t)old));
        }
    }
    unsigned forgotten = 0;
    for (uint64_t i = 0; i < 2 * FLOW_EXPIRED; ++i) {
        forgotten += !flow_stranger_expired(b.core, i * 0x123456789,
                                            (uint32_t)i);
    }
    EXPECT_GE(forgotten, 2u * FLOW_EXPIRED - 10);
}

/* A stranger of a known peer: it is told at once. */
TEST(flow_stranger, expired__of_a_known_peer)
{
    Node a(1), b(2, few);

    connect(a, b);
    flow_tx_t *two = a.open(b);
    a.progress();
    a.out.clear(); /* its hello stays under way */
    ASSERT_TRUE(a.send(two, "one"));
    pass_on(a, b);
    b.progress();
    b.out.clear(); /* "who are you" is lost, as when b had no slot */
    for (uint64_t i = 0; i < 8; ++i) {
        b.receive(made_up(b, 100 + i, 3), NOBODY);
    }
    b.progress();
    ASSERT_EQ(1u, b.out.size());
    EXPECT_EQ((unsigned)FLOW_CTL_RESET,
              b.out[0].bytes[0] & FLOW_WIRE_AM_MASK);
    a.receive(b.out[0]);
    EXPECT_EQ(FLOW_TX_FAILED, two->state);
}
