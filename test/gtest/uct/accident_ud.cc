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
    }

    void TearDown() override
    {
        device("loss", "0");
        device("ud-mtu", "8928");
        Accident::TearDown();
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
    for (const char *window : {"1", "8", "64"}) {
        reopen({{"WINDOW", window}});
        introduce();
        uint64_t sent = 0;
        for (double until = now() + 0.05; now() < until; a->progress()) {
            sent += fill(0);
        }
        /* the greeting may still count: limits come by half windows */
        uint64_t most = strtoull(window, nullptr, 10);
        EXPECT_LE(sent, most);
        EXPECT_GE(sent + 1, most);
        EXPECT_GE(sent, 1u);
    }
}

TEST_F(UdVariable, EFA_UD_TX_QUEUE_LEN)
{
    reopen({{"TX_QUEUE_LEN", "16"}});
    uint64_t sent = flood(4);
    EXPECT_GE(sent, 16u);
    EXPECT_LE(sent, 24u); /* half as many are kept for who gets through */
    reopen({{"TX_QUEUE_LEN", "512"}});
    EXPECT_GT(flood(4), 24u);
}

/* What finds no receive is lost; b's timer, which would post more, is slow. */
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
    size_t kept[2];
    unsigned n = 0;

    for (const char *max : {"256", "1024"}) {
        reopen({{"RX_QUEUE_LEN", "128"}, {"RX_BUFFERS_MAX", max}}, 80);
        b->keep_descs = true;
        b->record     = false;
        for (uint64_t i = 0; i < 3000; ++i) {
            ASSERT_EQ(UCS_OK, send_short(ep, i, {}));
        }
        ASSERT_TRUE(wait([&] { return b->count == 3000; }));
        kept[n] = b->kept.size();
        EXPECT_LT(kept[n], strtoul(max, nullptr, 10));
        ++n;
    }
    EXPECT_LT(kept[0], kept[1]);
}

TEST_F(UdVariable, EFA_UD_MAX_AH)
{
    for (const char *max : {"1", "1024"}) {
        reopen({{"MAX_AH", max}});
        EXPECT_EQ(strcmp(max, "1") ? UCS_OK : UCS_ERR_NO_RESOURCE,
                  connect_elsewhere());
    }
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
        ASSERT_EQ(UCS_OK, uct_ep_am_short(ep, AM_ID, 1, nullptr, 0));
        double start = now();
        ASSERT_TRUE(wait([&] { return !a->failures.empty(); }));
        took[n++] = now() - start;
        EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, a->failures[0].status);
    }
    printf("lost after %.3f s with 3 tries, %.3f s with 9\n", took[0],
           took[1]);
    EXPECT_LT(4 * took[0], took[1]);
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
            ASSERT_EQ(UCS_OK, uct_ep_am_short(ep, AM_ID, 1, nullptr, 0));
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
