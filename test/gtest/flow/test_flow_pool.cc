/* SPDX-License-Identifier: BSD-3-Clause */
/* A call that finds a pool empty changes nothing and can be repeated. */
#include "flow_test.h"

using namespace flow_test;

/* A bare core that is given only the pools a test names. */
class Bare {
public:
    explicit Bare(unsigned pools, bool ud = false)
    {
        (ud ? flow_params_default_ud : flow_params_default)(&params);
        params.self.incarnation = 2;
        params.self.qpn         = 2;
        params.rx_posted        = 1024;
        core = flow_core_init(get(flow_core_size(&params)),
                              flow_core_size(&params), &params);
        give(pools);
    }

    ~Bare()
    {
        for (void *chunk : m_chunks) {
            free(chunk);
        }
    }

    void give(unsigned pools)
    {
        for (int pool = 0; pool < FLOW_POOL_LAST; ++pool) {
            if (pools & (1u << pool)) {
                flow_pool_grow(core, (flow_pool_t)pool,
                               get(flow_pool_chunk_size(core,
                                                        (flow_pool_t)pool)));
            }
        }
    }

    flow_rx_verdict_t receive(const Bytes &bytes, uint32_t qpn = 1)
    {
        flow_rx_verdict_t verdict =
                flow_rx_accept(core, bytes.data(), bytes.size(), this,
                               flow_src(FLOW_AH_UNKNOWN, qpn), &out);

        EXPECT_EQ(nullptr, flow_check(core));
        return verdict;
    }

    uint64_t objects()
    {
        flow_counters_t c;

        flow_core_counters(core, &c);
        return c.tx_flows + c.rx_flows + c.peers + c.rings;
    }

    flow_params_t params;
    flow_core_t  *core;
    flow_rx_out_t out;

private:
    void *get(size_t size)
    {
        void *mem = aligned_alloc(FLOW_ALIGN, (size + 63) & ~(size_t)63);

        m_chunks.push_back(mem);
        return mem;
    }

    std::vector<void*> m_chunks;
};

enum {
    TX   = 1u << FLOW_POOL_TX,
    RX   = 1u << FLOW_POOL_RX,
    PEER = 1u << FLOW_POOL_PEER,
    RING = 1u << FLOW_POOL_RING,
    HASH = 1u << FLOW_POOL_HASH
};

static Bytes data(uint64_t incarnation, uint32_t ep, flow_psn_t psn)
{
    Bytes bytes(FLOW_LONG_HDR + 1);

    flow_wire_store64(&bytes[0], ((uint64_t)psn << FLOW_WIRE_PSN_SHIFT) |
                                         FLOW_WIRE_LONG | 1);
    flow_wire_store64(&bytes[8], incarnation);
    flow_wire_store64(&bytes[16], 2);
    flow_wire_store32(&bytes[24], ep);
    return bytes;
}

static Bytes hello(uint64_t incarnation, uint32_t ep, uint32_t qpn = 1)
{
    flow_ctl_msg_t msg;

    memset(&msg, 0, sizeof(msg));
    msg.type     = FLOW_CTL_HELLO;
    msg.version  = FLOW_VERSION;
    msg.ep       = ep;
    msg.src      = incarnation;
    msg.dst      = 2;
    msg.window   = 16;
    msg.addr.qpn = qpn;
    return encode(msg);
}

TEST(flow_pool, hello__no_memory)
{
    for (unsigned missing : {(unsigned)RX, (unsigned)PEER, (unsigned)HASH}) {
        Bare bare((RX | PEER | HASH) & ~missing);

        EXPECT_EQ(FLOW_RX_NO_MEMORY, bare.receive(hello(7, 1)));
        EXPECT_EQ(0u, bare.objects());
        bare.give(missing);
        EXPECT_EQ(FLOW_RX_CONTROL, bare.receive(hello(7, 1)));
        EXPECT_EQ(2u, bare.objects());
    }
}

TEST(flow_pool, data__no_memory)
{
    for (unsigned missing : {(unsigned)RX, (unsigned)PEER, (unsigned)HASH}) {
        Bare bare((RX | PEER | HASH) & ~missing);

        EXPECT_EQ(FLOW_RX_NO_MEMORY, bare.receive(data(7, 1, 0)));
        EXPECT_EQ(0u, bare.objects());
        bare.give(missing);
        EXPECT_EQ(FLOW_RX_DELIVER, bare.receive(data(7, 1, 0)));
    }
}

