/* SPDX-License-Identifier: BSD-3-Clause */
/* Fences: what was there before is done before what comes later is posted,
 * also where it waits in the queue of pending requests. */
#include "uct_entity.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

using namespace uct_test;

namespace {

/* With reads, and, where the device has them, with writes. */
class UctFence : public UctTest, public testing::WithParamInterface<bool> {
public: /* for Steps */
    using UctTest::ep;
    using UctTest::flush;
    using UctTest::wait;

    static constexpr size_t LENGTH = 1 << 20;
    static constexpr uint8_t WIREUP_ID = 1;

    void SetUp() override
    {
        SRD_ONLY("no RMA");
        open();
        if (GetParam() && !(a->attr().cap.flags & UCT_IFACE_FLAG_PUT_ZCOPY)) {
            ASSERT_EQ(nullptr, getenv("NEED_PUT")) << "puts were expected";
            GTEST_SKIP() << "this rdma-core or device has no RDMA write";
        }
        remote.reset(new Memory(*b, LENGTH, 1));
        local.reset(new Memory(*a, LENGTH, 2));
    }

    void TearDown() override
    {
        remote.reset();
        local.reset();
        UctTest::TearDown();
    }

    /* The first `length` bytes, over there. */
    ucs_status_t rma(Completion &comp, size_t length = LENGTH)
    {
        uct_iov_t iov = local->iov(0, length);

        return (GetParam() ? uct_ep_put_zcopy : uct_ep_get_zcopy)(
                ep, &iov, 1, reinterpret_cast<uintptr_t>(remote->data()),
                remote->rkey(), &comp.uct);
    }

    ucs_status_t message(uint64_t header = 1)
    {
        return uct_ep_am_short(ep, AM_ID, header, nullptr, 0);
    }

    /* From now on message LAST finds at b what is to be written there. */
    void expect_placed_at_last()
    {
        std::fill(remote->data(), remote->data() + LENGTH, 0);
        b->on_message = [&](const Bytes &got) {
            if ((number_of(got) == LAST) && GetParam()) {
                EXPECT_EQ(0, memcmp(remote->data(), local->data(), LENGTH));
            }
        };
    }
    static constexpr uint64_t LAST = 2;

    /* A request of the queue: `post` until it is through. */
    struct Request {
        uct_pending_req_t uct;
        std::function<ucs_status_t()> post;
        bool done = false;

        explicit Request(std::function<ucs_status_t()> p) : post(p)
        {
            uct.func = [](uct_pending_req_t *self) {
                Request *req        = reinterpret_cast<Request*>(self);
                ucs_status_t status = req->post();
                if (status == UCS_INPROGRESS) {
                    status = UCS_OK; /* posted; to UCT: there is more to do */
                }
                req->done = status == UCS_OK;
                return status;
            };
        }
    };

    void add(Request &request)
    {
        ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &request.uct, 0));
    }

    /* Everything waits from now on, until b makes progress. */
    void block()
    {
        ASSERT_TRUE(wait([&] { /* reads may be posted */
            return rma(first) == UCS_INPROGRESS;
        }));
        ASSERT_TRUE(flush(ep));
        while (message() == UCS_OK) {
        }
        add(blocked);
        ASSERT_EQ(UCS_ERR_NO_RESOURCE, rma(first));
    }

    /* UCP's message that connects: from now on it may hold requests back. */
    void wire_up()
    {
        ASSERT_EQ(UCS_OK, uct_iface_set_am_handler(
                b->iface(), WIREUP_ID,
                [](void*, void*, size_t, unsigned) { return UCS_OK; },
                nullptr, 0));
        ASSERT_TRUE(wait([&] { return rma(first) == UCS_INPROGRESS; }));
        ASSERT_TRUE(flush(ep));
        ASSERT_EQ(0, uct_ep_am_bcopy(ep, WIREUP_ID,
                                     [](void*, void*) { return size_t(0); },
                                     nullptr, 0));
    }

    void fence(bool iface)
    {
        ASSERT_EQ(UCS_OK, iface ? uct_iface_fence(a->iface(), 0) :
                                  uct_ep_fence(ep, 0));
    }

    /* Sends to `to` as soon as it may; by then the read has to be done. */
    void message_goes_after(const Completion &done, uct_ep_h to)
    {
        ASSERT_TRUE(wait([&] {
            unsigned before     = done.done;
            ucs_status_t status = uct_ep_am_short(to, AM_ID, 1, nullptr, 0);

            EXPECT_TRUE((status != UCS_OK) || (before == 1));
            return status == UCS_OK;
        }));
        ASSERT_TRUE(flush(to));
    }

    std::unique_ptr<Memory> remote, local;
    Completion first;
    Request blocked{[this] { return message(); }};
};

