/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every call that can fail, fails once (P11), while a pair of interfaces does
 * everything that UCT knows of us. In each case: no crash, no hang, each
 * completion comes exactly once (P4), and all is given back.
 */
#include "fault.h"
#include "mapping.h"
#include "uct_entity.h"

#include <cerrno>
#include <memory>

using namespace uct_test;

namespace {

/* Everything with a completion, and how it went. */
struct Ledger {
    std::vector<std::unique_ptr<Completion>> entries;
    std::vector<bool> expected;

    uct_completion_t *add()
    {
        entries.emplace_back(new Completion);
        expected.push_back(false);
        return &entries.back()->uct;
    }

    /* UCT promises a completion if and only if it said INPROGRESS. */
    void said(ucs_status_t status)
    {
        expected.back() = status == UCS_INPROGRESS;
    }

    bool settled() const
    {
        for (size_t i = 0; i < entries.size(); ++i) {
            if (expected[i] && (entries[i]->done == 0)) {
                return false;
            }
        }
        return true;
    }

    void check() const
    {
        for (size_t i = 0; i < entries.size(); ++i) {
            EXPECT_EQ(expected[i] ? 1u : 0u, entries[i]->done) << "entry " << i;
        }
    }
};

void unpack(void *, const void *, size_t)
{
}

} // namespace

class FaultSweep : public UctTest {
protected:
    using Post = std::function<ucs_status_t()>;

    /* Tries until it can, or the endpoint failed. Silence alone fails none: who
     * wants to know whether the peer lives asks, as UCP's keepalive does. */
    ucs_status_t attempt(const Post &post)
    {
        ucs_status_t status = UCS_ERR_NO_RESOURCE;
        auto done = [&] {
            status = post();
            return (status != UCS_ERR_NO_RESOURCE) || !a->failures.empty();
        };

        for (int i = 0; (i < 50) && !wait(done, 0.2); ++i) {
            uct_ep_check(ep, 0, nullptr);
        }
        EXPECT_TRUE((status != UCS_ERR_NO_RESOURCE) || !a->failures.empty());
        return status;
    }

    void messages()
    {
        Bytes large = make_message(3, a->attr().cap.am.max_bcopy);

        for (uint64_t i = 0; i < 20; ++i) {
            sent += attempt([&] {
                return uct_ep_am_short(ep, AM_ID, i, nullptr, 0);
            }) == UCS_OK;
            sent += attempt([&] {
                ssize_t size = uct_ep_am_bcopy(ep, AM_ID, pack_bytes, &large,
                                               0);
                return (size < 0) ? static_cast<ucs_status_t>(size) : UCS_OK;
            }) == UCS_OK;
        }
    }

    void rma()
    {
        Memory remote(*b, 100000, 1), local(*a, 100000, 2);
        Memory segments(*b, large.data(), large.size());
        uct_iov_t iov = local.iov(0, local.size());
        uint64_t address = reinterpret_cast<uintptr_t>(remote.data());
        uct_iov_t piece = local.iov(0, 2000);
        Bytes header = make_message(5, 100);

        post([&](uct_completion_t *comp) {
            return uct_ep_am_zcopy(ep, AM_ID, header.data(), header.size(),
                                   &piece, 1, 0, comp);
        });
        post([&](uct_completion_t *comp) {
            return uct_ep_get_zcopy(ep, &iov, 1, address, remote.rkey(), comp);
        });
        post([&](uct_completion_t *comp) {
            return uct_ep_get_bcopy(ep, unpack, nullptr, 500, address,
                                    remote.rkey(), comp);
        });
        post([&](uct_completion_t *comp) {
            return uct_ep_get_bcopy(ep, unpack, nullptr, 8,
                                    segments.address() + large.size() - 8,
                                    segments.rkey(), comp);
        });
        if (a->attr().cap.flags & UCT_IFACE_FLAG_PUT_ZCOPY) {
            post([&](uct_completion_t *comp) {
                return uct_ep_put_zcopy(ep, &iov, 1, address, remote.rkey(),
                                        comp);
            });
        }
        uct_ep_fence(ep, 0);
        attempt([&] { return uct_ep_am_short(ep, AM_ID, 99, nullptr, 0); });
        post([&](uct_completion_t *comp) {
            return uct_ep_flush(ep, 0, comp);
        });
        /* memory is given back when nothing is under way any more */
        EXPECT_TRUE(wait([&] { return ledger.settled(); }));
    }

