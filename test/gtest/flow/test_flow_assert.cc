/* SPDX-License-Identifier: BSD-3-Clause */
/* Assertions that return, as the module's do: what follows comes to an end, and
 * the core goes on. */
#include "flow_test.h"

extern "C" {
#include "flow/hash_priv.h"
#include "flow/list_priv.h"
}

using namespace flow_test;

namespace {

/* Both ways a message passes. */
void works(Node &a, Node &b)
{
    auto [ab, ba] = connect(a, b);

    ASSERT_TRUE(a.send(ab, "there"));
    ASSERT_TRUE(b.send(ba, "back"));
    settle(a, b);
    EXPECT_EQ("there", b.got.back());
    EXPECT_EQ("back", a.got.back());
    EXPECT_EQ(0u, asserts_expected);
    EXPECT_STREQ(nullptr, a.check());
    EXPECT_STREQ(nullptr, b.check());
}

} /* namespace */

TEST(flow_assert, close__twice)
{
    Node a(1), b(2);
    flow_tx_t *ab = connect(a, b).first;

    flow_tx_close(a.core, ab);
    asserts_expected = 1;
    flow_tx_close(a.core, ab);
    settle(a, b);
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_GONE));
    works(a, b);
}

TEST(flow_assert, control__ends_twice)
{
    Node a(1), b(2);

    a.open(b);
    Packet hello = take(a).at(0);
    a.complete(hello);
    asserts_expected = 1;
    a.complete(hello);
    EXPECT_EQ(0u, asserts_expected);
    asserts_expected = 1;
    flow_ctl_unsent(a.core, hello.cookie);
    b.receive(hello);
    settle(a, b);
    works(a, b);
}

TEST(flow_assert, control__ends_after_its_flow)
{
    Node a(1), b(2);
    flow_tx_t *ab = connect(a, b).first;

    flow_tx_close(a.core, ab);
    Packet goodbye = take(a).at(0);
    b.receive(goodbye);
    a.complete(goodbye);
    settle(a, b);
    ASSERT_EQ(1u, a.count(FLOW_EVENT_TX_GONE));
    asserts_expected = 1;
    a.complete(goodbye);
    EXPECT_EQ(0u, asserts_expected);
    asserts_expected = 1;
    flow_ctl_unsent(a.core, goodbye.cookie);
    works(a, b);
}

TEST(flow_assert, resend__post_ends_twice)
{
    Node a(1, ud), b(2, ud);
    flow_tx_t *ab = connect(a, b).first;

    ASSERT_TRUE(a.send(ab, "once"));
    Packet packet = take(a).at(0);
    a.complete(packet);
    asserts_expected = 1;
    a.complete(packet);
    b.receive(packet);
    settle(a, b);
    EXPECT_EQ(1u, a.acked);
    works(a, b);
}

TEST(flow_assert, remove__of_what_is_not_there)
{
    Node a(1), b(2);
    flow_tx_t *ab = connect(a, b).first;
    flow_rx_t *rx     = rx_of(b, a, ab);
    flow_peer_t *peer = flow_core_peer(b.core, rx->peer);

    flow_hash_remove_rx(b.core, rx);
    asserts_expected = 1;
    flow_hash_remove_rx(b.core, rx);
    EXPECT_EQ(0u, asserts_expected);
    flow_hash_insert_rx(b.core, rx);

    flow_hash_remove_peer(b.core, peer);
    flow_hash_remove_addr(b.core, peer);
    asserts_expected = 2;
    flow_hash_remove_peer(b.core, peer);
    flow_hash_remove_addr(b.core, peer);
    EXPECT_EQ(0u, asserts_expected);
    flow_hash_insert_peer(b.core, peer);
    flow_hash_insert_addr(b.core, peer);

    works(a, b);
}

/* An operation that is done may be another message by now. */
TEST(flow_assert, rnr__of_what_is_done)
{
    Node a(1), b(2);
    flow_tx_t *ab = connect(a, b).first;
    flow_op_t op  = {};

    op.tx            = ab;
    asserts_expected = 1;
    flow_tx_rnr(a.core, &op, a.now);
    EXPECT_EQ(0u, asserts_expected);
    EXPECT_EQ(0u, ab->linked);
    a.now += a.core->params.rnr_max;
    works(a, b);
}
