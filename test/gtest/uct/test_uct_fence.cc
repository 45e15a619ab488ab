/* SPDX-License-Identifier: BSD-3-Clause */
/* Fences: what was there before is done before what comes later is posted,
 * also where it waits in the queue of pending requests. */
#include "fence_test.h"

using namespace uct_test;

namespace {

TEST_P(UctFence, fence__messages_wait_for_earlier_gets)
{
    Completion done;

    ASSERT_TRUE(wait([&] { return rma(done) == UCS_INPROGRESS; }));
    ASSERT_EQ(UCS_OK, uct_ep_fence(ep, 0));
    ASSERT_EQ(UCS_OK, uct_ep_fence(ep, 0)); /* again: no change */
    if (!done.done) {
        EXPECT_EQ(UCS_ERR_NO_RESOURCE, message());
        EXPECT_EQ(UCS_ERR_NO_RESOURCE, rma(first));
    }
    message_goes_after(done, ep);
}

TEST_P(UctFence, iface_fence__holds_every_endpoint_until_rma_is_done)
{
    uct_ep_h other = a->connect(*b);
    Completion done;

    ASSERT_TRUE(wait([&] { return rma(done) == UCS_INPROGRESS; }));
    ASSERT_EQ(UCS_OK, uct_iface_fence(a->iface(), 0));
    message_goes_after(done, other);
    uct_ep_destroy(other);
}

/* The last of several ends a fence, not the first. */
TEST_P(UctFence, fence__waits_for_all_before_it)
{
    for (bool iface : {false, true}) {
        Completion large, small;

        ASSERT_TRUE(wait([&] { return rma(first) == UCS_INPROGRESS; }));
        ASSERT_TRUE(flush(ep));
        device("rate-mbps", "250"); /* 32 ms for the large one */
        ASSERT_EQ(UCS_INPROGRESS, rma(small, 1));
        ASSERT_EQ(UCS_INPROGRESS, rma(large));
        fence(iface);
        ASSERT_TRUE(wait([&] { return small.done > 0; }));
        EXPECT_EQ(0u, large.done);
        message_goes_after(large, ep);
        device("rate-mbps", "0");
    }
}

/* A request that is refused in its dispatch keeps the fence behind it. */
TEST_P(UctFence, fence__stays_behind_a_request_that_goes_back)
{
    Completion done;

    block();
    device("delay-us", "300000");
    ASSERT_EQ(UCS_ERR_NO_RESOURCE, rma(done));
    uct_ep_pending_purge(ep, nullptr, nullptr);
    ASSERT_EQ(UCS_INPROGRESS, rma(done));
    blocked.done = false;
    add(blocked);
    fence(false);
    for (unsigned i = 0; i < 10; ++i) {
        a->progress(); /* the window is full: it goes back each time */
    }
    ASSERT_FALSE(blocked.done);
    message_goes_after(done, ep);
    device("delay-us", "0");
}

/* The RMA waits in the queue when the fence comes: it counts. */
TEST_P(UctFence, fence__covers_what_waits_in_the_queue)
{
    for (bool iface : {false, true}) {
        Completion done;
        unsigned at_message = 0;
        Request reading([&] { return rma(done); });
        Request behind([&] {
            at_message = done.done;
            return message(LAST);
        });

        block();
        expect_placed_at_last();
        add(reading);
        fence(iface);
        add(behind);
        ASSERT_TRUE(wait([&] { return behind.done; }));
        EXPECT_EQ(1u, at_message) << "posted before the RMA was done";
        ASSERT_TRUE(flush(ep));
    }
}

/* Nothing waits behind the fence; messages are sent when they can be. */
TEST_P(UctFence, fence__of_the_queue_covers_messages_that_never_wait)
{
    for (bool iface : {false, true}) {
        Completion done;
        Request reading([&] { return rma(done); });

        block();
        add(reading);
        fence(iface);
        message_goes_after(done, ep);
    }
}

/* In the dispatch of the last request before it, too. */
TEST_P(UctFence, fence__in_a_dispatch_stands_behind_that_request)
{
    for (bool iface : {false, true}) {
        Completion done;
        unsigned at_message = 0;
        Request reading([&] {
            ucs_status_t status = rma(done);

            fence(iface);
            return status;
        });
        Request behind([&] {
            at_message = done.done;
            return message();
        });

        block();
        add(reading);
        ASSERT_TRUE(wait([&] {
            if (!reading.done) {
                return false;
            }
            return behind.done ||
                   (uct_ep_pending_add(ep, &behind.uct, 0) == UCS_OK) ||
                   (behind.uct.func(&behind.uct) == UCS_OK);
        }));
        ASSERT_TRUE(wait([&] { return behind.done; }));
        EXPECT_EQ(1u, at_message);
        ASSERT_TRUE(flush(ep));
    }
}

/* UCP holds requests back while it connects, and tells us of the fence among
 * them at once: all that it replays is fenced, and nothing after that. */
TEST_P(UctFence, fence__before_a_replay_covers_it)
{
    for (bool iface : {false, true}) {
        Completion done, second;
        unsigned at_message = 0;
        Request behind([&] {
            at_message = done.done;
            return message();
        });

        wire_up();
        fence(iface);
        a->progress();
        ASSERT_EQ(UCS_INPROGRESS, rma(done));
        ASSERT_EQ(UCS_ERR_NO_RESOURCE, message());
        add(behind);
        ASSERT_TRUE(wait([&] { return behind.done; }));
        EXPECT_EQ(1u, at_message);

        ASSERT_TRUE(wait([&] { return rma(second) == UCS_INPROGRESS; }));
        EXPECT_EQ(UCS_OK, message()) << "the replay is long over";
        ASSERT_TRUE(flush(ep));
    }
}

TEST_P(UctFence, replay__without_a_fence_is_not_fenced)
{
    Completion done;

    fence(true); /* before the wire-up: none of its business */
    wire_up();
    ASSERT_EQ(UCS_INPROGRESS, rma(done));
    EXPECT_EQ(UCS_OK, message());
    ASSERT_TRUE(flush(ep));
}

/* UCP takes requests back to hold them until it is connected; the fence among
 * them goes along. */
TEST_P(UctFence, fence__comes_back_with_the_requests_that_ucp_took)
{
    Completion done;
    Request reading([&] { return rma(done); });

    block();
    add(reading);
    fence(true);
    uct_ep_pending_purge(ep, nullptr, nullptr);
    ASSERT_EQ(UCS_INPROGRESS, rma(done)); /* RMA needs no window */
    message_goes_after(done, ep);
}

/* UCP's put rendezvous is one request: its last write, a fence, its message;
 * alone or with others behind it. */
TEST_P(UctFence, fence__of_a_request_stands_before_the_rest_of_it)
{
    for (bool iface : {false, true}) {
        for (bool others : {false, true}) {
            Completion done;
            bool posted         = false;
            unsigned at_message = 0;
            Request parts([&] {
                ucs_status_t status = posted ? UCS_OK : rma(done);

                if (UCS_STATUS_IS_ERR(status)) {
                    return status;
                }
                posted = true;
                fence(iface);
                at_message = done.done;
                return message();
            });
            Request behind([&] { return message(); });

            block();
            add(parts);
            if (others) {
                add(behind);
            }
            ASSERT_TRUE(wait([&] {
                return parts.done && (!others || behind.done);
            }));
            EXPECT_EQ(1u, at_message) << "iface " << iface << ", others "
                                      << others;
            ASSERT_TRUE(flush(ep));
        }
    }
}

/* A request that calls a fence and goes back stands before that fence still,
 * and a purge of the queue, from which it is away, does not change that. */
TEST_P(UctFence, fence__in_a_dispatch_goes_back_with_the_request)
{
    for (unsigned i = 0; i < 4; ++i) {
        const bool iface = i & 1, purges = i & 2;
        Completion before, done;
        unsigned turns = 0;
        Request parts([&] {
            if (++turns > 1) {
                return rma(done);
            }
            EXPECT_EQ(UCS_INPROGRESS, rma(before));
            fence(iface);
            if (purges) {
                uct_ep_pending_purge(ep, nullptr, nullptr);
            }
            return UCS_ERR_NO_RESOURCE;
        });

        SCOPED_TRACE(i);
        block();
        add(parts);
        message_goes_after(done, ep);
        EXPECT_EQ(1u, before.done);
    }
}

/* A request that posts and then takes those behind it back: the fence behind
 * it, or behind the last of these, holds for its post, also if it goes back. */
TEST_P(UctFence, fence__outlives_a_purge_in_a_dispatch)
{
    for (unsigned i = 0; i < 8; ++i) {
        const bool iface = i & 1, of_last = i & 2, goes_back = i & 4;
        Completion done;
        bool posted = false;
        Request last([&] { return UCS_ERR_NO_RESOURCE; }); /* it stays */
        Request purging([&] {
            ucs_status_t status = posted ? UCS_OK : rma(done);

            if (status == UCS_INPROGRESS) {
                posted = true;
                uct_ep_pending_purge(ep, nullptr, nullptr);
                return goes_back ? UCS_ERR_NO_RESOURCE : UCS_OK;
            }
            return status;
        });

        SCOPED_TRACE(i);
        block();
        add(purging);
        if (of_last) {
            add(last);
        }
        fence(iface);
        if (!of_last) {
            add(last);
        }
        message_goes_after(done, ep);
    }
}

INSTANTIATE_TEST_SUITE_P(by, UctFence, testing::Bool(),
                         [](const testing::TestParamInfo<bool> &info) {
                             return info.param ? "write" : "read";
                         });

} /* namespace */
