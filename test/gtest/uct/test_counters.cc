/* SPDX-License-Identifier: BSD-3-Clause */
/* UCT's own statistics, in a UCX that has them: found by name, whatever their
 * order; and the level of packets' lines. */
#include <gtest/gtest.h>

#include <cstdint>

extern "C" {
void counters_shim_open(unsigned more, int with_node);
void counters_shim_count(int of_iface, unsigned counter, unsigned n);
uint64_t counters_shim_value(unsigned index);
int counters_shim_has(void);
int counters_shim_level(int most, int *lines);

#include <ucs/config/types.h>
}

namespace {

/* As ucx_ep_counter_t and ucx_iface_counter_t count. */
enum { EP_AM, EP_PUT, EP_GET, EP_BYTES_SHORT, EP_NO_RES = 6, EP_FENCE = 10 };
enum { IFACE_RX_AM, IFACE_FLUSH = 2, IFACE_FENCE = 4 };

uint64_t sum()
{
    uint64_t all = 0;

    for (unsigned i = 0; i < 8; ++i) {
        all += counters_shim_value(i);
    }
    return all;
}

} // namespace

TEST(Counters, count__by_name)
{
    counters_shim_open(8, 1);
    EXPECT_TRUE(counters_shim_has());
    counters_shim_count(0, EP_AM, 1);
    counters_shim_count(0, EP_AM, 2);
    counters_shim_count(0, EP_BYTES_SHORT, 100);
    counters_shim_count(0, EP_FENCE, 5);
    counters_shim_count(0, EP_NO_RES, 6);
    EXPECT_EQ(3u, counters_shim_value(0));
    EXPECT_EQ(100u, counters_shim_value(5));
    EXPECT_EQ(6u, counters_shim_value(6));
    EXPECT_EQ(5u, counters_shim_value(7));
    counters_shim_count(0, EP_GET, 7); /* a name that this UCX has not */
    EXPECT_EQ(114u, sum());
    counters_shim_count(1, IFACE_RX_AM, 1000);
    counters_shim_count(1, IFACE_FLUSH, 10000);
    EXPECT_EQ(1000u, counters_shim_value(4));
    EXPECT_EQ(10000u, counters_shim_value(3));
}

TEST(Counters, count__without_statistics_does_nothing)
{
    counters_shim_open(8, 0); /* built with them, but they are off */
    counters_shim_count(0, EP_AM, 1);
    counters_shim_count(1, IFACE_FENCE, 1);
    EXPECT_EQ(0u, sum());
    counters_shim_open(0, 1); /* built without: what lies there is not theirs */
    EXPECT_FALSE(counters_shim_has());
    counters_shim_count(0, EP_AM, 1);
    counters_shim_count(1, IFACE_FENCE, 1);
    EXPECT_EQ(0u, sum());
}

TEST(Counters, packet_level__is_what_the_build_prints)
{
    int lines;

    counters_shim_open(0, 0);
    EXPECT_EQ(UCS_LOG_LEVEL_DEBUG,
              counters_shim_level(UCS_LOG_LEVEL_DEBUG, &lines));
    EXPECT_EQ(0, lines);
    EXPECT_EQ(UCS_LOG_LEVEL_DEBUG,
              counters_shim_level(UCS_LOG_LEVEL_TRACE_REQ, &lines));
    EXPECT_EQ(UCS_LOG_LEVEL_TRACE_DATA,
              counters_shim_level(UCS_LOG_LEVEL_TRACE_DATA, &lines));
    EXPECT_EQ(UCS_LOG_LEVEL_TRACE_DATA,
              counters_shim_level(UCS_LOG_LEVEL_TRACE_POLL, &lines));
    EXPECT_EQ(0, lines) << "the trial itself is printed";
}