TEST(flow_pool, open__no_memory)
{
    flow_addr_t peer;
    flow_tx_t *tx;

    memset(&peer, 0, sizeof(peer));
    peer.incarnation = 9;
    for (unsigned missing : {(unsigned)TX, (unsigned)PEER, (unsigned)HASH}) {
        Bare bare((TX | PEER | HASH) & ~missing);

        EXPECT_EQ(FLOW_NO_MEMORY, flow_tx_open(bare.core, &peer, &tx, &tx));
        EXPECT_EQ(0u, bare.objects());
        bare.give(missing);
        EXPECT_EQ(FLOW_OK, flow_tx_open(bare.core, &peer, &tx, &tx));
    }
    Bare bare(TX | PEER | HASH);
    peer.incarnation = 0;
    EXPECT_EQ(FLOW_NO_RESOURCE, flow_tx_open(bare.core, &peer, &tx, &tx));
    peer.incarnation = 9;
    EXPECT_EQ(FLOW_OK, flow_tx_open(bare.core, &peer, &tx, &tx));
    peer.qkey = 1; /* the same life with another address */
    EXPECT_EQ(FLOW_NO_RESOURCE, flow_tx_open(bare.core, &peer, &tx, &tx));
}

/* UD: a send needs a ring; without one the flow waits for the growth. */
TEST(flow_pool, send__no_memory)
{
    Bare bare(TX | PEER | HASH, true);
    flow_addr_t peer;
    flow_event_t event;
    flow_tx_t *tx;

    memset(&peer, 0, sizeof(peer));
    peer.incarnation = 9;
    ASSERT_EQ(FLOW_OK, flow_tx_open(bare.core, &peer, nullptr, &tx));
    ASSERT_EQ(1, flow_event_next(bare.core, &event));
    EXPECT_EQ(FLOW_EVENT_PEER_INTRODUCED, event.type);
    EXPECT_FALSE(flow_tx_ready(bare.core, tx));
    EXPECT_TRUE(flow_pool_grow_needed(bare.core) & RING);
    ASSERT_EQ(1, flow_event_next(bare.core, &event));
    EXPECT_EQ(FLOW_EVENT_TX_READY, event.type);
    bare.give(RING);
    EXPECT_TRUE(flow_tx_ready(bare.core, tx));
    EXPECT_EQ(nullptr, flow_check(bare.core));
}

/* Every index in use: new flows are refused by name, and told when they say
 * hello; old ones go on. */
TEST(flow_pool, full__dropped_counted_and_told)
{
    Bare bare(0);
    flow_rx_verdict_t verdict = FLOW_RX_CONTROL;
    uint64_t flows            = 0;
    flow_counters_t counters;
    flow_event_t event;
    flow_ctl_t ctl;

    do {
        ++flows;
        Bytes bytes = hello(1 + flows / 256, 1 + flows % 256);
        do {
            bare.give(flow_pool_grow_needed(bare.core));
            verdict = flow_rx_accept(bare.core, bytes.data(), bytes.size(),
                                     &bare, flow_src(FLOW_AH_UNKNOWN, 1),
                                     &bare.out);
        } while (verdict == FLOW_RX_NO_MEMORY);
        flow_core_counters(bare.core, &counters);
    } while ((verdict == FLOW_RX_CONTROL) && (counters.failed_flows == 0) &&
             (flows < 2 * FLOW_INDEX_MAX));
    EXPECT_EQ(FLOW_RX_CONTROL, verdict);
    EXPECT_EQ(FLOW_RX_MAX + 1u, flows) << "with the one that failed";
    EXPECT_EQ(FLOW_RX_DROP, bare.receive(data(7, 5000, 0)));
    EXPECT_EQ(FLOW_DROP_FULL, bare.out.reason);
    EXPECT_EQ(FLOW_RX_CONTROL, bare.receive(hello(7, 5000)));
    flow_core_counters(bare.core, &counters);
    EXPECT_EQ(2u, counters.failed_flows) << "to be told by a reset";
    EXPECT_EQ(0u, flow_pool_grow_needed(bare.core) & RX);
    for (uint32_t told = 2; told < FLOW_SPARE; ++told) {
        EXPECT_EQ(FLOW_RX_CONTROL, bare.receive(hello(7, 6000 + told)));
    }
    EXPECT_EQ(FLOW_RX_DROP, bare.receive(hello(7, 6000)));
    EXPECT_EQ(FLOW_DROP_FULL, bare.out.reason) << "no index even to say so";
    flow_core_counters(bare.core, &counters);
    EXPECT_EQ((uint64_t)FLOW_SPARE, counters.failed_flows);
    EXPECT_EQ(FLOW_RX_DELIVER, bare.receive(data(1, 2, 0)));
    EXPECT_EQ(FLOW_RX_DROP, bare.receive(data(7, 5001, 0)));
    flow_peer_dead(bare.core, flow_peer_find(bare.core, 9)); /* some go */
    while (flow_event_next(bare.core, &event) ||
           flow_ctl_next(bare.core, 1, &ctl)) {
    }
    uint64_t failed = counters.failed_flows;
    EXPECT_EQ(FLOW_RX_CONTROL, bare.receive(hello(7, 5001)));
    EXPECT_EQ(FLOW_RX_CONTROL, bare.receive(hello(7, 5002)));
    flow_core_counters(bare.core, &counters);
    EXPECT_EQ(failed + 1, counters.failed_flows);
    EXPECT_EQ(0u, flow_pool_grow_needed(bare.core) & RX);
}

