/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads under way while their endpoint is fenced, cancelled, destroyed. */
#include "accident.h"

#include <algorithm>

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

/* In-tree: an endpoint was destroyed under a get; the user was told that it
 * was over while the device still wrote to the buffer. */
TEST_F(Accident, destroy_under_a_get)
{
    const size_t size = 4 << 20;

    open();
    Memory remote(*b, size, 1), local(*a, size, 2);
    Completion comp;

    introduce();
    std::fill(local.data(), local.data() + size, 0xa5);
    device("delay-us", "200000");
    ASSERT_EQ(UCS_INPROGRESS, get(local.iov(0, size), remote, &comp));
    uct_ep_destroy(ep);
    ep = nullptr;
    ASSERT_TRUE(wait([&] { return comp.done > 0; }));
    if (comp.status == UCS_OK) {
        EXPECT_EQ(0, memcmp(local.data(), remote.data(), size));
    }
    /* From here on the memory is the user's: nothing may write to it. */
    std::fill(local.data(), local.data() + size, 0x5a);
    progress_for(0.6);
    EXPECT_EQ(ptrdiff_t(size),
              std::count(local.data(), local.data() + size, 0x5a));
    EXPECT_EQ(1u, comp.done);
}

} // namespace accident
