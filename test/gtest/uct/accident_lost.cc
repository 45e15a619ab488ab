/* SPDX-License-Identifier: BSD-3-Clause */
/* Time-outs while both sides live: a network that was cut, or a host too busy
 * to answer. Both applications reconnect as soon as they hear of it. */
#include "accident.h"

using namespace uct_test;

namespace accident {

class Lost : public Accident {
protected:
    void SetUp() override
    {
        Accident::SetUp();
        open();
        introduce();
        back = b->connect(*a);
        ASSERT_EQ(UCS_OK, send_short(back, 0, {}));
        ASSERT_TRUE(wait([&] { return a->count == 1; }));
        progress_for(0.05);
        reconnects(*a, ep, *b);
        reconnects(*b, back, *a);
    }

    void TearDown() override
    {
        if (back != nullptr) {
            uct_ep_destroy(back);
        }
        Accident::TearDown();
    }

    /* As an application does in its error handler. */
    void reconnects(Entity &from, uct_ep_h &used, Entity &to)
    {
        from.on_failure = [&](uct_ep_h failed) {
            EXPECT_EQ(used, failed);
            uct_ep_destroy(failed);
            used = from.connect(to);
        };
    }

    /* Messages arrive on the endpoints as they are now. */
    void expect_both_ways()
    {
        size_t at_a = a->count, at_b = b->count;

        for (uint64_t i = 0; i < 100; ++i) {
            ASSERT_EQ(UCS_OK, send_short(ep, i, {}));
            ASSERT_EQ(UCS_OK, send_short(back, i, {}));
        }
        EXPECT_TRUE(wait([&] {
            return (a->count == at_a + 100) && (b->count == at_b + 100);
        })) << a->count - at_a << " and " << b->count - at_b << " of 100";
    }

    uct_ep_h back = nullptr;
};

/* One message is not answered. Its sender reconnects, so does the other side
 * as soon as it is told. */
TEST_F(Lost, one_message)
{
    device("inject", "send:13:1");
    ASSERT_EQ(UCS_OK, uct_ep_am_short(ep, AM_ID, 1, nullptr, 0));
    ASSERT_TRUE(wait([&] {
        return !a->failures.empty() && !b->failures.empty();
    })) << a->failures.size() << " and " << b->failures.size();
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, a->failures[0].status);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, b->failures[0].status);
    expect_both_ways();
    EXPECT_EQ(1u, a->failures.size());
    EXPECT_EQ(1u, b->failures.size());
}

/* Two interfaces of one memory domain know one host, as two workers of a
 * context do. One lets it go, and the other does not notice. */
TEST_F(Lost, nothing_by_a_neighbour)
{
    {
        Entity second(a);
        uct_ep_h other = second.connect(*b);

        ASSERT_EQ(UCS_OK, send_short(other, 1, {}));
        ASSERT_TRUE(wait([&] {
            second.progress();
            return b->count == 2;
        }));
        uct_ep_destroy(other);
        for (int i = 0; i < 1000; ++i) {
            second.progress();
            progress();
        }
    }
    expect_both_ways();
    EXPECT_TRUE(a->failures.empty());
    EXPECT_TRUE(b->failures.empty());
}

} // namespace accident
