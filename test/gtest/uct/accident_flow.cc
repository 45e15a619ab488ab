/* SPDX-License-Identifier: BSD-3-Clause */
/* Directions that starve each other, time-outs while both sides live, and devices
 * that refuse. */
#include "accident.h"

#include <flow/limits.h>

using namespace uct_test;

namespace accident {

/* In-tree: 2000 progress calls and a flush never completed, because receives
 * kept coming. Four flows bring more than one progress takes. */
TEST_F(Accident, starving_completions)
{
    open();
    introduce();
    std::vector<uct_ep_h> back;
    Bytes header(8);
    Completion comp;
    uint64_t idle = 0;
    unsigned calls;

    a->record = false;
    for (int i = 0; i < 4; ++i) {
        back.push_back(b->connect(*a));
    }
    auto flood = [&] {
        for (uct_ep_h each : back) {
            while (uct_ep_am_short(each, AM_ID, 1, nullptr, 0) == UCS_OK) {
            }
        }
        b->progress();
    };
    for (int i = 0; i < 2000; ++i) { /* let it begin */
        flood();
        a->progress();
    }
    ASSERT_EQ(UCS_INPROGRESS,
              uct_ep_am_zcopy(ep, AM_ID, header.data(), header.size(), nullptr,
                              0, 0, &comp.uct));
    for (calls = 0; (comp.done == 0) && (calls < 2000); ++calls) {
        flood();
        size_t count = a->count;
        a->progress();
        idle += (a->count == count);
    }
    printf("the completion came with progress call %u, %llu of them without "
           "a receive\n", calls, (unsigned long long)idle);
    EXPECT_EQ(1u, comp.done);
    EXPECT_LT(calls, 20u);
    EXPECT_EQ(0u, idle) << "receives did not keep coming: no test";

    /* and the other way round: receives come while sends keep completing */
    size_t got = a->count;
    for (calls = 0; (a->count == got) && (calls < 2000); ++calls) {
        uct_ep_am_short(back[0], AM_ID, 1, nullptr, 0);
        fill(0);
        progress();
    }
    EXPECT_LT(calls, 20u);
    ASSERT_TRUE(flush(ep));
    for (uct_ep_h each : back) {
        uct_ep_destroy(each);
    }
}

/* Limits, answers and goodbyes pass a send queue that messages fill: each of
 * its slots is taken again as soon as it is free, and every request takes 2 ms.
 * Without limits the other side stops after a window. */
TEST_F(Accident, starving_control)
{
    const size_t count = 20 * FLOW_WINDOW_MAX;

    open({{"TX_QUEUE_LEN", "16"}});
    introduce();
    uct_ep_h back = b->connect(*a);
    a->record = b->record = false;
    ASSERT_EQ(UCS_OK, send_short(back, 0, {}));
    ASSERT_TRUE(wait([&] { return a->count == 1; }));
    ASSERT_TRUE(flush(ep));
    device("delay-us", "2000");
    ASSERT_TRUE(wait(
            [&] {
                fill(0); /* a's queue is full before and after its progress */
                a->progress();
                fill(0);
                while (uct_ep_am_short(back, AM_ID, 1, nullptr, 0) == UCS_OK) {
                }
                b->progress();
                return a->count > count;
            },
            30)) << a->count << " messages passed of " << count;
    EXPECT_GT(b->count, size_t(FLOW_WINDOW_MAX)) << "its own messages did not go on";
    device("delay-us", "0");
    ASSERT_TRUE(flush(ep));
    uct_ep_destroy(back);
}

/* ---- a network that was cut, or a host too busy to answer: both applications
 * reconnect as soon as they hear of it ---- */

class Lost : public Accident {
protected:
    void SetUp() override
    {
        Accident::SetUp();
        open();
        introduce();
        back = b->connect(*a);
        ASSERT_EQ(UCS_OK, send_short(back, 0, {}));
        ASSERT_TRUE(wait([&] { return a->count == 1; }));
        progress_for(0.05);
        reconnects(*a, ep, *b);
        reconnects(*b, back, *a);
    }

    void TearDown() override
    {
        if (back != nullptr) {
            uct_ep_destroy(back);
        }
        Accident::TearDown();
    }

    /* As an application does in its error handler. */
    void reconnects(Entity &from, uct_ep_h &used, Entity &to)
    {
        from.on_failure = [&](uct_ep_h failed) {
            EXPECT_EQ(used, failed);
            uct_ep_destroy(failed);
            used = from.connect(to);
        };
    }

    /* Messages arrive on the endpoints as they are now. */
    void expect_both_ways()
    {
        size_t at_a = a->count, at_b = b->count;

        for (uint64_t i = 0; i < 100; ++i) {
            ASSERT_EQ(UCS_OK, send_short(ep, i, {}));
            ASSERT_EQ(UCS_OK, send_short(back, i, {}));
        }
        EXPECT_TRUE(wait([&] {
            return (a->count == at_a + 100) && (b->count == at_b + 100);
        })) << a->count - at_a << " and " << b->count - at_b << " of 100";
    }

