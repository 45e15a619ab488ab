/* SPDX-License-Identifier: BSD-3-Clause */
/* Receivers that do not keep up: window, receive queue and memory hold. The
 * suite runs these alone and asks the device that no receiver was not ready. */
#include "module_clock.h"
#include "uct_entity.h"
#include "vfs_files.h"

#include <flow/limits.h>

#include <list>

using namespace uct_test;

class UctLoad : public UctTest {
protected:
    static constexpr unsigned WINDOW = FLOW_WINDOW_MAX;
};

TEST_F(UctLoad, sleeping_receiver__stops_its_sender_and_loses_nothing)
{
    open();
    uint64_t sent = 0;

    ASSERT_EQ(UCS_OK, send_short(ep, sent++, {}));
    ASSERT_TRUE(wait([&] { return b->received.size() == 1; }));
    ASSERT_TRUE(flush(ep));

    for (int round = 0; round < 3; ++round) {
        uint64_t consumed = b->received.size();
        long before = resident();
        ASSERT_TRUE(wait([&] { /* a knows that b consumed */
            return uct_ep_am_short(ep, AM_ID, sent, nullptr, 0) == UCS_OK;
        }));
        ++sent;
        for (int i = 0; i < 200000; ++i) { /* b sleeps, a wants to send */
            if (uct_ep_am_short(ep, AM_ID, sent, nullptr, 0) == UCS_OK) {
                ++sent;
            }
            a->progress();
            ASSERT_LE(sent - consumed, WINDOW);
        }
        EXPECT_LT(resident() - before, 1024);
        ASSERT_TRUE(wait([&] { return b->received.size() == sent; }));
        ASSERT_TRUE(flush(ep)); /* a knows it, too, if the last word was lost */
    }
    expect_in_order(sent);
}

/* The receive queue is never seen empty by a poll, and yet it is not deep: its
 * senders keep the credits of those who send a little. */
TEST_F(UctLoad, many_that_send_a_little__need_few_limits)
{
    SRD_ONLY("acknowledgements");
    constexpr uint64_t ENDPOINTS = 1000, OUT = 32, MESSAGES = 200000;
    open();
    std::vector<uct_ep_h> eps;
    uint64_t sent = ENDPOINTS, at = 1;

    connect_many(eps, ENDPOINTS);
    FastClock fast; /* at each look a tick is due, on any machine */
    auto before = counter("tx_pkts");
    ASSERT_TRUE(wait([&] {
        while ((sent < MESSAGES + ENDPOINTS) && (sent - b->count < OUT)) {
            at = at * 6364136223846793005 + 1442695040888963407;
            sent += send_short(eps[(at >> 33) % ENDPOINTS], sent, {}) == UCS_OK;
        }
        return b->count == MESSAGES + ENDPOINTS;
    }));
    EXPECT_LE(counter("tx_pkts") - before - MESSAGES, MESSAGES * 3 / 20);
}

/* Programs that post some in each round of progress: completions that nobody took
 * would hold back what is posted. */
class UctLoadRounds : public UctLoad {
protected:
    void SetUp() override
    {
        SRD_ONLY("acknowledgements");
        if (device_has_own_time()) {
            GTEST_SKIP() << "rounds of progress say nothing of how far it is";
        }
        open();
    }

    void post(uct_ep_h to)
    {
        auto send = [to] { return uct_ep_am_short(to, AM_ID, 0, nullptr, 0); };

        if (send() != UCS_OK) {
            waited_.emplace_back(send);
            ASSERT_EQ(UCS_OK, uct_ep_pending_add(to, &waited_.back().uct, 0));
        }
    }

    void rounds(const std::vector<uct_ep_h> &eps, uint64_t each, uint64_t count)
    {
        for (uint64_t i = 0; i < each * count; ++i) {
            post(eps[i % eps.size()]);
            if (i % each == 0) {
                a->progress();
                for (int poll = 0; poll < 8; ++poll) { /* the device works */
                    b->progress();
                }
            }
        }
    }

    std::list<Pending> waited_;
};

TEST_F(UctLoadRounds, more_posts_than_a_poll_takes__few_wait)
{
    constexpr uint64_t ENDPOINTS = 48, EACH = 24, COUNT = 400;
    std::vector<uct_ep_h> eps;

    connect_many(eps, ENDPOINTS);
    rounds(eps, EACH, COUNT);
    ASSERT_TRUE(wait([&] { return b->count == ENDPOINTS + EACH * COUNT; }));
    EXPECT_LE(waited_.size(), EACH * COUNT / 4);
}

/* Otherwise each operation would come back when no cache has it any more. */
TEST_F(UctLoadRounds, many_are_over__few_calls_take_them)
{
    constexpr uint64_t ENDPOINTS = 96, BACK = 4;
    std::vector<uct_ep_h> eps, back;

    connect_many(eps, ENDPOINTS);
    for (uint64_t i = 0; i < BACK; ++i) {
        back.push_back(b->connect(*a));
        ASSERT_EQ(UCS_OK, send_short(back.back(), 0, {}));
    }
    progress_for(0.05);
    ASSERT_EQ(BACK, a->count);
    ASSERT_EQ(UCS_OK, uct_iface_flush(a->iface(), 0, nullptr));
    for (uct_ep_h to : eps) {
        post(to);
    }
    for (uct_ep_h to : back) { /* a hand goes round at a */
        post(to);
    }
    ASSERT_TRUE(waited_.empty());
    for (uint64_t i = 0; i < ENDPOINTS; ++i) {
        b->progress();
    }
    ASSERT_EQ(2 * ENDPOINTS, b->count);
    for (int i = 0; i < 3; ++i) {
        a->progress();
    }
    EXPECT_EQ(UCS_OK, uct_iface_flush(a->iface(), 0, nullptr));
}

/* As many as a poll takes, to one of those to which many went before. */
TEST_F(UctLoadRounds, as_many_posts_as_a_poll_takes__few_wait)
{
    constexpr uint64_t ENDPOINTS = 8, EACH = 16, COUNT = 400, BEFORE = 12;
    std::vector<uct_ep_h> eps;

    connect_many(eps, ENDPOINTS);
    rounds(eps, ENDPOINTS, BEFORE); /* their windows open */
    for (uint64_t i = 0; i < ENDPOINTS * BEFORE; ++i) {
        post(eps[i % ENDPOINTS]);
        b->progress();
    }
    rounds({eps[0]}, EACH, COUNT);
    ASSERT_TRUE(wait([&] {
        return b->count == ENDPOINTS * (1 + 2 * BEFORE) + EACH * COUNT;
    }));
    for (const std::string &path : vfs_test::interfaces()) {
        if (vfs_test::number(path, "messages_early") > 0) {
            GTEST_SKIP() << "the network reorders, which shuts windows, too";
        }
    }
    EXPECT_LE(waited_.size(), EACH * COUNT / 4);
}
