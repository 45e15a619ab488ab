/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_test.h"

extern "C" {
#include "flow/ctl_priv.h"
}

using namespace flow_test;

TEST(flow_tx, open__hello_then_answer)
{
    Node a(1), b(2);
    flow_tx_t *tx = a.open(b);

    EXPECT_EQ(FLOW_TX_HELLO, tx->state);
    EXPECT_EQ((unsigned)FLOW_LONG_HDR, flow_tx_header_len(tx));
    settle(a, b);
    EXPECT_EQ(FLOW_TX_OPEN, tx->state);
    EXPECT_EQ((unsigned)FLOW_SHORT_HDR, flow_tx_header_len(tx));
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_OPEN));
    EXPECT_EQ(1u, b.count(FLOW_EVENT_PEER_INTRODUCED));
}

TEST(flow_tx, send__stream_both_ways)
{
    Node a(1), b(2);
    auto [ab, ba] = connect(a, b);

    for (int i = 0; i < 1000; ++i) {
        ASSERT_TRUE(a.send(ab, "a" + std::to_string(i)));
        ASSERT_TRUE(b.send(ba, "b" + std::to_string(i)));
        settle(a, b);
    }
    ASSERT_EQ(1000u, b.got.size());
    ASSERT_EQ(1000u, a.got.size());
    for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ("a" + std::to_string(i), b.got[i]);
        EXPECT_EQ("b" + std::to_string(i), a.got[i]);
    }
    /* limits rode in the headers */
    EXPECT_EQ(0u, a.counters().limits_alone);
    EXPECT_EQ(0u, b.counters().limits_alone);
}

TEST(flow_tx, pass_one__one_packet_passes_the_queue)
{
    Node a(1), b(2);
    flow_tx_t *ab = connect(a, b).first;

    flow_tx_pass_one(a.core, ab); /* not stopped: no effect */
    EXPECT_TRUE(a.send(ab, "1"));
    EXPECT_TRUE(a.send(ab, "2"));

    flow_tx_pause(ab, FLOW_PAUSE_PENDING);
    flow_tx_pass_one(a.core, ab);
    EXPECT_STREQ(nullptr, a.check());
    EXPECT_TRUE(a.send(ab, "3"));
    EXPECT_FALSE(a.send(ab, "no"));
    EXPECT_STREQ(nullptr, a.check());

    flow_tx_pass_one(a.core, ab);
    flow_tx_pause(ab, FLOW_PAUSE_PENDING); /* taken back */
    EXPECT_FALSE(a.send(ab, "no"));
    flow_tx_pause(ab, FLOW_PAUSE_FENCE);
    flow_tx_pass_one(a.core, ab); /* a fence lets nothing pass */
    EXPECT_FALSE(a.send(ab, "no"));
    flow_tx_resume(a.core, ab, FLOW_PAUSE_PENDING | FLOW_PAUSE_FENCE);
    EXPECT_TRUE(a.send(ab, "4"));
    settle(a, b);
    EXPECT_EQ((std::vector<std::string>{"1", "2", "3", "4"}), b.got);
}

TEST(flow_tx, open__lingering_flows_are_bounded)
{
    Node a(1, [](flow_params_t *p) { p->max_linger = 2; });
    Node b(2);
    flow_tx_t *t1 = a.open(b), *t2 = a.open(b);

    ASSERT_TRUE(a.send(t1, "x"));
    ASSERT_TRUE(a.send(t2, "x"));
    flow_tx_close(a.core, t1);
    flow_tx_close(a.core, t2);
    flow_tx_t *tx;
    EXPECT_EQ(FLOW_LINGERING, flow_tx_open(a.core, &b.addr, nullptr, &tx));
    settle(a, b);
    EXPECT_NE(nullptr, a.open(b));
}

