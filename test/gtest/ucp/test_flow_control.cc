/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A receiver that does not consume stops its senders (DESIGN.md, decision
 * 4), seen from UCP, with the figures that the interfaces show
 * (VFS): messages sent and not consumed stay within what was granted, the
 * receive queue never runs empty, memory stays flat. The suite asks the device
 * that no receiver was not ready.
 */
#include "ucp_test.h"

#include "test/gtest/uct/vfs_files.h"

#include <flow/limits.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using vfs_test::number;

namespace {

const uint64_t WINDOW = FLOW_WINDOW_MAX; /* UCX_SRD_WINDOW */

double from_env(const char *name, double otherwise)
{
    const char *text = getenv(name);

    return text ? atof(text) : otherwise;
}

/* An entity and the folder of its one interface. */
struct Watched {
    Entity     *entity;
    std::string path;
};

class FlowControl : public UcpTest {
protected:
    /* @small: few receives, few buffers. */
    Watched open(bool small = false)
    {
        auto before = vfs_test::interfaces();
        Watched watched;

        if (small) {
            setenv("UCX_SRD_RX_QUEUE_LEN", "128", 1);
            setenv("UCX_SRD_RX_BUFFERS_MAX", "256", 1);
        }
        watched.entity = &entity_new();
        unsetenv("UCX_SRD_RX_QUEUE_LEN");
        unsetenv("UCX_SRD_RX_BUFFERS_MAX");
        watched.path = vfs_test::newest(before);
        return watched;
    }

    /* Both know each other: the hello is answered. Nothing is under way. */
    void introduce(const Watched &from, const Watched &to, ucp_ep_h ep)
    {
        exchange(*to.entity, ep, 8, key(0));
        until([&] { return vfs_test::endpoints(from.path)[0]["state"] ==
                           "open"; }, "answer");
        flush(*from.entity);
    }

    /* The figures of now; nobody but @from sends to @to. The granted and not
     * consumed packets are all that one sender may have under way: fewer than
     * the receives posted. One of several senders that was silent for a moment
     * may still use credits that are not counted any more (grant.c). */
    void watch(const std::vector<Watched> &from, const Watched &to)
    {
        uint64_t sent = 0;

        for (const auto &each : from) {
            sent += number(each.path, "messages_sent");
        }
        uint64_t open    = sent - number(to.path, "messages_received");
        uint64_t granted = number(to.path, "granted");
        uint64_t posted  = number(to.path, "receives_posted");

        open_most_   = std::max(open_most_, open);
        spare_least_ = std::min(spare_least_, int64_t(posted - granted));
        ASSERT_LE(open, WINDOW * from.size());
        if (from.size() == 1) {
            ASSERT_LE(open, granted);
        }
        ASSERT_GT(posted, granted);
    }

    void report(const std::vector<Watched> &from, const Watched &to)
    {
        uint64_t not_ready = 0, least = number(to.path,
                                               "receives_posted_least");

        for (const auto &each : from) {
            not_ready += number(each.path, "receiver_not_ready");
        }
        printf("figures: at most %lu sent and not consumed; at least %lu "
               "receives posted, %ld more than granted; %lu not ready\n",
               open_most_, least, spare_least_, not_ready);
        EXPECT_GT(open_most_, 0u);
        EXPECT_GT(least, 0u);
        EXPECT_EQ(0u, not_ready);
    }

    void start(ucp_ep_h ep, size_t len, unsigned n)
    {
        out_.resize(n);
        op_ = std::vector<Op>(n);
        for (unsigned i = 0; i < n; ++i) {
            out_[i] = Buffer(len, key(i));
            send(ep, out_[i], 3, op_[i]);
        }
    }

    /* Receives the @n messages of start(), in order. */
    void take(Entity &to, size_t len, unsigned n)
    {
        for (unsigned i = 0; i < n; ++i) {
            Buffer in(len);
            Op got;

            recv(to, in, 3, got);
            finish(got, "receive");
            ASSERT_EQ(len, got.got);
            ASSERT_TRUE(in.holds(key(i))) << "message " << i;
        }
        for (auto &op : op_) {
            finish(op, "send");
        }
    }