    void post(const std::function<ucs_status_t(uct_completion_t *)> &call)
    {
        uct_completion_t *comp = ledger.add();

        ledger.said(attempt([&] { return call(comp); }));
    }

    void arm()
    {
        for (Entity *entity : {a, b}) {
            int fd;
            if ((entity->attr().cap.event_flags & UCT_IFACE_FLAG_EVENT_FD) &&
                (uct_iface_event_fd_get(entity->iface(), &fd) == UCS_OK)) {
                ucs_status_t status = uct_iface_event_arm(
                        entity->iface(), UCT_EVENT_RECV | UCT_EVENT_SEND_COMP);
                EXPECT_TRUE((status == UCS_OK) || (status == UCS_ERR_BUSY));
            }
        }
    }

    /* Returns the message of what could not even be opened, else "". */
    std::string scenario()
    {
        const Config small = {{"RX_QUEUE_LEN", "128"}};
        std::string error;

        try {
            a = new Entity(small);
            b = new Entity(small);
            device("accept", "registration:67108864");
            ep = a->connect(*b);
            messages();
            arm();
            rma();
            arm();
            messages();
        } catch (const std::exception &e) {
            error = e.what();
        }
        end();
        return error;
    }

    void end()
    {
        if (ep != nullptr) {
            wait([&] { return ledger.settled(); });
            /* without a failure everything arrives, whatever was short */
            EXPECT_TRUE(wait([&] {
                return (b->count >= sent) || !a->failures.empty() ||
                       (uct_ep_check(ep, 0, nullptr) != UCS_OK);
            })) << b->count << " of " << sent << " arrived";
            EXPECT_LE(a->failures.size(), 1u);
            uct_ep_destroy(ep);
            ep = nullptr;
        }
        sent = 0;
        delete a;
        delete b;
        a = b = nullptr;
        ledger.check();
        ledger = Ledger();
    }

    /* Lets the n-th call fail for every n. */
    void sweep(const std::string &point, int err, unsigned long most)
    {
        unsigned n;

        for (n = 1; n <= most; ++n) {
            SCOPED_TRACE(point + " fails at call " + std::to_string(n));
            FaultBalance before = fault_balance();
            fault_arm(point, n, err);
            scenario();
            bool met = fault_fired();
            fault_disarm();
            EXPECT_EQ(before.allocations, fault_balance().allocations);
            EXPECT_EQ(before.verbs, fault_balance().verbs);
            if (HasFailure() || !met) {
                break;
            }
        }
        RecordProperty("calls", std::to_string(n - 1));
        EXPECT_GT(n, 1u) << point << " is never called";
    }

    Mapping large{65 << 20}; /* more than the device takes in one piece */
    Ledger ledger;
    size_t sent = 0; /* active messages that UCT took, those of the ledger apart */
};

TEST_F(FaultSweep, none__the_scenario_itself_passes_and_gives_all_back)
{
    scenario(); /* what is made once for the process */
    FaultBalance before = fault_balance();

    EXPECT_EQ("", scenario());
    EXPECT_EQ(before.allocations, fault_balance().allocations);
    EXPECT_EQ(before.verbs, fault_balance().verbs);
}

TEST_F(FaultSweep, malloc)
{
    if (!fault_has_malloc()) {
        GTEST_SKIP() << "the sanitizer's allocator is in its place";
    }
    sweep("malloc", 0, 1000);
}

/* Messages that waited for their window are posted together: a full queue is a
 * matter of time, all else the end of the interface. */
