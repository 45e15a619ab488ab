/* SPDX-License-Identifier: BSD-3-Clause */
/* Pending and flush; fences are in test_uct_fence.cc. */
#include "uct_entity.h"

#include <algorithm>
#include <list>

using namespace uct_test;

namespace {

/* A pending request that sends one message with a number. */
struct Request : Pending {
    std::function<void()> before; /* runs first, may do anything */
    std::function<void()> after;  /* as a callback of the user's would */

    Request(uct_ep_h to, uint64_t number)
    {
        post = [this, to, number] {
            if (before) {
                before();
            }
            ucs_status_t status = uct_ep_am_short(to, AM_ID, number, nullptr,
                                                  0);
            if ((status == UCS_OK) && after) {
                after();
            }
            return status;
        };
    }
    Request(const Request &) = delete;
};

} // namespace

class UctOrder : public UctTest {
protected:
    /* Messages 0 to count - 1 come to b, in this order. */
    void came_in_order(uint64_t count)
    {
        ASSERT_TRUE(wait([&] { return b->received.size() >= count; }));
        for (uint64_t i = 0; i < count; ++i) {
            ASSERT_EQ(i, number_of(b->received[i]));
        }
    }
};

TEST_F(UctOrder, pending_add__busy_exactly_when_all_could_be_posted)
{
    SRD_ONLY("no reads");
    open();
    Request request(ep, 1);

    EXPECT_EQ(UCS_ERR_BUSY, uct_ep_pending_add(ep, &request.uct, 0));
    ASSERT_EQ(UCS_OK, send_short(ep, 0, {}));
    /* reads have to wait for the answer, so before it the queue takes us */
    Memory remote(*b, 64, 1), local(*a, 64, 2);
    uct_iov_t iov = local.iov(0, 64);
    ASSERT_TRUE(wait([&] {
        return get_zcopy(iov, remote, nullptr) == UCS_INPROGRESS;
    }));
    ASSERT_TRUE(flush(ep));
    EXPECT_EQ(UCS_ERR_BUSY, uct_ep_pending_add(ep, &request.uct, 0));

    fill();
    EXPECT_EQ(UCS_OK, uct_ep_pending_add(ep, &request.uct, 0));
    ASSERT_TRUE(wait([&] { return request.done; }));
}

TEST_F(UctOrder, pending__nothing_overtakes_a_queued_request)
{
    open();
    uint64_t sent = fill();
    std::list<Request> requests;
    bool overtaken = false;

    for (uint64_t i = 0; i < 50; ++i) {
        requests.emplace_back(ep, sent + i);
        ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &requests.back().uct, 0));
    }
    ASSERT_TRUE(wait([&] {
        if (!requests.back().done &&
            (uct_ep_am_short(ep, AM_ID, 999999, nullptr, 0) == UCS_OK)) {
            overtaken = !requests.back().done;
        }
        return requests.back().done;
    }));
    EXPECT_FALSE(overtaken);
    came_in_order(sent + 50);
}

/* However long its receiver takes, and whatever goes to others: else each round
 * of progress would try each endpoint that waits, in vain. */
TEST_F(UctOrder, pending__a_request_that_waits_for_a_window_is_tried_once)
{
    constexpr uint64_t PEERS = 8, MESSAGES = 200;
    open();
    Entity idle;
    std::list<Request> requests;
    unsigned calls = 0;

    for (uint64_t i = 0; i < PEERS; ++i) {
        uct_ep_h shut = a->connect(idle);
        while (uct_ep_am_short(shut, AM_ID, i, nullptr, 0) == UCS_OK) {
        }
        requests.emplace_back(shut, i);
        requests.back().before = [&] { ++calls; };
        ASSERT_EQ(UCS_OK, uct_ep_pending_add(shut, &requests.back().uct, 0));
    }
    for (uint64_t i = 0; i < MESSAGES; ++i) {
        ASSERT_EQ(UCS_OK, send_short(ep, i, {}));
        ASSERT_TRUE(wait([&] { return b->received.size() > i; }));
    }
    EXPECT_LE(calls, 2 * PEERS);
    ASSERT_TRUE(wait([&] {
        idle.progress();
        return std::all_of(requests.begin(), requests.end(),
                           [](const Request &r) { return r.done; });
    }));
}

/* A request that was refused a message to another endpoint waits for no window
 * of its own: it may lack something else. */
