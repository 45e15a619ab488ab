/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_test.h"

using namespace flow_test;

/* Two lives at one GID and QPN. */
class flow_reborn_pair : public testing::Test {
protected:
    static flow_params_t *second(flow_params_t *p)
    {
        p->self.incarnation += 1ull << 32;
        p->self.qkey        += 77;
        return p;
    }

    static void first_life(flow_params_t *) {}
    static void second_life(flow_params_t *p) { second(p); }
    static void first_ud(flow_params_t *p) { ud(p); }
    static void second_ud(flow_params_t *p) { ud(second(p)); }

    flow_peer_t *peer(Node &of) { return flow_peer_find(a.core,
                                                        of.addr.incarnation); }
    Node a{1}, old{2, first_life}, young{2, second_life};
};

/* The 7 bits of a token are soon guessed by a host that makes up a newcomer at
 * the address of one who lives. The device does not know it: that proves
 * nothing. */
class flow_reborn_guess : public flow_reborn_pair,
                          public testing::WithParamInterface<bool> {};

TEST_P(flow_reborn_guess, ud__a_guessed_token_proves_nothing)
{
    Node b(1, ud), lives(2, first_ud), forged(2, second_ud);
    flow_tx_t *tx = forged.open(b);

    lives.open(b);
    settle(b, lives);
    forged.progress();
    Packet hello = forged.out.front();
    hello.src    = flow_src(FLOW_AH_UNKNOWN, hello.src >> 16);
    forged.out.clear();
    EXPECT_EQ(FLOW_RX_CONTROL, b.receive(hello)) << "its handle is young";
    auto state = [&](Node &of) {
        return flow_peer_find(b.core, of.addr.incarnation)->state;
    };
    flow_peer_t *peer = flow_peer_find(b.core, forged.addr.incarnation);
    Bytes early(sizeof(uint64_t)); /* a number beyond its window */
    flow_wire_store64(early.data(),
                      flow_wire_set_token(100 * FLOW_WIRE_PSN_ONE,
                                          flow_rx_token(flow_core_rx(
                                                  b.core, peer->rx_list))));
    EXPECT_EQ(FLOW_RX_DROP, /* of a host that is known */
              b.receive(early, flow_src(ah_of(77), forged.addr.qpn)));
    EXPECT_EQ(1u, b.counters().drops[FLOW_DROP_BEYOND]) << "the token is right";
    EXPECT_EQ(FLOW_PEER_READY, state(lives));
    settle(b, forged); /* the answer: it knows the token */
    EXPECT_EQ(FLOW_PEER_READY, state(lives));
    if (!GetParam()) { /* nearly out of handles */
        flow_peer_set_ah(b.core, peer, FLOW_AH_UNKNOWN, FLOW_RMA_NOT_YET);
    }
    ASSERT_TRUE(forged.send(tx, "guessed"));
    Packet guess = forged.out.back();
    guess.src    = hello.src;
    EXPECT_EQ(FLOW_RX_DELIVER, b.receive(guess));
    EXPECT_EQ(FLOW_PEER_READY, state(lives));
    ASSERT_TRUE(forged.send(tx, "with its handle"));
    EXPECT_EQ(FLOW_RX_DELIVER, b.receive(forged.out.back()));
    EXPECT_EQ(FLOW_PEER_DEAD, state(lives));
    EXPECT_STREQ(nullptr, b.check());
}

/* Handles are made all the time: the older ones come of age all the same. */
TEST(flow_young, received__beside_newcomers)
{
    Node b(2);
    std::vector<std::unique_ptr<Node>> peers;
    uint32_t taken = 0;

    flow_peer_age(b.core, 0, 10);
    for (unsigned i = 0; i < 20; ++i) {
        peers.emplace_back(new Node(10 + i));
        peers.back()->open(b);
        peers.back()->progress();
        flow_peer_age(b.core, taken, taken + 10);
        b.receive(peers.back()->out.front());
        b.progress();
        taken += 5;
        unsigned young = 0;
        for (uint32_t peer = 1; peer < b.core->peer_count; ++peer) {
            young += flow_core_peer(b.core, peer)->young != 0;
        }
        EXPECT_LE(young, 6u);
        EXPECT_GE(young, 1u);
    }
}

INSTANTIATE_TEST_SUITE_P(handle, flow_reborn_guess, testing::Bool(),
                         [](const testing::TestParamInfo<bool> &info) {
                             return info.param ? "kept" : "not_kept";
                         });

/* Once the handle of one who lives is old, nobody else's host brings a newcomer
 * at its address. */
TEST_F(flow_reborn_pair, hello__of_a_newcomer_comes_from_its_host)
{
    old.open(a);
    settle(a, old);
    young.open(a);
    young.progress();
    Packet hello = young.out.front();
    for (uint32_t posted : {1000, 3000}) { /* all that it may have met */
        flow_peer_age(a.core, posted, posted + 1000);
    }
    for (uint16_t ah : {(uint16_t)FLOW_AH_UNKNOWN, ah_of(77)}) {
        hello.src = flow_src(ah, young.addr.qpn);
        EXPECT_EQ(FLOW_RX_DROP, a.receive(hello)) << ah;
        EXPECT_EQ(nullptr, peer(young));
    }
    hello.src = src_of(young);
    EXPECT_EQ(FLOW_RX_CONTROL, a.receive(hello));
    EXPECT_TRUE(peer(young)->rival);
    EXPECT_EQ(2u, a.counters().drops[FLOW_DROP_SENDER]);
    EXPECT_STREQ(nullptr, a.check());
}

/* That the device knew no handle is good for what it received before it had
 * one: a forged packet of another host with that QPN is refused. */
TEST(flow_young, accept__unknown_handle)
{
    Node a(1), b(2), c(3);
    flow_src_t unknown = flow_src(FLOW_AH_UNKNOWN, a.addr.qpn);

    flow_peer_age(b.core, 0, 100); /* 100 posted, none of them read */
    auto flows = connect(a, b);
    ASSERT_TRUE(a.send(flows.first, "old"));
    Packet old = pop(a);
    flow_peer_age(b.core, 99, 200);
    EXPECT_EQ(FLOW_RX_DELIVER, b.receive(old.bytes, unknown));
    a.complete(old);
    ASSERT_TRUE(a.send(flows.first, "forged"));
    Packet forged = pop(a);
    flow_peer_age(b.core, 100, 200); /* all from before were read */
    EXPECT_EQ(FLOW_RX_DROP, b.receive(forged.bytes, unknown));
    EXPECT_EQ(FLOW_DROP_SENDER, b.last.reason);
    EXPECT_EQ(FLOW_RX_DELIVER, b.receive(forged)) << "with its own handle";
    a.complete(forged);
    settle(a, b);
    EXPECT_STREQ(nullptr, b.check());
}
