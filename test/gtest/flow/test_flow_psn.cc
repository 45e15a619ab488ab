/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_test.h"

TEST(flow_psn, diff__all_distances_at_the_wrap)
{
    for (unsigned base : {0u, 1u, 0x7fffu, 0x8000u, 0xffc0u, 0xffffu}) {
        for (int d = -0x7fff; d <= 0x7fff; ++d) {
            ASSERT_EQ(d, flow_psn_diff((flow_psn_t)(base + d),
                                       (flow_psn_t)base));
            ASSERT_EQ(d < 0, !!flow_psn_lt((flow_psn_t)(base + d),
                                           (flow_psn_t)base));
        }
    }
}

TEST(flow_psn, min_max__across_the_wrap)
{
    EXPECT_EQ(2, flow_psn_max(0xfffe, 2));
    EXPECT_EQ(2, flow_psn_max(2, 0xfffe));
    EXPECT_EQ(0xfffe, flow_psn_min(0xfffe, 2));
    EXPECT_EQ(0xfffe, flow_psn_min(2, 0xfffe));
}