TEST_F(UctOrder, pending__a_request_waits_for_no_window_that_it_did_not_need)
{
    open();
    Entity idle;
    uct_ep_h own = a->connect(idle), other = a->connect(idle);
    Pending request;

    for (uct_ep_h each : {own, other}) {
        while (uct_ep_am_short(each, AM_ID, 0, nullptr, 0) == UCS_OK) {
        }
    }
    request.post = [&] {
        return (request.calls > 1) ?
                       UCS_OK : uct_ep_am_short(other, AM_ID, 0, nullptr, 0);
    };
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(own, &request.uct, 0));
    for (unsigned calls : {1u, 2u}) { /* each message's end makes a round */
        ASSERT_EQ(UCS_OK, send_short(ep, calls, {}));
        EXPECT_TRUE(wait([&] { return request.calls >= calls; }));
    }
    EXPECT_TRUE(wait([&] {
        idle.progress();
        return request.done;
    }));
}

/* Progress in a callback of one request opens the window that another waits
 * for, and brings what it lacks itself: both go on if nothing else comes. */
TEST_F(UctOrder, pending__goes_on_after_progress_in_a_callback)
{
    open();
    Entity idle;
    uct_ep_h shut = a->connect(idle), own = a->connect(idle);
    Request waits(shut, 1);
    Pending request;
    size_t sent = 0;

    for (uct_ep_h each : {shut, own}) {
        while (uct_ep_am_short(each, AM_ID, 0, nullptr, 0) == UCS_OK) {
            ++sent;
        }
    }
    request.post = [&] {
        int rounds = 0;

        EXPECT_TRUE((request.calls > 1) || wait([&] { /* windows are open */
            idle.progress();
            return (++rounds > 3000) && (idle.received.size() == sent) &&
                   (uct_iface_flush(idle.iface(), 0, nullptr) == UCS_OK) &&
                   (a->progress() == 0);
        }));
        return (request.calls > 1) ? UCS_OK : UCS_ERR_NO_RESOURCE;
    };
    for (Pending *each : {static_cast<Pending*>(&waits), &request}) {
        uct_ep_h to = (each == &waits) ? shut : own;

        ASSERT_EQ(UCS_OK, uct_ep_pending_add(to, &each->uct, 0));
        ASSERT_EQ(UCS_OK, send_short(ep, 1, {}));
        ASSERT_TRUE(wait([&] { return each->calls > 0; }));
    }
    for (int i = 0; i < 10000; ++i) { /* not the second until peers are asked */
        a->progress();
    }
    EXPECT_TRUE(waits.done);
    EXPECT_TRUE(request.done);
    ASSERT_TRUE(wait([&] {
        idle.progress();
        return waits.done && request.done;
    }));
}

/* A dispatch posts once while others wait: were it twice, what a callback of the
 * user sends in there would overtake them. */
TEST_F(UctOrder, pending__a_dispatch_posts_once_while_others_wait)
{
    open();
    uint64_t sent = fill();
    Request first(ep, sent + 1), second(ep, sent + 2);
    unsigned calls = 0;

    first.before = [&] {
        calls += (calls > 0) || (uct_ep_am_short(ep, AM_ID, sent, nullptr,
                                                 0) == UCS_OK);
    };
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &first.uct, 0));
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &second.uct, 0));
    ASSERT_TRUE(wait([&] { return second.done; }));
    EXPECT_LE(2u, calls) << "the second send of a dispatch was accepted";
    came_in_order(sent + 3);
}

/* The same for reads, which take no number. */
TEST_F(UctOrder, pending__a_dispatch_reads_once_while_others_wait)
{
    SRD_ONLY("no reads");
    open();
    Memory remote(*b, 64, 1), local(*a, 64, 2);
    Completion read;
    read.uct.count = 2;
    auto get = [&] {
        uct_iov_t iov = local.iov(0, 64);
        return get_zcopy(iov, remote, &read.uct);
    };
    ASSERT_EQ(UCS_OK, send_short(ep, 0, {}));
    ASSERT_TRUE(wait([&] { return get() == UCS_INPROGRESS; }));
    ASSERT_TRUE(flush(ep));
    uint64_t sent = 1;
    while (uct_ep_am_short(ep, AM_ID, sent, nullptr, 0) == UCS_OK) {
        ++sent;
    }
    Request first(ep, sent), second(ep, sent + 1);
    bool once = true;
    first.before = [&] {
        if (read.uct.count == 1) { /* one of two is done, none since */
            ucs_status_t one = get(), two = get();
            once = (one == UCS_INPROGRESS) && (two == UCS_ERR_NO_RESOURCE);
            first.before = nullptr;
        }
    };
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &first.uct, 0));
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &second.uct, 0));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, get()) << "overtakes the queue";
    ASSERT_TRUE(wait([&] { return second.done && (read.done == 1); }));
    EXPECT_TRUE(once);
}

