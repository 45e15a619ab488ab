/* SPDX-License-Identifier: BSD-3-Clause */
/* A part of srd_gpu alone: the order of increments behind writes, which a device
 * completes as it likes. */
#include <gtest/gtest.h>

#include <cstdint>

extern "C" {
const char *srd_gpu_order_seed(uint64_t seed);
const char *srd_gpu_order_peers(void);
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
