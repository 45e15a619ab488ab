/* SPDX-License-Identifier: BSD-3-Clause */
/* Races of ud's timer and the user's calls. */
#include "ud_test.h"

#include <unistd.h>

using namespace uct_test;

using UctUdAttack = UdTest;

/* Arming took one copy of a message, the timer after it another. */
TEST_F(UctUdAttack, copy__in_the_stash_and_held)
{
    constexpr uint64_t count = 200;
    unsigned busy = 0;

    open();
    introduce();
    device("duplicate", "1");
    for (uint64_t i = 1; i < count; ++i) {
        ASSERT_EQ(UCS_OK, send_short(ep, i, {}));
        a->progress();
        if (uct_iface_event_arm(b->iface(), UCT_EVENT_RECV) == UCS_ERR_BUSY) {
            ++busy;
            usleep(15000); /* the timer runs */
        }
        ASSERT_TRUE(wait([&] { return b->count > i; }));
    }
    EXPECT_GT(busy, count / 4);
    ASSERT_TRUE(flush(ep));
    expect_in_order(count);
}

/* A flushed message is there, though its sender gave the endpoint up since. */
TEST_F(UctUdAttack, flushed__then_given_up)
{
    open();
    introduce();
    for (uint64_t i = 1; i < 20; ++i) {
        ASSERT_EQ(UCS_OK, send_short(ep, i, {}));
    }
    ASSERT_TRUE(wait_a([&] { return uct_ep_flush(ep, 0, nullptr) == UCS_OK; }));
    ASSERT_TRUE(wait_a([&] {
        return uct_ep_flush(ep, UCT_FLUSH_FLAG_CANCEL, nullptr) == UCS_OK;
    }));
    end(ep);
    for (unsigned i = 0; i < 20; ++i) {
        usleep(5000); /* both timers run */
        a->progress();
    }
    wait([&] { return b->count >= 20; }, 2);
    expect_in_order(20);
}

/* The same where its process went, and another came at its number. */
TEST_F(UctUdAttack, flushed__then_another_at_that_number)
{
    Bytes former;

    open();
    introduce();
    former = a->iface_addr;
    for (uint64_t i = 1; i < 5; ++i) { /* the first window */
        ASSERT_EQ(UCS_OK, send_short(ep, i, {}));
    }
    ASSERT_TRUE(wait_a([&] { return uct_ep_flush(ep, 0, nullptr) == UCS_OK; }));
    uct_ep_destroy(ep);
    delete a;
    a  = new Entity();
    ep = a->connect(*b);
    ASSERT_TRUE(std::equal(former.begin(), former.begin() + 3,
                           a->iface_addr.begin()));
    ASSERT_EQ(UCS_OK, send_short(ep, 20, {}));
    ASSERT_TRUE(wait_a([&] { return uct_ep_flush(ep, 0, nullptr) == UCS_OK; }));
    ASSERT_EQ(UCS_OK, send_short(ep, 21, {}));
    ASSERT_TRUE(wait_a([&] { return uct_ep_flush(ep, 0, nullptr) == UCS_OK; }));
    EXPECT_EQ(1u, b->count);
    wait([&] { return b->count >= 7; }, 2);
    EXPECT_EQ(7u, b->count);
}
