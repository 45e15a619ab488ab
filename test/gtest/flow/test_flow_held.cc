/* SPDX-License-Identifier: BSD-3-Clause */
/* UD: what was acknowledged and waits for its caller (flow_rx_accept_held), and
 * what comes meanwhile. */
#include "flow_test.h"

extern "C" {
#include "flow/ctl_wire.h"
#include "flow/peer_priv.h"
#include "flow/rx_priv.h"
}

using namespace flow_test;

namespace {

const flow_time_t MS = 1000000;

class flow_held : public ::testing::Test {
protected:
    Node a{1, ud}, b{2, ud};
    flow_tx_t *ab   = nullptr;
    uint32_t  token = 0;
    Packet    first;

    void pass(flow_time_t time)
    {
        for (flow_time_t end = a.now + time; a.now < end; a.now += MS) {
            b.now = a.now;
            settle(a, b);
        }
    }

    /* a's messages "1" and "2" are held by b, and a knows that b has them. */
    void SetUp() override
    {
        ab = connect(a, b).first;
        pass(10 * MS);
        b.got.clear();
        ASSERT_TRUE(a.send(ab, "1"));
        ASSERT_TRUE(a.send(ab, "2"));
        first      = a.out[0];
        b.hold_all = true;
        for (const Packet &packet : a.out) {
            ASSERT_EQ(FLOW_RX_HOLD, b.receive(packet));
            token = b.last.more ? b.last.token : token;
            a.complete(packet);
        }
        a.out.clear();
        settle(b, a);
        ASSERT_EQ(0u, flow_tx_outstanding(ab));
        ASSERT_TRUE(b.got.empty());
    }

    void expect_both()
    {
        b.hold_all = false;
        b.drain(token);
        EXPECT_EQ((std::vector<std::string>{"1", "2"}), b.got);
        EXPECT_STREQ(nullptr, b.check());
    }
};

TEST_F(flow_held, reset__of_who_gave_up)
{
    flow_tx_fail(a.core, ab, FLOW_SEND_GIVEN_UP);
    flow_tx_close(a.core, ab);
    pass(10 * MS);
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_GONE)) << "it was not confirmed";
    expect_both();
    b.pull_events();
    EXPECT_EQ(FLOW_RX_PARTED,
              flow_core_rx(b.core, token & (FLOW_INDEX_MAX - 1))->state);
}

} /* namespace */