    uct_ep_h back = nullptr;
};

/* One message is not answered. Its sender reconnects, so does the other side
 * as soon as it is told. */
TEST_F(Lost, one_message)
{
    device("inject", "send:13:1");
    ASSERT_EQ(UCS_OK, uct_ep_am_short(ep, AM_ID, 1, nullptr, 0));
    ASSERT_TRUE(wait([&] {
        return !a->failures.empty() && !b->failures.empty();
    })) << a->failures.size() << " and " << b->failures.size();
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, a->failures[0].status);
    EXPECT_EQ(UCS_ERR_CONNECTION_RESET, b->failures[0].status);
    expect_both_ways();
    EXPECT_EQ(1u, a->failures.size());
    EXPECT_EQ(1u, b->failures.size());
}

/* Two interfaces of one memory domain know one host, as two workers of a
 * context do. One lets it go, and the other does not notice. */
TEST_F(Lost, nothing_by_a_neighbour)
{
    {
        Entity second(a);
        uct_ep_h other = second.connect(*b);

        ASSERT_EQ(UCS_OK, send_short(other, 1, {}));
        ASSERT_TRUE(wait([&] {
            second.progress();
            return b->count == 2;
        }));
        uct_ep_destroy(other);
        for (int i = 0; i < 1000; ++i) {
            second.progress();
            progress();
        }
    }
    expect_both_ways();
    EXPECT_TRUE(a->failures.empty());
    EXPECT_TRUE(b->failures.empty());
}

/* One post of each kind; @return the status of each. */
class FailedPost : public Accident {
protected:
    std::vector<ucs_status_t> post_all(Memory &remote, Memory &local)
    {
        Bytes message  = make_message(1, 5000);
        uct_iov_t iov  = local.iov(0, 64);
        uint64_t where = reinterpret_cast<uintptr_t>(remote.data());
        ssize_t packed = uct_ep_am_bcopy(ep, AM_ID, pack_bytes, &message, 0);

        return {uct_ep_am_short(ep, AM_ID, 1, nullptr, 0),
                packed >= 0 ? UCS_OK : static_cast<ucs_status_t>(packed),
                uct_ep_am_zcopy(ep, AM_ID, message.data(), 16, &iov, 1, 0,
                                &zcopy.uct),
                uct_ep_get_zcopy(ep, &iov, 1, where, remote.rkey(),
                                 &get.uct)};
    }

    Completion zcopy, get;
};

/* In-tree: a failed post is fatal to the process. Shortage has no effect but
 * NO_RESOURCE, for messages, control packets and repetitions alike. */
TEST_F(FailedPost, shortage)
{
    open();
    Memory remote(*b, 4096, 1), local(*a, 4096, 2);
    uint64_t sent = 1;

    introduce();
    for (const char *err : {"12", "11"}) { /* ENOMEM, EAGAIN */
        std::string inject = std::string("post:") + err;
        device("inject", (inject + ":4").c_str());
        for (ucs_status_t status : post_all(remote, local)) {
            EXPECT_EQ(UCS_ERR_NO_RESOURCE, status) << "errno " << err;
        }
        /* repetitions, and the limits that the receiver sends */
        device("inject", ("send:10:3," + inject + ":40").c_str());
        for (int i = 0; i < 200; ++i) {
            ASSERT_EQ(UCS_OK, send_short(ep, sent++, {})) << "errno " << err;
        }
        ASSERT_TRUE(wait([&] { return b->count >= sent; }));
        /* and a hello */
        uct_ep_h one = a->connect(*b);
        device("inject", ("send:10:1," + inject + ":10").c_str());
        ASSERT_EQ(UCS_OK, send_short(one, sent++, {}));
        ASSERT_TRUE(wait([&] { return b->count >= sent; }));
        uct_ep_destroy(one);
    }
    expect_in_order(sent);
    EXPECT_EQ(0u, zcopy.done + get.done) << "completed, but never posted";
    EXPECT_TRUE(a->failures.empty());
    EXPECT_TRUE(b->failures.empty());
}

/* A post that fails for good fails its endpoint, once; the process lives. */
TEST_F(FailedPost, broken_device)
{
    open();
    Memory remote(*b, 4096, 1), local(*a, 4096, 2);

    introduce();
    device("inject", "post:5:1000000"); /* EIO */
    for (int round = 0; round < 3; ++round) {
        for (ucs_status_t status : post_all(remote, local)) {
            EXPECT_LT(status, 0);
            if (round > 0) { /* it was reported meanwhile */
                EXPECT_NE(UCS_ERR_NO_RESOURCE, status);
            }
        }
        progress_for(0.05);
    }
    EXPECT_EQ(0u, zcopy.done + get.done) << "completed, but never posted";
    EXPECT_EQ(1u, a->failures.size());
}

} // namespace accident
