/* SPDX-License-Identifier: BSD-3-Clause */
/* Gets by RDMA READ, and puts by RDMA WRITE where device and libefa have it
 * (rdma-core 48, and a device of the third generation), else these skip. */
#include "uct_entity.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

using namespace uct_test;

namespace {

/* With a connected pair that has the operation. */
class UctOneSided : public UctTest {
protected:
    void begin(bool puts, const Config &config = {})
    {
        SRD_ONLY("no RMA");
        open(config);
        if (puts) {
            PUT_ONLY();
        }
    }

    static bool all_done(const std::vector<Completion> &comps)
    {
        return std::all_of(comps.begin(), comps.end(), [](const auto &comp) {
            return comp.done > 0;
        });
    }
};

/* zcopy either way: puts (true) or gets. */
class UctRma : public UctOneSided, public testing::WithParamInterface<bool> {
protected:
    void SetUp() override
    {
        begin(GetParam());
    }

    ucs_status_t zcopy(const uct_iov_t *iov, size_t count, uint64_t where,
                       uct_rkey_t rkey, Completion *comp)
    {
        return until_taken([&] {
            return (GetParam() ? uct_ep_put_zcopy : uct_ep_get_zcopy)(
                    ep, iov, count, where, rkey, comp ? &comp->uct : nullptr);
        });
    }

    /* Where the bytes come from, and to. */
    static Memory &from(Memory &remote, Memory &local)
    {
        return GetParam() ? local : remote;
    }
    static Memory &to(Memory &remote, Memory &local)
    {
        return GetParam() ? remote : local;
    }
};

/* Completed means placed: nobody has to progress at the other side. */
TEST_P(UctRma, lengths_and_offsets__and_nothing_beside)
{
    const size_t size = 4 << 20;
    Memory remote(*b, size, 1), local(*a, size, 2);
    Memory &source = from(remote, local), &target = to(remote, local);

    for (size_t length : {size_t(1), size_t(8), size_t(4095), size_t(4097),
                          size_t(65536), size_t(1000003), size}) {
        size_t offset = (size - length) / 2;
        uct_iov_t iov = local.iov(offset, length);
        Completion comp;

        std::fill(target.data(), target.data() + size, 0);
        ASSERT_EQ(UCS_INPROGRESS, zcopy(&iov, 1, remote.address() + offset,
                                        remote.rkey(), &comp));
        EXPECT_EQ(UCS_OK, end_of(comp));
        EXPECT_EQ(0, memcmp(source.data() + offset, target.data() + offset,
                            length));
        if (offset > 0) {
            EXPECT_EQ(0, target.data()[offset - 1]);
            EXPECT_EQ(0, target.data()[size - 1]);
        }
    }
}

/* Too many pieces, too long ones, and such whose length times count wraps around,
 * to nothing or to 16 bytes. */
TEST_P(UctRma, nothing_and_too_much)
{
    Memory remote(*b, 4096, 1), local(*a, 4096, 2);
    const auto &cap = a->attr().cap;
    size_t most     = GetParam() ? cap.put.max_zcopy : cap.get.max_zcopy;
    size_t pieces   = GetParam() ? cap.put.max_iov : cap.get.max_iov;
    std::vector<uct_iov_t> many(pieces + 1, local.iov(0, 16));
    uct_iov_t iov = local.iov(0, 0);
    Completion comp;

    EXPECT_EQ(UCS_OK, zcopy(&iov, 1, remote.address(), remote.rkey(), nullptr));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, zcopy(many.data(), many.size(),
                                           remote.address(), remote.rkey(),
                                           &comp));
    iov.length = most + 1;
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              zcopy(&iov, 1, remote.address(), remote.rkey(), &comp));
    iov.count = 16;
    for (size_t length : {size_t(1) << 60, (size_t(1) << 60) + 1}) {
        iov.length = length;
        EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                  zcopy(&iov, 1, remote.address(), remote.rkey(), &comp));
        EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                  uct_ep_am_zcopy(ep, AM_ID, nullptr, 0, &iov, 1, 0,
                                  &comp.uct));
    }
    EXPECT_EQ(0u, comp.done);
}

TEST_P(UctRma, bad_rkey__fails_the_operation_and_the_endpoint_once)
{
    Memory remote(*b, 4096, 1), local(*a, 4096, 2);
    uct_iov_t iov = local.iov(0, 64);
    Completion comp;

    ASSERT_EQ(UCS_INPROGRESS, zcopy(&iov, 1, remote.address(),
                                    remote.rkey() ^ 0x5a5a00, &comp));
    ASSERT_TRUE(wait([&] { return comp.done && !a->failures.empty(); }));
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, comp.status);
    rounds(1000);
    EXPECT_EQ(1u, comp.done);
    EXPECT_EQ(1u, a->failures.size());
    EXPECT_LT(uct_ep_am_short(ep, AM_ID, 1, nullptr, 0), 0);
    EXPECT_EQ(make_message(1, 4096),
              Bytes(remote.data(), remote.data() + 4096));
}

