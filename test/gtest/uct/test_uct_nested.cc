/* SPDX-License-Identifier: BSD-3-Clause */
/* Callbacks that make progress, so that all the rest goes on while one
 * operation is about to end: others end, endpoints go, the device is lost. */
#include "module_clock.h"
#include "uct_entity.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

using namespace uct_test;

namespace {

class UctNested : public UctTest {
protected:
    struct Op {
        uct_completion_t uct; /* first */
        unsigned done     = 0;
        unsigned unpacked = 0;
        bool unpacks      = false;
        std::function<void()> on_done, on_unpack;

        Op()
        {
            uct.count  = 1;
            uct.status = UCS_OK;
            uct.func   = [](uct_completion_t *self) {
                Op *op = reinterpret_cast<Op *>(self);

                ++op->done;
                if (op->on_done) {
                    op->on_done();
                }
            };
        }
    };

    void start(const Config &config = {})
    {
        open(config);
        remote = std::make_unique<Memory>(*b, 8192, 1);
        local  = std::make_unique<Memory>(*a, 8192, 2);
        introduce();
        ASSERT_TRUE(wait([&] { return get_bcopy(ep, first) != NOT_NOW; }));
        ASSERT_TRUE(flush(ep));
        ASSERT_EQ(1u, first.done);
    }

    void TearDown() override
    {
        device("inject", "");
        device("delay-us", "0");
        local.reset();
        remote.reset();
        UctTest::TearDown();
    }

    /* In a callback: until the flow is gone. */
    void destroy_and_progress()
    {
        end(ep);
        progress_for(0.05);
    }

    uint64_t address()
    {
        return remote->address();
    }

    ucs_status_t get_zcopy(uct_ep_h from, Op &op, size_t length = 8)
    {
        uct_iov_t iov = local->iov(0, length);

        return uct_ep_get_zcopy(from, &iov, 1, address(), remote->rkey(),
                                &op.uct);
    }

    ucs_status_t get_bcopy(uct_ep_h from, Op &op)
    {
        op.unpacks = true;
        return uct_ep_get_bcopy(
                from,
                [](void *arg, const void *, size_t) {
                    Op *op = static_cast<Op *>(arg);

                    ++op->unpacked;
                    if (op->on_unpack) {
                        op->on_unpack();
                    }
                },
                &op, 8, address(), remote->rkey(), &op.uct);
    }

    ucs_status_t am_zcopy(uct_ep_h to, Op &op)
    {
        uct_iov_t iov = local->iov(0, 100);

        return uct_ep_am_zcopy(to, AM_ID, nullptr, 0, &iov, 1, 0, &op.uct);
    }

    /* The device ends what it has. */
    void device_works()
    {
        for (int i = 0; i < 1000; ++i) {
            b->progress();
        }
    }

    static bool all_done(const std::vector<Op> &ops)
    {
        return std::all_of(ops.begin(), ops.end(),
                           [](const Op &op) { return op.done > 0; });
    }

    void expect_once(const std::vector<Op> &ops)
    {
        for (size_t i = 0; i < ops.size(); ++i) {
            EXPECT_EQ(1u, ops[i].done) << "operation ";
            EXPECT_LE(ops[i].unpacked, 1u) << "operation " << i;
            EXPECT_TRUE(!ops[i].unpacks || (ops[i].unpacked == 1) ||
                        (ops[i].uct.status != UCS_OK))
                    << "operation " << i << " brought nothing";
        }
    }

    /* All ended once, and the interface counts none as outstanding. */
    void expect_all_ended(const std::vector<Op> &ops)
    {
        EXPECT_TRUE(wait([&] {
            return all_done(ops) &&
                   (uct_iface_flush(a->iface(), 0, nullptr) == UCS_OK);
        }));
        progress_for(0.02);
        expect_once(ops);
    }

    static constexpr ucs_status_t NOT_NOW = UCS_ERR_NO_RESOURCE;

