/* SPDX-License-Identifier: BSD-3-Clause */
/* Every completion status that EFA has (P12), put into the device's mouth for
 * messages, reads and writes, for the first packet of all, and for receives. */
#include "module_clock.h"
#include "uct_entity.h"
#include "vfs_files.h"

#include <flow/limits.h>

#include <memory>
#include <stdexcept>
#include <util/efa_status.h>

using namespace uct_test;

namespace {

struct Case {
    unsigned           number;
    efa_status_class_t kind;
    ucs_status_t       ucs;
    bool               dead; /* the peer or our device, not this alone */
};

/* None that says that the peer has no receive posted is an error of a message;
 * but none can come for RDMA, so there it is one. */
Case meaning(unsigned number)
{
    efa_status_class_t kind = efa_status_class(number);

    switch (kind) {
    case EFA_STATUS_CLASS_FLUSHED: /* the device is gone */
        return {number, kind, UCS_ERR_IO_ERROR, true};
    case EFA_STATUS_CLASS_ACCESS:
        return {number, kind, UCS_ERR_CONNECTION_RESET, false};
    case EFA_STATUS_CLASS_GONE:
        return {number, kind, UCS_ERR_CONNECTION_RESET, true};
    case EFA_STATUS_CLASS_SILENT:
        return {number, kind, UCS_ERR_ENDPOINT_TIMEOUT, true};
    case EFA_STATUS_CLASS_STRANGER:
        return {number, kind, UCS_ERR_UNREACHABLE, false};
    default:
        return {number, kind, UCS_ERR_IO_ERROR, false};
    }
}

/* Each, and two that have no row. */
std::vector<Case> cases()
{
    std::vector<Case> all{meaning(200), meaning(255)};

#define STATUS_OF(_name, _number, ...) _number,
    for (unsigned number : {EFA_STATUSES(STATUS_OF)}) {
        all.push_back(meaning(number));
    }
    return all;
}

} // namespace

class UctInject : public UctTest {
protected:
    /* Answers that one test did not use up are none of the next one's. */
    void TearDown() override
    {
        inject_nothing();
        UctTest::TearDown();
    }

    static void inject_nothing()
    {
        inject("send", 1, 1, 1000000000);
    }

    static void inject(const char *operation, unsigned status,
                       unsigned count = 1, unsigned skip = 0)
    {
        std::string value = std::string(operation) + ":" +
                            std::to_string(status) + ":" +
                            std::to_string(count) + ":" +
                            std::to_string(skip);

        device("inject", value.c_str());
    }

    /* The introduction is over and nothing is under way. */
    void settle(uct_ep_h endpoint)
    {
        size_t before = b->count;

        ASSERT_EQ(UCS_OK, send_short(endpoint, 0, {}));
        ASSERT_TRUE(wait([&] { return b->count > before; }));
        ASSERT_TRUE(flush(endpoint));
        rounds(2000);
        int calm = 0; /* rounds in turn; the device may be late */
        ASSERT_TRUE(wait([&] {
            calm = is_under_way() ? 0 : calm + 1;
            return calm > 10;
        }));
    }

    static bool is_under_way()
    {
        for (const auto &path : vfs_test::interfaces()) {
            if (vfs_test::number(path, "requests_in_flight") > 0) {
                return true;
            }
        }
        return false;
    }
};

/* The one status that ends more than an operation. */
using UctStatus1 = UctInject;

