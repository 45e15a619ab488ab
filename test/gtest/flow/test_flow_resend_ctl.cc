/* SPDX-License-Identifier: BSD-3-Clause */
/* Control packets on UD, which are repeated until they are answered. */
#include "resend_test.h"

using namespace flow_test;

namespace {

class flow_time_out_ctl : public Resend {
};

TEST_F(flow_time_out_ctl, ctl__hello_until_answered)
{
    ab = a.open(b);
    a.pull_events();
    for (int i = 0; i < 5; ++i) {
        lose(a);
        a.now += 100 * MS;
    }
    EXPECT_EQ(5u, a.counters().ctl_sent);
    settle(a, b);
    EXPECT_EQ(FLOW_TX_OPEN, ab->state);
    for (int i = 0; i < 100; ++i) {
        a.now += 100 * MS;
        a.pull_control();
    }
    EXPECT_TRUE(a.out.empty());
}

/* Completions that come between two control packets repeat nothing at once. */
TEST_F(flow_time_out_ctl, ctl__completed_while_another_is_queued)
{
    unsigned sent = 0;
    flow_ctl_t ctl;

    ab = a.open(b);
    path(a, ab).window = FLOW_WINDOW_MAX << 16;
    a.pull_events();
    while (a.send(ab, "x")) { /* blocked: want joins the hello in back-off */
    }
    a.out.clear();
    for (int i = 0; i < 20; ++i) {
        for (int n = 0; flow_ctl_next(a.core, a.now, &ctl); ++n) {
            ASSERT_LT(n, 2);
            flow_ctl_done(a.core, ctl.cookie, FLOW_SEND_OK, a.now);
            ++sent;
        }
        a.now += 2000 * MS;
    }
    EXPECT_GT(sent, 30u) << "both are repeated";
    EXPECT_EQ(FLOW_TX_HELLO, ab->state);
}

TEST_F(flow_time_out_ctl, ctl__goodbye_until_confirmed)
{
    connect_both();
    flow_tx_close(a.core, ab);
    lose(a);
    EXPECT_EQ(0u, a.count(FLOW_EVENT_TX_GONE));
    a.now += 10 * MS;
    a.pull_control();
    ASSERT_EQ(1u, a.out.size());
    Packet goodbye = pop(a);
    a.complete(goodbye);
    b.receive(goodbye);
    lose(b); /* the confirmation */
    EXPECT_EQ(FLOW_RX_DROP, b.receive(goodbye));
    EXPECT_EQ(FLOW_DROP_CLOSED, b.last.reason);
    pass(20 * MS);
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_GONE));
    EXPECT_EQ(1u, b.counters().rx_flows) << "rests";
    pass(1000 * MS);
    EXPECT_EQ(0u, b.counters().rx_flows);
}

/* The peer is dead: nobody confirms it any more. */
TEST_F(flow_time_out_ctl, goodbye__to_a_peer_that_died)
{
    connect_both();
    flow_tx_close(a.core, ab);
    lose(a);
    EXPECT_EQ(FLOW_WAIT_PART, ab->wait & FLOW_WAIT_PART);
    flow_peer_dead(a.core, flow_core_peer(a.core, ab->peer));
    EXPECT_EQ(0, ab->wait & FLOW_WAIT_PART);
    EXPECT_STREQ(nullptr, a.check());
}

/* A user's check ends sooner than a sender's wait: the last of its time-outs
 * fails the flow. An answer sets the count back. */
TEST_F(flow_time_out_ctl, check__is_over_after_few_time_outs)
{
    unsigned said = 0;

    connect_both();
    flow_tx_check(a.core, ab);
    settle(a, b);
    EXPECT_EQ(0, ab->wait & FLOW_WAIT_PONG);
    EXPECT_EQ(0u, ab->linked);
    flow_tx_check(a.core, ab);
    for (flow_time_t end = a.now + 9000 * MS; a.now < end; a.now += MS) {
        a.progress();
        for (; !a.out.empty(); a.out.pop_front()) {
            ++said;
            a.complete(a.out.front()); /* lost */
        }
    }
    a.progress();
    EXPECT_EQ(FLOW_CHECK_TRIES + 1, said);
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_FAILED));
}

/* The last word is said a fixed number of times, whatever else is heard. */
TEST_F(flow_time_out_ctl, goodbye__an_old_answer_does_not_prolong_it)
{
    unsigned said = 0;

    connect_both();
    ASSERT_TRUE(a.send(ab, "x"));
    a.pull_control();
    pass_on(a, b);
    b.pull_control();
    Packet ack = pop(b);
    a.receive(ack);
    a.pull_releases();
    flow_tx_close(a.core, ab);
    for (flow_time_t end = a.now + 60000 * MS; a.now < end; a.now += MS) {
        a.progress();
        for (; !a.out.empty(); a.out.pop_front()) {
            ++said;
            a.complete(a.out.front()); /* lost */
            a.receive(ack);            /* as it arrived before */
        }
    }
    a.progress();
    EXPECT_EQ(FLOW_GOODBYE_TRIES, said);
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_GONE));
}

/* A hello that is answered after it was repeated tells no round trip, and a
 * time-out is bounded, whatever a round trip is said to be. */
TEST_F(flow_time_out_ctl, hello__repeated_measures_nothing)
{
    ab = a.open(b);
    for (flow_time_t end = a.now + 5000 * MS; a.now < end; a.now += MS) {
        a.progress();
        lose(a);
    }
    pass(1000 * MS);
    flow_path_t *path = flow_core_path(a.core, flow_tx_index(ab));
    ASSERT_EQ(FLOW_TX_OPEN, ab->state);
    EXPECT_EQ(0u, path->rtt);
    ASSERT_TRUE(a.send(ab, "x"));
    a.now += 20000;
    b.now  = a.now;
    settle(a, b);
    EXPECT_NE(0u, path->rtt);

    path->rtt = UINT32_MAX / 2; /* two minutes */
    EXPECT_LE(flow_resend_silence(a.core, ab),
              2 * a.core->params.rnr_max);
}

} /* namespace */
