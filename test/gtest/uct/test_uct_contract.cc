/* SPDX-License-Identifier: BSD-3-Clause */
/* UCT's promises about an endpoint that fails, is cancelled or destroyed, and
 * about one that has to wait. */
#include "module_clock.h"
#include "uct_entity.h"

#include <algorithm>
#include <dlfcn.h>
#include <poll.h>

using namespace uct_test;

class UctContract : public UctTest {
protected:
    void TearDown() override
    {
        device("inject", "send:1:1:1000000000"); /* that is: nothing */
        device("delay-us", "0");
        device_clock(0);
        UctTest::TearDown();
    }

    /* As the peer died; the handler is called from progress. UCX 1.21 and newer
     * take a pointer where older ones take flags. */
    static void invalidate(uct_ep_h endpoint)
    {
        static const uint64_t params[8] = {};
        using Invalidate = ucs_status_t (*)(uct_ep_h, const uint64_t *);
        Invalidate call = reinterpret_cast<Invalidate>(
                dlsym(RTLD_DEFAULT, "uct_ep_invalidate"));

        ASSERT_NE(nullptr, call);
        ASSERT_EQ(UCS_OK, call(endpoint, params));
    }

    /* get_zcopy until it is taken. */
    void start_get(const uct_iov_t &iov, Memory &remote, uct_completion_t *comp)
    {
        ASSERT_EQ(UCS_INPROGRESS, until_taken([&] {
            return get_zcopy(iov, remote, comp);
        }));
    }

    static ucs_status_t send_to(uct_ep_h to)
    {
        return uct_ep_am_short(to, AM_ID, 7, nullptr, 0);
    }
};

TEST_F(UctContract, flush__of_a_failed_endpoint_waits_for_its_operations)
{
    SRD_ONLY("no reads");
    const size_t size = 1 << 20;
    open();
    Memory remote(*b, size, 1), local(*a, size, 2);
    Completion bad, good, flushed, cancelled;

    introduce();
    start_get(local.iov(0, 8), remote, &bad.uct);
    ASSERT_TRUE(wait([&] { return bad.done > 0; }));
    bad = Completion();

    device_clock(1);
    device("delay-us", "100000");
    start_get(local.iov(0, size), remote, &good.uct);
    progress_for(0.005); /* the device has taken it */
    device("delay-us", "0");
    device("inject", "read:13:1");
    start_get(local.iov(0, 8), remote, &bad.uct);
    ASSERT_TRUE(wait([&] { return !a->failures.empty(); }));
    ASSERT_EQ(1u, bad.done);
    ASSERT_EQ(0u, good.done);
    EXPECT_EQ(UCS_INPROGRESS, uct_ep_flush(ep, 0, &flushed.uct));
    EXPECT_EQ(UCS_INPROGRESS,
              uct_ep_flush(ep, UCT_FLUSH_FLAG_CANCEL, &cancelled.uct));
    EXPECT_EQ(UCS_INPROGRESS, uct_ep_flush(ep, 0, nullptr));
    device_clock(0);
    ASSERT_TRUE(wait([&] {
        EXPECT_LE(flushed.done, good.done);
        return flushed.done && cancelled.done;
    }));
    EXPECT_EQ(1u, good.done);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, flushed.status);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, uct_ep_flush(ep, 0, nullptr));
    EXPECT_EQ(UCS_OK, uct_ep_flush(ep, UCT_FLUSH_FLAG_CANCEL, nullptr));
}

/* Until the user knows, it would only try again. */
TEST_F(UctContract, failed_and_not_reported__nothing_is_refused_for_good)
{
    open();
    introduce();
    Pending request([&] { return send_to(ep); });

    invalidate(ep);
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, uct_ep_am_short(ep, AM_ID, 1, nullptr, 0));
    EXPECT_EQ(UCS_OK, uct_ep_check(ep, 0, nullptr));
    if (a->attr().cap.flags & UCT_IFACE_FLAG_PUT_SHORT) {
        EXPECT_EQ(UCS_OK, uct_ep_put_short(ep, nullptr, 0, 0, 0));
    }
    EXPECT_EQ(UCS_OK, uct_ep_pending_add(ep, &request.uct, 0));
    EXPECT_TRUE(a->failures.empty()) << "reported from inside a call";
    a->progress();
    EXPECT_EQ(1u, a->failures.size());
    ASSERT_TRUE(wait([&] {
        return (request.calls > 0) && (request.answer != UCS_ERR_NO_RESOURCE);
    }));
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, request.answer);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET,
              uct_ep_am_short(ep, AM_ID, 1, nullptr, 0));
    if (a->attr().cap.flags & UCT_IFACE_FLAG_PUT_SHORT) {
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET,
                  uct_ep_put_short(ep, nullptr, 0, 0, 0));
    }
    EXPECT_EQ(1u, a->failures.size());
}

