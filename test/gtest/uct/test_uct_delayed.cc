/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of a stream that finds its window shut: they wait in operations of
 * the interface, not as requests of the user's. */
#include "uct_entity.h"

using namespace uct_test;

class UctDelayed : public UctTest {
protected:
    static constexpr uint64_t WINDOW = 64, OPERATIONS = 512;

    void SetUp() override
    {
        SRD_ONLY("every message waits for its acknowledgement");
        open({{"TX_QUEUE_LEN", std::to_string(OPERATIONS)}});
        stream();
    }

    /* Until a stream has found its window shut some times. */
    void stream()
    {
        for (int i = 0; i < 6; ++i) {
            ASSERT_EQ(UCS_OK, send_short(ep, sent++, {})); /* it is open */
            sent += fill(sent);
            ASSERT_TRUE(wait([&] { return b->count == sent; }));
        }
        ASSERT_TRUE(flush(ep));
        last = 0;
    }

    /* More messages than the window takes, of each kind; b does nothing. */
    void delay()
    {
        ASSERT_EQ(UCS_OK, uct_iface_flush(a->iface(), 0, nullptr));
        for (; last < 3 * WINDOW; ++last, ++sent) {
            ASSERT_EQ(UCS_OK, message()) << last;
        }
    }

    /* The next one, by each call in turn. */
    ucs_status_t message()
    {
        const uint64_t number[] = {sent, ~sent};
        uct_iov_t iov[] = {{(void*)number, 8, nullptr, 0, 1},
                           {(void*)(number + 1), 8, nullptr, 0, 1}};
        Bytes bytes = make_message(sent, 8 + sent % 3000);
        ssize_t length;

        switch (sent % 4) {
        case 0:
            return uct_ep_am_short(ep, AM_ID, sent, nullptr, 0);
        case 1:
            return uct_ep_am_short(ep, AM_ID, sent, number, 1 + sent % 16);
        case 2:
            return uct_ep_am_short_iov(ep, AM_ID, iov, 2);
        default:
            memcpy(bytes.data(), &sent, sizeof(sent));
            length = uct_ep_am_bcopy(ep, AM_ID, pack_bytes, &bytes, 0);
            return (length < 0) ? (ucs_status_t)length : UCS_OK;
        }
    }

    void expect_all()
    {
        ASSERT_TRUE(wait([&] { return b->count == sent; }));
        expect_in_order(sent);
        ASSERT_TRUE(wait([&] {
            return uct_iface_flush(a->iface(), 0, nullptr) == UCS_OK;
        }));
    }

    uint64_t sent = 0, last = 0; /* in all, since the stream */
};

/* None is refused, and their bytes are kept. */
TEST_F(UctDelayed, stream__goes_on_where_the_window_is_shut)
{
    delay();
    rounds(1);
    EXPECT_LT(b->count, sent);
    expect_all();
    for (uint64_t i = sent - last; i < sent; ++i) { /* the bytes, too */
        const Bytes &got = b->received[i];
        const uint64_t number[] = {i, ~i};

        if (i % 4 == 2) {
            ASSERT_EQ(Bytes((const uint8_t*)number,
                            (const uint8_t*)(number + 2)), got);
        } else if (i % 4 == 3) {
            Bytes bytes = make_message(i, 8 + i % 3000);
            memcpy(bytes.data(), &i, sizeof(i));
            ASSERT_EQ(bytes, got);
        } else {
            ASSERT_EQ((i % 4 == 0) ? 8 : 9 + i % 16, got.size());
        }
    }
}

/* A stream that never met its window says so at once: its receiver may never
 * take a message. */
TEST_F(UctDelayed, first__is_refused)
{
    end(ep);
    ep = a->connect(*b);
    uint64_t count = 0;

    ASSERT_EQ(UCS_OK, send_short(ep, sent++, {}));
    expect_all();
    while (uct_ep_am_short(ep, AM_ID, sent, nullptr, 0) == UCS_OK) {
        ++sent;
        ++count;
    }
    EXPECT_LE(count, WINDOW);
    expect_all();
}

/* Half of all operations are others'. */
TEST_F(UctDelayed, others__have_operations)
{
    Entity other;
    uct_ep_h to_other = a->connect(other);

    last  = fill(sent);
    sent += last;
    EXPECT_GT(last, WINDOW);
    EXPECT_LE(last, OPERATIONS / 2);
    for (uint64_t i = 0; i < 300; ++i) {
        ASSERT_EQ(UCS_OK, send_short(to_other, i, {}));
        do {
            a->progress();
            other.progress();
        } while (other.count <= i);
    }
    expect_all();
    end(to_other);
}

