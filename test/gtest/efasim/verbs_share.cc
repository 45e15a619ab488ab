/* SPDX-License-Identifier: BSD-3-Clause */
/* More processes than cores: when a program that polls yields its CPU, which
 * hook_spin() and hook_yield() of driver/hooks.c decide. Yields and polls are
 * counted; who runs in a yield is made up here. */
#include "verbs_test.h"

#include <chrono>
#include <list>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace {

enum {
    WINDOW = 64,
    ROOM   = 64,  /* of a message */
    RAN_US = 400, /* twice what counts */
};

/* The one that has the CPU while a thread yields it */
enum Ran {
    NOBODY,
    OURS, /* a thread of this process */
    OTHERS
};

/* (Without a destructor: for one, a thread that asks for the time would take
 * memory.) */
struct Yields {
    Ran      ran[4];
    unsigned rans   = 0;  /* of them, in turn; 0: it is as it is */
    unsigned count  = 0;
    int64_t  cpu_us = 0;  /* of this process: what OURS had */

    void set(const std::vector<Ran> &all)
    {
        *this = Yields();
        for (Ran one : all) {
            ran[rans++] = one;
        }
    }
};

thread_local Yields yields;

int64_t now_us()
{
    using namespace std::chrono;

    return duration_cast<microseconds>(
                   steady_clock::now().time_since_epoch()).count();
}

} // namespace

/* The driver's two, as well */
extern "C" int sched_yield()
{
    if (yields.rans == 0) {
        return syscall(SYS_sched_yield);
    }

    Ran ran = yields.ran[yields.count++ % yields.rans];
    if (ran != NOBODY) {
        usleep(RAN_US);
    }
    yields.cpu_us += (ran == OURS) ? RAN_US : 0;
    return 0;
}

extern "C" int clock_gettime(clockid_t id, timespec *now)
{
    static auto next = reinterpret_cast<int (*)(clockid_t, timespec*)>(
            dlsym(RTLD_NEXT, "clock_gettime"));

    if ((id != CLOCK_PROCESS_CPUTIME_ID) || (yields.rans == 0)) {
        return next(id, now);
    }
    now->tv_sec  = yields.cpu_us / 1000000;
    now->tv_nsec = yields.cpu_us % 1000000 * 1000;
    return 0;
}

class Share : public testing::Test {
protected:
    Share() : qp_(dev_), mem_(dev_, 2 * ROOM), ah_(dev_.ah(dev_.gid))
    {
    }

    ~Share()
    {
        yields = Yields();
    }

    /* Something that is done, by this thread: a message to itself. */
    void message()
    {
        bool is_ours = false;

        while (!is_ours) { /* the backstop may be first, and hold the lock */
            ASSERT_EQ(0, qp_.recv(0, {mem_.sge(0, ROOM)}));
            ASSERT_EQ(0, qp_.send(0, ah_, qp_.address(),
                                  {mem_.sge(ROOM, ROOM)}));
            is_ours = device_progress() > 0;
            ASSERT_EQ(IBV_WC_SUCCESS, poll_one(qp_.scq).status);
            ASSERT_EQ(IBV_WC_SUCCESS, poll_one(qp_.rcq).status);
        }
    }

    void begin(std::vector<Ran> ran)
    {
        message();
        yields.set(ran);
    }

    /* @return yields in so many polls that find nothing */
    unsigned poll(unsigned n)
    {
        unsigned before = yields.count;
        ibv_wc wc;

        for (unsigned i = 0; i < n; ++i) {
            EXPECT_EQ(0, ibv_poll_cq(qp_.scq, 1, &wc));
        }
        return yields.count - before;
    }

    Device dev_;
    Qp     qp_;
    Memory mem_;
    ibv_ah *ah_;
};

/* It may wait for a process that wants this CPU. */
TEST_F(Share, a_poller_that_finds_nothing_yields)
{
    for (Ran ran : {NOBODY, OTHERS}) {
        begin({ran});
        EXPECT_EQ(0u, poll(200));
        EXPECT_EQ(100u, poll(50 + 99 * 32)) << ran;
    }
}

