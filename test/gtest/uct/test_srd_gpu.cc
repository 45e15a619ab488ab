/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of srd_gpu alone: the order of increments behind writes, which a device
 * completes as it likes; and a ring that kernels write. */
#include <gtest/gtest.h>

#include <cstdint>

extern "C" {
const char *srd_gpu_order_seed(uint64_t seed);
const char *srd_gpu_order_peers(void);
const char *srd_gpu_ring_threads(uint64_t first, unsigned log_depth,
                                 unsigned threads, unsigned each);
}

TEST(SrdGpu, increments_go_behind_all_writes_before_them)
{
    for (uint64_t seed = 1; seed <= 2000; ++seed) {
        ASSERT_STREQ(nullptr, srd_gpu_order_seed(seed)) << "seed " << seed;
    }
}

TEST(SrdGpu, complete_writes_and_closed_endpoints_hold_nothing)
{
    EXPECT_STREQ(nullptr, srd_gpu_order_peers());
}

TEST(SrdGpu, ring_laps_and_wraps)
{
    const uint64_t ends[] = {0, 3, UINT64_MAX - 1000, UINT64_MAX - 6};

    for (uint64_t first : ends) {
        for (unsigned log_depth : {1, 2, 5}) {
            EXPECT_STREQ(nullptr,
                         srd_gpu_ring_threads(first, log_depth, 4, 1000))
                    << "from " << first << ", 2^" << log_depth;
        }
    }
}
