/* SPDX-License-Identifier: BSD-3-Clause */
/* Images of a core (flow/image.h): saved, loaded, and refused. */
#include "flow_test.h"

extern "C" {
#include "flow/ctl_priv.h"
#include "flow/image.h"
#include "flow/turn_priv.h"
}

#include <cstdlib>

using namespace flow_test;

namespace {

struct Free {
    void operator()(void *memory) const { free(memory); }
};
using Part = std::unique_ptr<void, Free>;

Part room(size_t size)
{
    return Part(aligned_alloc(FLOW_ALIGN,
                              (size + FLOW_ALIGN - 1) / FLOW_ALIGN *
                                      FLOW_ALIGN));
}

/* A core in memory of its own, made of another's image. */
class Loaded {
public:
    explicit Loaded(const flow_core_t *core)
    {
        for (uint32_t i = 0; i < flow_image_parts(core); ++i) {
            size_t size = flow_image_size(core, i);

            m_parts.push_back(room(size));
            flow_image_save(core, i, m_parts.back().get());
        }
        const size_t size = flow_image_size(core, 0);
        m_memory          = room(size);
        this->core = flow_image_begin(m_memory.get(), size, m_parts[0].get(),
                                      size);
    }

    /* NULL, or what is wrong. */
    const char *end()
    {
        for (uint32_t i = 1; i < m_parts.size(); ++i) {
            flow_image_load(core, i, m_parts[i].get());
        }
        return flow_image_end(core);
    }

    flow_core_t *core;

private:
    std::vector<Part> m_parts;
    Part              m_memory;
};

/* More receiving flows than there are records of sending ones wait to answer. */
class flow_image_queue : public testing::Test {
protected:
    static const unsigned count = FLOW_CHUNK + 44;

    flow_image_queue()
    {
        for (uint32_t i = 0; i < count; ++i) {
            flow_ctl_msg_t msg = message(FLOW_CTL_HELLO, b, b, 1);

            msg.version  = FLOW_VERSION;
            msg.window   = 1;
            msg.src      = 100 + i;
            msg.addr.qpn = 100 + i;
            b.grow();
            EXPECT_EQ(FLOW_RX_CONTROL,
                      b.receive(encode(msg),
                                flow_src(FLOW_AH_UNKNOWN, msg.addr.qpn)));
        }
        EXPECT_LT(b.core->tx_count, b.core->ctl_rx.tail);
    }

    Node b{2};
};

} // namespace

TEST_F(flow_image_queue, load__receivers_beyond_the_senders)
{
    Loaded loaded(b.core);

    ASSERT_NE(nullptr, loaded.core);
    EXPECT_STREQ(nullptr, loaded.end());
    for (unsigned left = count; left > 0; --left) {
        ASSERT_EQ(b.core->ctl_rx.head, loaded.core->ctl_rx.head);
        ASSERT_EQ(left, loaded.core->ctl_rx.count);
        EXPECT_EQ(flow_turn_next(b.core), flow_turn_next(loaded.core));
    }
}

/* A link to what is not there, or to a flow of the other kind, is refused. */
TEST_F(flow_image_queue, load__link_to_no_flow)
{
    for (uint32_t link : {b.core->tx_count, b.core->rx_count | FLOW_TURN_RX,
                          b.core->tx_count - 1}) {
        flow_core_rx(b.core, b.core->ctl_rx.head)->ctl_next =
                link & (2 * FLOW_INDEX_MAX - 1);
        Loaded loaded(b.core);
        EXPECT_NE(nullptr, loaded.end()) << link;
    }
}

/* A core that was loaded looks at no record beyond its last. */
TEST(flow_image, load__token_of_no_flow)
{
    Node b(2);

    b.core->strangers[1] = FLOW_INDEX_MAX - 1;
    EXPECT_EQ(nullptr, Loaded(b.core).core);
    b.core->strangers[1] = 0;
    EXPECT_NE(nullptr, Loaded(b.core).core);
}

/* One who has a ring alone may take its slots for packets, or for operations:
 * no ring, and no record, is in two places. Nothing else is wrong here. */