/* A read that has to wait for its peer's answer is tried once, not as often as
 * requests may be in a progress, though others wait behind it. */
TEST_F(UctOrder, pending__a_read_that_cannot_go_is_dispatched_once)
{
    SRD_ONLY("no reads");
    open();
    Memory remote(*b, 64, 1), local(*a, 64, 2);
    Pending reads[2];
    unsigned most = 0; /* calls in a progress */

    for (Pending &read : reads) {
        read.post = [&] {
            uct_iov_t iov = local.iov(0, 64);
            return get_zcopy(iov, remote, nullptr);
        };
        ASSERT_EQ(UCS_ERR_NO_RESOURCE, read.post());
        ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &read.uct, 0));
    }
    uct_ep_h other = a->connect(*b);
    for (int i = 0; i < 4; ++i) { /* whose ends make progress dispatch */
        ASSERT_EQ(UCS_OK, uct_ep_am_short(other, AM_ID, i, nullptr, 0));
    }
    for (int i = 0; (i < 1000) || (most == 0); ++i) { /* b answers nothing */
        unsigned before = reads[0].calls;
        a->progress();
        most = std::max(most, reads[0].calls - before);
        ASSERT_LT(i, 10000000);
    }
    EXPECT_EQ(1u, most);
    EXPECT_EQ(0u, reads[1].calls) << "it overtook the first";
    ASSERT_TRUE(wait([&] { return reads[0].done && reads[1].done; }));
    ASSERT_TRUE(flush(ep));
    uct_ep_destroy(other);
}

/* A request behind a read that was refused is most likely a read; not always. */
TEST_F(UctOrder, pending__a_message_waits_behind_a_refused_read)
{
    SRD_ONLY("no reads");
    open();
    Memory remote(*b, 64, 1), local(*a, 64, 2);
    uint64_t sent = fill();
    Request zero(ep, sent), first(ep, sent + 2), second(ep, sent + 3);
    uct_iov_t iov = local.iov(0, 64);
    unsigned calls = 0, idle = 0;

    first.before = [&] {
        calls += (calls > 0) || (uct_ep_am_short(ep, AM_ID, sent + 1, nullptr,
                                                 0) == UCS_OK);
    };
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &zero.uct, 0));
    while (a->progress() == 0) { /* then it was tried again, in vain */
        ASSERT_LT(++idle, 10000000u);
    }
    ASSERT_EQ(UCS_ERR_NO_RESOURCE,
              get_zcopy(iov, remote, nullptr));
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &first.uct, 0));
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &second.uct, 0));
    ASSERT_TRUE(wait([&] { return second.done; }));
    EXPECT_LE(2u, calls) << "the second send of a dispatch was accepted";
    came_in_order(sent + 4);
}

TEST_F(UctOrder, pending__a_callback_may_destroy_its_endpoint)
{
    open();
    uct_ep_h doomed = a->connect(*b);
    ASSERT_EQ(UCS_OK, send_short(doomed, 0, {}));
    while (uct_ep_am_short(doomed, AM_ID, 1, nullptr, 0) == UCS_OK) {
    }

    struct Doom {
        uct_pending_req_t uct;
        uct_ep_h ep;
        bool called;
    } doom = {{}, doomed, false};
    doom.uct.func = [](uct_pending_req_t *self) {
        Doom *d = reinterpret_cast<Doom *>(self);
        d->called = true;
        uct_ep_destroy(d->ep);
        return UCS_OK;
    };
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(doomed, &doom.uct, 0));
    ASSERT_TRUE(wait([&] { return doom.called; }));
    ASSERT_EQ(UCS_OK, send_short(ep, 42, {}));
    /* the two endpoints are two streams: what the doomed one had posted may
     * come before or after */
    ASSERT_TRUE(wait([&] {
        for (const Bytes &message : b->received) {
            if (number_of(message) == 42) {
                return true;
            }
        }
        return false;
    }));
}

TEST_F(UctOrder, flush__of_an_idle_endpoint_and_interface_is_done)
{
    open();
    EXPECT_EQ(UCS_OK, uct_ep_flush(ep, 0, nullptr));
    EXPECT_EQ(UCS_OK, uct_iface_flush(a->iface(), 0, nullptr));
    ASSERT_EQ(UCS_OK, uct_ep_am_short(ep, AM_ID, 1, nullptr, 0));
    EXPECT_EQ(UCS_INPROGRESS, uct_iface_flush(a->iface(), 0, nullptr));
    ASSERT_TRUE(wait([&] {
        return uct_iface_flush(a->iface(), 0, nullptr) == UCS_OK;
    }));
    ASSERT_TRUE(wait([&] { return b->received.size() == 1; }));
}

