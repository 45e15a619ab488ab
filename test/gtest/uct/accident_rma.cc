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

/* In-tree: no get_short, no put_short. A short get returns with the bytes in
 * place, and runs no callback of the user's meanwhile. */
TEST_F(Accident, short_rma)
{
    open({{"GET_SHORT", "5s"}});
    ASSERT_TRUE(a->attr().cap.flags & UCT_IFACE_FLAG_GET_SHORT);
    Memory remote(*b, 4096, 1);
    uint64_t address = reinterpret_cast<uintptr_t>(remote.data());
    uct_ep_h back    = b->connect(*a);
    Completion pending;
    Memory local(*a, 4096, 2);

    Bytes into(16, 0);
    EXPECT_EQ(UCS_ERR_NO_RESOURCE,
              uct_ep_get_short(ep, into.data(), 16, address, remote.rkey()))
            << "waited for the introduction";
    introduce();
    for (unsigned length : {0u, 1u, 8u, 16u}) {
        for (uint64_t at = 0; at < 1000; ++at) {
            std::fill(into.begin(), into.end(), 0);
            ASSERT_EQ(UCS_OK, uct_ep_get_short(ep, into.data(), length,
                                               address + at, remote.rkey()));
            ASSERT_EQ(0, memcmp(into.data(), remote.data() + at, length));
            ASSERT_EQ(16 - length, std::count(into.begin() + length,
                                              into.end(), 0));
        }
    }
    /* what else completes or arrives while it waits is told by progress */
    device("delay-us", "20000");
    ASSERT_EQ(UCS_INPROGRESS, get(local.iov(0, 4096), remote, &pending));
    ASSERT_EQ(UCS_OK, uct_ep_am_short(back, AM_ID, 1, nullptr, 0));
    ASSERT_EQ(UCS_OK, uct_ep_get_short(ep, into.data(), 16, address + 7,
                                       remote.rkey()));
    EXPECT_EQ(0, memcmp(into.data(), remote.data() + 7, 16));
    EXPECT_EQ(0u, pending.done);
    EXPECT_EQ(0u, a->count);
    ASSERT_TRUE(wait([&] { return pending.done && a->count; }));
    EXPECT_EQ(UCS_OK, pending.status);

    if (a->attr().cap.flags & UCT_IFACE_FLAG_PUT_SHORT) {
        device("delay-us", "0");
        Bytes out = make_message(3, 8);
        ucs_status_t status;
        ASSERT_TRUE(wait([&] {
            status = uct_ep_put_short(ep, out.data(), 8, address, remote.rkey());
            return status != UCS_ERR_NO_RESOURCE;
        }));
        ASSERT_EQ(UCS_OK, status);
        ASSERT_TRUE(flush(ep));
        EXPECT_EQ(0, memcmp(out.data(), remote.data(), 8));
    } else {
        printf("no put_short: the device or its library has no RDMA WRITE\n");
    }
    uct_ep_destroy(back);
}

} // namespace accident
