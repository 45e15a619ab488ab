/* SPDX-License-Identifier: BSD-3-Clause */
/* Gets by RDMA READ. */
#include "uct_entity.h"

#include <algorithm>
#include <memory>

using namespace uct_test;

class UctGet : public UctTest {
protected:
    void SetUp() override
    {
        SRD_ONLY("no reads");
    }

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
    std::vector<uct_iov_t> many(a->attr().cap.get.max_iov + 1,
                                local.iov(0, 16));
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              uct_ep_get_zcopy(ep, many.data(), many.size(), address,
                               remote.rkey(), nullptr));
}

/* Pieces whose length times count wraps around, to nothing or to 16 bytes. */
TEST_F(UctGet, zcopy__pieces_beyond_counting)
{
    open();
    Memory remote(*b, 64, 1), local(*a, 64, 2);
    uint64_t address = reinterpret_cast<uintptr_t>(remote.data());
    Completion comp;

    ASSERT_EQ(UCS_OK, send_short(ep, 0, {}));
    ASSERT_TRUE(flush(ep));
    for (size_t length : {size_t(1) << 60, (size_t(1) << 60) + 1}) {
        uct_iov_t iov = local.iov(0, length);

        iov.count = 16;
        EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                  get_zcopy(&iov, address, remote.rkey(), &comp.uct));
        EXPECT_EQ(UCS_ERR_INVALID_PARAM,
                  uct_ep_am_zcopy(ep, AM_ID, nullptr, 0, &iov, 1, 0,
                                  &comp.uct));
    }
    EXPECT_EQ(0u, comp.done);
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

    Bytes result(1); /* nothing is read at once, and too much is refused */
    const uint64_t address = reinterpret_cast<uintptr_t>(remote.data());
    EXPECT_EQ(UCS_OK, uct_ep_get_bcopy(ep, unpack, &result, 0, address,
                                       remote.rkey(), nullptr));
    EXPECT_TRUE(result.empty());
    EXPECT_EQ(UCS_ERR_INVALID_PARAM,
              uct_ep_get_bcopy(ep, unpack, &result, max + 1, address,
                               remote.rkey(), nullptr));
    EXPECT_TRUE(flush(ep));
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

class UctGetShort : public UctGet {
protected:
    ucs_status_t get_short(void *buffer, size_t length, Memory &remote)
    {
        ucs_status_t status = UCS_ERR_NO_RESOURCE;

        wait([&] {
            status = uct_ep_get_short(
                    ep, buffer, length,
                    reinterpret_cast<uintptr_t>(remote.data()), remote.rkey());
            return status != UCS_ERR_NO_RESOURCE;
        });
        return status;
    }
};

TEST_F(UctGetShort, not_offered__unless_asked_for)
{
    open();
    EXPECT_FALSE(a->attr().cap.flags & UCT_IFACE_FLAG_GET_SHORT);
}

TEST_F(UctGetShort, each_length__returns_with_the_bytes_in_place)
{
    open({{"GET_SHORT", "5s"}});
    ASSERT_TRUE(a->attr().cap.flags & UCT_IFACE_FLAG_GET_SHORT);
    const size_t max = a->attr().cap.get.max_short;
    Memory remote(*b, max + 1, 3);

    /* rather than wait for the peer to answer */
    Bytes first(8);
    EXPECT_EQ(UCS_ERR_NO_RESOURCE,
              uct_ep_get_short(ep, first.data(), 8,
                               reinterpret_cast<uintptr_t>(remote.data()),
                               remote.rkey()));
    for (size_t length = 0; length <= max; ++length) {
        Bytes bytes(max + 1, 0xee);
        ASSERT_EQ(UCS_OK, get_short(bytes.data(), length, remote));
        EXPECT_EQ(0, memcmp(bytes.data(), remote.data(), length));
        EXPECT_EQ(0xee, bytes[length]) << length;
    }
    Bytes large(max + 1);
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, get_short(large.data(), max + 1, remote));
}

TEST_F(UctGetShort, no_callback_runs_inside__and_none_is_lost)
{
    open({{"GET_SHORT", "5s"}});
    Memory remote(*b, 8, 3), local(*a, 1 << 20, 4), large(*b, 1 << 20, 5);
    uct_iov_t iov = local.iov(0, local.size());
    std::vector<Completion> comps(20);
    uint64_t value = 0;

    ASSERT_EQ(UCS_OK, get_short(&value, sizeof(value), remote));
    uct_ep_h back = b->connect(*a);
    for (uint64_t round = 0; round < 20; ++round) {
        ASSERT_EQ(UCS_OK, send_short(ep, round, {}));
        while (uct_ep_am_short(back, AM_ID, round, nullptr, 0) != UCS_OK) {
            progress();
        }
        ASSERT_EQ(UCS_INPROGRESS,
                  get_zcopy(&iov, reinterpret_cast<uintptr_t>(large.data()),
                            large.rkey(), &comps[round].uct));
        unsigned done = 0;
        for (const Completion &comp : comps) {
            done += comp.done;
        }
        size_t received = a->count;
        value = 0;
        ASSERT_EQ(UCS_OK,
                  uct_ep_get_short(ep, &value, sizeof(value),
                                   reinterpret_cast<uintptr_t>(remote.data()),
                                   remote.rkey()));
        EXPECT_EQ(0, memcmp(&value, remote.data(), sizeof(value)));
        for (const Completion &comp : comps) {
            done -= comp.done;
        }
        EXPECT_EQ(0u, done);
        EXPECT_EQ(received, a->count);
    }
    ASSERT_TRUE(flush(ep));
    EXPECT_TRUE(wait([&] { return (a->count == 20) && (b->count == 20); }));
    for (const Completion &comp : comps) {
        EXPECT_EQ(1u, comp.done);
    }
    uct_ep_destroy(back);
}

