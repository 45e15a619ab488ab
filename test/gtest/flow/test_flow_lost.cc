/* SPDX-License-Identifier: BSD-3-Clause */
/* Nothing got through for a while, and both live. */
#include "flow_test.h"

using namespace flow_test;

/* A hello that waits for its turn behind one that is out, which may take seconds
 * to end: its flow fails with the others, and need not wait for that. */
TEST(flow_lost, who_waited_for_a_turn_goes_at_once)
{
    Node a(1), b(2);
    flow_tx_t *first = a.open(b);

    std::vector<Packet> hello = take(a);
    ASSERT_EQ(1u, hello.size());
    ASSERT_TRUE(a.send(first, "x"));
    flow_tx_t *later = a.open(b);
    std::vector<Packet> data = take(a);
    ASSERT_EQ(1u, data.size()) << "the other hello waits";
    a.complete(data[0], FLOW_SEND_LOST);
    a.progress();
    EXPECT_EQ(2u, a.count(FLOW_EVENT_TX_FAILED));
    flow_tx_close(a.core, later);
    a.progress();
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_GONE));
    a.complete(hello[0], FLOW_SEND_LOST);
    flow_tx_close(a.core, first);
    a.progress();
    EXPECT_STREQ(nullptr, a.check());
}

/* Control packets to a peer that does not answer wait until it is heard; a flow
 * behind them that has nothing to say does not. */
TEST(flow_lost, who_has_nothing_to_say_goes)
{
    Node a(1), b(2);
    std::vector<flow_tx_t*> flows(1, a.open(b));

    a.complete(take(a).at(0));
    for (int i = 0; i < FLOW_PEER_CTL_MAX; ++i) {
        flows.push_back(a.open(b));
    }
    std::vector<Packet> hellos = take(a);
    ASSERT_EQ((size_t)FLOW_PEER_CTL_MAX, hellos.size());
    for (flow_tx_t *tx : flows) {
        flow_tx_close(a.core, tx); /* the goodbye of the first waits */
    }
    flow_tx_t *last = a.open(b);
    a.progress();
    flow_tx_close(a.core, last);
    a.progress();
    ASSERT_TRUE(a.out.empty());
    EXPECT_EQ(0u, a.count(FLOW_EVENT_TX_GONE));
    a.complete(hellos[0], FLOW_SEND_LOST);
    a.progress();
    a.pull_events();
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_GONE));
    EXPECT_STREQ(nullptr, a.check());
}

/* Fills the window of a flow, and all of it arrives. */
static void spend_window(Node &a, flow_tx_t *ab, Node &b)
{
    while (a.send(ab, "x")) {
    }
    pass_on(a, b);
}

/* The same of one to whom we have no flow: nobody is asked again and again, and
 * who is blocked asks. */
TEST(flow_lost, limit_waits_for_a_word)
{
    Node a(1), b(2);
    flow_tx_t *ab = a.open(b);

    settle(a, b);
    spend_window(a, ab, b);
    move_all(b, a, FLOW_SEND_LOST);
    EXPECT_EQ(FLOW_TIME_NEVER, flow_timer_next(b.core));
    ASSERT_FALSE(a.send(ab, "blocked"));
    flow_tx_ping(a.core, ab);
    settle(a, b);
    EXPECT_TRUE(a.send(ab, "more"));
}

/* A client that was heard after the answer to it had left is there, whatever
 * became of the answer, and stands still until it comes: it comes again. */
TEST(flow_lost, answer_to_one_who_was_heard)
{
    Node a(1), b(2);
    flow_tx_t *ab = a.open(b);

    a.progress();
    while (!a.out.empty()) { /* the hello, then data that waits for nothing */
        Packet packet = a.out.front();
        a.out.pop_front();
        b.receive(packet);
        a.complete(packet);
    }
    b.progress();
    ASSERT_EQ(1u, b.out.size());
    Packet answer = pop(b);
    ASSERT_TRUE(a.send(ab, "early"));
    b.receive(a.out[0]);
    a.complete(a.out[0]);
    a.out.clear();
    b.complete(answer, FLOW_SEND_LOST);
    EXPECT_NE(FLOW_TIME_NEVER, flow_timer_next(b.core));
    for (int i = 0; (i < 100) && (ab->state != FLOW_TX_OPEN); ++i) {
        b.now += 1000000;
        a.now  = b.now;
        settle(a, b);
    }
    EXPECT_EQ(FLOW_TX_OPEN, ab->state);
    EXPECT_STREQ(nullptr, b.check());
}

/* One of two control packets is lost, the other gets through: the peer is there,
 * and what it waits for is told again. */
