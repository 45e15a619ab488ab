/* SPDX-License-Identifier: BSD-3-Clause */
/* Small records and their indices. */
#include "flow_test.h"

using namespace flow_test;

namespace {

TEST(flow_hash, records__size)
{
    EXPECT_EQ(56u, sizeof(flow_tx_t));
    EXPECT_EQ(40u, sizeof(flow_rx_t));
    EXPECT_EQ(56u, sizeof(flow_peer_t));
}

/* Many flows of one peer: found wherever they are in their chain. */
TEST(flow_hash, rx__many_of_one_peer)
{
    Node a(1), b(2);
    std::vector<flow_tx_t*> flows;
    const unsigned count = 3000;

    for (unsigned i = 0; i < count; ++i) {
        flows.push_back(a.open(b));
        ASSERT_NE(nullptr, flows.back());
    }
    settle(a, b);
    ASSERT_EQ(count, b.counters().rx_flows);
    EXPECT_GE(b.core->hash_size * FLOW_HASH_LOAD, count);
    flow_peer_t *peer = flow_peer_find(b.core, a.addr.incarnation);
    for (flow_tx_t *tx : flows) {
        flow_rx_t *rx = flow_rx_find(b.core, peer, tx->ep);
        ASSERT_NE(nullptr, rx);
        EXPECT_EQ(tx->ep, rx->ep);
    }
    EXPECT_EQ(nullptr, flow_rx_find(b.core, peer, 7));
    for (unsigned i = 0; i < count; i += 2) { /* from the middle of chains */
        flow_tx_close(a.core, flows[i]);
    }
    settle(a, b);
    EXPECT_EQ(count / 2, b.counters().rx_flows);
    for (unsigned i = 0; i < count; ++i) {
        if (i % 2) {
            EXPECT_NE(nullptr, flow_rx_find(b.core, peer, flows[i]->ep));
        }
    }
}

TEST(flow_hash, prefix__more_networks_than_are_kept)
{
    Node a(1), b(2);
    flow_addr_t addr = b.addr;
    std::vector<flow_tx_t*> flows;
    flow_tx_t *tx;

    for (unsigned i = 1; i < FLOW_PREFIXES; ++i) { /* one is our own */
        addr.gid[1]      = (uint8_t)i;
        addr.incarnation = 0x1000 + i;
        a.grow();
        ASSERT_EQ(FLOW_OK, flow_tx_open(a.core, &addr, nullptr, &tx));
        flows.push_back(tx);
        flow_addr_t kept = flow_peer_addr(a.core, flow_tx_peer(a.core, tx));
        EXPECT_EQ(0, memcmp(&addr, &kept, sizeof(addr)));
    }
    addr.gid[1]      = FLOW_PREFIXES;
    addr.incarnation = 0x2000;
    EXPECT_EQ(FLOW_NO_RESOURCE, flow_tx_open(a.core, &addr, nullptr, &tx));
    ASSERT_NE(nullptr, a.open(b)) << "our own network is always kept";

    /* the same for a hello; and a peer that goes makes room */
    Node far(3, [](flow_params_t *p) { p->self.gid[1] = FLOW_PREFIXES; });
    far.open(a);
    far.pull_events();
    far.pull_control();
    EXPECT_EQ(FLOW_RX_DROP, a.receive(far.out.front()));
    EXPECT_EQ(FLOW_DROP_FULL, a.last.reason);
    flow_tx_close(a.core, flows[5]);
    a.pull_events(); /* gone, then its peer */
    a.pull_control();
    a.pull_events();
    EXPECT_EQ(FLOW_RX_CONTROL, a.receive(far.out.front()));
    EXPECT_STREQ(nullptr, a.check());
}

TEST(flow_hash, open__address_out_of_range)
{
    Node a(1), b(2);
    flow_addr_t addr = b.addr;
    flow_tx_t *tx;

    addr.qpn = FLOW_QPN_MAX + 1;
    EXPECT_EQ(FLOW_NO_RESOURCE, flow_tx_open(a.core, &addr, nullptr, &tx));
}

/* An index may be used 2^15 - 1 times; then its numbers are used up. */
TEST(flow_hash, ep__never_reused)
{
    Node a(1), b(2);
    flow_tx_t *tx = a.open(b);

    tx->ep |= UINT32_MAX - (FLOW_INDEX_MAX - 1); /* its last use */
    uint32_t index = flow_tx_index(tx);
    uint32_t free  = a.core->tx_free.count;
    flow_tx_close(a.core, tx);
    a.pull_events();
    a.pull_control();
    a.pull_events();
    EXPECT_EQ(0u, a.counters().tx_flows);
    EXPECT_EQ(free, a.core->tx_free.count) << "index " << index << " retires";
}

/* UD: flows that rest are off the list of their peer, which stays for them. */
TEST(flow_hash, peer__kept_by_what_rests)
{
    Node a(1, ud), b(2, ud);
    flow_tx_t *tx = a.open(b);

    settle(a, b);
    flow_tx_close(a.core, tx);
    for (int i = 0; i < 10; ++i) {
        a.now += 1000000;
        b.now  = a.now;
        settle(a, b);
    }
    flow_peer_t *peer = flow_peer_find(b.core, a.addr.incarnation);
    ASSERT_NE(nullptr, peer);
    EXPECT_EQ(0u, peer->rx_list);
    EXPECT_EQ(1u, b.counters().rx_flows);
    EXPECT_EQ(0u, b.count(FLOW_EVENT_PEER_GONE));
    flow_peer_dead(b.core, peer);
    for (int i = 0; i < 1000; ++i) {
        b.now += 1000000;
        flow_timer_run(b.core, b.now);
    }
    b.pull_events();
    EXPECT_EQ(0u, b.counters().rx_flows);
    EXPECT_EQ(1u, b.count(FLOW_EVENT_PEER_GONE));
    EXPECT_STREQ(nullptr, b.check());
}

} /* namespace */