/* In any order, each with its own bytes; a flush ends when all did. */
TEST_P(UctRma, many_at_once__complete_each_once_before_a_flush)
{
    const unsigned count = 600;
    const size_t each    = 5000;
    Memory remote(*b, count * each, 4), local(*a, count * each, 5);
    std::vector<Completion> comps(count);
    Completion flushed;

    for (unsigned i = 0; i < count; ++i) {
        uct_iov_t iov = local.iov(i * each, each);
        ASSERT_EQ(UCS_INPROGRESS, zcopy(&iov, 1, remote.address() + i * each,
                                        remote.rkey(), &comps[i]));
    }
    if (uct_ep_flush(ep, 0, &flushed.uct) == UCS_INPROGRESS) {
        ASSERT_TRUE(wait([&] { return flushed.done > 0; }));
    }
    for (const Completion &comp : comps) {
        EXPECT_EQ(1u, comp.done);
        EXPECT_EQ(UCS_OK, comp.status);
    }
    EXPECT_EQ(0, memcmp(local.data(), remote.data(), count * each));
}

/* Nobody progressed: the peer does not know us, so none is posted. */
TEST_P(UctRma, first__waits_for_the_answer_while_messages_flow)
{
    Memory remote(*b, 4096, 1), local(*a, 4096, 2);
    uct_iov_t iov = local.iov(0, 64);
    Completion comp;

    EXPECT_EQ(UCS_ERR_NO_RESOURCE,
              (GetParam() ? uct_ep_put_zcopy : uct_ep_get_zcopy)(
                      ep, &iov, 1, remote.address(), remote.rkey(),
                      &comp.uct));
    EXPECT_EQ(UCS_OK, uct_ep_am_short(ep, AM_ID, 1, nullptr, 0));
    ASSERT_EQ(UCS_INPROGRESS, zcopy(&iov, 1, remote.address(), remote.rkey(),
                                    &comp));
    EXPECT_EQ(UCS_OK, end_of(comp));
}

INSTANTIATE_TEST_SUITE_P(Get, UctRma, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Put, UctRma, testing::Values(true));

class UctGet : public UctOneSided {
protected:
    void SetUp() override
    {
        begin(false, {{"GET_SHORT", "5s"}});
    }

    ucs_status_t get_short(void *buffer, size_t length, Memory &remote)
    {
        return until_taken([&] {
            return uct_ep_get_short(ep, buffer, length, remote.address(),
                                    remote.rkey());
        });
    }

    static void unpack(void *arg, const void *data, size_t length)
    {
        const uint8_t *bytes = static_cast<const uint8_t *>(data);

        static_cast<Bytes *>(arg)->assign(bytes, bytes + length);
    }
};

TEST_F(UctGet, get_bcopy__unpacks_before_it_completes)
{
    size_t max = a->attr().cap.get.max_bcopy;
    Memory remote(*b, max, 9);
    Bytes result(1);

    for (size_t length : {size_t(1), size_t(100), max}) {
        Completion comp;

        ASSERT_EQ(UCS_INPROGRESS, until_taken([&] {
            return uct_ep_get_bcopy(ep, unpack, &result, length,
                                    remote.address(), remote.rkey(),
                                    &comp.uct);
        }));
        ASSERT_TRUE(wait([&] { return comp.done > 0; }));
        EXPECT_EQ(1u, comp.done);
        EXPECT_EQ(Bytes(remote.data(), remote.data() + length), result);
    }
    /* nothing is read at once, and too much is refused */
    EXPECT_EQ(UCS_OK, uct_ep_get_bcopy(ep, unpack, &result, 0, remote.address(),
                                       remote.rkey(), nullptr));
    EXPECT_TRUE(result.empty());
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              uct_ep_get_bcopy(ep, unpack, &result, max + 1, remote.address(),
                               remote.rkey(), nullptr));
    EXPECT_TRUE(flush(ep));
}

TEST_F(UctGet, get_short__each_length_returns_with_the_bytes_in_place)
{
    EXPECT_FALSE(Entity().attr().cap.flags & UCT_IFACE_FLAG_GET_SHORT)
            << "offered unless asked for";
    ASSERT_TRUE(a->attr().cap.flags & UCT_IFACE_FLAG_GET_SHORT);
    const size_t max = a->attr().cap.get.max_short;
    Memory remote(*b, max + 1, 3);
    Bytes bytes(max + 1);

    /* rather than wait for the peer to answer */
    EXPECT_EQ(UCS_ERR_NO_RESOURCE,
              uct_ep_get_short(ep, bytes.data(), 8, remote.address(),
                               remote.rkey()));
    for (size_t length = 0; length <= max; ++length) {
        std::fill(bytes.begin(), bytes.end(), 0xee);
        ASSERT_EQ(UCS_OK, get_short(bytes.data(), length, remote));
        EXPECT_EQ(0, memcmp(bytes.data(), remote.data(), length));
        EXPECT_EQ(0xee, bytes[length]) << length;
    }
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, get_short(bytes.data(), max + 1, remote));
}