TEST_F(UctGetShort, bad_rkey__is_an_error_and_the_handler_comes_from_progress)
{
    open({{"GET_SHORT", "5s"}});
    Memory remote(*b, 8, 3);
    uint64_t value;

    ASSERT_EQ(UCS_OK, get_short(&value, sizeof(value), remote));
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET,
              uct_ep_get_short(ep, &value, sizeof(value),
                               reinterpret_cast<uintptr_t>(remote.data()),
                               remote.rkey() ^ 0x5a5a00));
    EXPECT_TRUE(a->failures.empty());
    EXPECT_TRUE(wait([&] { return a->failures.size() == 1; }));
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

/* Reads that all have completed at the device when progress is called. */
class UctReads : public UctTest {
protected:
    static constexpr unsigned COUNT = 12; /* all in one poll */

    struct Read {
        Completion comp;
        UctReads *test;
        unsigned number;
        unsigned unpacked;
        std::vector<uint8_t> bytes;
    };

    void SetUp() override
    {
        SRD_ONLY("no reads");
        open();
        m_remote = std::make_unique<Memory>(*b, 4096, 1);
        ASSERT_TRUE(wait([&] { return post(m_first) == UCS_INPROGRESS; }));
        ASSERT_TRUE(flush(ep));
    }

    void TearDown() override
    {
        m_remote.reset();
        UctTest::TearDown();
    }

    ucs_status_t post(Read &read)
    {
        read.test = this;
        return uct_ep_get_bcopy(
                ep,
                [](void *arg, const void *data, size_t length) {
                    Read *read = static_cast<Read *>(arg);
                    const uint8_t *bytes = static_cast<const uint8_t *>(data);

                    ++read->unpacked;
                    read->bytes.assign(bytes, bytes + length);
                    if (read->test->in_unpack) {
                        read->test->in_unpack(*read);
                    }
                },
                &read, 8, reinterpret_cast<uintptr_t>(m_remote->data()) +
                                  8 * read.number,
                m_remote->rkey(), &read.comp.uct);
    }

    /* COUNT of them, and progress that finds them all. */
    void run()
    {
        reads.resize(COUNT);
        for (unsigned i = 0; i < COUNT; ++i) {
            reads[i].number = i;
            ASSERT_EQ(UCS_INPROGRESS, post(reads[i]));
        }
        for (int i = 0; i < 1000; ++i) {
            b->progress(); /* the device goes on */
        }
        a->progress();
    }

    bool is_right(const Read &read) const
    {
        return (read.comp.done == 1) && (read.unpacked == 1) &&
               (memcmp(read.bytes.data(), m_remote->data() + 8 * read.number,
                       8) == 0);
    }

    std::function<void(Read &)> in_unpack;
    std::vector<Read> reads;

private:
    std::unique_ptr<Memory> m_remote;
    Read m_first{};
};

/* Progress in the first one's callback finds those that were polled with it. */
TEST_F(UctReads, progress__in_a_callback_of_get_bcopy)
{
    unsigned done = 0;

    /* a device that reorders, or works by itself, may have ended one alone */
    for (int tries = 0; (done == 0) && (tries < 100); ++tries) {
        in_unpack = [&](Read &) {
            in_unpack = nullptr;
            a->progress();
            for (const Read &read : reads) {
                done += is_right(read);
            }
        };
        reads = std::vector<Read>();
        run();
        ASSERT_TRUE(flush(ep));
        for (const Read &read : reads) {
            EXPECT_TRUE(is_right(read));
        }
    }
    EXPECT_GT(done, 0u);
}

/* The bytes are taken, and the endpoint goes: the others with it, each once. */
TEST_F(UctReads, destroy__while_get_bcopy_unpacks)
{
    unsigned unpacked = 0;

    in_unpack = [&](Read &) {
        uct_ep_destroy(ep);
        ep = nullptr;
        for (const Read &read : reads) {
            EXPECT_EQ(1u, read.comp.done);
            EXPECT_EQ(UCS_ERR_CANCELED, read.comp.status);
        }
    };
    run();
    progress_for(0.02);
    for (const Read &read : reads) {
        EXPECT_EQ(1u, read.comp.done);
        unpacked += read.unpacked;
    }
    EXPECT_EQ(1u, unpacked);
    EXPECT_EQ(UCS_OK, uct_iface_flush(a->iface(), 0, nullptr));
}