TEST(flow_lost, other_packet_gets_through)
{
    Node a(1), b(2);
    flow_tx_t *flows[2] = {a.open(b), a.open(b)};

    settle(a, b);
    spend_window(a, flows[0], b);
    spend_window(a, flows[1], b);
    b.progress();
    ASSERT_EQ(2u, b.out.size());
    std::vector<Packet> limits = take(b);
    b.complete(limits[0], FLOW_SEND_LOST);
    b.progress();
    EXPECT_TRUE(b.out.empty());
    EXPECT_EQ(FLOW_TIME_NEVER, flow_timer_next(b.core)) << "nor later";
    a.receive(limits[1]);
    b.complete(limits[1]);
    b.now += 1000000000;
    b.progress();
    EXPECT_EQ(1u, b.out.size()) << "without a word of the other";
    settle(a, b);
    EXPECT_TRUE(a.send(flows[0], "more"));
    EXPECT_STREQ(nullptr, b.check());
}

/* Flows of one peer: one was lost, and the others wait for a word of it. */
TEST(flow_lost, lingering_ones_of_a_peer_are_bounded)
{
    Node a(1, [](flow_params_t *p) { p->max_linger = 40; }), b(2), c(3);
    std::vector<flow_tx_t*> flows;

    for (int i = 0; i < 50; ++i) {
        flows.push_back(a.open(b));
        settle(a, b);
    }
    for (flow_tx_t *tx : flows) {
        flow_tx_close(a.core, tx);
    }
    ASSERT_EQ(nullptr, a.open(c));
    EXPECT_EQ(FLOW_LINGERING, a.status);
    for (int i = 0; i < 10; ++i) {
        move_all(a, b, FLOW_SEND_LOST);
    }
    EXPECT_EQ(20u, a.counters().lingering);
    EXPECT_STREQ(nullptr, a.check());
    ASSERT_NE(nullptr, a.open(c));
    EXPECT_NE(nullptr, a.open(b)) << "those that wait say their last word";
    settle(a, b);
    EXPECT_EQ(0u, a.counters().lingering);
}

/* A last word is not sent again without a pause, whatever else the flow had
 * due. */
static void lose_slowly(Node &a)
{
    for (int moment = 0; moment < 5; ++moment) {
        unsigned sent = 0;
        for (int i = 0; i < 20; ++i) {
            a.progress();
            for (const Packet &packet : take(a)) {
                ++sent;
                a.complete(packet, FLOW_SEND_LOST);
            }
        }
        EXPECT_GE(1u, sent) << moment;
        ASSERT_NE(FLOW_TIME_NEVER, flow_timer_next(a.core));
        a.now = flow_timer_next(a.core);
    }
    EXPECT_STREQ(nullptr, a.check());
}

static void check_ping(bool fails)
{
    Node a(1), b(2);
    flow_tx_t *ab = a.open(b);

    a.open(b); /* it lives: the peer is not given up */
    settle(a, b);
    flow_tx_ping(a.core, ab);
    std::vector<Packet> ping;
    if (fails) {
        ping = take(a);
        flow_tx_fail(a.core, ab, FLOW_SEND_ERROR);
        a.pull_events();
    }
    flow_tx_close(a.core, ab);
    for (const Packet &packet : ping) {
        a.complete(packet, FLOW_SEND_LOST);
    }
    lose_slowly(a);
}

TEST(flow_lost, ping_of_one_that_is_closed) { check_ping(false); }

TEST(flow_lost, ping_of_one_that_failed) { check_ping(true); }

/* ---- a message that completed well is consumed, or its sender is told */

/* A header told a limit, and its packet never arrived. */
TEST(flow_told, limit_in_a_packet_that_failed)
{
    Node a(1), b(2);
    auto [ab, ba] = connect(a, b);

    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(a.send(ab, "x"));
        ASSERT_TRUE(b.send(ba, "y"));
        settle(a, b);
    }
    ASSERT_TRUE(ab->flags & FLOW_TXF_CARRIES);
    flow_psn_t told = ba->limit;
    while (b.send(ba, "y")) {
        Packet packet = b.out.back();
        b.out.clear();
        a.receive(packet);
        b.complete(packet);
        a.pull_events(); /* no control packets yet */
        if (a.send(ab, "the limit, lost")) {
            Packet carrier = a.out.back();
            a.out.clear();
            a.complete(carrier, FLOW_SEND_LOST);
        }
    }
    EXPECT_EQ(told, ba->limit);
    settle(a, b);
    EXPECT_NE(told, ba->limit);
    EXPECT_TRUE(b.send(ba, "y"));
}

/* A late message to a flow that failed is a word, too. */
TEST(flow_lost, reset_goes_after_a_late_message)
{
    Node a(1), b(2);
    auto [ab, ba] = connect(a, b);

    ASSERT_TRUE(a.send(ab, "late"));
    Packet late = pop(a);
    ASSERT_TRUE(b.send(ba, "x"));
    move_all(b, a, FLOW_SEND_LOST);
    flow_tx_close(b.core, ba);
    move_all(b, a, FLOW_SEND_LOST);
    b.progress();
    ASSERT_TRUE(b.out.empty());
    EXPECT_EQ(FLOW_RX_DROP, b.receive(late));
    EXPECT_EQ(FLOW_DROP_CLOSED, b.last.reason);
    b.progress();
    EXPECT_FALSE(b.out.empty());
}