    /* Most memory that was resident since peak_reset, in KiB; constant with
     * sanitizers, which keep freed memory back. */
    static long peak()
    {
        char line[128];
        long peak  = 0;
        FILE *file = fopen("/proc/self/status", "r");

        while (file && fgets(line, sizeof(line), file)) {
            sscanf(line, "VmHWM: %ld", &peak);
        }
        if (file != nullptr) {
            fclose(file);
        }
        return getenv("SRD_SANITIZE") ? 0 : peak;
    }

    static void peak_reset()
    {
        FILE *file = fopen("/proc/self/clear_refs", "w");

        ASSERT_NE(nullptr, file);
        fputs("5", file);
        fclose(file);
    }

    uint64_t open_most_  = 0;
    int64_t spare_least_ = INT64_MAX;
    std::vector<Buffer> out_;
    std::vector<Op> op_;
};

TEST_F(FlowControl, sleeping_receiver)
{
    const unsigned n = 6000;
    Watched from = open(), to = open();
    ucp_ep_h ep  = connect(*from.entity, *to.entity);

    introduce(from, to, ep);
    start(ep, 8, n);
    ucp_worker_progress(from.entity->worker);
    peak_reset();
    long before = peak();
    double until = seconds_now() + from_env("SLEEP_SECONDS", 1);
    while (seconds_now() < until) {
        ucp_worker_progress(from.entity->worker);
        watch({from}, to);
        if (HasFatalFailure()) {
            return;
        }
    }
    EXPECT_LT(peak() - before, 256) << "KiB while it slept";

    while (number(to.path, "messages_received") < n) { /* unexpected ones */
        ucp_worker_progress(from.entity->worker);
        ucp_worker_progress(to.entity->worker);
        watch({from}, to);
        if (HasFatalFailure()) {
            return;
        }
    }
    take(*to.entity, 8, n);
    report({from}, to);
    close(ep);
}

/* UCP keeps the buffers of what nobody asked for, as long as there are some. */
TEST_F(FlowControl, descriptors_of_unexpected_messages)
{
    const unsigned n = from_env("KEPT_MESSAGES", 20000);
    const size_t len = 64;
    Watched from = open(), to = open();
    ucp_ep_h ep  = connect(*from.entity, *to.entity);
    long first   = 0;

    introduce(from, to, ep);
    for (unsigned round = 1; round <= 2; ++round) {
        uint64_t all  = number(to.path, "messages_received") + n;
        uint64_t kept = 0;
        start(ep, len, n);
        peak_reset();
        for (unsigned i = 0; number(to.path, "messages_received") < all; ++i) {
            ucp_worker_progress(from.entity->worker);
            ucp_worker_progress(to.entity->worker);
            if (i % 8 == 0) {
                watch({from}, to);
                kept = std::max(kept, number(to.path, "receive_buffers_kept"));
            }
            if (HasFatalFailure()) {
                return;
            }
        }
        printf("round %u: %lu buffers kept of %lu, %ld KiB at most\n", round,
               kept, number(to.path, "receive_buffers"), peak());
        EXPECT_GT(kept, 100u) << "nothing was kept: no test";
        EXPECT_LE(number(to.path, "receive_buffers"), 4096u);
        EXPECT_LT(peak(), (round == 1) ? LONG_MAX : first + 2048)
                << "KiB: a second flood takes no more memory";
        first = peak();
        take(*to.entity, len, n);
        EXPECT_EQ(0u, number(to.path, "receive_buffers_kept"));
    }
    report({from}, to);
    close(ep);
}

/* One of seven that send all they can: numbers its messages. A test that fails
 * leaves it to what is in flight. */
struct Sender {
    ucp_ep_h ep;
    uint64_t next = 0, got = 0, half = 0;
    uint64_t word[256];
    Op       op[256];
};

class SevenToOne : public FlowControl {
protected:
    static const unsigned COUNT = 7;

