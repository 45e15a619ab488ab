/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns of control packets (turn.c), and leaving the list of a peer. */
#include "flow_test.h"

#include <algorithm>

using namespace flow_test;

static void few_slots(flow_params_t *params)
{
    params->ctl_slots = 32;
}

static flow_addr_t absent(unsigned i)
{
    flow_addr_t addr;

    memset(&addr, 0, sizeof(addr));
    addr.gid[0]      = 0xfe;
    addr.gid[14]     = 1;
    addr.gid[15]     = (uint8_t)i;
    addr.qpn         = 1000 + i;
    addr.qkey        = 1;
    addr.incarnation = 5000 + i;
    return addr;
}

/* Hosts that do not answer hold half of the slots at most, and an established
 * flow gets its limits; nothing is pending that may not go. */
TEST(flow_turn, next__absent_peers_leave_slots)
{
    Node a(1, few_slots), b(2);
    flow_tx_t *ba = connect(a, b).second;

    for (unsigned i = 0; i < 96; ++i) {
        ASSERT_NE(nullptr, a.Driver::open(absent(i), &a));
    }
    a.progress();
    ASSERT_EQ(16u, a.out.size());
    EXPECT_FALSE(flow_ctl_pending(a.core));
    std::deque<Packet> hellos;
    hellos.swap(a.out);
    for (int i = 0; i < 50; ++i) {
        ASSERT_TRUE(b.send(ba, "x"));
        a.receive(b.out.front());
        b.complete(b.out.front());
        b.out.clear();
    }
    a.progress();
    ASSERT_EQ(1u, a.out.size());
    EXPECT_EQ((unsigned)FLOW_CTL_LIMIT, type_of(a.out[0]));
    a.complete(a.out[0]);
    a.out.clear();
    /* time-outs make room for as many others, each flow fails once */
    for (const Packet &hello : hellos) {
        a.complete(hello, FLOW_SEND_LOST);
    }
    a.progress();
    EXPECT_EQ(16u, a.count(FLOW_EVENT_TX_FAILED));
    EXPECT_EQ(16u, a.out.size());
    EXPECT_STREQ(nullptr, a.check());
}

/* One of a peer that has not answered, a few of one that has; all in the end,
 * and in the order in which they were asked for. */
TEST(flow_turn, next__of_one_peer)
{
    Node a(1), b(2);
    std::vector<uint32_t> eps, said;

    for (int i = 0; i < 100; ++i) {
        eps.push_back(a.open(b)->ep);
    }
    a.progress();
    EXPECT_EQ(1u, a.out.size());
    for (int round = 0; !a.out.empty(); ++round) {
        ASSERT_LE(a.out.size(), (size_t)FLOW_PEER_CTL_MAX);
        for (const Packet &packet : a.out) {
            said.push_back(flow_wire_load32(&packet.bytes[4]));
        }
        if (round > 0) {
            EXPECT_TRUE((a.out.size() == FLOW_PEER_CTL_MAX) ||
                        (said.size() == eps.size()));
        }
        std::deque<Packet> hellos;
        hellos.swap(a.out);
        for (const Packet &packet : hellos) {
            a.complete(packet);
        }
        EXPECT_STREQ(nullptr, a.check());
        a.progress();
    }
    EXPECT_EQ(eps, said);
}

/* No answer: it gets one at a time again. */
TEST(flow_turn, next__answers_no_more)
{
    Node a(1), b(2);
    flow_tx_t *ab = connect(a, b).first;

    EXPECT_TRUE(flow_tx_peer(a.core, ab)->answers);
    flow_tx_ping(a.core, ab);
    a.progress();
    a.complete(a.out.front(), FLOW_SEND_LOST);
    a.out.clear();
    EXPECT_FALSE(flow_tx_peer(a.core, ab)->answers);
    a.open(b);
    a.open(b);
    a.progress();
    EXPECT_EQ(1u, a.out.size());
}

