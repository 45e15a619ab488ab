/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX_EFA_UD_*: each has a test of its name, in which its effect shows
 * (accident_variables.cc). */
#include "accident.h"
#include "module_clock.h"
#include <flow/limits.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>

using namespace uct_test;

namespace accident {

class UdVariable : public Accident {
protected:
    void SetUp() override
    {
        transport() = "ud";
        /* what bounds many messages at once is not the window that grows */
        setenv("UCX_EFA_UD_FIRST_WINDOW",
               std::to_string(FLOW_WINDOW_MAX).c_str(), 1);
    }

    void TearDown() override
    {
        device("loss", "0");
        device("ud-mtu", "8928");
        Accident::TearDown();
        unsetenv("UCX_EFA_UD_FIRST_WINDOW");
        transport() = "srd";
    }

    /* The longest message arrives. @return its bytes. */
    size_t longest()
    {
        Bytes message = make_message(1, a->attr().cap.am.max_bcopy);

        EXPECT_EQ(ssize_t(message.size()), send_bcopy(ep, message));
        EXPECT_TRUE(wait([&] { return b->count == 1; }));
        EXPECT_EQ(message, b->received.back());
        return message.size();
    }
};

TEST_F(UdVariable, EFA_UD_WINDOW)
{
    window_bounds_what_is_sent();
}

TEST_F(UdVariable, EFA_UD_TX_QUEUE_LEN)
{
    tx_queue_bounds_what_is_sent();
}

/* A datagram that finds no receive is lost; b's timer, which would post more,
 * is slow. */
TEST_F(UdVariable, EFA_UD_RX_QUEUE_LEN)
{
    for (const char *length : {"512", "128"}) {
        reopen({{"RX_QUEUE_LEN", length}, {"TIMER", "1s"}});
        uint64_t sent = flood(12);
        ASSERT_GT(sent, 150u);
        ASSERT_LT(sent, 400u);
        for (double until = now() + 0.05; now() < until;) {
            a->progress();
        }
        for (int i = 0; i < 100; ++i) {
            b->progress(); /* what is there: nothing is sent meanwhile */
        }
        if (!strcmp(length, "512")) {
            EXPECT_EQ(sent, b->count);
        } else {
            EXPECT_LE(b->count, 128u);
            EXPECT_GE(b->count, 64u);
        }
        ASSERT_TRUE(wait([&] { return b->count == sent; }));
    }
}

TEST_F(UdVariable, EFA_UD_RX_BUFFERS_MAX)
{
    rx_buffers_bound_what_is_kept();
}

TEST_F(UdVariable, EFA_UD_MAX_AH)
{
    one_host_where_handles_are_one();
}

/* Nothing arrives any more: a peer is lost after so many time-outs, after each
 * of which but the last something is sent. */
TEST_F(UdVariable, EFA_UD_TRIES)
{
    FastClock fast;

    for (unsigned tries : {9, 12}) {
        device("loss", "0");
        reopen({{"TRIES", std::to_string(tries).c_str()}});
        introduce();
        device("loss", "1");
        ASSERT_TRUE(wait_a([&] {
            return uct_ep_am_short(ep, AM_ID, 1, nullptr, 0) == UCS_OK;
        }));
        auto before = counter("lost_pkts");
        ASSERT_TRUE(wait_a([&] { return !a->failures.empty(); }));
        EXPECT_EQ(tries, counter("lost_pkts") - before);
        EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, a->failures[0].status);
    }
}

TEST_F(UdVariable, EFA_UD_FIRST_WINDOW)
{
    for (int window : {1, 4, (int)FLOW_WINDOW_MAX}) {
        int posted = 0;

        device("loss", "1");
        reopen({{"FIRST_WINDOW", std::to_string(window).c_str()}});
        while ((posted < FLOW_WINDOW_MAX) &&
               (uct_ep_am_short(ep, AM_ID, 1, nullptr, 0) == UCS_OK)) {
            ++posted;
        }
        EXPECT_EQ(std::min(window, (int)FLOW_INIT_WINDOW_MAX), posted) << "before any answer";
        device("loss", "0");
    }
}

TEST_F(UdVariable, EFA_UD_MTU)
{
    const size_t header = 28; /* the longest of a message */

    for (const char *mtu : {"256", "1001", "4096", "65535"}) {
        reopen({{"MTU", mtu}});
        EXPECT_EQ(std::min<size_t>(strtoul(mtu, nullptr, 10), 8928) - header,
                  longest());
    }
    reopen({});
    EXPECT_EQ(8928 - header, longest());
    for (const char *mtu : {"1", "255"}) {
        EXPECT_THROW(Entity(Config({{"MTU", mtu}})), std::runtime_error);
    }
    device("ud-mtu", "4096"); /* whatever it says of SRD */
    for (const char *mtu : {"0", "8000"}) {
        reopen({{"MTU", mtu}});
        EXPECT_EQ(4096 - header, longest());
    }
}

/* How many timers of this process run each so many ms, or a tenth as often. */
static unsigned timers(unsigned ms)
{
    unsigned count = 0;

    for (int fd = 0; fd < 1024; ++fd) {
        std::ifstream file("/proc/self/fdinfo/" + std::to_string(fd));
        for (std::string line; std::getline(file, line);) {
            unsigned s = 0, ns = 0;
            if (sscanf(line.c_str(), "it_interval: (%u, %u)", &s, &ns) == 2) {
                unsigned every = 1000 * s + ns / 1000000;
                count += (every == ms) || (every == 10 * ms);
            }
        }
    }
    return count;
}

/* b makes no progress: its timer acknowledges, sooner or later. */
TEST_F(UdVariable, EFA_UD_TIMER)
{
    for (const char *interval : {"3ms", "400ms"}) {
        reopen({{"TIMER", interval}});
        EXPECT_EQ(2u, timers(atoi(interval)));
        introduce();
        ASSERT_EQ(UCS_OK, uct_ep_am_short(ep, AM_ID, 1, nullptr, 0));
        ASSERT_TRUE(wait_a([&] {
            return uct_ep_flush(ep, 0, nullptr) == UCS_OK;
        }));
        EXPECT_EQ(2u, timers(atoi(interval)));
        EXPECT_EQ(1u, b->count);
    }
}

} // namespace accident