class UctStatus : public UctInject,
                  public ::testing::WithParamInterface<Case> {
protected:
    using Post = std::function<ucs_status_t(uct_completion_t *)>;

    /* Is a message with this status no error? On UD what the device may say of
     * the peer and the way there is none: the datagram is lost. */
    static bool is_sent_again()
    {
        return (GetParam().kind == EFA_STATUS_CLASS_NOT_READY) ||
               (is_ud() && !efa_status_is_local(GetParam().number));
    }

    /* Posts on ep with `status` injected for `operation`. */
    void fails_once(const char *operation, const Post &post)
    {
        const Case &expected = GetParam();
        uct_ep_h other = a->connect(*b);
        Completion comp;

        settle(ep);
        settle(other);
        if (expected.kind == EFA_STATUS_CLASS_STRANGER) { /* soon after a handle
                                     was made it is tried again: UctAgain */
            Completion works;
            until_taken([&] { return post(&works.uct); });
            ASSERT_TRUE(wait([&] { return works.done > 0; }));
        }
        ASSERT_EQ(UCS_INPROGRESS, until_taken([&] { /* RMA: the peer's word */
            inject(operation, expected.number);
            return post(&comp.uct);
        }));
        ASSERT_TRUE(a->failures.empty()) << "reported from inside the post";
        ASSERT_TRUE(wait([&] { return comp.done && !a->failures.empty(); }));
        EXPECT_EQ(expected.ucs, comp.status);
        EXPECT_EQ(expected.ucs, send_short(ep, 1, {}));
        rounds(2000);
        EXPECT_EQ(1u, comp.done);
        EXPECT_EQ(expected.dead ? 2u : 1u, a->failures.size());
        for (const Entity::Failure &failure : a->failures) {
            if (failure.ep == ep) {
                EXPECT_EQ(expected.ucs, failure.status);
            }
        }
        if (!expected.dead) {
            settle(other); /* goes on as before */
        }
        uct_ep_destroy(other);
    }
};

TEST_P(UctStatus, message)
{
    open();
    Bytes header = make_message(1, 16);
    auto post = [&](uct_completion_t *comp) {
        return uct_ep_am_zcopy(ep, AM_ID, header.data(), header.size(),
                               nullptr, 0, 0, comp);
    };

    if (!is_sent_again()) {
        fails_once("send", post);
        return;
    }
    settle(ep);
    Completion comp;
    inject("send", GetParam().number, 5);
    size_t before = b->count;
    ASSERT_EQ(UCS_INPROGRESS, post(&comp.uct));
    EXPECT_EQ(UCS_OK, end_of(comp));
    ASSERT_TRUE(wait([&] { return b->count == before + 1; }));
    EXPECT_TRUE(a->failures.empty());
}

TEST_P(UctStatus, read)
{
    SRD_ONLY("no reads");
    open();
    Memory remote(*b, 4096, 1), local(*a, 4096, 2);
    uct_iov_t iov = local.iov(0, 64);

    fails_once("read", [&](uct_completion_t *comp) {
        return get_zcopy(iov, remote, comp);
    });
}

TEST_P(UctStatus, write)
{
    open();
    PUT_ONLY();
    Memory remote(*b, 4096, 1), local(*a, 4096, 2);
    uct_iov_t iov = local.iov(0, 64);

    fails_once("write", [&](uct_completion_t *comp) {
        return uct_ep_put_zcopy(ep, &iov, 1,
                                remote.address(),
                                remote.rkey(), comp);
    });
}

/* The hello and what follows it: the message arrives, or the failure is told.
 */
TEST_P(UctStatus, introduction)
{
    open();
    uct_ep_destroy(ep);
    inject("send", GetParam().number, 2);
    ep = a->connect(*b);
    uct_ep_am_short(ep, AM_ID, 1, nullptr, 0);
    EXPECT_TRUE(wait([&] { return (b->count == 1) || !a->failures.empty(); }));
    if (is_sent_again() || (GetParam().kind == EFA_STATUS_CLASS_STRANGER)) {
        EXPECT_EQ(1u, b->count);
    }
    rounds(2000);
    EXPECT_LE(a->failures.size(), 1u);
}

/* A receive that fails costs its message (the sender is told by the device),
 * not its buffer: afterwards as many are posted as before. */