/* A request that comes late to an endpoint that failed long ago. */
TEST_F(UctContract, failed_and_reported__a_request_is_dispatched_and_told)
{
    open();
    introduce();
    invalidate(ep);
    ASSERT_TRUE(wait([&] { return !a->failures.empty(); }));
    rounds(1000);
    Pending request([&] { return send_to(ep); });
    EXPECT_EQ(UCS_OK, uct_ep_pending_add(ep, &request.uct, 0));
    EXPECT_TRUE(wait([&] { return request.calls > 0; }));
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, request.answer);
}

TEST_F(UctContract, flush_cancel__comes_before_requests_that_wait)
{
    open();
    introduce();
    fill();
    Pending request([&] { return send_to(ep); });
    Completion cancelled;

    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &request.uct, 0));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, uct_ep_flush(ep, 0, nullptr));
    ASSERT_EQ(UCS_INPROGRESS,
              uct_ep_flush(ep, UCT_FLUSH_FLAG_CANCEL, &cancelled.uct));
    ASSERT_TRUE(wait([&] { return cancelled.done && (request.calls > 0); }));
    EXPECT_EQ(UCS_ERR_CANCELED, request.answer);
    EXPECT_EQ(UCS_OK, uct_ep_flush(ep, UCT_FLUSH_FLAG_CANCEL, nullptr));
    EXPECT_TRUE(a->failures.empty());
}

/* Memory that get_bcopy unpacks into may be gone with the endpoint: through
 * progress, and through the end of the interface, or through that alone. */
TEST_F(UctContract, destroy__nothing_is_unpacked_after_it)
{
    SRD_ONLY("no reads");
    for (bool progresses : {true, false}) {
        UctTest::TearDown();
        open();
        Memory remote(*b, 4096, 1);
        Completion comp[3];
        unsigned unpacked = 0;
        auto get = [&](Completion *of) {
            return uct_ep_get_bcopy(
                    ep,
                    [](void *arg, const void *, size_t) {
                        ++*static_cast<unsigned *>(arg);
                    },
                    &unpacked, 100, remote.address(), remote.rkey(),
                    (of != nullptr) ? &of->uct : nullptr);
        };

        introduce();
        device("delay-us", progresses ? "50000" : "0");
        ASSERT_TRUE(wait([&] { return get(&comp[0]) == UCS_INPROGRESS; }));
        ASSERT_EQ(UCS_INPROGRESS, get(nullptr));
        ASSERT_EQ(UCS_INPROGRESS, get(&comp[1]));
        ASSERT_EQ(UCS_INPROGRESS, uct_ep_flush(ep, 0, &comp[2].uct));
        ASSERT_EQ(0u, unpacked);
        end(ep);
        for (const Completion &c : comp) {
            EXPECT_EQ(1u, c.done);
            EXPECT_EQ(UCS_ERR_CANCELED, c.status);
        }
        ASSERT_TRUE(!progresses || wait([&] {
            return uct_iface_flush(a->iface(), 0, nullptr) == UCS_OK;
        }));
        end(a);
        EXPECT_EQ(0u, unpacked);
        EXPECT_EQ(1u, comp[0].done);
    }
}

/* A living peer's device answers soon: the memory is the user's again when the
 * endpoint is gone. */
TEST_F(UctContract, destroy__ends_zcopy_that_is_under_way)
{
    open();
    Memory remote(*b, 8192, 1), local(*a, 8192, 2);
    uct_iov_t iov = local.iov(0, 8000);

    introduce();
    for (int round = 0; round < 50; ++round) {
        Completion comp;
        unsigned posted = 0;

        comp.uct.count = 1000;
        if (is_ud()) {
            introduce();
        } else { /* until the peer has its handle for us */
            start_get(iov, remote, &comp.uct);
            ++posted;
        }
        while ((posted < 500) &&
               (uct_ep_am_zcopy(ep, AM_ID, nullptr, 0, &iov, 1, 0,
                                &comp.uct) == UCS_INPROGRESS)) {
            ++posted;
        }
        /* a machine that is late makes ud's window small */
        ASSERT_GT(posted, is_ud() && device_has_own_time() ? 0u : 1u);
        posted += uct_ep_flush(ep, 0, &comp.uct) == UCS_INPROGRESS;
        uct_ep_destroy(ep);
        EXPECT_EQ(1000 - static_cast<int>(posted), comp.uct.count);
        ep = a->connect(*b);
    }
}

/* The same of an endpoint whose peer has not answered yet, and where the device
 * takes 30 ms, and more for what is sent again: destroying waits. */
TEST_F(UctContract, destroy__ends_zcopy_to_a_peer_that_is_silent)
{
    open();
    Memory local(*a, 8192, 2);
    uct_iov_t iov = local.iov(0, 8000);
    for (int round = 0; round < 50; ++round) {
        uct_ep_h fresh = a->connect(*b);
        Completion comp;
        int posted     = 0;

        device("delay-us", (!is_ud() && (round < 5)) ? "30000" : "0");
        comp.uct.count = 1000;
        while (uct_ep_am_zcopy(fresh, AM_ID, nullptr, 0, &iov, 1, 0,
                               &comp.uct) == UCS_INPROGRESS) {
            ++posted;
        }
        posted += uct_ep_flush(fresh, 0, &comp.uct) == UCS_INPROGRESS;
        ASSERT_GT(posted, is_ud() && device_has_own_time() ? 0 : 2);
        uct_ep_destroy(fresh);
        EXPECT_EQ(1000 - posted, comp.uct.count) << "round " << round;
        b->progress();
        for (int i = 0; is_ud() && (i < 100); ++i) {
            progress(); /* copies wait for acknowledgements */
        }
    }
}