TEST_F(FaultSweep, post_send__of_delayed_messages)
{
    open();
    fault_disarm();
    for (int err : {0, 0, 0, 0, 0, 0, ENOMEM, EAGAIN, EIO}) {
        ASSERT_EQ(UCS_OK, send_short(ep, sent++, {}));
        sent += fill(sent);
        if (fault_calls("post_send") == 0) {
            GTEST_SKIP() << "the module writes the queue itself";
        }
        if (err != 0) {
            progress_for(0.01, {b}); /* a's window opens, but a does not know */
            fault_arm("post_send", 1, err, 3);
            for (int i = 0; (i < 100) && !fault_fired(); ++i) {
                a->progress();
            }
            EXPECT_TRUE(fault_fired());
            fault_disarm();
        }
        if (err != EIO) {
            ASSERT_TRUE(wait([&] { return b->count == sent; }));
            expect_in_order(sent);
            ASSERT_TRUE(flush(ep));
        }
    }
    EXPECT_TRUE(wait([&] {
        return !a->failures.empty() &&
               (uct_iface_flush(a->iface(), 0, nullptr) == UCS_OK);
    }));
    EXPECT_EQ(1u, a->failures.size());
}

/* Out of memory for new flows of a peer, for a while: what came waits. */
TEST_F(FaultSweep, malloc__none_at_receive)
{
    const unsigned endpoints = 400;
    std::vector<uct_ep_h> eps;

    if (!fault_has_malloc()) {
        GTEST_SKIP() << "the sanitizer's allocator is in its place";
    }
    open();
    for (unsigned i = 0; i < endpoints; ++i) {
        eps.push_back(a->connect(*b));
    }
    for (uct_ep_h each : eps) {
        /* all may have to wait at b: no more than a has operations for */
        ASSERT_EQ(UCS_OK, attempt([&] {
                      return uct_ep_am_short(each, AM_ID, 0, nullptr, 0);
                  }));
        if (eps[10] == each) { /* from here on b wants more */
            fault_arm("malloc", 1, 0, 1000000000);
        }
    }
    rounds(2000);
    EXPECT_TRUE(fault_fired());
    EXPECT_LT(b->count, endpoints) << "it had all the memory it wanted";
    fault_disarm();
    EXPECT_TRUE(wait([&] { return b->count == endpoints; }))
            << b->count << " of " << endpoints << " arrived";
    EXPECT_TRUE(a->failures.empty());
    for (uct_ep_h each : eps) {
        uct_ep_destroy(each);
    }
}

/* The device takes segments, but not all of them together: no smaller ones are
 * tried, as pinning that much takes long. */
TEST_F(FaultSweep, segments__whose_sum_is_too_much)
{
    constexpr size_t GB = 1ul << 30;
    Mapping memory(4 * GB, PROT_READ);
    uct_mem_h memh;

    open();
    device("accept", "registration:1073741824");
    device("device-pages", std::to_string(3 * GB / 4096).c_str());
    fault_disarm();
    EXPECT_EQ(UCS_ERR_NO_MEMORY,
              uct_md_mem_reg(a->md(), memory.data(), memory.size(),
                             UCT_MD_MEM_ACCESS_RMA |
                                     UCT_MD_MEM_FLAG_HIDE_ERRORS,
                             &memh));
    EXPECT_LT(fault_calls("ibv_reg_mr"), 30u);
    device("device-pages", std::to_string(24 << 20).c_str());
    device("accept", "registration:0");
}

class FaultVerb : public FaultSweep,
                  public ::testing::WithParamInterface<std::string> {};

TEST_P(FaultVerb, sweep__transient_and_final)
{
    const std::string &point = GetParam();
    bool data_path = (point.compare(0, 3, "ibv") != 0) &&
                     (point.compare(0, 5, "efadv") != 0);

    sweep(point, ENOMEM, data_path ? 40 : 100);
    if (!HasFailure()) {
        sweep(point, EIO, data_path ? 40 : 100);
    }
}

static std::vector<std::string> verbs()
{
    std::vector<std::string> points = fault_points();

    points.erase(points.begin()); /* malloc */
    return points;
}

INSTANTIATE_TEST_SUITE_P(Verbs, FaultVerb, ::testing::ValuesIn(verbs()),
                         [](const auto &info) { return info.param; });
