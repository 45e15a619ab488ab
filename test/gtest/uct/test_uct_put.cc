/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts by RDMA WRITE: where device and libefa have it (rdma-core 48, and a
 * device of the third generation), else these tests skip. */
#include "uct_entity.h"

#include <algorithm>
#include <cstdlib>

using namespace uct_test;

class UctPut : public UctTest {
protected:
    void SetUp() override
    {
        open();
        if (!(a->attr().cap.flags & UCT_IFACE_FLAG_PUT_ZCOPY)) {
            ASSERT_EQ(nullptr, getenv("NEED_PUT")) << "puts were expected";
            GTEST_SKIP() << "no RDMA WRITE here";
        }
    }

    template <typename Post> auto until_taken(Post post) -> decltype(post())
    {
        decltype(post()) status = static_cast<decltype(post())>(
                UCS_ERR_NO_RESOURCE);

        wait([&] {
            status = post();
            return status != UCS_ERR_NO_RESOURCE;
        });
        return status;
    }

    ucs_status_t put_zcopy(const uct_iov_t *iov, size_t count, Memory &remote,
                           size_t offset, uct_completion_t *comp)
    {
        return until_taken([&] {
            return uct_ep_put_zcopy(ep, iov, count, address(remote) + offset,
                                    remote.rkey(), comp);
        });
    }

    static uint64_t address(Memory &memory)
    {
        return reinterpret_cast<uintptr_t>(memory.data());
    }
};

TEST_F(UctPut, put_zcopy__lengths_and_offsets_and_nothing_beside)
{
    const size_t size = 4 << 20;
    Memory remote(*b, size, 1), local(*a, size, 2);

    for (size_t length : {size_t(1), size_t(8), size_t(4095), size_t(4097),
                          size_t(65536), size_t(1000003), size}) {
        size_t offset = (size - length) / 2;
        uct_iov_t iov = local.iov(offset, length);
        Completion comp;

        std::fill(remote.data(), remote.data() + size, 0);
        ASSERT_EQ(UCS_INPROGRESS, put_zcopy(&iov, 1, remote, offset,
                                            &comp.uct));
        ASSERT_TRUE(wait([&] { return comp.done > 0; }));
        EXPECT_EQ(UCS_OK, comp.status);
        /* completed means placed: nobody has to progress at the target */
        EXPECT_EQ(0, memcmp(local.data() + offset, remote.data() + offset,
                            length));
        if (offset > 0) {
            EXPECT_EQ(0, remote.data()[offset - 1]);
            EXPECT_EQ(0, remote.data()[size - 1]);
        }
    }
}

TEST_F(UctPut, put_short__each_length_inline_and_not)
{
    const size_t max = a->attr().cap.put.max_short;
    Memory remote(*b, max + 1, 1);

    ASSERT_GE(max, 8u);
    for (size_t length = 0; length <= max; ++length) {
        Bytes bytes = make_message(length, length);

        std::fill(remote.data(), remote.data() + remote.size(), 0xee);
        ASSERT_EQ(UCS_OK, until_taken([&] {
            return uct_ep_put_short(ep, bytes.data(), length, address(remote),
                                    remote.rkey());
        })) << length;
        std::fill(bytes.begin(), bytes.end(), 0); /* it is ours again */
        ASSERT_TRUE(flush(ep));
        EXPECT_EQ(make_message(length, length),
                  Bytes(remote.data(), remote.data() + length));
        EXPECT_EQ(0xee, remote.data()[length]) << length;
    }
    Bytes large(max + 1);
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              uct_ep_put_short(ep, large.data(), large.size(), address(remote),
                               remote.rkey()));
}

TEST_F(UctPut, put_bcopy__0_1_and_max)
{
    const size_t max = a->attr().cap.put.max_bcopy;
    Memory remote(*b, max, 1);

    for (size_t length : {size_t(0), size_t(1), size_t(100), max}) {
        Bytes bytes = make_message(length + 7, length);

        ASSERT_EQ(static_cast<ssize_t>(length), until_taken([&] {
            return uct_ep_put_bcopy(ep, pack_bytes, &bytes, address(remote),
                                    remote.rkey());
        }));
        ASSERT_TRUE(flush(ep));
        EXPECT_EQ(bytes, Bytes(remote.data(), remote.data() + length));
    }
}

TEST_F(UctPut, put_zcopy__nothing_too_much_and_too_many)
{
    Memory remote(*b, 4096, 1), local(*a, 4096, 2);
    uct_iov_t none = local.iov(0, 0);
    uct_iov_t huge = local.iov(0, a->attr().cap.put.max_zcopy + 1);
    std::vector<uct_iov_t> many(a->attr().cap.put.max_iov + 1,
                                local.iov(0, 16));

    EXPECT_EQ(UCS_OK, put_zcopy(&none, 1, remote, 0, nullptr));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, put_zcopy(&huge, 1, remote, 0, nullptr));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              put_zcopy(many.data(), many.size(), remote, 0, nullptr));
}

