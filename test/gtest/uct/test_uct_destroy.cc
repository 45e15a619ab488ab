/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints and interfaces that are destroyed from a callback, or with
 * something of theirs polled and not told yet. */
#include "module_clock.h"
#include "uct_entity.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

using namespace uct_test;

class UctEnd : public UctTest {
protected:
    /* Polls one completion, which the interface keeps (base_polled.c). */
    static void poll_one(Entity &entity)
    {
        while (uct_iface_event_arm(entity.iface(), UCT_EVENT_RECV) !=
               UCS_ERR_BUSY) {
        }
    }
};

/* A message that arming found: its handler's user may be gone. */
TEST_F(UctEnd, close__delivers_no_message)
{
    unsigned delivered = 0;

    open();
    ASSERT_EQ(UCS_OK, send_short(ep, 0, {}));
    ASSERT_TRUE(flush(ep));
    ASSERT_TRUE(wait([&] { return b->count == 1; }));
    rounds(1000);
    b->on_message = [&](const Bytes &) { ++delivered; };
    ASSERT_EQ(UCS_OK, send_short(ep, 1, {}));
    for (int i = 0; i < 1000; ++i) {
        a->progress();
    }
    poll_one(*b);
    end(b);
    EXPECT_EQ(0u, delivered);
}

/* Many endpoints to a host that is away: the first waits for half a second, 500
 * looks at a clock of which each costs one millisecond; those after it for 16.
 * Others still get what they lent back meanwhile. */
TEST_F(UctEnd, destroy__after_waits_in_vain)
{
    SRD_ONLY("a datagram is out at once");
    if (device_has_own_time()) {
        GTEST_SKIP() << "it may need more looks at the clock";
    }
    open();
    auto local    = std::make_unique<Memory>(*a, 8192, 2);
    uct_iov_t iov = local->iov(0, 8000);
    Completion vain[40], comp;

    introduce();
    device_clock(1);
    b->device_addr[b->device_addr.size() - 2] ^= 0x5a; /* of a GID: nobody's */
    b->iface_addr[9] ^= 0x5a;                          /* of an incarnation */
    module_clock_start();
    module_clock_away(1000);
    unsigned long looks = module_clock_looks();
    for (Completion &lent : vain) {
        uct_ep_h away = a->connect(*b);
        ASSERT_EQ(UCS_INPROGRESS, uct_ep_am_zcopy(away, AM_ID, nullptr, 0, &iov,
                                                  1, 0, &lent.uct));
        uct_ep_destroy(away);
        EXPECT_EQ(0u, lent.done) << "the device has it";
    }
    EXPECT_LT(module_clock_looks() - looks, 2500u) << "it waits for each";
    module_clock_away(0);
    ASSERT_EQ(UCS_INPROGRESS, uct_ep_am_zcopy(ep, AM_ID, nullptr, 0, &iov, 1, 0,
                                              &comp.uct));
    end(ep);
    EXPECT_EQ(1u, comp.done);
    device_clock(1000000000000); /* the device gives up */
    ASSERT_TRUE(wait_a([&] {
        return std::all_of(std::begin(vain), std::end(vain),
                           [](const Completion &lent) { return lent.done; });
    }));
    device_clock(0);
}

TEST_F(UctEnd, create__without_an_address)
{
    open();
    uct_ep_params_t params = {};
    uct_ep_h none;

    params.iface      = a->iface();
    params.dev_addr   = (const uct_device_addr_t*)b->device_addr.data();
    params.iface_addr = (const uct_iface_addr_t*)b->iface_addr.data();
    for (uint64_t without : {UCT_EP_PARAM_FIELD_DEV_ADDR,
                             UCT_EP_PARAM_FIELD_IFACE_ADDR}) {
        params.field_mask = (UCT_EP_PARAM_FIELD_IFACE |
                             UCT_EP_PARAM_FIELD_DEV_ADDR |
                             UCT_EP_PARAM_FIELD_IFACE_ADDR) & ~without;
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, uct_ep_create(&params, &none));
        uct_ep_params_t null = params;
        null.field_mask |= without;
        if (without == UCT_EP_PARAM_FIELD_DEV_ADDR) {
            null.dev_addr = nullptr;
        } else {
            null.iface_addr = nullptr;
        }
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, uct_ep_create(&null, &none));
    }
}