/*
 * Where yields let threads of its own program run and nothing comes of it, one of
 * them may spin for a lock that the poller holds: if each poll yielded inside the
 * lock that thread would find it taken whenever it runs. Therefore there is a pause
 * of 0.1 s, behind four such yields in a row, or sixteen where others ran between.
 */
TEST_F(Share, a_poller_inside_a_lock)
{
    struct {
        std::vector<Ran> ran;
        int64_t          yields;
    } const cases[] = {{{OURS}, 4}, {{OURS, OURS, OTHERS}, 23}};

    for (const auto &one : cases) {
        begin(one.ran);
        int64_t start = now_us();
        int64_t some  = poll(10000);
        int64_t took  = now_us() - start;

        EXPECT_GE(some, one.yields);
        EXPECT_LE(some, one.yields * (1 + took / 100000));
    }
}

/* A thread that computes elsewhere runs in each yield, too: two processes that
 * take turns on one CPU by their yields do not wait for time slices for that. */
TEST_F(Share, a_poller_with_a_busy_thread_elsewhere)
{
    for (unsigned i = 0; i < 30; ++i) {
        begin({OURS});
        EXPECT_EQ(3u, poll(250 + 2 * 32)) << i;
    }
}

/* Sends WINDOW messages for each word. */
TEST(DISABLED_Role, share_sender)
{
    Parent parent;
    Device dev;
    Qp qp(dev);
    Memory mem(dev, ROOM);
    Address to = parent.get<Address>();
    ibv_ah *ah = dev.ah(to.gid);

    parent.put('r');
    while (parent.get<char>() == 'g') {
        for (unsigned i = 0; i < WINDOW; ++i) {
            ASSERT_EQ(0, qp.send(i, ah, to, {mem.sge(0, ROOM)}));
        }
        parent.put('s');
        parent.get<char>(); /* they are received */
        for (unsigned i = 0; i < WINDOW; ++i) {
            ASSERT_EQ(IBV_WC_SUCCESS, poll_one(qp.scq).status);
        }
        parent.put('d');
    }
}

/* @return yields in polls that find something, while a window of each of @n senders
 * is received, and again, so often or until there were @enough: under load the
 * backstop takes some windows */
static unsigned received_from(unsigned n, unsigned rounds, unsigned enough)
{
    Device dev;
    QpParams params;
    params.recv_wr = n * WINDOW;
    Qp qp(dev, params);
    Memory mem(dev, ROOM);
    std::list<Child> senders;
    unsigned sum = 0;

    for (unsigned i = 0; i < n; ++i) {
        senders.emplace_back(1 + i, "share_sender");
        senders.back().put(qp.address());
        senders.back().get<char>();
    }
    while (rounds-- > 0 && sum < enough) {
        for (unsigned i = 0; i < n * WINDOW; ++i) {
            EXPECT_EQ(0, qp.recv(i, {mem.sge(0, ROOM)}));
        }
        for (auto &sender : senders) {
            sender.put('g');
            EXPECT_EQ('s', sender.get<char>());
        }
        yields.set({NOBODY});
        for (int left = n * WINDOW; left > 0;) {
            unsigned before = yields.count;
            ibv_wc wc[WINDOW];
            int got = ibv_poll_cq(qp.rcq, WINDOW, wc);
            sum    += (got > 0) ? yields.count - before : 0;
            left   -= got;
        }
        yields = Yields();
        for (auto &sender : senders) {
            sender.put('r');
            EXPECT_EQ('d', sender.get<char>());
        }
    }
    for (auto &sender : senders) {
        sender.put('e');
        sender.expect_ok();
    }
    return sum;
}

/* A sender on another core never stops: those that share the receiver's are
 * served beside it because that yields, though it finds something to do. */
TEST(share, a_receiver_yields_to_several_senders_not_to_one)
{
    /* (A poll that waited for long yields, and may find something then; with the
     * rule for several it would be 75.) */
    EXPECT_GE(12u, received_from(1, 300, 13));
    EXPECT_GE(received_from(4, 1000, 10), 10u);
}