/* Many peers that answered and stopped: the fewer slots, the fewer for each. */
TEST(flow_turn, next__few_are_left)
{
    Node a(1, few_slots);

    for (unsigned i = 0; i < 12; ++i) {
        flow_tx_t *tx = a.Driver::open(absent(i), &a);
        flow_tx_peer(a.core, tx)->answers = 1;
        for (int more = 0; more < 20; ++more) {
            ASSERT_NE(nullptr, a.Driver::open(absent(i), &a));
        }
    }
    a.progress();
    EXPECT_EQ(16u, a.out.size());
    std::map<uint32_t, unsigned> of;
    for (const Packet &packet : a.out) {
        ++of[packet.dst];
    }
    EXPECT_GE(of.size(), 8u) << "one peer or two have them all";
    EXPECT_STREQ(nullptr, a.check());
}

/* All slots are taken, by answers: what is due waits, of either kind, and each
 * slot that comes back is for the next. */
TEST(flow_turn, next__none_is_left)
{
    Node a(1, [](flow_params_t *p) { p->ctl_slots = 4; });
    unsigned hellos = 0, answers = 0;

    for (unsigned i = 0; i < 6; ++i) {
        flow_ctl_msg_t msg = message(FLOW_CTL_HELLO, a, a, 1);
        msg.version        = FLOW_VERSION;
        msg.src            = absent(i).incarnation;
        msg.addr           = absent(i);
        msg.window         = 1;
        EXPECT_EQ(FLOW_RX_CONTROL,
                  a.receive(encode(msg),
                            flow_src(FLOW_AH_UNKNOWN, absent(i).qpn)));
    }
    a.progress();
    ASSERT_EQ(4u, a.out.size());
    ASSERT_NE(nullptr, a.Driver::open(absent(9), &a));
    EXPECT_FALSE(flow_ctl_pending(a.core));
    while (!a.out.empty()) {
        a.progress();
        EXPECT_EQ(std::min(4u, 7 - hellos - answers), a.out.size());
        EXPECT_STREQ(nullptr, a.check());
        hellos  += type_of(a.out.front()) == FLOW_CTL_HELLO;
        answers += type_of(a.out.front()) == FLOW_CTL_ANSWER;
        a.complete(a.out.front());
        a.out.pop_front();
    }
    EXPECT_EQ(1u, hellos);
    EXPECT_EQ(6u, answers);
}

/* A packet that a peer waits for goes beside our hello to it. */
TEST(flow_turn, next__an_answer_beside_a_hello)
{
    Node a(1), b(2);

    a.open(b);
    b.open(a);
    a.progress();
    b.progress();
    ASSERT_EQ(1u, a.out.size());
    a.receive(b.out.front());
    a.progress();
    ASSERT_EQ(2u, a.out.size());
    EXPECT_EQ((unsigned)FLOW_CTL_ANSWER, type_of(a.out[1]));
}

/* A host that times out with thousands of endpoints to it, all but one of which
 * never said a word: closed, they are gone at once. */
TEST(flow_turn, wake__those_without_a_word)
{
    for (int closed_before = 0; closed_before < 2; ++closed_before) {
        Node a(1), b(2);
        std::vector<flow_tx_t*> flows;

        for (int i = 0; i < 1000; ++i) {
            flows.push_back(a.open(b));
        }
        a.progress();
        ASSERT_EQ(1u, a.out.size());
        for (int i = 0; closed_before && (i < 1000); ++i) {
            flow_tx_close(a.core, flows[i]);
        }
        a.complete(a.out.front(), FLOW_SEND_LOST);
        a.out.clear();
        a.progress();
        EXPECT_EQ(closed_before ? 0u : 1000u,
                  a.count(FLOW_EVENT_TX_FAILED));
        for (int i = 0; !closed_before && (i < 1000); ++i) {
            flow_tx_close(a.core, flows[i]);
        }
        a.progress();
        EXPECT_EQ(1u, a.counters().tx_flows) << "it owes b a reset";
        EXPECT_STREQ(nullptr, a.check());
    }
}

