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
    flow_tx_fail(a.core, ab, FLOW_SEND_DEAD);
    a.pull_events();
    EXPECT_EQ(2u, a.count(FLOW_EVENT_TX_FAILED));
    for (const flow_event_t &event : a.events) {
        if (event.type == FLOW_EVENT_TX_FAILED) {
            EXPECT_EQ(FLOW_END_DEAD, event.why);
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

TEST(flow_peer, gone__its_word_is_with_the_event)
{
    Node a(1), b(2);
    auto [ab, ba] = connect(a, b);
    int handle;

    flow_peer_set_cookie(flow_tx_peer(a.core, ab), &handle);
    flow_tx_close(a.core, ab);
    flow_tx_close(b.core, ba);
    settle(a, b);
    ASSERT_EQ(1u, a.count(FLOW_EVENT_PEER_GONE));
    for (const flow_event_t &event : a.events) {
        if (event.type == FLOW_EVENT_PEER_GONE) {
            EXPECT_EQ(&handle, event.cookie);
            EXPECT_EQ(nullptr, flow_peer_cookie(event.peer));
        }
    }
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
        flow_tx_fail(a.core, tx, FLOW_SEND_DEAD);
        flow_tx_close(a.core, tx);
        a.pull_control();
        a.pull_events();
    }
    EXPECT_TRUE(a.out.empty());
    EXPECT_EQ((uint64_t)FLOW_TOMBSTONES, a.counters().peers);
    EXPECT_STREQ(nullptr, a.check());
}

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
    static void third_life(flow_params_t *p) { second(second(p)); }
    static void first_ud(flow_params_t *p) { ud(p); }
    static void second_ud(flow_params_t *p) { ud(second(p)); }

    flow_peer_t *peer(Node &of) { return flow_peer_find(a.core,
                                                        of.addr.incarnation); }
    Node a{1}, old{2, first_life}, young{2, second_life};
};

/* A hello alone proves nothing: it may be late. The answer to it, taken by the
 * device with the QKEY of the new one, does. */
TEST_F(flow_reborn_pair, newcomer_proves_itself)
{
    flow_tx_t *tx = old.open(a);

    settle(a, old);
    ASSERT_TRUE(old.send(tx, "old"));
    Packet late = old.out.back();
    young.open(a);
    young.progress();
    EXPECT_EQ(FLOW_RX_CONTROL, a.receive(young.out.front()));
    EXPECT_NE(FLOW_PEER_DEAD, peer(old)->state);
    EXPECT_NE(FLOW_PEER_DEAD, peer(young)->state);
    a.progress();
    ASSERT_EQ(1u, a.out.size());
    EXPECT_NE(FLOW_PEER_DEAD, peer(old)->state);
    a.complete(a.out[0]);
    EXPECT_EQ(FLOW_PEER_DEAD, peer(old)->state);
    EXPECT_EQ(FLOW_PEER_READY, peer(young)->state);
    EXPECT_EQ(FLOW_RX_DROP, a.receive(late));
    EXPECT_STREQ(nullptr, a.check());
}

/* The hello of the dead one comes last: its answer goes nowhere. */
TEST_F(flow_reborn_pair, late_hello_of_the_dead)
{
    old.open(a);
    old.progress();
    Packet late   = old.out.front();
    flow_tx_t *tx = young.open(a);
    settle(a, young);
    EXPECT_EQ(FLOW_RX_CONTROL, a.receive(late));
    a.progress();
    ASSERT_EQ(1u, a.out.size());
    a.complete(a.out[0], FLOW_SEND_DEAD); /* no such QKEY there */
    EXPECT_EQ(FLOW_PEER_READY, peer(young)->state);
    EXPECT_EQ(FLOW_PEER_DEAD, peer(old)->state);
    a.out.clear();
    ASSERT_TRUE(young.send(tx, "I live"));
    settle(a, young);
    EXPECT_EQ(1u, a.got.size());
    EXPECT_EQ(FLOW_TX_OPEN, tx->state);
    EXPECT_STREQ(nullptr, a.check());
}

/* A packet sent to one before another was known says nothing of the other: the
 * device took it when it was the one's. */
TEST_F(flow_reborn_pair, proof_from_before_the_newcomer)
{
    Node next{2, third_life};

    old.open(a);
    settle(a, old);
    young.open(a);
    young.progress();
    EXPECT_EQ(FLOW_RX_CONTROL, a.receive(young.out.front()));
    a.progress();
    ASSERT_EQ(1u, a.out.size());
    Packet answer = a.out[0];
    a.out.clear();
    next.open(a);
    next.progress();
    EXPECT_EQ(FLOW_RX_CONTROL, a.receive(next.out.front()));
    EXPECT_TRUE(peer(next)->rival);
    a.complete(answer);
    EXPECT_NE(FLOW_PEER_DEAD, peer(next)->state);
    a.progress();
    ASSERT_EQ(1u, a.out.size());
    a.complete(a.out[0]);
    EXPECT_NE(FLOW_PEER_DEAD, peer(next)->state);
    EXPECT_EQ(FLOW_PEER_DEAD, peer(old)->state);
    EXPECT_EQ(FLOW_PEER_DEAD, peer(young)->state);
    EXPECT_STREQ(nullptr, a.check());
}

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

/* On UD a completion proves nothing; an answer does. */
TEST_F(flow_reborn_pair, ud__newcomer_answers)
{
    Node b(1, ud), dead(2, first_ud), now(2, second_ud);

    dead.open(b);
    settle(b, dead);
    b.open(now);
    move_all(b, now);
    flow_peer_t *was = flow_peer_find(b.core, dead.addr.incarnation);
    EXPECT_NE(FLOW_PEER_DEAD, was->state);
    move_all(now, b);
    EXPECT_EQ(FLOW_PEER_DEAD, was->state);
    EXPECT_STREQ(nullptr, b.check());
}

/* That the answer was understood does, too. */
TEST_F(flow_reborn_pair, ud__newcomer_uses_its_token)
{
    Node b(1, ud), dead(2, first_ud), now(2, second_ud);
    flow_tx_t *gone = dead.open(b);

    settle(b, dead);
    ASSERT_TRUE(dead.send(gone, "late"));
    Packet late   = dead.out.back();
    flow_tx_t *tx = now.open(b);
    move_all(now, b);
    move_all(b, now);
    flow_peer_t *was = flow_peer_find(b.core, dead.addr.incarnation);
    EXPECT_NE(FLOW_PEER_DEAD, was->state);
    EXPECT_EQ(FLOW_RX_DELIVER, b.receive(late)) << "proves nothing either";
    EXPECT_NE(FLOW_PEER_DEAD, was->state);
    ASSERT_TRUE(now.send(tx, "x"));
    move_all(now, b);
    EXPECT_EQ(FLOW_PEER_DEAD, was->state);
    EXPECT_STREQ(nullptr, b.check());
}