/* Requests: two reads and a message, and whether each was posted only when the
 * one before was done. */
struct Steps {
    UctFence &test;
    Completion done[2];
    unsigned at_second = 0, at_message = 0;
    UctFence::Request first{[this] { return test.rma(done[0]); }};
    UctFence::Request second{[this] {
        at_second = done[0].done;
        return test.rma(done[1]);
    }};
    UctFence::Request message{[this] {
        at_message = done[1].done;
        return test.message();
    }};

    explicit Steps(UctFence &t) : test(t) {}

    void were_taken_in_turn()
    {
        ASSERT_TRUE(test.wait([&] { return message.done; }));
        EXPECT_EQ(1u, at_second);
        EXPECT_EQ(1u, at_message);
        ASSERT_TRUE(test.flush(test.ep));
    }
};

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
        device("rate-mbps", "1000"); /* 8 ms for the large one */
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

/* UCP completes a request in its dispatch: its user may send in there. */
TEST_P(UctFence, fence__of_the_queue_covers_messages_sent_in_the_dispatch)
{
    Completion done;
    ucs_status_t inside = UCS_OK;
    Request reading([&] {
        ucs_status_t status = rma(done);

        if (status == UCS_INPROGRESS) {
            inside = message();
        }
        return status;
    });

    block();
    add(reading);
    fence(false);
    ASSERT_TRUE(wait([&] { return reading.done; }));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, inside);
    ASSERT_TRUE(flush(ep));
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

TEST_P(UctFence, fence__two_in_the_queue_part_three)
{
    Steps steps(*this);

    block();
    add(steps.first);
    fence(false);
    add(steps.second);
    fence(true);
    add(steps.message);
    steps.were_taken_in_turn();
}

/* A purge takes the requests, not the fence: what was posted before them is
 * still to be waited for. */
TEST_P(UctFence, fence__outlives_the_requests_it_stood_behind)
{
    Completion done;
    Request reading([&] { return rma(done); });
    Request last([&] { return UCS_ERR_NO_RESOURCE; }); /* it stays */

    block();
    add(reading);
    add(last);
    fence(false);
    ASSERT_TRUE(wait([&] { return reading.done; }));
    uct_ep_pending_purge(ep, nullptr, nullptr);
    message_goes_after(done, ep);
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

/* The replay meets a full window: it goes through the queue. */
TEST_P(UctFence, fence__before_a_replay_covers_what_is_queued)
{
    Steps steps(*this);

    wire_up();
    fence(true);
    while (message() == UCS_OK) {
    }
    add(blocked);
    add(steps.first);
    add(steps.second);
    add(steps.message);
    steps.were_taken_in_turn();
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

/* One dispatch, one post: a message may not follow the RMA past the queue. */
TEST_P(UctFence, pending__a_dispatch_posts_once)
{
    Completion done;
    ucs_status_t inside = UCS_OK, reversed = UCS_OK;
    Request reading([&] {
        ucs_status_t status = rma(done);

        if (status == UCS_INPROGRESS) {
            inside = message();
        }
        return status;
    });
    Request sending([&] {
        ucs_status_t status = message();

        if (status == UCS_OK) {
            reversed = rma(first);
        }
        return status;
    });
    Request behind([&] { return message(); });

    block();
    add(reading);
    add(sending);
    add(behind);
    ASSERT_TRUE(wait([&] { return behind.done; }));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, inside);
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, reversed);
    ASSERT_TRUE(flush(ep));
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

INSTANTIATE_TEST_SUITE_P(by, UctFence, testing::Bool(),
                         [](const testing::TestParamInfo<bool> &info) {
                             return info.param ? "write" : "read";
                         });

} /* namespace */
