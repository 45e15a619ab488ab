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
    for (int i = 0; i < 3 * FLOW_WINDOW_MAX / 4; ++i) {
        ASSERT_TRUE(b.send(ba, "x"));
        pass_on(b, a);
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

/* A peer that answers lets out as many as may go, and no more. */
TEST(flow_turn, wake__few)
{
    Node a(1), b(2);
    flow_tx_t *tx = nullptr;

    for (int i = 0; i < 100; ++i) {
        tx = a.open(b);
    }
    a.complete(take(a).at(0));
    EXPECT_EQ((unsigned)FLOW_PEER_CTL_MAX, flow_tx_peer(a.core, tx)->woken);
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