TEST_F(UctOrder, flush__does_not_wait_for_messages_behind_it)
{
    open();
    Completion flushed;
    uint64_t sent = 1;

    ASSERT_EQ(UCS_OK, send_short(ep, 0, {}));
    ASSERT_EQ(UCS_INPROGRESS, uct_ep_flush(ep, 0, &flushed.uct));
    ASSERT_TRUE(wait([&] { /* never idle */
        while (uct_ep_am_short(ep, AM_ID, sent, nullptr, 0) == UCS_OK) {
            ++sent;
        }
        return flushed.done > 0;
    }));
    EXPECT_EQ(UCS_OK, flushed.status);
    ASSERT_TRUE(wait([&] { return b->count == sent; }));
}

/* UCP's flush of a worker asks nobody else about requests it left with us. */
TEST_F(UctOrder, iface_flush__waits_for_pending_requests)
{
    open();
    uint64_t sent = 0, more;

    /* b sleeps: what was sent is delivered, but not consumed (on UD b's timer
     * takes it in, and answers the hello: then the window is larger) */
    do {
        more  = fill();
        sent += more;
        while (uct_iface_flush(a->iface(), 0, nullptr) != UCS_OK) {
            a->progress();
        }
    } while (more > 0);
    Request request(ep, sent);
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &request.uct, 0));
    EXPECT_EQ(UCS_INPROGRESS, uct_iface_flush(a->iface(), 0, nullptr));
    ASSERT_TRUE(wait([&] {
        return uct_iface_flush(a->iface(), 0, nullptr) == UCS_OK;
    }));
    EXPECT_TRUE(request.done);
}

/* A flush that waits as a request, as UCP's do. */
struct QueuedFlush : Pending {
    Completion comp;
    std::function<void()> after; /* what the user does when it is done */

    explicit QueuedFlush(uct_ep_h of)
    {
        post = [this, of] {
            ucs_status_t status = uct_ep_flush(of, 0, &comp.uct);
            if (status == UCS_OK) {
                comp.done = 1;
            }
            if (after && !UCS_STATUS_IS_ERR(status)) {
                after();
            }
            return status;
        };
    }
};

TEST_F(UctOrder, flush__as_a_pending_request_passes_those_behind_it)
{
    open();
    uint64_t sent = fill();
    QueuedFlush queued(ep);
    Request behind(ep, sent);

    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &queued.uct, 0));
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &behind.uct, 0));
    ASSERT_TRUE(wait([&] { return behind.done && queued.comp.done; }));
    EXPECT_EQ(1u, queued.calls);
}

/* It posted nothing, and what its user's callback sends may not pass those
 * behind it all the same. */
TEST_F(UctOrder, flush__as_a_pending_request_opens_no_way_past_those_behind)
{
    SRD_ONLY("no reads");
    open();
    Memory remote(*b, 64, 1), local(*a, 64, 2);
    uct_iov_t iov = local.iov(0, 64);
    auto get = [&] {
        return get_zcopy(iov, remote, nullptr);
    };

    ASSERT_TRUE(wait([&] { return get() == UCS_INPROGRESS; }));
    uint64_t sent = fill();
    Request first(ep, sent), behind(ep, sent + 1);
    QueuedFlush queued(ep);
    queued.after = [&] {
        EXPECT_EQ(UCS_ERR_NO_RESOURCE, get());
        EXPECT_EQ(UCS_ERR_NO_RESOURCE,
                  uct_ep_am_short(ep, AM_ID, 999999, nullptr, 0));
        EXPECT_EQ(UCS_ERR_NO_RESOURCE, uct_ep_flush(ep, 0, nullptr));
    };
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &first.uct, 0));
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &queued.uct, 0));
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &behind.uct, 0));
    ASSERT_TRUE(wait([&] { return behind.done && queued.comp.done; }));
    ASSERT_TRUE(flush(ep));
    came_in_order(sent + 2);
}

/* A user who flushes in the callback of a send means what he sent after it,
 * too, which waits behind. */
TEST_F(UctOrder, flush__from_a_callback_in_a_dispatch_waits_for_those_behind)
{
    open();
    uint64_t sent = fill();
    Request first(ep, sent), behind(ep, sent + 1);
    ucs_status_t status = UCS_OK;

    first.after = [&] { status = uct_ep_flush(ep, 0, nullptr); };
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &first.uct, 0));
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &behind.uct, 0));
    ASSERT_TRUE(wait([&] { return behind.done; }));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, status);
    EXPECT_TRUE(flush(ep));
}