TEST(flow_core, init__parameters)
{
    flow_params_t params;
    alignas(FLOW_ALIGN) static char mem[sizeof(flow_core_t)];
    auto valid = [&](void (*tweak)(flow_params_t*)) {
        flow_params_default(&params);
        params.self.incarnation = 1;
        tweak(&params);
        return flow_core_init(mem, sizeof(mem), &params) != nullptr;
    };

    EXPECT_TRUE(valid([](flow_params_t*) {}));
    EXPECT_TRUE(valid([](flow_params_t *p) { p->profile = FLOW_UD; }));
    EXPECT_FALSE(valid([](flow_params_t *p) {
        p->profile = (flow_profile_t)2;
    }));
    EXPECT_TRUE(valid([](flow_params_t *p) { p->tries = FLOW_TRIES_MAX; }));
    EXPECT_FALSE(valid([](flow_params_t *p) { p->tries = 0; }));
    EXPECT_FALSE(valid([](flow_params_t *p) { p->tries = 256; }));
    EXPECT_FALSE(valid([](flow_params_t *p) { p->grant = 0; }));
    EXPECT_FALSE(valid([](flow_params_t *p) { p->grant = 65; }));
    EXPECT_FALSE(valid([](flow_params_t *p) { p->first_window = 0; }));
    EXPECT_FALSE(valid([](flow_params_t *p) { p->first_window = 65; }));
    EXPECT_FALSE(valid([](flow_params_t *p) { p->key[0] = 0; }));
    EXPECT_FALSE(valid([](flow_params_t *p) { p->key[1] = 0; }));
    EXPECT_FALSE(valid([](flow_params_t *p) { p->lap = 1; }));
    EXPECT_FALSE(valid([](flow_params_t *p) { p->lap = 2 * FLOW_LAP; }));
    EXPECT_FALSE(valid([](flow_params_t *p) { p->lap = 3; }));
    EXPECT_FALSE(valid([](flow_params_t *p) { p->init_window = 0; }));
    EXPECT_FALSE(valid([](flow_params_t *p) { p->init_window = 17; }));
    EXPECT_FALSE(valid([](flow_params_t *p) { p->self.incarnation = 0; }));
    EXPECT_FALSE(valid([](flow_params_t *p) { p->rnr_min = 0; }));
    EXPECT_FALSE(valid([](flow_params_t *p) { p->rnr_max = 1; }));
    EXPECT_FALSE(valid([](flow_params_t *p) { p->rnr_max = 2ull << 40; }));
    EXPECT_FALSE(valid([](flow_params_t *p) { p->max_linger = 0; }));
    EXPECT_FALSE(valid([](flow_params_t *p) { p->ctl_slots = 3; }));
    EXPECT_FALSE(valid([](flow_params_t *p) { p->max_strangers = 0; }));
    EXPECT_FALSE(valid([](flow_params_t *p) {
        p->max_strangers = FLOW_STRANGERS + 1;
    }));
    flow_params_default(&params);
    params.self.incarnation = 1;
    EXPECT_EQ(nullptr, flow_core_init(mem, sizeof(mem) - 1, &params));
    EXPECT_EQ(nullptr, flow_core_init(mem + 8, sizeof(mem), &params));
    EXPECT_EQ(nullptr, flow_core_init_zeroed(mem + 8, sizeof(mem), &params));
}

/* For a flush that also has to know that the peer lives. */
TEST(flow_tx, is_answered__messages_and_the_ping)
{
    Node a(1), b(2);
    auto [ab, ba] = connect(a, b);

    ASSERT_TRUE(a.send(ab, "x"));
    EXPECT_TRUE(flow_tx_is_answered(ab, 0));
    EXPECT_FALSE(flow_tx_is_answered(ab, 1));
    flow_tx_ping(a.core, ab); /* the message's completion will tell */
    EXPECT_FALSE(flow_ctl_pending(a.core));
    settle(a, b);
    EXPECT_TRUE(flow_tx_is_answered(ab, 1));
    flow_tx_ping(a.core, ab);
    EXPECT_FALSE(flow_tx_is_answered(ab, 1)) << "it is due";
    a.pull_control();
    EXPECT_FALSE(flow_tx_is_answered(ab, 1)) << "it is out";
    settle(a, b);
    EXPECT_TRUE(flow_tx_is_answered(ab, 1));
    flow_tx_fail(b.core, ba, FLOW_SEND_ERROR);
    settle(a, b);
    flow_tx_ping(b.core, ba);
    EXPECT_FALSE(flow_ctl_pending(b.core)) << "nobody wants to know";
}