/* The order that UCP's rendezvous rests on: put, fence, "done". */
TEST_F(UctPut, fence__a_message_behind_it_finds_the_bytes_placed)
{
    const size_t size = 200000;
    Memory remote(*b, size, 1), local(*a, size, 2);
    unsigned wrong = 0;

    b->record = false;
    b->on_message = [&](const Bytes &message) {
        uint64_t round;
        memcpy(&round, message.data(), sizeof(round));
        for (size_t i : {size_t(0), size / 2, size - 1}) {
            wrong += remote.data()[i] != static_cast<uint8_t>(round);
        }
    };
    for (uint64_t round = 1; round <= 200; ++round) {
        std::fill(local.data(), local.data() + size,
                  static_cast<uint8_t>(round));
        uct_iov_t iov = local.iov(0, size);
        Completion comp;
        ASSERT_EQ(UCS_INPROGRESS, put_zcopy(&iov, 1, remote, 0, &comp.uct));
        ASSERT_EQ(UCS_OK, (round % 2) ? uct_ep_fence(ep, 0) :
                                        uct_iface_fence(a->iface(), 0));
        ASSERT_EQ(UCS_OK, send_short(ep, round, {}));
        ASSERT_TRUE(wait([&] { return (b->count == round) && comp.done; }));
    }
    EXPECT_EQ(0u, wrong);
}

TEST_F(UctPut, fence__repeated_costs_nothing_and_orders_puts_among_each_other)
{
    Memory remote(*b, 8, 1);
    uint64_t seen;

    for (uint64_t i = 1; i <= 600; ++i) {
        ASSERT_EQ(UCS_OK, until_taken([&] {
            return uct_ep_put_short(ep, &i, sizeof(i), address(remote),
                                    remote.rkey());
        }));
        if (i % 3) {
            ASSERT_EQ(UCS_OK, uct_ep_fence(ep, 0));
            ASSERT_EQ(UCS_OK, uct_ep_fence(ep, 0));
            continue;
        }
        ASSERT_TRUE(flush(ep));
        memcpy(&seen, remote.data(), sizeof(seen));
        ASSERT_EQ(i, seen); /* no earlier put came later */
    }
}

TEST_F(UctPut, flush__completes_when_all_before_is_placed_in_any_order)
{
    const unsigned count = 300;
    const size_t each = 3000;
    Memory remote(*b, count * each, 4), local(*a, count * each, 5);
    std::vector<Completion> comps(count);
    Completion flushed;

    for (unsigned i = 0; i < count; ++i) {
        uct_iov_t iov = local.iov(i * each, each);
        ASSERT_EQ(UCS_INPROGRESS,
                  put_zcopy(&iov, 1, remote, i * each, &comps[i].uct));
    }
    ucs_status_t status = uct_ep_flush(ep, 0, &flushed.uct);
    if (status == UCS_INPROGRESS) {
        ASSERT_TRUE(wait([&] { return flushed.done > 0; }));
    }
    for (const Completion &comp : comps) {
        EXPECT_EQ(1u, comp.done);
    }
    EXPECT_EQ(0, memcmp(local.data(), remote.data(), count * each));
}

/* With a read behind each write, which ends it: once, in whatever way. */
TEST_F(UctPut, flush_of_puts__each_ends_once_flushed_or_destroyed)
{
    const unsigned count = 300;
    const size_t each    = 3000;

    for (bool flushed : {true, false}) {
        TearDown();
        open({{"PUT_FLUSH", "y"}});
        Memory remote(*b, count * each, 4), local(*a, count * each, 5);
        std::vector<Completion> comps(count);
        unsigned long long reads = counter("rdma_read_wrs");

        for (unsigned i = 0; i < count; ++i) {
            uct_iov_t iov = local.iov(i * each, each);
            ASSERT_EQ(UCS_INPROGRESS,
                      put_zcopy(&iov, 1, remote, i * each, &comps[i].uct));
        }
        if (flushed) {
            ASSERT_TRUE(flush(ep));
            EXPECT_EQ(0, memcmp(local.data(), remote.data(), count * each));
            EXPECT_EQ(reads + count, counter("rdma_read_wrs"));
        } else {
            uct_ep_destroy(ep);
            ep = nullptr;
            ASSERT_TRUE(wait([&] {
                return std::all_of(comps.begin(), comps.end(),
                                   [](const Completion &comp) {
                                       return comp.done > 0;
                                   });
            }));
        }
        for (const Completion &comp : comps) {
            EXPECT_EQ(1u, comp.done);
        }
    }
}

TEST_F(UctPut, bad_rkey__fails_the_operation_and_the_endpoint_once)
{
    Memory remote(*b, 4096, 1), local(*a, 4096, 2);
    uct_iov_t iov = local.iov(0, 64);
    Completion comp;

    ASSERT_EQ(UCS_INPROGRESS, until_taken([&] {
        return uct_ep_put_zcopy(ep, &iov, 1, address(remote),
                                remote.rkey() ^ 0x5a5a00, &comp.uct);
    }));
    ASSERT_TRUE(wait([&] { return comp.done && !a->failures.empty(); }));
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, comp.status);
    EXPECT_EQ(make_message(1, 4096),
              Bytes(remote.data(), remote.data() + 4096));
}