TEST_P(UctStatus, receive__its_buffer_is_posted_again)
{
    if (GetParam().kind == EFA_STATUS_CLASS_FLUSHED) {
        GTEST_SKIP() << "flushed__the_interface_ends";
    }
    open({{"RX_QUEUE_LEN", "128"}, {"RX_BUFFERS_MAX", "256"}});
    settle(ep);
    for (int i = 0; i < 40; ++i) {
        inject("recv", GetParam().number, 20);
        uct_ep_h brief = a->connect(*b);
        for (int k = 0; k < 16; ++k) {
            uct_ep_am_short(brief, AM_ID, k, nullptr, 0);
            progress();
        }
        uct_ep_destroy(brief);
    }
    inject_nothing();
    uct_ep_h fresh = a->connect(*b);
    settle(fresh);
    uct_ep_destroy(fresh);
}

/* The peer's device does not know us yet (14): what is the first of its kind is
 * tried again for a short time. */
class UctAgain : public UctInject {
protected:
    void SetUp() override
    {
        SRD_ONLY("its device knows of no handles at the peer");
    }

    /* A get, or a put, after its status was set `count` times. */
    void starts(bool put, unsigned count, Completion *comp)
    {
        uct_iov_t iov = local->iov(0, 64);

        ASSERT_EQ(UCS_INPROGRESS, until_taken([&] {
            inject(put ? "write" : "read", 14, count);
            return (put ? uct_ep_put_zcopy : uct_ep_get_zcopy)(
                    ep, &iov, 1, remote->address(), remote->rkey(), &comp->uct);
        }));
    }

    void open_memory()
    {
        open();
        remote = std::make_unique<Memory>(*b, 64, 1);
        local  = std::make_unique<Memory>(*a, 64, 2);
    }

    void TearDown() override
    {
        remote.reset();
        local.reset();
        UctInject::TearDown();
    }

    std::unique_ptr<Memory> remote, local;
};

TEST_F(UctAgain, rma__a_few_times)
{
    open_memory();
    for (bool put : {false, true}) {
        uct_ep_destroy(ep);
        ep = a->connect(*b); /* nothing was ever done on it */
        if (put && !has_put()) {
            break;
        }
        memset(local->data(), put, 64);
        Completion comp, flushed;
        starts(put, 4, &comp);
        ASSERT_EQ(UCS_INPROGRESS, uct_ep_flush(ep, 0, &flushed.uct));
        ASSERT_TRUE(wait([&] { return flushed.done > 0; }));
        EXPECT_EQ(1u, comp.done);
        EXPECT_EQ(UCS_OK, comp.status);
        EXPECT_EQ(0, memcmp(local->data(), remote->data(), 64));
    }
    EXPECT_TRUE(a->failures.empty());
}

TEST_F(UctAgain, rma__not_for_ever)
{
    open_memory();
    for (bool put : {false, true}) {
        uct_ep_destroy(ep);
        ep = a->connect(*b);
        if (put && !has_put()) {
            break;
        }
        Completion comp;
        a->failures.clear();
        starts(put, 1000000, &comp);
        ASSERT_TRUE(wait([&] {
            return comp.done && !a->failures.empty();
        }));
        inject_nothing();
        EXPECT_EQ(UCS_ERR_UNREACHABLE, comp.status);
        EXPECT_EQ(UCS_ERR_UNREACHABLE, a->failures[0].status);
    }
}

/* A refusal long after another one is none of a young peer's. */
TEST_F(UctAgain, rma__not_long_after)
{
    open_memory();
    module_clock_start();
    Completion first, later;
    starts(false, 1, &first);
    EXPECT_EQ(UCS_OK, end_of(first));
    starts(false, 1, &later);
    module_clock_away(20000000); /* at the next look */
    unsigned long looks = module_clock_looks();
    while (module_clock_looks() == looks) {
        progress();
    }
    module_clock_away(0);
    ASSERT_TRUE(wait([&] { return later.done > 0; }));
    inject_nothing();
    EXPECT_EQ(UCS_ERR_UNREACHABLE, later.status);
}

