/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer's silence, a lost greeting and a refusing device may do little harm.
 * And accidents that no other test had. */
#include "accident.h"

#include <poll.h>

using namespace uct_test;

namespace accident {

/* In-tree: no wakeup ("no send completion event"). */
TEST_F(Accident, wakeup)
{
    const unsigned events = UCT_EVENT_SEND_COMP | UCT_EVENT_RECV;
    struct pollfd pfd[2]  = {{-1, POLLIN, 0}, {-1, POLLIN, 0}};
    Completion comp;

    open();
    for (Entity *each : {a, b}) {
        EXPECT_TRUE(each->attr().cap.event_flags &
                    UCT_IFACE_FLAG_EVENT_SEND_COMP);
        EXPECT_TRUE(each->attr().cap.event_flags & UCT_IFACE_FLAG_EVENT_RECV);
        ASSERT_EQ(UCS_OK, uct_iface_event_fd_get(each->iface(),
                                                 &pfd[each == b].fd));
    }
    Memory remote(*b, 4096, 1), local(*a, 4096, 2);
    auto arm = [&](Entity *each) {
        ucs_status_t status;
        while ((status = uct_iface_event_arm(each->iface(), events)) ==
               UCS_ERR_BUSY) {
            progress();
        }
        return status;
    };
    introduce();

    /* a message wakes its receiver */
    ASSERT_EQ(UCS_OK, arm(b));
    EXPECT_EQ(0, poll(&pfd[1], 1, 20)) << "readable without cause";
    ASSERT_EQ(UCS_OK, uct_ep_am_short(ep, AM_ID, 1, nullptr, 0));
    EXPECT_EQ(1, poll(&pfd[1], 1, 5000));
    ASSERT_TRUE(wait([&] { return b->count == 2; }));
    ASSERT_TRUE(flush(ep));

    /* the completion of a read wakes its requester */
    device("delay-us", "300000");
    ASSERT_EQ(UCS_INPROGRESS, get(local.iov(0, 4096), remote, &comp));
    ASSERT_EQ(UCS_OK, arm(a));
    EXPECT_EQ(0, poll(&pfd[0], 1, 20)) << "readable without cause";
    EXPECT_EQ(1, poll(&pfd[0], 1, 5000));
    for (int i = 0; (comp.done == 0) && (i < 10); ++i) {
        a->progress();
    }
    EXPECT_EQ(1u, comp.done) << "an event, and progress found nothing";
}

/* In-tree: no keepalive. A peer that goes away while nothing is sent. */
TEST_F(Accident, ep_check)
{
    open();
    EXPECT_TRUE(a->attr().cap.flags & UCT_IFACE_FLAG_EP_CHECK);
    introduce();
    ASSERT_EQ(UCS_OK, uct_ep_check(ep, 0, nullptr));
    progress_for(0.2);
    EXPECT_TRUE(a->failures.empty());
    delete b;
    b = nullptr;
    progress_for(0.2);
    EXPECT_TRUE(a->failures.empty()) << "silence is no failure";
    ASSERT_EQ(UCS_OK, uct_ep_check(ep, 0, nullptr));
    ASSERT_TRUE(wait([&] { return !a->failures.empty(); }));
    progress_for(0.1);
    ASSERT_EQ(1u, a->failures.size());
    EXPECT_EQ(ep, a->failures[0].ep);
}

/* In-tree: a lost connect packet blocks RMA for ever. */
TEST_F(Accident, lost_connect_packet)
{
    const unsigned losses = 20;
    Completion comp;

    open();
    Memory remote(*b, 4096, 1), local(*a, 4096, 2);
    /* hello, its repetitions, and the answer's first tries */
    device("inject", "send:10:20");
    ASSERT_EQ(UCS_INPROGRESS, get(local.iov(0, 4096), remote, &comp))
            << "after " << losses << " losses no read is posted";
    ASSERT_TRUE(wait([&] { return comp.done > 0; }));
    EXPECT_EQ(UCS_OK, comp.status);
    EXPECT_EQ(0, memcmp(local.data(), remote.data(), 4096));

    /* data that left with the lost hello arrives as well, in order */
    uct_ep_h second = a->connect(*b);
    device("inject", "send:10:5");
    for (uint64_t i = 0; i < 100; ++i) {
        ASSERT_EQ(UCS_OK, send_short(second, i, {}));
    }
    ASSERT_TRUE(wait([&] { return b->count == 100; }));
    expect_in_order(100);
    EXPECT_TRUE(a->failures.empty());
    uct_ep_destroy(second);
}

/* One post of each kind; @return the status of each. */
class FailedPost : public Accident {
protected:
    std::vector<ucs_status_t> post_all(Memory &remote, Memory &local)
    {
        Bytes message  = make_message(1, 5000);
        uct_iov_t iov  = local.iov(0, 64);
        uint64_t where = reinterpret_cast<uintptr_t>(remote.data());
        ssize_t packed = uct_ep_am_bcopy(ep, AM_ID, pack_bytes, &message, 0);

        return {uct_ep_am_short(ep, AM_ID, 1, nullptr, 0),
                packed >= 0 ? UCS_OK : static_cast<ucs_status_t>(packed),
                uct_ep_am_zcopy(ep, AM_ID, message.data(), 16, &iov, 1, 0,
                                &zcopy.uct),
                uct_ep_get_zcopy(ep, &iov, 1, where, remote.rkey(),
                                 &get.uct)};
    }