    std::unique_ptr<Memory> remote, local;
    Op first;
};

class UctNestedReads : public UctNested,
                       public testing::WithParamInterface<bool> {
protected:
    void SetUp() override
    {
        SRD_ONLY("no reads");
    }

    ucs_status_t get(uct_ep_h from, Op &op)
    {
        return GetParam() ? get_bcopy(from, op) : get_zcopy(from, op);
    }
};

/* Reads come with one poll. The first ones are fine, and by the others the
 * device is lost, of which progress in a callback of theirs learns. */
TEST_P(UctNestedReads, lost__while_the_first_ends)
{
    for (unsigned good : {1u, 3u, 20u}) {
        start();
        std::vector<Op> ops(40);
        std::string skip = std::to_string(good);

        device("inject", ("read:1:1000:" + skip).c_str());
        for (Op &op : ops) {
            op.on_unpack = [&] { progress_for(0.002); };
            if (!GetParam()) {
                op.on_done = op.on_unpack;
            }
            ASSERT_EQ(UCS_INPROGRESS, get(ep, op));
        }
        device_works();
        device("inject", "");
        expect_all_ended(ops);
        TearDown();
    }
}

/* The endpoint is destroyed, and progress until its flow is gone. */
TEST_P(UctNestedReads, destroyed_and_gone__in_the_last_completion)
{
    start();
    std::vector<Op> ops(1);

    ops[0].on_done = [&] { destroy_and_progress(); };
    ASSERT_EQ(UCS_INPROGRESS, get(ep, ops[0]));
    expect_all_ended(ops);
}

/* An endpoint is destroyed: progress in the callback of its first read finds
 * the others. */
TEST_P(UctNestedReads, destroyed__with_reads_that_end_meanwhile)
{
    for (unsigned which : {0u, 1u, 5u, 10u}) {
        start();
        std::vector<Op> ops(12);

        for (Op &op : ops) {
            ASSERT_EQ(UCS_INPROGRESS, get(ep, op));
        }
        ops[which].on_done = [&] { a->progress(); };
        device_works();
        end(ep);
        expect_all_ended(ops);
        TearDown();
    }
}

/* The same in the callback of a flush that stands between them. */
TEST_P(UctNestedReads, destroyed__with_flushes_between_reads)
{
    start();
    std::vector<Op> ops(12);

    for (unsigned i = 0; i < ops.size(); ++i) {
        if (i % 3 == 2) {
            ASSERT_EQ(UCS_INPROGRESS, uct_ep_flush(ep, 0, &ops[i].uct));
            ops[i].on_done = [&] { a->progress(); };
        } else {
            ASSERT_EQ(UCS_INPROGRESS, get(ep, ops[i]));
        }
    }
    device_works();
    end(ep);
    expect_all_ended(ops);
}

/* More completions than progress takes at once were polled by a wait, and the
 * device was lost in their middle. */
TEST_P(UctNestedReads, lost__with_many_polled)
{
    start({{"TX_QUEUE_LEN", "2000"}});
    std::vector<Op> ops(1500);
    uct_ep_h other = a->connect(*b);
    Op ready, own;

    ASSERT_TRUE(wait([&] { return get(other, ready) == UCS_INPROGRESS; }));
    ASSERT_TRUE(flush(other));
    device("inject", "read:1:500:520");
    for (Op &op : ops) {
        ASSERT_EQ(UCS_INPROGRESS, get(ep, op));
    }
    ASSERT_EQ(UCS_INPROGRESS, get_zcopy(other, own));
    device_works();
    device("inject", "");
    uct_ep_destroy(other);
    EXPECT_EQ(1u, own.done);
    expect_all_ended(ops);
}

INSTANTIATE_TEST_SUITE_P(zcopy, UctNestedReads, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(bcopy, UctNestedReads, testing::Values(true));

/* Two endpoints with some operations each, which have all completed at the
 * device when progress is called; the first callback destroys endpoints. */
class UctDestroy : public UctNested,
                   public testing::WithParamInterface<const char *> {
protected:
    using Post = std::function<ucs_status_t(uct_ep_h, Op &)>;

    void run(const Post &post)
    {
        std::vector<uct_ep_h> eps = {a->connect(*b), a->connect(*b)};
        std::vector<Op> ops(12);
        auto destroy = [&](size_t which) {
            unsigned long looks = module_clock_looks();

            uct_ep_destroy(eps[which]);
            if (!device_has_own_time()) {
                EXPECT_LT(module_clock_looks() - looks, 16u)
                        << "looks at the clock: it waits in vain";
            }
            eps[which] = nullptr;
            for (size_t i = which; i < ops.size(); i += 2) {
                EXPECT_EQ(1u, ops[i].done) << "outstanding, though it is gone";
            }
        };

        for (uct_ep_h each : eps) { /* the peer has a handle for us */
            Op ready;
            ASSERT_EQ(UCS_OK, send_short(each, 0, {}));
            ASSERT_TRUE(is_ud() || wait([&] {
                return get_bcopy(each, ready) == UCS_INPROGRESS;
            }));
            ASSERT_TRUE(flush(each));
        }
        for (size_t i = 0; i < ops.size(); ++i) {
            ops[i].on_done = [&, i] {
                EXPECT_NE(nullptr, eps[i % 2]) << "called after ep_destroy";
                while (!order.empty()) {
                    size_t next = order[0] - '0';
                    order.erase(0, 1);
                    destroy(next);
                }
            };
            ASSERT_EQ(UCS_INPROGRESS, post(eps[i % 2], ops[i]));
        }
        device_works();
        expect_all_ended(ops);
        for (uct_ep_h each : eps) {
            if (each != nullptr) {
                uct_ep_destroy(each);
            }
        }
    }

    std::string order = GetParam(); /* those that are still to be destroyed */
};

TEST_P(UctDestroy, in_a_callback)
{
    const std::vector<Post> posts = {
        [&](uct_ep_h from, Op &op) { return get_zcopy(from, op); },
        [&](uct_ep_h from, Op &op) { return get_bcopy(from, op); },
        [&](uct_ep_h to, Op &op) { return am_zcopy(to, op); },
        [&](uct_ep_h to, Op &op) { /* the flush's marker calls back */
            EXPECT_EQ(UCS_OK, uct_ep_am_short(to, AM_ID, 1, nullptr, 0));
            return uct_ep_flush(to, 0, &op.uct);
        },
        [&](uct_ep_h to, Op &op) { return uct_ep_check(to, 0, &op.uct); },
    };

    if (is_ud() && device_has_own_time()) {
        GTEST_SKIP() << "a machine that is late makes ud's window small";
    }
    for (size_t i = is_ud() ? 2 : 0; i < posts.size(); ++i) {
        SCOPED_TRACE(i);
        order = GetParam();
        open({{"RX_QUEUE_LEN", "512"}}); /* a window for each, however late */
        module_clock_start();
        remote = std::make_unique<Memory>(*b, 8192, 1);
        local  = std::make_unique<Memory>(*a, 8192, 2);
        run(posts[i]);
        TearDown();
    }
}

INSTANTIATE_TEST_SUITE_P(Order, UctDestroy,
                         testing::Values("0", "1", "01", "10"));

/* Progress in the unpacking of the first one finds those that were polled with
 * it; or the endpoint goes in there, and the others with it. */
TEST_F(UctNested, read__progress_or_the_end_while_it_is_unpacked)
{
    SRD_ONLY("no reads");
    for (bool ends : {false, true}) {
        unsigned done = 0, unpacked = 0;

        /* a device that reorders, or works by itself, may have ended one */
        for (int tries = 0; (done == 0) && (tries < 100); ++tries) {
            start();
            std::vector<Op> ops(12);
            bool inside = false;

            for (Op &op : ops) {
                op.on_unpack = [&] {
                    if (ends) {
                        end(ep);
                    } else if (!inside) {
                        inside = true;
                        a->progress();
                    }
                    done += std::count_if(ops.begin(), ops.end(),
                                          [](const Op &op) { return op.done; });
                };
                ASSERT_EQ(UCS_INPROGRESS, get_bcopy(ep, op));
            }
            device_works();
            a->progress();
            expect_all_ended(ops);
            for (const Op &op : ops) {
                unpacked += op.unpacked;
            }
            EXPECT_TRUE(!ends || (done == ops.size()));
            TearDown();
        }
        EXPECT_GT(done, 0u);
        EXPECT_TRUE(!ends || (unpacked == 1));
    }
}

/* The device is lost with messages of one endpoint, whose flush makes progress
 * in its callback; those of another wait for a receiver. */
TEST_F(UctNested, lost__with_messages_that_wait)
{
    SRD_ONLY("no status of the device tells of the peer");
    open();
    introduce();
    std::vector<Op> ops(1);
    uct_ep_h waits = a->connect(*b), fails = a->connect(*b);

    for (uct_ep_h each : {waits, fails}) {
        for (uint64_t i = 0; i < 20; ++i) { /* more than before an answer */
            ASSERT_TRUE(wait([&] {
                return uct_ep_am_short(each, AM_ID, i, nullptr, 0) == UCS_OK;
            }));
        }
        ASSERT_TRUE(flush(each));
    }
    device("delay-us", "3000000");
    ASSERT_EQ(UCS_OK, uct_ep_am_short(ep, AM_ID, 1, nullptr, 0));
    ops[0].on_done = [&] { progress_for(0.002); };
    ASSERT_EQ(UCS_INPROGRESS, uct_ep_flush(ep, 0, &ops[0].uct));
    device("delay-us", "0");
    device("inject", "send:10:1000");
    uint64_t sent = 0; /* a device with its own time may still owe a window */
    while ((sent < 8) &&
           (uct_ep_am_short(waits, AM_ID, sent, nullptr, 0) == UCS_OK)) {
        ++sent;
    }
    EXPECT_TRUE((sent == 8) || device_has_own_time());
    device_works();
    a->progress();
    device("inject", "send:1:1000");
    ASSERT_EQ(UCS_OK, uct_ep_am_short(fails, AM_ID, 1, nullptr, 0));
    expect_all_ended(ops);
    device("inject", "");
    uct_ep_destroy(waits);
    uct_ep_destroy(fails);
}

/* In the callback of its last operation, or of a flush behind a message. */
TEST_F(UctNested, destroyed_and_gone__in_the_last_completion)
{
    for (bool flushes : {false, true}) {
        open();
        local = std::make_unique<Memory>(*a, 8192, 2);
        introduce();
        std::vector<Op> ops(flushes ? 3 : 1);

        ops[0].on_done = [&] { destroy_and_progress(); };
        if (flushes) {
            ASSERT_EQ(UCS_OK, uct_ep_am_short(ep, AM_ID, 1, nullptr, 0));
        }
        for (Op &op : ops) {
            ASSERT_EQ(UCS_INPROGRESS, flushes ?
                      uct_ep_flush(ep, 0, &op.uct) : am_zcopy(ep, op));
        }
        expect_all_ended(ops);
        TearDown();
    }
}

/* Messages wait for a receiver while their endpoint is destroyed; in the
 * callback of one the others arrive. */
TEST_F(UctNested, destroyed__with_messages_that_wait)
{
    SRD_ONLY("no status of the device tells of the peer");
    open();
    local = std::make_unique<Memory>(*a, 8192, 2);
    introduce();
    std::vector<Op> ops(8);

    device("inject", "send:10:8");
    for (Op &op : ops) {
        op.on_done = [&] { progress_for(0.02); };
        ASSERT_EQ(UCS_INPROGRESS, am_zcopy(ep, op));
    }
    device_works();
    a->progress();
    device("inject", "");
    end(ep);
    expect_all_ended(ops);
}

/* Messages of an endpoint that was destroyed wait for a receiver: they are not
 * sent again by a device that was lost. */
TEST_F(UctNested, lost__with_messages_of_a_destroyed_endpoint)
{
    SRD_ONLY("no status of the device tells of the peer");
    open();
    introduce();
    uct_ep_h other = a->connect(*b);

    ASSERT_EQ(UCS_OK, send_short(other, 1, {}));
    ASSERT_TRUE(flush(other));
    progress_for(0.02);
    device("inject", "send:10:1000");
    for (uint64_t i = 0; i < 8; ++i) {
        ASSERT_EQ(UCS_OK, uct_ep_am_short(ep, AM_ID, i, nullptr, 0));
    }
    device_works();
    a->progress();
    uct_ep_destroy(ep);
    device("inject", "send:1:1000");
    ASSERT_EQ(UCS_OK, uct_ep_am_short(other, AM_ID, 1, nullptr, 0));
    ep = other;
    progress_for(0.3);
    device("inject", "");
    EXPECT_EQ(1u, a->failures.size());
    EXPECT_EQ(UCS_OK, uct_iface_flush(a->iface(), 0, nullptr));
}

/* The handler of failures destroys the endpoint that nobody used, and makes
 * progress, and says that it handles none. */
TEST_F(UctNested, destroyed_and_gone__in_an_error_handler)
{
    SRD_ONLY("a failure that nobody handles ends the process");
    for (bool handles : {true, false}) {
        open();
        introduce();
        a->handles_failures = handles;
        a->on_failure       = [&](uct_ep_h failed) {
            uct_ep_destroy(failed);
            ep = nullptr;
            for (int i = 0; i < 1000; ++i) {
                a->progress();
            }
        };
        end(b);
        ASSERT_TRUE(wait([&] {
            if (ep != nullptr) {
                uct_ep_check(ep, 0, nullptr);
            }
            return ep == nullptr;
        }));
        EXPECT_EQ(1u, a->failures.size());
        TearDown();
    }
}

/* The handler of a message makes progress, by which the device is lost. */
TEST_F(UctNested, lost__in_a_handler)
{
    open();
    introduce();
    std::vector<Op> ops(4);
    uct_ep_h back = b->connect(*a);

    ASSERT_EQ(UCS_OK, send_short(back, 1, {}));
    ASSERT_TRUE(flush(back));
    progress_for(0.02);
    for (uint64_t i = 0; i < 12; ++i) {
        ASSERT_EQ(UCS_OK, send_short(back, i, {}));
    }
    device("inject", "send:1:1000");
    ASSERT_EQ(UCS_OK, uct_ep_am_short(ep, AM_ID, 1, nullptr, 0));
    a->on_message = [&](const Bytes &) {
        for (int i = 0; i < 100; ++i) {
            a->progress();
        }
    };
    device_works();
    a->progress();
    a->on_message = nullptr;
    device("inject", "");
    EXPECT_TRUE(wait([&] {
        return uct_iface_flush(a->iface(), 0, nullptr) == UCS_OK;
    }));
    uct_ep_destroy(back);
}

} // namespace