/* Every peer in use, by flows to them: an endpoint, data and a hello of another
 * are refused by name; those that are known go on. */
TEST(flow_pool, full__of_peers)
{
    Bare bare(0);
    flow_status_t status = FLOW_OK;
    uint64_t peers       = 0;
    std::vector<flow_tx_t*> txs;
    flow_tx_t *tx;
    flow_addr_t addr;
    flow_event_t event;
    flow_counters_t counters;
    flow_ctl_t ctl;

    memset(&addr, 0, sizeof(addr));
    while (status == FLOW_OK) {
        bare.give(flow_pool_grow_needed(bare.core));
        addr.incarnation = 100 + peers;
        addr.qpn         = (uint32_t)(1000 + peers);
        status = flow_tx_open(bare.core, &addr, nullptr, &tx);
        if (status == FLOW_OK) {
            ++peers;
            txs.push_back(tx);
        }
    }
    EXPECT_EQ(FLOW_NO_RESOURCE, status);
    EXPECT_EQ(FLOW_INDEX_MAX - 1u, peers);
    EXPECT_EQ(0u, flow_pool_grow_needed(bare.core) & (TX | PEER));
    EXPECT_EQ(FLOW_RX_DROP, bare.receive(data(7, 1, 0)));
    EXPECT_EQ(FLOW_DROP_FULL, bare.out.reason);
    EXPECT_EQ(FLOW_RX_DROP, bare.receive(hello(7, 1)));
    EXPECT_EQ(FLOW_DROP_FULL, bare.out.reason);
    EXPECT_EQ(FLOW_RX_DELIVER, bare.receive(data(100, 1, 0), 1000));
    flow_tx_close(bare.core, txs[1]); /* its peer goes: room to be told */
    EXPECT_FALSE(flow_ctl_next(bare.core, 1, &ctl)) << "no handles yet";
    while (flow_event_next(bare.core, &event)) {
    }
    EXPECT_EQ(FLOW_RX_CONTROL, bare.receive(hello(7, 1)));
    flow_core_counters(bare.core, &counters);
    EXPECT_EQ(1u, counters.failed_flows);
    for (int i = 2; i < FLOW_SPARE + 3; ++i) {
        flow_peer_set_ah(bare.core, flow_tx_peer(bare.core, txs[i]),
                         FLOW_AH_UNKNOWN, FLOW_RMA_READY);
        flow_tx_close(bare.core, txs[i]);
    }
    EXPECT_FALSE(flow_ctl_next(bare.core, 1, &ctl)) << "nothing to say";
    while (flow_event_next(bare.core, &event)) {
    }
    EXPECT_EQ(FLOW_RX_DELIVER, bare.receive(data(8, 1, 0)));
    EXPECT_EQ(FLOW_RX_CONTROL, bare.receive(hello(8, 1)));
    flow_core_counters(bare.core, &counters);
    EXPECT_EQ(1u, counters.failed_flows);
}

TEST(flow_pool, hold__no_memory)
{
    Bare bare(RX | PEER | HASH);

    EXPECT_EQ(FLOW_RX_NO_MEMORY, bare.receive(data(7, 1, 1)));
    bare.give(RING);
    EXPECT_EQ(FLOW_RX_HOLD, bare.receive(data(7, 1, 1)));
    EXPECT_EQ(FLOW_RX_DELIVER, bare.receive(data(7, 1, 0)));
    EXPECT_TRUE(bare.out.more);
    EXPECT_EQ(&bare, flow_rx_next(bare.core, bare.out.token));
}
