/* SPDX-License-Identifier: BSD-3-Clause */
/* A refusing device may do little harm, and so may a fence that is given up. */
#include "accident.h"

using namespace uct_test;

namespace accident {

/* In-tree: an assertion on fence followed by flush(CANCEL). */
TEST_F(Accident, fence_then_cancel)
{
    open();
    Memory remote(*b, 1 << 20, 1), local(*a, 1 << 20, 2);
    uct_ep_h other = a->connect(*b);
    Completion read, flushed;

    introduce();
    device("delay-us", "200000");
    ASSERT_EQ(UCS_INPROGRESS, get(local.iov(0, 1 << 20), remote, &read));
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(UCS_OK, uct_ep_fence(ep, 0));
        ASSERT_EQ(UCS_OK, uct_iface_fence(a->iface(), 0));
    }
    ucs_status_t status = uct_ep_flush(ep, UCT_FLUSH_FLAG_CANCEL,
                                       &flushed.uct);
    ASSERT_EQ(UCS_INPROGRESS, status);
    ASSERT_TRUE(wait([&] { return flushed.done > 0; }));
    EXPECT_EQ(1u, read.done) << "a flush was done before the read";
    EXPECT_EQ(1u, flushed.done);
    EXPECT_LT(uct_ep_am_short(ep, AM_ID, 1, nullptr, 0), 0);
    EXPECT_TRUE(a->failures.empty());

    device("delay-us", "0");
    EXPECT_EQ(UCS_OK, send_short(other, 1, {})) << "held by a dead fence";
    ASSERT_TRUE(wait([&] { return b->count == 2; }));
    uct_ep_destroy(other);
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
