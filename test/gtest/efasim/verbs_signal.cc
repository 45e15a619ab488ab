/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal handlers that use the device, wherever they interrupt it. */
#include "verbs_test.h"

#include <cerrno>
#include <csignal>
#include <malloc.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

/* @handler runs every so many microseconds, while it exists. */
class Timer {
public:
    explicit Timer(void (*handler)(int), int usec = 200)
    {
        struct sigaction action = {};
        itimerval time          = {{0, usec}, {0, usec}};

        action.sa_handler = handler;
        action.sa_flags   = SA_RESTART;
        sigaction(SIGALRM, &action, &old);
        setitimer(ITIMER_REAL, &time, nullptr);
    }

    ~Timer()
    {
        itimerval none = {};

        setitimer(ITIMER_REAL, &none, nullptr);
        sigaction(SIGALRM, &old, nullptr);
    }

private:
    struct sigaction old;
};

/* A handler's objects: queue pairs that nobody else uses. */
struct Handler {
    Qp       *from, *to;
    Memory   *mem;
    ibv_ah   *ah;
    unsigned posted, sent, received, failed;
    unsigned commands, refused;
} handler;

/* At most eight messages under way, and all completions. */
void handler_traffic(int)
{
    ibv_wc wc;

    if (handler.posted - handler.received < 8) {
        ibv_sge into = handler.mem->sge(0, 100), from = handler.mem->sge(100, 100);
        ibv_recv_wr recv = {0, nullptr, &into, 1}, *bad_recv;
        ibv_send_wr send = send_of(0, &from, handler.ah, handler.to->address()),
                    *bad_send;
        handler.failed += ibv_post_recv(handler.to->qp, &recv, &bad_recv) != 0;
        handler.failed += ibv_post_send(handler.from->qp, &send,
                                        &bad_send) != 0;
        ++handler.posted;
    }
    while (ibv_poll_cq(handler.from->scq, 1, &wc) == 1) {
        handler.failed += wc.status != IBV_WC_SUCCESS;
        ++handler.sent;
    }
    while (ibv_poll_cq(handler.to->rcq, 1, &wc) == 1) {
        handler.failed += wc.status != IBV_WC_SUCCESS;
        ++handler.received;
    }
}

/* A verbs command, of the kind that asks for no memory. */
void handler_command(int)
{
    ibv_qp_attr attr;
    ibv_qp_init_attr init;
    int ret = ibv_query_qp(handler.from->qp, &attr, IBV_QP_STATE, &init);

    handler.refused  += ret == EBUSY;
    handler.failed   += ret != 0 && ret != EBUSY;
    handler.commands += ret == 0;
}

void handler_fork(int)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        _exit(0);
    }
    handler.failed += waitpid(pid, &status, 0) != pid || status != 0;
    ++handler.commands;
}

const unsigned ENOUGH = 300; /* runs of a handler */

/* Messages of this thread's own, with a command now and then, until the handler
 * has @done enough. (There is one handle for the destination.) */
void main_traffic(Device &dev, const volatile unsigned &done)
{
    Qp a(dev), b(dev);
    Memory mem(dev, 2000);

    for (unsigned i = 0; done < ENOUGH; ++i) {
        fill_bytes(mem.data(), 1000, i, 0);
        ASSERT_EQ(0, b.recv(i, {mem.sge(1000, 1000)}));
        ASSERT_EQ(0, a.send(i, handler.ah, b.address(), {mem.sge(0, 1000)}));
        ASSERT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
        ASSERT_EQ(i, poll_one(b.rcq).wr_id);
        ASSERT_LT(fill_diff(mem.data() + 1000, 1000, i, 0), 0);
        if (i % 16 == 0) {
            Memory other(dev, 5000);
        }
    }
}

class Signal : public testing::Test {
protected:
    Signal() : from(dev), to(dev), mem(dev, 200), ah(dev.ah(dev.gid))
    {
        handler = {&from, &to, &mem, ah, 0, 0, 0, 0, 0, 0};
    }

    Device dev;
    Qp     from, to;
    Memory mem;
    ibv_ah *ah;
};

} // namespace

/* malloc in a handler that interrupted malloc waits for ever. */
TEST_F(Signal, posts_and_polls_take_no_malloc)
{
    size_t before = mallinfo2().uordblks;
    for (unsigned i = 0; i < 1000; ++i) {
        handler_traffic(0);
    }
    EXPECT_EQ(0u, handler.failed);
    EXPECT_EQ(before, mallinfo2().uordblks);
}

TEST_F(Signal, handler_polls_and_posts)
{
    {
        Timer timer(handler_traffic);
        main_traffic(dev, handler.posted);
    }
    until([] {
        handler_traffic(0);
        return handler.received == handler.posted;
    });
    EXPECT_EQ(0u, handler.failed);
    EXPECT_EQ(handler.posted, handler.received);
    EXPECT_EQ(handler.posted, handler.sent);
}

/* A handler never finds a command half done: as with a system call. */
TEST_F(Signal, handler_interrupts_commands)
{
    const volatile unsigned &done = handler.commands;
    {
        Timer timer(handler_command);
        while (done < ENOUGH) {
            Memory other(dev, 100000);
        }
    }
    EXPECT_EQ(0u, handler.failed);
    EXPECT_EQ(0u, handler.refused);
}

/* One that interrupts a poll may find the device at work: then its command is
 * refused, and nothing hangs. */
TEST_F(Signal, handler_commands_during_polls)
{
    {
        Timer timer(handler_command);
        main_traffic(dev, handler.commands);
    }
    EXPECT_EQ(0u, handler.failed);
}

/* fork() takes malloc's locks: so polls only. */
TEST_F(Signal, handler_forks_during_polls)
{
    Qp idle(dev);
    const volatile unsigned &done = handler.commands;
    ibv_wc wc;
    {
        /* on a busy machine a fork takes long */
        Timer timer(handler_fork, 10000);
        while (done < ENOUGH / 10) {
            ASSERT_EQ(0, ibv_poll_cq(idle.rcq, 1, &wc));
        }
    }
    EXPECT_EQ(0u, handler.failed);
}
