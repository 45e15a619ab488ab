/* SPDX-License-Identifier: BSD-3-Clause */
/* Gets by RDMA READ. */
#include "uct_entity.h"

#include <algorithm>

using namespace uct_test;

class UctGet : public UctTest {
protected:
    /* Retries while the peer has not answered or nothing is free. */
    ucs_status_t get_zcopy(const uct_iov_t *iov, uint64_t address,
                           uct_rkey_t rkey, uct_completion_t *comp)
    {
        ucs_status_t status = UCS_ERR_NO_RESOURCE;

        wait([&] {
            status = uct_ep_get_zcopy(ep, iov, 1, address, rkey, comp);
            return status != UCS_ERR_NO_RESOURCE;
        });
        return status;
    }

    static void unpack(void *arg, const void *data, size_t length)
    {
        const uint8_t *bytes = static_cast<const uint8_t *>(data);

        static_cast<Bytes *>(arg)->assign(bytes, bytes + length);
    }
};

TEST_F(UctGet, get_zcopy__lengths_and_offsets)
{
    open();
    const size_t size = 4 << 20;
    Memory remote(*b, size, 1), local(*a, size, 2);

    for (size_t length : {size_t(1), size_t(8), size_t(4095), size_t(4097),
                          size_t(65536), size_t(1000003), size}) {
        size_t offset = (size - length) / 2;
        uct_iov_t iov = local.iov(offset, length);
        Completion comp;

        std::fill(local.data(), local.data() + size, 0);
        ASSERT_EQ(UCS_INPROGRESS,
                  get_zcopy(&iov,
                            reinterpret_cast<uintptr_t>(remote.data()) + offset,
                            remote.rkey(), &comp.uct));
        ASSERT_TRUE(wait([&] { return comp.done > 0; }));
        EXPECT_EQ(UCS_OK, comp.status);
        EXPECT_EQ(0, memcmp(local.data() + offset, remote.data() + offset,
                            length));
        if (offset > 0) {
            EXPECT_EQ(0, local.data()[offset - 1]);
            EXPECT_EQ(0, local.data()[size - 1]);
        }
    }
}

TEST_F(UctGet, get_zcopy__nothing_and_too_much)
{
    open();
    Memory remote(*b, 4096, 1), local(*a, 4096, 2);
    uct_iov_t none = local.iov(0, 0);
    uct_iov_t huge = local.iov(0, a->attr().cap.get.max_zcopy + 1);
    uint64_t address = reinterpret_cast<uintptr_t>(remote.data());

    EXPECT_EQ(UCS_OK, get_zcopy(&none, address, remote.rkey(), nullptr));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              get_zcopy(&huge, address, remote.rkey(), nullptr));
}

TEST_F(UctGet, get_bcopy__unpacks_before_it_completes)
{
    open();
    size_t max = a->attr().cap.get.max_bcopy;
    Memory remote(*b, max, 9);

    for (size_t length : {size_t(1), size_t(100), max}) {
        Completion comp;
        Bytes result;
        ucs_status_t status = UCS_ERR_NO_RESOURCE;

        ASSERT_TRUE(wait([&] {
            status = uct_ep_get_bcopy(
                    ep, unpack, &result, length,
                    reinterpret_cast<uintptr_t>(remote.data()), remote.rkey(),
                    &comp.uct);
            return status != UCS_ERR_NO_RESOURCE;
        }));
        ASSERT_EQ(UCS_INPROGRESS, status);
        ASSERT_TRUE(wait([&] { return comp.done > 0; }));
        EXPECT_EQ(1u, comp.done);
        EXPECT_EQ(Bytes(remote.data(), remote.data() + length), result);
    }
}

TEST_F(UctGet, first_operation__waits_for_the_answer_while_messages_flow)
{
    open();
    Memory remote(*b, 4096, 1), local(*a, 4096, 2);
    uct_iov_t iov = local.iov(0, 64);
    Completion comp;

    /* nobody progressed: the peer does not know us, so no read is posted */
    EXPECT_EQ(UCS_ERR_NO_RESOURCE,
              uct_ep_get_zcopy(ep, &iov, 1,
                               reinterpret_cast<uintptr_t>(remote.data()),
                               remote.rkey(), &comp.uct));
    EXPECT_EQ(UCS_OK, uct_ep_am_short(ep, AM_ID, 1, nullptr, 0));
    ASSERT_EQ(UCS_INPROGRESS,
              get_zcopy(&iov, reinterpret_cast<uintptr_t>(remote.data()),
                        remote.rkey(), &comp.uct));
    ASSERT_TRUE(wait([&] { return comp.done > 0; }));
    EXPECT_EQ(UCS_OK, comp.status);
}

TEST_F(UctGet, bad_rkey__fails_the_operation_and_the_endpoint_once)
{
    open();
    Memory remote(*b, 4096, 1), local(*a, 4096, 2);
    uct_iov_t iov = local.iov(0, 64);
    Completion comp;

    ASSERT_EQ(UCS_INPROGRESS,
              get_zcopy(&iov, reinterpret_cast<uintptr_t>(remote.data()),
                        remote.rkey() ^ 0x5a5a00, &comp.uct));
    ASSERT_TRUE(wait([&] { return comp.done && !a->failures.empty(); }));
    EXPECT_NE(UCS_OK, comp.status);
    EXPECT_EQ(1u, comp.done);
    for (int i = 0; i < 1000; ++i) {
        progress();
    }
    EXPECT_EQ(1u, a->failures.size());
    EXPECT_LT(uct_ep_am_short(ep, AM_ID, 1, nullptr, 0), 0);
}

TEST_F(UctGet, many_at_once__complete_each_once_with_their_own_bytes)
{
    open();
    const unsigned count = 600;
    const size_t each = 5000;
    Memory remote(*b, count * each, 4), local(*a, count * each, 5);
    std::vector<Completion> comps(count);
    uint64_t address = reinterpret_cast<uintptr_t>(remote.data());

    for (unsigned i = 0; i < count; ++i) {
        uct_iov_t iov = local.iov(i * each, each);
        ASSERT_EQ(UCS_INPROGRESS, get_zcopy(&iov, address + i * each,
                                            remote.rkey(), &comps[i].uct));
    }
    ASSERT_TRUE(flush(ep));
    for (const Completion &comp : comps) {
        EXPECT_EQ(1u, comp.done);
        EXPECT_EQ(UCS_OK, comp.status);
    }
    EXPECT_EQ(0, memcmp(local.data(), remote.data(), count * each));
}