/* A message that the receiver had no room for is sent again, from a copy. */
TEST_F(UctContract, destroy__zcopy_that_is_to_be_sent_again_goes_on_as_a_copy)
{
    int copied = 0;

    open();
    for (unsigned header_length : {0u, 30u, 3000u}) {
        introduce();
        Memory local(*a, 5000, header_length);
        Bytes header = make_message(9, header_length), expected = header;
        uct_iov_t iov = local.iov(0, 5000);
        Completion comp;
        size_t before = b->count;

        expected.insert(expected.end(), local.data(), local.data() + 5000);
        device("inject", "send:10:3");
        ASSERT_EQ(UCS_INPROGRESS,
                  uct_ep_am_zcopy(ep, AM_ID, header.data(), header_length, &iov,
                                  1, 0, &comp.uct));
        end(ep);
        EXPECT_EQ(1u, comp.done);
        if (comp.status == UCS_ERR_CANCELED) {
            std::fill(local.data(), local.data() + 5000, 0xee);
            ++copied;
        }
        ASSERT_TRUE(wait([&] { return b->count > before; }));
        EXPECT_EQ(expected, b->received.back());
        ep = a->connect(*b);
    }
    EXPECT_GT(copied, 0);
}

/* Its receiver was not ready: the same bytes go again, after operations that
 * sent others. */
TEST_F(UctContract, am_short__refused_once_arrives_intact)
{
    const size_t most = 24;

    open();
    introduce();
    for (size_t length = 0; length <= most; ++length) {
        size_t before = b->received.size();

        ASSERT_GT(send_bcopy(ep, make_message(99, 300)), 0);
        ASSERT_TRUE(wait([&] { return b->received.size() == before + 1; }));
        ASSERT_TRUE(flush(ep)); /* its operation is the next one's */
        device("inject", "send:10:2");
        Bytes expected(sizeof(uint64_t)), message = make_message(length, length);
        uint64_t header = length;
        uct_iov_t iov[2] = {{&header, sizeof(header), nullptr, 0, 1},
                            {message.data(), length, nullptr, 0, 1}};
        ASSERT_EQ(UCS_OK, send_short(ep, length, message));
        ASSERT_EQ(UCS_OK, until_taken([&] { /* UD: losses shrank its window */
            return uct_ep_am_short_iov(ep, AM_ID, iov, 2);
        }));
        ASSERT_TRUE(wait([&] { return b->received.size() == before + 3; }));

        memcpy(expected.data(), &header, sizeof(header));
        expected.insert(expected.end(), message.begin(), message.end());
        EXPECT_EQ(expected, b->received[before + 1]) << length;
        EXPECT_EQ(expected, b->received[before + 2]) << length << " in pieces";
    }
}

/* Operations that the device still has at the end of the interface are
 * cancelled there, and nothing writes to their memory any more. */
TEST_F(UctContract, destroy__what_the_device_keeps_ends_with_the_interface)
{
    SRD_ONLY("no reads");
    const size_t size = 1 << 20;
    open();
    Memory remote(*b, size, 1);
    Bytes bytes(size, 0xa5);
    struct Lent { /* registered until the completion, as UCP does */
        Completion comp;
        uct_md_h md;
        uct_mem_h memh;
        static void back(uct_completion_t *self)
        {
            Lent *lent = reinterpret_cast<Lent *>(self);

            Completion::callback(self);
            uct_md_mem_dereg(lent->md, lent->memh);
        }
    } lent;

    introduce();
    {
        Memory first(*a, 64, 2);
        Completion comp;
        start_get(first.iov(0, 64), remote, &comp.uct);
        ASSERT_TRUE(wait([&] { return comp.done > 0; }));
    }
    lent.comp.uct.func = Lent::back;
    lent.md = a->md();
    ASSERT_EQ(UCS_OK, uct_md_mem_reg(a->md(), bytes.data(), size,
                                     UCT_MD_MEM_ACCESS_RMA, &lent.memh));
    device("delay-us", "3000000");
    ASSERT_EQ(UCS_INPROGRESS, get_zcopy({bytes.data(), size, lent.memh, 0, 1},
                                        remote, &lent.comp.uct));
    end(ep);
    EXPECT_EQ(0u, lent.comp.done) << "the device may still write there";
    end(a);
    EXPECT_EQ(1u, lent.comp.done);
    EXPECT_EQ(UCS_ERR_CANCELED, lent.comp.status);
    for (int i = 0; i < 1000; ++i) {
        b->progress();
    }
    EXPECT_EQ(ptrdiff_t(size), std::count(bytes.begin(), bytes.end(), 0xa5));
}
