/* SPDX-License-Identifier: BSD-3-Clause */
/* Small records and their indices. */
#include "flow_test.h"

#include <algorithm>

extern "C" {
#include "flow/list_priv.h"
#include "util/keyed_hash.h"
}

using namespace flow_test;

namespace {

TEST(flow_hash, records__size)
{
    EXPECT_EQ(56u, sizeof(flow_tx_t));
    EXPECT_EQ(40u, sizeof(flow_rx_t));
    EXPECT_EQ(56u, sizeof(flow_peer_t));
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

/* Records in the longest chain of an index. */
unsigned longest(const Node &node, enum flow_index which)
{
    unsigned most = 0;

    for (uint32_t slot = 0; slot < node.core->hash_size; ++slot) {
        uint32_t index  = node.core->hash[which * node.core->hash_size + slot];
        unsigned length = 0;
        while (index != 0) {
            ++length;
            index = (which == FLOW_INDEX_INCARNATION) ?
                            flow_core_peer(node.core, index)->hash_next :
                    (which == FLOW_INDEX_ADDR) ?
                            flow_core_peer(node.core, index)->addr_next :
                            flow_core_rx(node.core, index)->hash_next;
        }
        most = std::max(most, length);
    }
    return most;
}

/* Six in a chain on average; of 16,000 at random hardly one has over 24. */
const unsigned LONG = 4 * FLOW_HASH_LOAD;

class flow_hash_hosts : public ::testing::TestWithParam<int> {};

/* Link-local GIDs of hosts whose network cards are of one maker, in the order
 * of their serial numbers, each number in another byte of the address. */
TEST_P(flow_hash_hosts, addr__numbered)
{
    Node a(1), b(2);
    flow_addr_t addr = b.addr;
    flow_tx_t *tx;

    for (unsigned i = 1; i <= 4000; ++i) {
        addr.gid[GetParam()]     = (uint8_t)(i >> 8);
        addr.gid[GetParam() + 1] = (uint8_t)i;
        addr.incarnation         = 0x12345 + i;
        a.grow();
        ASSERT_EQ(FLOW_OK, flow_tx_open(a.core, &addr, nullptr, &tx));
    }
    EXPECT_LE(longest(a, FLOW_INDEX_ADDR), LONG);
    EXPECT_LE(longest(a, FLOW_INDEX_INCARNATION), LONG);
}

INSTANTIATE_TEST_SUITE_P(bytes, flow_hash_hosts,
                         ::testing::Values(8, 10, 12, 13, 14));

/* Numbers that one chain holds under the key of another interface: they do not
 * meet under ours. */
TEST(flow_hash, chosen__under_another_key)
{
    Node a(1), b(2);
    flow_addr_t addr        = b.addr;
    const uint64_t other[2] = {1, 2};
    uint64_t incarnation    = 0;
    flow_tx_t *tx;

    a.core->params.key[0] = 0x6a09e667f3bcc908ull;
    a.core->params.key[1] = 0xbb67ae8584caa73bull;
    for (unsigned i = 0; i < 2000; ++i) {
        do {
            ++incarnation;
        } while ((keyed_hash(other, incarnation, 0) & 1023) != 0);
        addr.incarnation = incarnation;
        addr.qpn         = 100 + i;
        a.grow();
        ASSERT_EQ(FLOW_OK, flow_tx_open(a.core, &addr, nullptr, &tx));
    }
    EXPECT_LE(longest(a, FLOW_INDEX_INCARNATION), LONG);
}

/* Sets with a structure that meets under some hash that multiplies: under
 * no key does a chain grow, whichever of the two words has it. */
TEST(flow_hash, keyed_hash__structured_sets)
{
    const unsigned count = 4096, heads = 1024;
    uint64_t keys[2] = {0x243f6a8885a308d3ull, 0x13198a2e03707344ull};

    for (int round = 0; round < 8; ++round) {
        for (unsigned shift = 0; shift <= 52; shift += 4) {
            std::vector<unsigned> chains[4];
            for (auto &chain : chains) {
                chain.resize(heads);
            }
            for (uint64_t i = 1; i <= count; ++i) {
                uint64_t word    = i << shift;
                uint64_t inverse = i * 0xf1de83e19937733dull; /* of the odd
                                      constant 0x9e3779b97f4a7c15, mod 2^64 */
                ++chains[0][keyed_hash(keys, word, 7) % heads];
                ++chains[1][keyed_hash(keys, 7, word) % heads];
                ++chains[2][keyed_hash(keys, word, word) % heads];
                ++chains[3][keyed_hash(keys, inverse << (shift / 2), 0) %
                            heads];
            }
            for (const auto &chain : chains) {
                EXPECT_LE(*std::max_element(chain.begin(), chain.end()), LONG)
                        << "shift " << shift << " round " << round;
            }
        }
        keys[0] = keyed_hash(keys, round, 1);
        keys[1] = keyed_hash(keys, round, 2);
    }
}

/* Milliseconds pass at both. */
void pass(Node &a, Node &b, int ms)
{
    for (; ms > 0; --ms) {
        a.now += 1000000;
        b.now  = a.now;
        settle(a, b);
    }
}

/* UD: the goodbyes of one peer's flows, the oldest first, as a program that
 * closes its endpoints in the order of their opening sends them. Each flow
 * leaves from the end of the list, and is off it when it has left. */
TEST(flow_hash, list__oldest_leave_first)
{
    Node a(1, ud), b(2, ud);
    std::vector<flow_tx_t*> flows;

    for (unsigned i = 0; i < 600; ++i) {
        flows.push_back(a.open(b));
    }
    settle(a, b);
    flow_peer_t *peer = flow_peer_find(b.core, a.addr.incarnation);
    pass(a, b, 10); /* until the hellos' time-outs are over */
    for (unsigned i = 0; i < 300; ++i) {
        flow_tx_close(a.core, flows[i]);
        settle(a, b);
        ASSERT_STREQ(nullptr, b.check());
    }
    EXPECT_EQ(300u, peer->refs) << "they rest, off the list";
    EXPECT_EQ(300u, b.core->gone) << "linked until the list is looked through";

    unsigned listed = 0;
    for (uint32_t i = peer->rx_list; i != 0;
         i = flow_list_next_rx(b.core, flow_core_rx(b.core, i))) {
        EXPECT_EQ(FLOW_RX_ACTIVE, flow_core_rx(b.core, i)->state);
        ++listed;
    }
    EXPECT_EQ(300u, listed);
    flow_list_sweep(b.core);
    EXPECT_EQ(0u, b.core->gone);
    EXPECT_STREQ(nullptr, b.check());

    /* Some are over before the next look through the list, some after. */
    for (unsigned i = 300; i < 600; i += 2) {
        flow_tx_close(a.core, flows[i]);
    }
    settle(a, b);
    pass(a, b, 400);
    EXPECT_EQ(150u, b.counters().rx_flows);
    EXPECT_EQ(0u, peer->refs);
    flow_list_sweep(b.core);
    EXPECT_EQ(0u, b.core->gone);
    EXPECT_STREQ(nullptr, b.check());
    for (unsigned i = 301; i < 600; i += 2) {
        flow_tx_close(a.core, flows[i]);
    }
    pass(a, b, 1000);
    EXPECT_EQ(0u, b.counters().rx_flows);
    EXPECT_EQ(1u, b.count(FLOW_EVENT_PEER_GONE));
    EXPECT_EQ(0u, b.core->gone);
    EXPECT_STREQ(nullptr, b.check());
}

} /* namespace */