/* All else that completes or arrives meanwhile is told by progress. */
TEST_F(UctGet, get_short__runs_no_callback_and_loses_none)
{
    Memory remote(*b, 8, 3), local(*a, 1 << 20, 4), large(*b, 1 << 20, 5);
    uct_iov_t iov = local.iov(0, local.size());
    std::vector<Completion> comps(20);
    uint64_t value = 0;
    auto done = [&] {
        return std::count_if(comps.begin(), comps.end(),
                             [](const auto &comp) { return comp.done; });
    };

    ASSERT_EQ(UCS_OK, get_short(&value, sizeof(value), remote));
    uct_ep_h back = b->connect(*a);
    for (uint64_t round = 0; round < comps.size(); ++round) {
        ASSERT_EQ(UCS_OK, send_short(ep, round, {}));
        while (uct_ep_am_short(back, AM_ID, round, nullptr, 0) != UCS_OK) {
            progress();
        }
        ASSERT_EQ(UCS_INPROGRESS, until_taken([&] {
            return uct_ep_get_zcopy(ep, &iov, 1, large.address(), large.rkey(),
                                    &comps[round].uct);
        }));
        auto before     = done();
        size_t received = a->count;
        value           = 0;
        ASSERT_EQ(UCS_OK, uct_ep_get_short(ep, &value, sizeof(value),
                                           remote.address(), remote.rkey()));
        EXPECT_EQ(0, memcmp(&value, remote.data(), sizeof(value)));
        EXPECT_EQ(before, done());
        EXPECT_EQ(received, a->count);
    }
    ASSERT_TRUE(flush(ep));
    EXPECT_TRUE(wait([&] { return (a->count == 20) && (b->count == 20); }));
    for (const Completion &comp : comps) {
        EXPECT_EQ(1u, comp.done);
    }
    uct_ep_destroy(back);
}

TEST_F(UctGet, get_short__of_a_bad_rkey_is_an_error_and_progress_tells_it)
{
    Memory remote(*b, 8, 3);
    uint64_t value;

    ASSERT_EQ(UCS_OK, get_short(&value, sizeof(value), remote));
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET,
              uct_ep_get_short(ep, &value, sizeof(value), remote.address(),
                               remote.rkey() ^ 0x5a5a00));
    EXPECT_TRUE(a->failures.empty());
    EXPECT_TRUE(wait([&] { return a->failures.size() == 1; }));
}

class UctPut : public UctOneSided {
protected:
    void SetUp() override
    {
        begin(true);
    }
};

/* By short and by bcopy: the source is ours again when the call returns. */
TEST_F(UctPut, put_short_and_bcopy__each_length)
{
    const size_t shorts = a->attr().cap.put.max_short;
    const size_t max    = a->attr().cap.put.max_bcopy;
    Memory remote(*b, max + 1, 1);

    ASSERT_GE(shorts, 8u);
    for (bool bcopy : {false, true}) {
        std::vector<size_t> lengths = {0, 1, 100, max};
        if (!bcopy) {
            lengths.resize(shorts + 1);
            std::iota(lengths.begin(), lengths.end(), 0);
        }
        for (size_t length : lengths) {
            Bytes bytes = make_message(length + 7, length);

            std::fill(remote.data(), remote.data() + remote.size(), 0xee);
            ASSERT_EQ(bcopy ? ssize_t(length) : ssize_t(UCS_OK),
                      until_taken([&]() -> ssize_t {
                return bcopy ? uct_ep_put_bcopy(ep, pack_bytes, &bytes,
                                                remote.address(),
                                                remote.rkey()) :
                               ssize_t(uct_ep_put_short(ep, bytes.data(),
                                                        length,
                                                        remote.address(),
                                                        remote.rkey()));
            })) << length;
            std::fill(bytes.begin(), bytes.end(), 0);
            ASSERT_TRUE(flush(ep));
            EXPECT_EQ(make_message(length + 7, length),
                      Bytes(remote.data(), remote.data() + length));
            EXPECT_EQ(0xee, remote.data()[length]) << length;
        }
    }
    Bytes large(shorts + 1);
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              uct_ep_put_short(ep, large.data(), large.size(), remote.address(),
                               remote.rkey()));
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
            ASSERT_EQ(UCS_INPROGRESS, until_taken([&] {
                return uct_ep_put_zcopy(ep, &iov, 1,
                                        remote.address() + i * each,
                                        remote.rkey(), &comps[i].uct);
            }));
        }
        if (flushed) {
            ASSERT_TRUE(flush(ep));
            EXPECT_EQ(0, memcmp(local.data(), remote.data(), count * each));
            EXPECT_EQ(reads + count, counter("rdma_read_wrs"));
        } else {
            end(ep);
            ASSERT_TRUE(wait([&] { return all_done(comps); }));
        }
        for (const Completion &comp : comps) {
            EXPECT_EQ(1u, comp.done);
        }
    }
}

} // namespace
