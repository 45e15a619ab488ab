/* SPDX-License-Identifier: BSD-3-Clause */
/* Fences over RMA that the device refuses, or ends when it goes itself. */
#include "fence_test.h"

using namespace uct_test;

namespace {

class UctFenceEnd : public UctFence {
protected:
    static unsigned long long refused()
    {
        return counter((std::string("rdma_") + verb() + "_wr_err").c_str());
    }

    /* The device answers the next RMA but `skip` with a status. */
    static void inject(unsigned status, unsigned skip)
    {
        device("inject", (std::string(verb()) + ":" + std::to_string(status) +
                          ":1:" + std::to_string(skip)).c_str());
    }
};

/* The first RMA of an endpoint that the peer's device refuses is posted again
 * (UctAgain): it counts until that is done, while it waits and afterwards. */
TEST_P(UctFenceEnd, refused_once__a_fence_waits_for_the_next_try)
{
    for (bool iface : {false, true}) {
        unsigned long long before = refused();
        Completion done;

        uct_ep_destroy(ep);
        ep = a->connect(*b); /* no RMA of it has worked */
        device("rate-mbps", "1000"); /* 8 ms for the next try */
        inject(14, 0);
        ASSERT_TRUE(wait([&] { return rma(done) == UCS_INPROGRESS; }));
        fence(iface);
        message_goes_after(done, ep);
        EXPECT_EQ(UCS_OK, done.status);
        EXPECT_EQ(before + 1, refused());
    }
    EXPECT_TRUE(a->failures.empty());
}

/* The device goes while all operations that are free wait for an interface's
 * fence. Messages that used them are over, and so is an endpoint of theirs. */
TEST_P(UctFenceEnd, device_lost__in_an_interface_fence_ends_each_once)
{
    uct_ep_h other = a->connect(*b);
    Completion large, small, flushed;

    ASSERT_TRUE(wait([&] { return rma(first) == UCS_INPROGRESS; }));
    for (unsigned i = 0; i < 4; ++i) { /* as many operations */
        ASSERT_EQ(UCS_OK, uct_ep_am_short(other, AM_ID, i, nullptr, 0));
        ASSERT_EQ(UCS_OK, uct_ep_am_short(ep, AM_ID, i, nullptr, 0));
    }
    ASSERT_TRUE(flush(other));
    ASSERT_TRUE(flush(ep));
    uct_ep_destroy(other);
    progress_for(0.01);
    device("rate-mbps", "100"); /* 80 ms for the large one */
    inject(1, 1);
    ASSERT_EQ(UCS_INPROGRESS, rma(large));
    ASSERT_EQ(UCS_INPROGRESS, rma(small, 1));
    ASSERT_EQ(UCS_INPROGRESS, uct_ep_flush(ep, 0, &flushed.uct));
    fence(true);
    ASSERT_TRUE(wait([&] { return !a->failures.empty(); }));
    progress_for(0.01);
    for (const Completion *each : {&large, &small, &flushed}) {
        EXPECT_EQ(1u, each->done);
        EXPECT_EQ(UCS_ERR_IO_ERROR, each->status);
    }
    EXPECT_EQ(1u, a->failures.size());
    EXPECT_EQ(UCS_OK, uct_iface_flush(a->iface(), 0, nullptr))
            << "more ended than was posted";
}

INSTANTIATE_TEST_SUITE_P(by, UctFenceEnd, testing::Bool(),
                         [](const testing::TestParamInfo<bool> &info) {
                             return info.param ? "write" : "read";
                         });

} /* namespace */