TEST_F(UctDelayed, flush__waits_for_them)
{
    Pending flushing([&] { return uct_ep_flush(ep, 0, nullptr); });
    bool is_early = false;

    delay();
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, uct_ep_flush(ep, 0, nullptr));
    EXPECT_EQ(UCS_INPROGRESS, uct_iface_flush(a->iface(), 0, nullptr));
    flushing.post = [&] {
        ucs_status_t status = uct_ep_flush(ep, 0, nullptr);

        is_early |= (status == UCS_OK) && (b->count < sent - WINDOW);
        return (status == UCS_INPROGRESS) ? UCS_OK : status;
    };
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &flushing.uct, 0));
    expect_all();
    EXPECT_TRUE(flushing.done);
    EXPECT_FALSE(is_early);
}

/* A message behind a fence or a request is not delayed, and comes behind it. */
TEST_F(UctDelayed, order__of_fences_and_requests_behind_them)
{
    Memory local(*a, 64, 1), remote(*b, 64, 2);
    uct_iov_t iov = local.iov(0, 64);

    delay();
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, get_zcopy(iov, remote, nullptr));
    ASSERT_EQ(UCS_OK, uct_ep_fence(ep, 0));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, message());

    Pending first([&] { return uct_ep_am_short(ep, AM_ID, sent, nullptr, 0); });
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &first.uct, 0));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, message());
    ASSERT_TRUE(wait([&] { return first.done; }));
    ++sent;
    expect_all();
}

/* It takes requests of the user's, no messages. */
TEST_F(UctDelayed, purge__leaves_them)
{
    Pending refused([&] { return UCS_OK; });
    unsigned purged = 0;
    auto count = [](uct_pending_req_t *, void *arg) { ++*(unsigned*)arg; };

    delay();
    uct_ep_pending_purge(ep, count, &purged);
    EXPECT_EQ(0u, purged);
    ASSERT_EQ(UCS_OK, message());
    ++sent;
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &refused.uct, 0));
    uct_ep_pending_purge(ep, count, &purged);
    EXPECT_EQ(1u, purged);
    ASSERT_EQ(UCS_OK, message());
    ++sent;
    expect_all();
    EXPECT_EQ(0u, refused.calls);
}

/* Their operations come back: ten times as many as there are. */
TEST_F(UctDelayed, destroy__forgets_them)
{
    for (int i = 0; i < 25; ++i) {
        ASSERT_NO_FATAL_FAILURE(delay());
        size_t least = b->count;
        end(ep);
        ASSERT_TRUE(wait([&] {
            return uct_iface_flush(a->iface(), 0, nullptr) == UCS_OK;
        }));
        EXPECT_LE(b->count, least + WINDOW);
        b->received.clear();
        b->count = 0;
        ep       = a->connect(*b);
        sent     = 0;
        ASSERT_NO_FATAL_FAILURE(stream());
    }
    ASSERT_NO_FATAL_FAILURE(delay());
    expect_all();
}

/* The endpoint fails with them, once, and they are forgotten. */
TEST_F(UctDelayed, failure__of_the_peer)
{
    delay();
    end(b);
    ASSERT_TRUE(wait([&] {
        uct_ep_check(ep, 0, nullptr);
        return !a->failures.empty() &&
               (uct_iface_flush(a->iface(), 0, nullptr) == UCS_OK);
    }));
    EXPECT_EQ(1u, a->failures.size());
    EXPECT_TRUE(wait([&] {
        ucs_status_t status = message();
        return (status != UCS_OK) && (status != UCS_ERR_NO_RESOURCE);
    }));
}

TEST_F(UctDelayed, cancel__forgets_them)
{
    Completion comp;

    delay();
    ucs_status_t status = uct_ep_flush(ep, UCT_FLUSH_FLAG_CANCEL, &comp.uct);
    ASSERT_TRUE((status == UCS_OK) || (status == UCS_INPROGRESS));
    EXPECT_TRUE(wait([&] {
        return uct_iface_flush(a->iface(), 0, nullptr) == UCS_OK;
    }));
    EXPECT_EQ(status == UCS_INPROGRESS, comp.done == 1);
    EXPECT_LE(b->count, sent - last + WINDOW);
}
