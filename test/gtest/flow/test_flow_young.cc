/* SPDX-License-Identifier: BSD-3-Clause */
/* Foreign handle numbers. */
#include "flow_test.h"

using namespace flow_test;

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