    Completion zcopy, get;
};

/* In-tree: a failed post is fatal to the process. Shortage has no effect but
 * NO_RESOURCE, for messages, control packets and repetitions alike. */
TEST_F(FailedPost, shortage)
{
    open();
    Memory remote(*b, 4096, 1), local(*a, 4096, 2);
    uint64_t sent = 1;

    introduce();
    for (const char *err : {"12", "11"}) { /* ENOMEM, EAGAIN */
        std::string inject = std::string("post:") + err;
        device("inject", (inject + ":4").c_str());
        for (ucs_status_t status : post_all(remote, local)) {
            EXPECT_EQ(UCS_ERR_NO_RESOURCE, status) << "errno " << err;
        }
        /* repetitions, and the limits that the receiver sends */
        device("inject", ("send:10:3," + inject + ":40").c_str());
        for (int i = 0; i < 200; ++i) {
            ASSERT_EQ(UCS_OK, send_short(ep, sent++, {})) << "errno " << err;
        }
        ASSERT_TRUE(wait([&] { return b->count >= sent; }));
        /* and a hello */
        uct_ep_h one = a->connect(*b);
        device("inject", ("send:10:1," + inject + ":10").c_str());
        ASSERT_EQ(UCS_OK, send_short(one, sent++, {}));
        ASSERT_TRUE(wait([&] { return b->count >= sent; }));
        uct_ep_destroy(one);
    }
    expect_in_order(sent);
    EXPECT_EQ(0u, zcopy.done + get.done) << "completed, but never posted";
    EXPECT_TRUE(a->failures.empty());
    EXPECT_TRUE(b->failures.empty());
}

/* A post that fails for good fails its endpoint, once; the process lives. */
TEST_F(FailedPost, broken_device)
{
    open();
    Memory remote(*b, 4096, 1), local(*a, 4096, 2);

    introduce();
    device("inject", "post:5:1000000"); /* EIO */
    for (int round = 0; round < 3; ++round) {
        for (ucs_status_t status : post_all(remote, local)) {
            EXPECT_LT(status, 0);
            if (round > 0) { /* it was reported meanwhile */
                EXPECT_NE(UCS_ERR_NO_RESOURCE, status);
            }
        }
        progress_for(0.05);
    }
    EXPECT_EQ(0u, zcopy.done + get.done) << "completed, but never posted";
    EXPECT_EQ(1u, a->failures.size());
}

} // namespace accident