    void start_one(unsigned who)
    {
        Sender &one   = senders_[who];
        unsigned slot = one.next % 256;
        Op &op        = one.op[slot];

        if (op.request != nullptr) {
            if (!op.done) {
                return;
            }
            ucp_request_free(op.request);
        }
        op             = Op();
        one.word[slot] = one.next++;
        auto param     = op.send_param();
        op.started(ucp_tag_send_nbx(one.ep, &one.word[slot], 8, who, &param));
    }

    /* One message of @who, if there is one. */
    bool take_one(unsigned who)
    {
        Sender &one   = senders_[who];
        uint64_t word = 0;
        ucp_tag_recv_info_t info;
        auto message = ucp_tag_probe_nb(to_.entity->worker, who, ~0ul, 1,
                                        &info);

        if (message == nullptr) {
            return false;
        }
        Op op;
        auto param = op.tag_param();
        op.started(ucp_tag_msg_recv_nbx(to_.entity->worker, &word, 8, message,
                                        &param));
        finish(op, "receive");
        EXPECT_EQ(one.got, word) << "sender " << who;
        ++one.got;
        if (++total_ == each_ * COUNT / 2) {
            for (unsigned i = 0; i < COUNT; ++i) {
                senders_[i].half = senders_[i].got;
            }
        }
        return true;
    }

    /* Packets that the senders together may send now. */
    uint64_t credits()
    {
        uint64_t sum = 0;

        for (const auto &each : from_) {
            auto line = vfs_test::endpoints(each.path)[0];
            sum      += stoul(line["limit"]) - stoul(line["psn"]);
        }
        return sum;
    }

    void send_round()
    {
        for (unsigned who = 0; who < COUNT; ++who) {
            for (unsigned i = 0; i < 4 && senders_[who].next < each_; ++i) {
                start_one(who);
            }
            ucp_worker_progress(from_[who].entity->worker);
        }
    }

    void receive_round()
    {
        ucp_worker_progress(to_.entity->worker);
        for (unsigned who = 0; who < COUNT; ++who) {
            while (take_one(who)) {
            }
        }
    }

    void report_shares()
    {
        uint64_t least = UINT64_MAX, most = 0;

        printf("shares when half had arrived:");
        for (unsigned i = 0; i < COUNT; ++i) {
            least = std::min(least, senders_[i].half);
            most  = std::max(most, senders_[i].half);
            printf(" %.1f%%", 200.0 * senders_[i].half / (each_ * COUNT));
        }
        printf("\n");
        EXPECT_GE(least * 2, most);
    }

    const uint64_t each_ = from_env("SHARE_MESSAGES", 3000);
    Sender *senders_     = new Sender[COUNT];
    uint64_t total_      = 0;
    Watched to_;
    std::vector<Watched> from_;
};

TEST_F(SevenToOne, small_queue_equal_shares)
{
    to_ = open(true);
    for (unsigned i = 0; i < COUNT; ++i) {
        from_.push_back(open());
        senders_[i].ep = connect(*from_[i].entity, *to_.entity);
        introduce(from_[i], to_, senders_[i].ep);
    }

    /* Which of them came first had the queue for itself, perhaps, and a whole
     * window: that it leaves it unused is seen when others come (hand.c). */
    until([&] { return credits() < number(to_.path, "receives_posted"); },
          "recall");
    for (unsigned i = 0; i < COUNT; ++i) {
        flush(*from_[i].entity);
    }

    double awake = seconds_now() + from_env("SLEEP_SECONDS", 1);
    while (total_ < each_ * COUNT) {
        ASSERT_LT(seconds_now(), awake + WAIT_SECONDS)
                << total_ << " messages came";
        send_round();
        watch(from_, to_);
        if (HasFailure()) {
            return;
        }
        if (seconds_now() >= awake) { /* the receiver sleeps first */
            receive_round();
        }
    }

    report_shares();
    report(from_, to_);
    for (unsigned i = 0; i < COUNT; ++i) {
        for (auto &op : senders_[i].op) {
            if (op.request != nullptr || op.done) {
                finish(op, "send");
            }
        }
        close(senders_[i].ep);
    }
    delete[] senders_;
}

} // namespace
