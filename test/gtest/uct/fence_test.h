/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FENCE_TEST_H_
#define FENCE_TEST_H_

/* RMA, a fence and what comes behind it, at once or through the queue of
 * pending requests. */
#include "uct_entity.h"

#include <algorithm>
#include <memory>

namespace uct_test {

/* With reads, and, where the device has them, with writes. */
class UctFence : public UctTest, public testing::WithParamInterface<bool> {
protected:
    static constexpr size_t LENGTH = 1 << 20;
    static constexpr uint8_t WIREUP_ID = 1;

    /* The device's word for it. */
    static const char *verb()
    {
        return GetParam() ? "write" : "read";
    }

    void SetUp() override
    {
        SRD_ONLY("no RMA");
        open();
        if (GetParam()) {
            PUT_ONLY();
        }
        remote.reset(new Memory(*b, LENGTH, 1));
        local.reset(new Memory(*a, LENGTH, 2));
    }

    void TearDown() override
    {
        device("rate-mbps", "0");
        remote.reset();
        local.reset();
        UctTest::TearDown();
    }

    /* The first `length` bytes, over there. */
    ucs_status_t rma(Completion &comp, size_t length = LENGTH)
    {
        uct_iov_t iov = local->iov(0, length);

        return (GetParam() ? uct_ep_put_zcopy : uct_ep_get_zcopy)(
                ep, &iov, 1, remote->address(), remote->rkey(), &comp.uct);
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

    using Request = Pending;

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

} // namespace uct_test

#endif