/* UD: a check has fewer time-outs left than a flow usually has. */
TEST(flow_tx, check__soon_lost)
{
    Node a(1, ud), b(2, ud);
    flow_tx_t *ab = a.open(b);

    flow_tx_check(a.core, ab); /* the hello tells */
    EXPECT_EQ(0, ab->linked);
    settle(a, b);
    flow_tx_check(a.core, ab);
    EXPECT_FALSE(flow_tx_is_answered(ab, 0));
    EXPECT_EQ(a.core->params.tries - FLOW_CHECK_TRIES, ab->linked);
    flow_tx_check(a.core, ab); /* it goes on */
    EXPECT_EQ(a.core->params.tries - FLOW_CHECK_TRIES, ab->linked);
}

TEST(flow_ctl, done__each_status)
{
    for (flow_send_status_t status : {FLOW_SEND_OK, FLOW_SEND_RNR,
                                      FLOW_SEND_DEAD, FLOW_SEND_ERROR}) {
        Node a(1), b(2);
        flow_tx_t *tx = a.open(b);

        a.pull_events();
        a.pull_control();
        Packet hello = pop(a);
        b.receive(hello);
        a.complete(hello, status);
        a.now += 1000000000;
        settle(a, b);
        bool lives = (status == FLOW_SEND_OK) || (status == FLOW_SEND_RNR);
        EXPECT_EQ(lives ? FLOW_TX_OPEN : FLOW_TX_FAILED, tx->state) << status;
        EXPECT_EQ(lives ? 0u : 1u, a.count(FLOW_EVENT_TX_FAILED));
    }
}

/* The last word met an error of our own device: there is no other, and the flow
 * does not linger. */
TEST(flow_ctl, done__error_of_the_goodbye)
{
    Node a(1), b(2);
    flow_tx_t *tx = a.open(b);

    settle(a, b);
    flow_tx_close(a.core, tx);
    Packet goodbye = take(a).at(0);
    EXPECT_EQ((unsigned)FLOW_CTL_GOODBYE, type_of(goodbye));
    a.complete(goodbye, FLOW_SEND_ERROR);
    EXPECT_TRUE(take(a).empty());
    EXPECT_EQ(1u, a.count(FLOW_EVENT_TX_GONE));
    EXPECT_EQ(0u, a.counters().lingering);
    EXPECT_EQ(FLOW_TIME_NEVER, flow_timer_next(a.core));
    EXPECT_STREQ(nullptr, a.check());
}

TEST(flow_ctl, unsent__comes_again)
{
    Node a(1), b(2);
    flow_tx_t *tx = a.open(b);

    a.pull_events();
    a.pull_control();
    flow_ctl_unsent(a.core, a.out.front().cookie);
    a.out.clear();
    EXPECT_TRUE(flow_ctl_pending(a.core));
    a.pull_control();
    ASSERT_EQ(1u, a.out.size());
    pass_on(a, b);
    b.pull_events();
    b.pull_control();
    flow_ctl_unsent(b.core, b.out.front().cookie);
    b.out.clear();
    settle(a, b);
    EXPECT_EQ(FLOW_TX_OPEN, tx->state);
}

/* ---- flow_tx_is_fresh */

TEST(flow_tx_is_fresh, until_something_got_through)
{
    Node a(1), b(2);
    flow_tx_t *tx = a.open(b);

    EXPECT_TRUE(flow_tx_is_fresh(a.core, tx));
    ASSERT_TRUE(a.send(tx, "1"));
    ASSERT_TRUE(a.send(tx, "2"));
    EXPECT_TRUE(flow_tx_is_fresh(a.core, tx)) << "both are out";
    a.complete(a.out.back());
    EXPECT_FALSE(flow_tx_is_fresh(a.core, tx));

    flow_tx_t *answered = a.open(b);
    settle(a, b);
    EXPECT_FALSE(flow_tx_is_fresh(a.core, answered));
}

TEST(flow_tx, pass_one__not_beyond_the_window)
{
    Node a(1), b(2);
    flow_tx_t *ab = connect(a, b).first;
    unsigned sent = 0;

    while (a.send(ab, "x")) {
        ++sent;
    }
    flow_tx_pause(ab, FLOW_PAUSE_PENDING);
    flow_tx_pass_one(a.core, ab);
    EXPECT_FALSE(a.send(ab, "no"));
    flow_tx_resume(a.core, ab, FLOW_PAUSE_PENDING);
    settle(a, b);
    EXPECT_EQ(sent, b.got.size());
}
