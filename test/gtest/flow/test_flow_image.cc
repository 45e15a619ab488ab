/* SPDX-License-Identifier: BSD-3-Clause */
/* Images of a core (flow/image.h): saved, loaded, and refused. */
#include "flow_test.h"

extern "C" {
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

/* A link to what is not there is refused; one of the other kind ends the
 * queue. */
TEST_F(flow_image_queue, load__link_to_no_flow)
{
    for (uint32_t link : {b.core->tx_count, b.core->rx_count | FLOW_TURN_RX}) {
        flow_core_rx(b.core, b.core->ctl_rx.head)->ctl_next =
                link & (2 * FLOW_INDEX_MAX - 1);
        Loaded loaded(b.core);
        EXPECT_NE(nullptr, loaded.end()) << link;
    }
    flow_core_rx(b.core, b.core->ctl_rx.head)->ctl_next = b.core->tx_count - 1;
    Loaded loaded(b.core);
    EXPECT_STREQ(nullptr, loaded.end());
    EXPECT_NE(0u, flow_turn_next(loaded.core));
    EXPECT_EQ(0u, loaded.core->ctl_rx.head);
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