/* Requests that purge their own queue, add to it, and destroy others while they
 * are dispatched. */
TEST_F(UctEnd, purge__in_a_request_that_is_dispatched)
{
    struct Request {
        uct_pending_req_t uct;
        uct_ep_h ep;
        unsigned calls, purged;
    };
    static std::vector<Request *> purged;
    open();
    std::vector<Request> requests(8);

    purged.clear();
    while (uct_ep_am_short(ep, AM_ID, 1, nullptr, 0) == UCS_OK) {
    }
    for (Request &request : requests) {
        request.ep       = ep;
        request.calls    = 0;
        request.purged   = 0;
        request.uct.func = [](uct_pending_req_t *self) {
            Request *mine = reinterpret_cast<Request *>(self);

            ++mine->calls;
            uct_ep_pending_purge(mine->ep,
                                 [](uct_pending_req_t *other, void *) {
                                     Request *taken =
                                             reinterpret_cast<Request *>(other);
                                     ++taken->purged;
                                     purged.push_back(taken);
                                 }, nullptr);
            for (Request *taken : purged) { /* and all of them again */
                EXPECT_EQ(UCS_OK, uct_ep_pending_add(mine->ep,
                                                     &taken->uct, 0));
            }
            purged.clear();
            EXPECT_NE(UCS_INPROGRESS,
                      uct_ep_am_short(mine->ep, AM_ID, 2, nullptr, 0));
            return UCS_OK;
        };
        ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &request.uct, 0));
    }
    ASSERT_TRUE(wait([&] { return requests.back().calls > 0; }));
    for (unsigned i = 0; i < requests.size(); ++i) {
        EXPECT_EQ(1u, requests[i].calls);
        EXPECT_EQ(i, requests[i].purged) << "request " << i;
    }
    ASSERT_TRUE(flush(ep));
}

/* Arming while progress is disabled and enabled again; no wake-up is lost. */
TEST_F(UctEnd, progress__disabled_and_enabled_around_arming)
{
    open();
    ASSERT_EQ(UCS_OK, send_short(ep, 0, {}));
    ASSERT_TRUE(wait([&] { return b->count == 1; }));
    for (unsigned i = 1; i <= 20; ++i) {
        uct_iface_progress_disable(b->iface(),
                                   UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
        while (uct_iface_event_arm(b->iface(), UCT_EVENT_RECV) != UCS_OK) {
            uct_iface_progress(b->iface());
        }
        ASSERT_EQ(UCS_OK, send_short(ep, i, {}));
        ASSERT_TRUE(wait([&] {
            return uct_iface_event_arm(b->iface(), UCT_EVENT_RECV) ==
                   UCS_ERR_BUSY;
        }));
        uct_iface_progress_enable(b->iface(),
                                  UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
        ASSERT_TRUE(wait([&] { return b->count == i + 1; }));
    }
}

/* Endpoints are opened and closed to a peer that takes nothing, and so all of
 * them wait to say goodbye: there is an endpoint for the next one all the same,
 * and all are gone when the peer progresses again. */
TEST_F(UctEnd, churn__to_a_peer_that_takes_nothing)
{
    const unsigned churn = 4500;

    open();
    for (unsigned i = 0; i < churn; ++i) {
        uct_ep_h ep = a->connect(*b);
        ASSERT_NE(nullptr, ep) << i;
        send_short(ep, i, {});
        uct_ep_destroy(ep);
        a->progress();
    }
    uct_ep_h last = a->connect(*b);
    ASSERT_NE(nullptr, last);
    size_t before = b->received.size();
    ASSERT_TRUE(wait([&] {
        return send_short(last, 1, {}) == UCS_OK;
    }));
    ASSERT_TRUE(wait([&] { return b->received.size() > before; }));
    ASSERT_TRUE(flush(last));
}
