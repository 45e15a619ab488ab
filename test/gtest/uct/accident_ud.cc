/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX_EFA_UD_*: each has a test of its name, in which its effect shows
 * (accident_variables.cc). */
#include "accident.h"

#include <algorithm>
#include <stdexcept>

using namespace uct_test;

namespace accident {

class UdVariable : public Accident {
protected:
    void SetUp() override
    {
        transport() = "ud";
        /* what bounds many messages at once is not the window that grows */
        setenv("UCX_EFA_UD_FIRST_WINDOW", "64", 1);
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

/* Nothing arrives any more: a peer is lost after so many time-outs. */
TEST_F(UdVariable, EFA_UD_TRIES)
{
    double took[2];
    unsigned n = 0;

    for (const char *tries : {"3", "9"}) {
        device("loss", "0");
        reopen({{"TRIES", tries}});
        introduce();
        device("loss", "1");
        ASSERT_TRUE(wait_a([&] {
            return uct_ep_am_short(ep, AM_ID, 1, nullptr, 0) == UCS_OK;
        }));
        double start = now();
        ASSERT_TRUE(wait([&] { return !a->failures.empty(); }));
        took[n++] = now() - start;
        EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, a->failures[0].status);
    }
    printf("lost after %.3f s with 3 tries, %.3f s with 9\n", took[0],
           took[1]);
    EXPECT_LT(4 * took[0], took[1]);
}

TEST_F(UdVariable, EFA_UD_FIRST_WINDOW)
{
    for (unsigned window : {1u, 4u, 30u}) {
        unsigned posted = 0;

        device("loss", "1");
        reopen({{"FIRST_WINDOW", std::to_string(window).c_str()}});
        while ((posted < 64) &&
               (uct_ep_am_short(ep, AM_ID, 1, nullptr, 0) == UCS_OK)) {
            ++posted;
        }
        EXPECT_EQ(std::min(window, 16u), posted) << "before any answer";
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

/* b makes no progress: its timer acknowledges, sooner or later. */
TEST_F(UdVariable, EFA_UD_TIMER)
{
    double shortest[2] = {20, 20}, longest[2] = {0, 0};
    unsigned n = 0;

    for (const char *interval : {"1ms", "400ms"}) {
        reopen({{"TIMER", interval}});
        introduce();
        for (int i = 0; i < 4; ++i) {
            double start = now();
            ASSERT_TRUE(wait_a([&] { /* as the window allows */
                return uct_ep_am_short(ep, AM_ID, 1, nullptr, 0) == UCS_OK;
            }));
            while (uct_ep_flush(ep, 0, nullptr) != UCS_OK) {
                a->progress();
                ASSERT_LT(now() - start, 20);
            }
            shortest[n] = std::min(shortest[n], now() - start);
            longest[n]  = std::max(longest[n], now() - start);
        }
        ++n;
        EXPECT_EQ(1u, b->count);
    }
    printf("flushes: %.4f s to %.4f s with 1 ms, to %.4f s with 400 ms\n",
           shortest[0], longest[0], longest[1]);
    EXPECT_GT(longest[1], 0.2);
    EXPECT_LT(shortest[0], 0.1);
}

} // namespace accident