TEST_F(UctAgain, rma__of_an_endpoint_that_goes)
{
    open_memory();
    Completion comp;

    starts(false, 1000000, &comp);
    progress_for(0.02);
    ASSERT_EQ(0u, comp.done);
    end(ep);
    EXPECT_EQ(1u, comp.done);
    /* the latter of a try that the device had just then */
    EXPECT_TRUE((comp.status == UCS_ERR_CANCELED) ||
                (comp.status == UCS_ERR_UNREACHABLE)) << comp.status;
    inject_nothing();
    rounds(1000);
    EXPECT_EQ(1u, comp.done);
}

TEST_F(UctAgain, messages__first_ones_arrive_once_in_order)
{
    open();
    uct_ep_destroy(ep);
    inject("send", 14, 7); /* the hello and all six */
    ep = a->connect(*b);
    for (uint64_t i = 0; i < 6; ++i) {
        ASSERT_EQ(UCS_OK, uct_ep_am_short(ep, AM_ID, i, nullptr, 0));
    }
    ASSERT_TRUE(wait([&] { return b->count == 6; }));
    ASSERT_TRUE(flush(ep));
    EXPECT_TRUE(a->failures.empty());
    for (uint64_t i = 0; i < 6; ++i) {
        EXPECT_EQ(i, b->received[i][0]);
    }
}

TEST_F(UctAgain, messages__not_for_ever)
{
    open();
    uct_ep_destroy(ep);
    inject("send", 14, 1000000);
    ep = a->connect(*b);
    ASSERT_EQ(UCS_OK, uct_ep_am_short(ep, AM_ID, 1, nullptr, 0));
    ASSERT_TRUE(wait([&] { return !a->failures.empty(); }));
    EXPECT_EQ(0u, b->count); /* (by the message's end or by the hello's) */
}

/* Handles are the host's: what was refused long ago says nothing of a newer
 * endpoint, there or in another process. */
TEST_F(UctAgain, control__begins_anew)
{
    open();
    uct_ep_destroy(ep);
    inject("send", 14, 4);
    ep = a->connect(*b);
    settle(ep);
    Entity c;
    progress_for(0.2);
    for (Entity *peer : {b, &c}) {
        inject("send", 14, 1); /* the hello */
        uct_ep_h other = a->connect(*peer);
        size_t before  = peer->count;
        rounds(5000);
        ASSERT_TRUE(a->failures.empty());
        ASSERT_EQ(UCS_OK, send_short(other, 1, {}));
        ASSERT_TRUE(wait([&] {
            c.progress();
            return peer->count > before;
        }));
        EXPECT_TRUE(a->failures.empty());
        uct_ep_destroy(other);
    }
}

/* A process that waits for its turn sleeps until then. */
TEST_F(UctAgain, rma__arming_does_not_spin)
{
    open_memory();
    Completion comp;
    unsigned busy = 0;

    starts(false, 1000000, &comp);
    double end = now() + 0.05;
    while (now() < end) {
        progress();
        busy += uct_iface_event_arm(a->iface(), UCT_EVENT_SEND_COMP) ==
                UCS_ERR_BUSY;
    }
    EXPECT_EQ(0u, comp.done);
    EXPECT_LT(busy, 200u);
    ASSERT_TRUE(wait([&] { return comp.done > 0; }));
}

/* The handler of the first of several that came early lets the endpoint fail:
 * the others are for nobody. */