/* ---- list.c */

/* In any order flows are found, used again, and cost no memory. */
TEST(flow_list, free__in_any_order)
{
    Node a(1), b(2);
    std::vector<flow_tx_t*> flows;
    uint64_t random = 1;
    size_t memory   = 0;

    for (int round = 0; round < 20; ++round) {
        while (flows.size() < 300) {
            flows.push_back(a.open(b));
        }
        settle(a, b);
        while (flows.size() > 100) {
            random     = random * 6364136223846793005ull + 1;
            size_t one = (random >> 33) % flows.size();
            flow_tx_close(a.core, flows[one]);
            flows.erase(flows.begin() + (long)one);
        }
        settle(a, b);
        EXPECT_EQ(100u, a.counters().tx_flows);
        EXPECT_EQ(100u, b.counters().rx_flows);
        if (round == 1) {
            memory = a.memory + b.memory;
        }
    }
    EXPECT_EQ(memory, a.memory + b.memory);
    for (flow_tx_t *tx : flows) {
        flow_tx_close(a.core, tx);
    }
    settle(a, b);
    EXPECT_EQ(0u, a.core->gone + b.core->gone);
    EXPECT_EQ(0u, a.counters().peers + b.counters().peers);
}

/* The peer dies while some flows of its list are gone already. */
TEST(flow_list, next__behind_those_that_went)
{
    Node a(1), b(2);
    std::vector<flow_tx_t*> flows;

    for (int i = 0; i < 40; ++i) {
        flows.push_back(a.open(b));
    }
    settle(a, b);
    for (int i = 0; i < 40; i += (i % 7 == 6) ? 2 : 1) {
        flow_tx_close(a.core, flows[i]);
    }
    settle(a, b);
    EXPECT_NE(0u, a.core->gone);
    EXPECT_NE(0u, b.core->gone);
    uint64_t left = a.counters().tx_flows;
    EXPECT_EQ(left, b.counters().rx_flows);
    flow_peer_dead(b.core, flow_peer_find(b.core, a.addr.incarnation));
    flow_peer_dead(a.core, flow_peer_find(a.core, b.addr.incarnation));
    EXPECT_STREQ(nullptr, a.check());
    EXPECT_STREQ(nullptr, b.check());
    a.progress();
    b.progress();
    EXPECT_EQ(left, a.count(FLOW_EVENT_TX_FAILED));
    EXPECT_EQ(left, b.out.size() == 0 ? 0 : b.counters().rx_flows)
            << "each is told";
}

/* A packet for a flow that went is one of no flow. */
TEST(flow_list, free__nothing_finds_it)
{
    Node a(1), b(2);
    flow_tx_t *old = a.open(b), *young = a.open(b);

    settle(a, b);
    flow_rx_t *rx  = flow_rx_find(b.core,
                                  flow_peer_find(b.core, a.addr.incarnation),
                                  old->ep);
    ASSERT_NE(nullptr, rx);
    uint32_t ep = old->ep;
    ASSERT_TRUE(a.send(old, "late"));
    Packet late = a.out.front(); /* as if it came once more */
    settle(a, b);
    flow_tx_close(a.core, old);
    settle(a, b);
    EXPECT_EQ(1u, a.core->gone);
    EXPECT_EQ(1u, b.core->gone);
    EXPECT_EQ(FLOW_RX_GONE, rx->state);
    EXPECT_EQ(FLOW_RX_DROP, b.receive(late));
    EXPECT_EQ(FLOW_DROP_TOKEN, b.last.reason);
    EXPECT_EQ(nullptr, flow_tx_find(a.core, flow_tx_peer(a.core, young), ep));
    flow_tx_close(a.core, young);
    settle(a, b);
    EXPECT_EQ(0u, a.core->gone + b.core->gone);
}