static void (*const DAMAGES[])(flow_core_t *core) = {
    [](flow_core_t *core) { /* a circle of free rings */
        flow_core_ring(core, core->ring_free.head)->next =
                core->ring_free.head;
    },
    [](flow_core_t *core) { /* a free ring has an alarm */
        core->alarms                            = 1;
        flow_core_ring(core, 1)->unacked.heap = core->ring_free.head;
        flow_core_ring(core, core->ring_free.head)->unacked.place = 1;
    },
    [](flow_core_t *core) { /* one that is free is given back, too */
        core->event_ring = core->ring_free;
    },
    [](flow_core_t *core) { /* one that is free holds packets */
        flow_core_rx(core, 1)->ring = core->ring_free.head & 0x1ffff;
    },
    [](flow_core_t *core) { /* a flow that is open is free, too */
        core->tx_free.head = 1;
    },
    [](flow_core_t *core) { /* fewer are free than it says */
        ++core->rx_free.count;
    },
    [](flow_core_t *core) { /* a free peer is not blank */
        flow_core_peer(core, core->peer_free.head)->entombed = 1;
    },
    [](flow_core_t *core) { /* who lives has a tombstone */
        flow_core_peer(core, 1)->entombed = 1;
    },
    [](flow_core_t *core) { /* no queue has it, though it says so */
        flow_core_rx(core, 1)->ctl |= FLOW_CTL_QUEUED;
    },
    [](flow_core_t *core) { /* a circle of strangers that expired */
        core->expired[1]      = 1ull << 63;
        core->expired_next[1] = 1;
    },
    [](flow_core_t *core) { /* an endpoint's number for a flow's */
        flow_core_tx(core, 1)->flags |= FLOW_TXF_AWAITS;
        flow_core_tx(core, 1)->carries = UINT32_MAX;
    },
    [](flow_core_t *core) { /* it is to speak, and no circle has it */
        flow_rx_t *rx = flow_core_rx(core, 1);

        rx->ctl     |= FLOW_CTL_QUEUED;
        rx->ctl_next = 0;
        flow_core_peer(core, rx->peer)->parked = 1 | FLOW_TURN_RX;
    },
    [](flow_core_t *core) { /* it has nothing to say, and stands there */
        flow_rx_t *rx = flow_core_rx(core, 1);

        rx->ctl_next = 1 | FLOW_TURN_RX;
        flow_core_peer(core, rx->peer)->parked = rx->ctl_next;
    },
    [](flow_core_t *core) { ++core->ctl_tx.count; },
    [](flow_core_t *core) { ++core->batch->rx_gather.count; },
    [](flow_core_t *core) { ++core->alarms; },
    [](flow_core_t *core) { /* a chain without an end */
        flow_core_rx(core, 1)->hash_next = 1;
    },
    [](flow_core_t *core) {
        uint32_t peer = flow_core_rx(core, 1)->peer;
        flow_core_peer(core, peer)->hash_next = peer;
    },
    [](flow_core_t *core) {
        uint32_t peer = flow_core_rx(core, 1)->peer;
        flow_core_peer(core, peer)->addr_next = peer;
    },
    [](flow_core_t *core) { /* no list of those has it */
        flow_core_rx(core, 1)->lists |= FLOW_LIST_STARVED;
    },
    [](flow_core_t *core) { /* its peer may go before it */
        flow_rx_t *rx = flow_core_rx(core, 1);

        flow_core_peer(core, rx->peer)->rx_list = 0;
        rx->state     = FLOW_RX_PARTED;
        rx->flags    |= FLOW_RXF_UNLISTED;
        rx->peer_next = 1;
    },
    [](flow_core_t *core) { /* it may send, and has no ring */
        flow_core_tx(core, 1)->ring = 0;
        ++flow_core_tx(core, 1)->stop;
    }
};

TEST(flow_image, load__in_two_places)
{
    for (size_t i = 0; i < sizeof(DAMAGES) / sizeof(DAMAGES[0]); ++i) {
        Node a(1, ud), b(2, ud);

        connect(a, b);
        b.open(a);
        settle(a, b);
        ASSERT_STREQ(nullptr, Loaded(b.core).end());
        DAMAGES[i](b.core);
        EXPECT_NE(nullptr, Loaded(b.core).end()) << i;
    }
}
