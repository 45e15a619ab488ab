/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_test.h"

extern "C" {
#include "flow/reserve.h"
}

class reserve_slots : public ::testing::Test {
protected:
    void SetUp() override
    {
        flow_reserve_init(&reserve, 64);
        memset(shares, 0, sizeof(shares));
    }
    bool take(unsigned who, bool idle = true)
    {
        if (!flow_reserve_may(&reserve, &shares[who], idle, now)) {
            return false;
        }
        flow_reserve_take(&reserve, &shares[who]);
        return true;
    }
    void give(unsigned who, bool ok = true)
    {
        flow_reserve_give(&reserve, &shares[who], ok);
    }
    /* As many as it gets, after it got some through. */
    unsigned fill(unsigned who)
    {
        unsigned count = 0;

        for (int i = 0; (i < 100) && take(who, i == 0); ++i) {
            give(who);
        }
        while (take(who, false)) {
            ++count;
        }
        return count;
    }

    flow_reserve_t reserve;
    flow_share_t   shares[100];
    flow_time_t    now = 1000;
};

/* One on trial, and only for a flow that has nothing out. */
TEST_F(reserve_slots, take__begins_with_one)
{
    EXPECT_FALSE(take(0, false));
    EXPECT_TRUE(take(0));
    EXPECT_FALSE(take(0));
    give(0);
    EXPECT_TRUE(take(0, false));
    EXPECT_TRUE(take(0, false));
    EXPECT_FALSE(take(0, false)) << "one more with each that was delivered";
    give(0, false);
    give(0);
    EXPECT_EQ(0u, reserve.held);
    EXPECT_EQ(nullptr, reserve.holders);
}

/* Those who never answer do not get all, and the first that does gets many. */
TEST_F(reserve_slots, take__trials)
{
    unsigned got = 0;

    for (unsigned who = 1; who < 100; ++who) {
        got += take(who);
    }
    EXPECT_EQ(32u, got);
    EXPECT_FALSE(take(0)) << "nobody is known to be stuck yet";
    for (int i = 0; i < 2; ++i) {
        now += FLOW_RESERVE_STUCK;
        take(99);
    }
    EXPECT_EQ(32u, reserve.stuck);
    EXPECT_FALSE(take(0)) << "as many on trial as may be";
    give(20, false); /* it timed out */
    EXPECT_TRUE(take(0));
    give(0);
    EXPECT_GE(fill(0), 20u);
    EXPECT_FALSE(take(1));
}

/* Hosts that were well hold the open half and fall silent: the rest opens. */
TEST_F(reserve_slots, take__after_a_failure_of_many)
{
    fill(1);
    fill(2);
    fill(3);
    EXPECT_TRUE(take(0));
    give(0);
    unsigned before = reserve.held;
    for (int i = 0; i < 2; ++i) { /* only host 0 goes on */
        now += FLOW_RESERVE_STUCK;
        EXPECT_TRUE(take(0));
        give(0);
    }
    EXPECT_EQ(before, reserve.held);
    EXPECT_EQ(before, reserve.stuck);
    EXPECT_FALSE(take(1, false)) << "who is stuck gets no more";
    EXPECT_FALSE(take(4, false));
    EXPECT_GE(fill(0), 20u);
    for (unsigned who = 1; who < 4; ++who) {
        while (shares[who].held > 0) {
            give(who, false);
        }
    }
    EXPECT_EQ(0u, reserve.stuck);
}

/* Off the list of holders from anywhere. */
TEST_F(reserve_slots, give__in_any_order)
{
    for (unsigned who = 0; who < 3; ++who) {
        EXPECT_TRUE(take(who));
    }
    give(1);
    give(2);
    give(0);
    EXPECT_EQ(nullptr, reserve.holders);
    EXPECT_EQ(0u, reserve.held + reserve.trials);
}

/* A peer that did well once and comes again begins with one. */
TEST_F(reserve_slots, take__begins_anew)
{
    EXPECT_GE(fill(0), 20u);
    while (shares[0].held > 0) {
        give(0);
    }
    EXPECT_TRUE(take(0, false)) << "just now it did well";
    give(0);
    now += FLOW_RESERVE_STUCK;
    EXPECT_FALSE(take(0, false));
    EXPECT_TRUE(take(0));
    EXPECT_FALSE(take(0));
}
