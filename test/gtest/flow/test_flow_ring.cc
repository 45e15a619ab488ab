/* SPDX-License-Identifier: BSD-3-Clause */
/* The reorder ring (ring.h) against a map by number. */
#include "flow_test.h"

#include <map>
#include <random>

#include "flow/ring.h"

namespace {

class flow_ring_test : public testing::Test {
protected:
    flow_ring_test() : ring{} {}

    void keep(flow_psn_t psn)
    {
        EXPECT_FALSE(flow_ring_holds(&ring, psn));
        flow_ring_keep(&ring, psn, handle(psn));
        EXPECT_TRUE(flow_ring_holds(&ring, psn));
    }

    static void *handle(flow_psn_t psn)
    {
        return reinterpret_cast<void*>(0x10000ul + psn);
    }

    /* Packets of the ring from next on, at most max. */
    std::vector<void*> take(flow_psn_t next, unsigned max)
    {
        std::vector<void*> got(FLOW_MAP_BITS + 1, nullptr);
        unsigned count = flow_ring_take(&ring, next, got.data(), max);

        EXPECT_EQ(nullptr, got[count]); /* nothing is written behind */
        got.resize(count);
        return got;
    }

    flow_ring_t ring;
};

TEST_F(flow_ring_test, take__a_whole_window_in_any_order)
{
    std::mt19937 random(3);
    std::vector<unsigned> order(FLOW_MAP_BITS);

    for (unsigned first : {0u, 1u, 63u, 64u, 40000u, 65535u}) {
        for (unsigned i = 0; i < FLOW_MAP_BITS; ++i) {
            order[i] = i;
        }
        std::shuffle(order.begin(), order.end(), random);
        for (unsigned i : order) {
            keep((flow_psn_t)(first + i));
        }
        std::vector<void*> got = take((flow_psn_t)first, FLOW_MAP_BITS);
        ASSERT_EQ((size_t)FLOW_MAP_BITS, got.size());
        for (unsigned i = 0; i < FLOW_MAP_BITS; ++i) {
            EXPECT_EQ(handle((flow_psn_t)(first + i)), got[i]);
        }
        EXPECT_EQ(0u, ring.mask);
    }
}

/* A receiver's steps by chance, across the wrap of numbers. */
TEST_F(flow_ring_test, take__as_a_map_does)
{
    std::map<flow_psn_t, void*> map;
    std::mt19937 random(7);
    flow_psn_t next = 65500;

    for (int i = 0; i < 20000; ++i) {
        flow_psn_t psn = (flow_psn_t)(next + random() % FLOW_MAP_BITS);
        if (!map.count(psn)) {
            keep(psn);
            map[psn] = handle(psn);
        }
        unsigned max = 1 + random() % 8;
        std::vector<void*> expected;
        for (flow_psn_t p = next; expected.size() < max && map.count(p); ++p) {
            expected.push_back(map[p]);
            map.erase(p);
        }
        ASSERT_EQ(expected, take(next, max));
        next += (flow_psn_t)expected.size();
    }
    EXPECT_GT(next, 1000); /* it went on, and wrapped */
    EXPECT_LT(next, 65500);
}

} // namespace
