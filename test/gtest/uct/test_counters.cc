/* SPDX-License-Identifier: BSD-3-Clause */
/* UCT's own statistics, in a UCX that has them: found by name, whatever their
 * order; and the level of packets' lines. */
#include "../c11.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <numeric>

extern "C" {
#include <ucp_hooks/calls.h>
}

/* A UCX as counters.c sees one. */
class Counters : public ::testing::Test {
protected:
    enum { EP_SIZE = 16, IFACE_SIZE = 1288 };

    /* UCX's parts are `more` bytes larger than without statistics. */
    void open(unsigned more, bool with_node)
    {
        void *at = with_node ? &node : nullptr;

        ep_class.size      = EP_SIZE - 8 + more;
        iface_class.size   = IFACE_SIZE - 8 + more;
        calls.ep_class     = &ep_class;
        calls.iface_class  = &iface_class;
        calls.global_opts  = &opts;
        calls.log_dispatch = dispatch;
        host.calls         = &calls;
        iface.host         = &host;
        ep.super.iface     = &iface.super;
        memcpy((char*)&ep + EP_SIZE - 8, &at, sizeof(at));
        memcpy((char*)&iface + IFACE_SIZE - 8, &at, sizeof(at));
    }

    void count(ucx_ep_counter_t counter, unsigned n)
    {
        ucx_ep_count(&ep.super, counter, n);
    }
    void count(ucx_iface_counter_t counter, unsigned n)
    {
        ucx_iface_count(&iface.super, counter, n);
    }

    uint64_t sum()
    {
        return std::accumulate(node.counters, node.counters + 9, uint64_t(0));
    }

    /* As UCX's handler: what is above its own bound is not even formatted. */
    static void dispatch(const char*, unsigned, const char*,
                         ucs_log_level_t level, ucx_log_component_t *component,
                         const char *format, ...)
    {
        char text[64] = "";
        va_list ap;

        if (((int)level <= most) && ((int)level <= component->level)) {
            va_start(ap, format);
            vsnprintf(text, sizeof(text), format, ap);
            va_end(ap);
            lines += text[0] != '\0';
        }
    }

    /* A ucx_stats_class_t with this order of counters, a name behind them that is
     * none of its, and a node of it. */
    const struct {
        const char *name;
        unsigned    count, id;
        const char *names[9];
    } stats = {"some", 8, 0, {"am", "put", "tag", "flush", "rx_am",
                              "bytes_short", "no_res", "fence", "get"}};
    struct {
        const void *cls;
        char        rest[UCX_STATS_NODE_COUNTERS - sizeof(void*)];
        uint64_t    counters[9];
    } node = {&stats, {}, {}};

    ucs_class_t         ep_class = {}, iface_class = {};
    ucx_log_component_t opts     = {};
    ucx_calls_t         calls    = {};
    ucx_host_t          host     = {};
    ucx_iface_base_t    iface    = {};
    ucx_ep_base_t       ep       = {};
    inline static int   most, lines; /* level that is printed; printed ones */
};

TEST_F(Counters, count__by_name)
{
    open(8, true);
    EXPECT_TRUE(ucx_host_has_counters(&host));
    count(UCX_EP_AM, 1);
    count(UCX_EP_AM, 2);
    count(UCX_EP_BYTES_SHORT, 100);
    count(UCX_EP_FENCE, 5);
    count(UCX_EP_NO_RES, 6);
    EXPECT_EQ(3u, node.counters[0]);
    EXPECT_EQ(100u, node.counters[5]);
    EXPECT_EQ(6u, node.counters[6]);
    EXPECT_EQ(5u, node.counters[7]);
    count(UCX_EP_GET, 7); /* a name that this UCX has not */
    EXPECT_EQ(114u, sum());
    count(UCX_IFACE_RX_AM, 1000);
    count(UCX_IFACE_FLUSH, 10000);
    EXPECT_EQ(1000u, node.counters[4]);
    EXPECT_EQ(10000u, node.counters[3]);
}

TEST_F(Counters, count__without_statistics_does_nothing)
{
    open(8, false); /* built with them, but they are off */
    count(UCX_EP_AM, 1);
    count(UCX_IFACE_FENCE, 1);
    EXPECT_EQ(0u, sum());
    open(0, true); /* built without: what lies there is not theirs */
    EXPECT_FALSE(ucx_host_has_counters(&host));
    count(UCX_EP_AM, 1);
    count(UCX_IFACE_FENCE, 1);
    EXPECT_EQ(0u, sum());
}

TEST_F(Counters, packet_level__is_what_the_build_prints)
{
    open(0, false);
    for (int bound : {UCS_LOG_LEVEL_DEBUG, UCS_LOG_LEVEL_TRACE_REQ,
                      UCS_LOG_LEVEL_TRACE_DATA, UCS_LOG_LEVEL_TRACE_POLL}) {
        most = bound;
        EXPECT_EQ(bound < UCS_LOG_LEVEL_TRACE_DATA ? UCS_LOG_LEVEL_DEBUG :
                                                     UCS_LOG_LEVEL_TRACE_DATA,
                  ucx_host_packet_level(&host)) << bound;
    }
    EXPECT_EQ(0, lines) << "the trial itself is printed";
}