TEST_F(UctStatus1, failed__what_was_held_is_not_delivered)
{
    SRD_ONLY("no reads");
    open({{"GET_SHORT", "5s"}});
    uct_ep_h back = b->connect(*a);
    Memory remote(*a, 64, 1);
    uint64_t word;
    auto get = [&] {
        return uct_ep_get_short(back, &word, sizeof(word),
                                remote.address(),
                                remote.rkey());
    };

    ASSERT_EQ(UCS_OK, send_short(ep, 0, {}));
    ASSERT_EQ(UCS_OK, send_short(back, 0, {}));
    ASSERT_TRUE(wait([&] { return a->count && b->count; }));
    ASSERT_TRUE(wait([&] { return get() == UCS_OK; }));
    rounds(5000);
    size_t start = b->count, last = 0;
    inject("send", 10, 1); /* the first comes last */
    for (int i = 0; i < 12; ++i) {
        ASSERT_EQ(UCS_OK, uct_ep_am_short(ep, AM_ID, i, nullptr, 0));
    }
    b->on_message = [&](const Bytes &) {
        if (b->count == start + 2) {
            inject("read", 7);
            EXPECT_EQ(UCS_ERR_CONNECTION_RESET, get());
            uct_ep_destroy(back);
            last = b->count;
        }
    };
    ASSERT_TRUE(wait([&] { return !a->failures.empty(); }));
    rounds(5000);
    EXPECT_NE(0u, last);
    EXPECT_EQ(last, b->count);
    b->on_message = nullptr;
}

/* A device that was pulled out flushes what it has, and an idle interface has
 * its receives: it ends by name, and so do its endpoints. */
TEST_F(UctStatus1, flushed__the_interface_ends)
{
    open();
    uct_ep_h back = b->connect(*a);
    settle(ep);
    inject("recv", 1);
    ASSERT_EQ(UCS_OK, uct_ep_am_short(ep, AM_ID, 1, nullptr, 0));
    ASSERT_TRUE(wait([&] { return !b->failures.empty(); }));
    EXPECT_EQ(1u, b->failures.size());
    EXPECT_EQ(UCS_ERR_IO_ERROR, b->failures[0].status);
    EXPECT_EQ(UCS_ERR_IO_ERROR, send_short(back, 1, {}));
    EXPECT_THROW(b->connect(*a), std::runtime_error);
    /* UCP asks for the address of a broken one, too, when it reconnects */
    Bytes addr(b->iface_addr.size());
    EXPECT_EQ(UCS_OK, uct_iface_get_address(b->iface(),
                                            (uct_iface_addr_t*)addr.data()));
    EXPECT_EQ(b->iface_addr, addr);
    uct_ep_destroy(back);
}

/* More messages than a poll takes: the rest is completed by us. */
TEST_F(UctStatus1, flushed__messages_under_way_end_too)
{
    open();
    uct_ep_h back = b->connect(*a);
    Completion flushed;

    settle(ep);
    ASSERT_EQ(UCS_OK, send_short(back, 0, {}));
    ASSERT_TRUE(flush(back));
    ASSERT_TRUE(wait([&] { return a->count == 1; }));
    inject("recv", 1);
    ASSERT_EQ(UCS_OK, uct_ep_am_short(ep, AM_ID, 1, nullptr, 0));
    for (int i = 0; i < 100; ++i) {
        a->progress(); /* it leaves; b's posts take it in, b's next poll sees
                          it before any of theirs */
    }
    uint64_t sent = 0; /* on ud fewer may go, where an answer came late */
    while ((sent < FLOW_WINDOW_MAX - 8) &&
           (uct_ep_am_short(back, AM_ID, sent + 1, nullptr, 0) == UCS_OK)) {
        ++sent;
    }
    ASSERT_LT(is_ud() ? 16u : FLOW_WINDOW_MAX - 9u, sent);
    ASSERT_EQ(UCS_INPROGRESS, uct_ep_flush(back, 0, &flushed.uct));
    ASSERT_TRUE(wait([&] {
        return flushed.done && !b->failures.empty();
    }));
    if (!is_ud() || (flushed.status != UCS_OK)) { /* what was lost came late */
        EXPECT_EQ(UCS_ERR_IO_ERROR, flushed.status);
    }
    EXPECT_EQ(UCS_OK, uct_iface_flush(b->iface(), 0, nullptr));
    uct_ep_destroy(back);
}

INSTANTIATE_TEST_SUITE_P(Statuses, UctStatus, ::testing::ValuesIn(cases()),
                         [](const auto &info) {
                             return std::to_string(info.param.number);
                         });
