/* SPDX-License-Identifier: BSD-3-Clause */
/* Alarms of UD's sending flows come in the order of their times. */
#include "resend_test.h"

extern "C" {
#include "flow/alarm_priv.h"
}

#include <map>
#include <random>

using namespace flow_test;

namespace {

class flow_alarm : public Resend {
};

TEST_F(flow_alarm, pop__in_order)
{
    connect_both();
    flow_core_t *core = a.core;
    std::mt19937 random(1);

    while (flow_alarm_pop(core, FLOW_TIME_NEVER - 1) != 0) {
    }
    ASSERT_GT(core->ring_count, 8u);
    for (int round = 0; round < 200; ++round) {
        std::map<uint32_t, flow_time_t> due;
        for (int i = 0; i < 40; ++i) { /* some are set anew */
            uint32_t ring = 1 + random() % (core->ring_count - 1);
            due[ring]     = 1000 + random() % 1000;
            flow_alarm_set(core, ring, due[ring]);
        }
        EXPECT_EQ(due.size(), core->alarms);
        flow_time_t before = 0;
        while (uint32_t ring = flow_alarm_pop(core, FLOW_TIME_NEVER - 1)) {
            ASSERT_EQ(1u, due.count(ring)) << "twice, or never set";
            ASSERT_LE(before, due[ring]);
            before = due[ring];
            due.erase(ring);
        }
        ASSERT_TRUE(due.empty());
    }
}

TEST_F(flow_alarm, pop__not_before_its_time)
{
    connect_both();
    while (flow_alarm_pop(a.core, FLOW_TIME_NEVER - 1) != 0) {
    }
    flow_alarm_set(a.core, 2, 1000);
    flow_alarm_sooner(a.core, 2, 2000);
    EXPECT_EQ(0u, flow_alarm_pop(a.core, 999));
    flow_alarm_sooner(a.core, 2, 500);
    EXPECT_EQ(500u, flow_alarm_next(a.core));
    EXPECT_EQ(2u, flow_alarm_pop(a.core, 500));
    EXPECT_EQ(FLOW_TIME_NEVER, flow_alarm_next(a.core));
}

} // namespace
