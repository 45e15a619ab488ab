/* SPDX-License-Identifier: BSD-3-Clause */
/* fork, vfork, posix_spawn, exec: what a process with a device may do. */
#include "verbs_test.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char **environ;

namespace {

std::atomic<unsigned> unmaps;

} // namespace

/* In the place of the C library's, as UCX's hooks are. */
extern "C" int munmap(void *address, size_t length) noexcept
{
    ++unmaps;
    return syscall(SYS_munmap, address, length);
}

namespace {

/* Send @n messages from one queue pair to another of this process and compare
 * them; the number of those that went wrong. */
unsigned loop_back(Device &dev, unsigned n, uint64_t key)
{
    Qp a(dev), b(dev);
    Memory mem(dev, 2000);
    ibv_ah *ah      = dev.ah(dev.gid);
    unsigned failed = 0;

    for (unsigned i = 0; i < n; ++i) {
        fill_bytes(mem.data(), 1000, key + i, 0);
        failed += b.recv(i, {mem.sge(1000, 1000)}) != 0;
        failed += a.send(i, ah, b.address(), {mem.sge(0, 1000)}) != 0;
        failed += poll_one(a.scq).status != IBV_WC_SUCCESS;
        failed += poll_one(b.rcq).wr_id != i;
        failed += fill_diff(mem.data() + 1000, 1000, key + i, 0) >= 0;
    }
    return failed;
}

/* fork(); the child runs @main, with an alarm against hanging. */
template <typename F> pid_t fork_child(F main)
{
    pid_t pid = fork();

    if (pid == 0) {
        alarm(60);
        int status = 99;
        try {
            status = main();
        } catch (...) {
        }
        _exit(status);
    }
    return pid;
}

void expect_ended_well(pid_t pid)
{
    int status = -1;

    ASSERT_EQ(pid, waitpid(pid, &status, 0));
    EXPECT_FALSE(WIFSIGNALED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(0, status);
}

} // namespace

/* As on kernels of today: a child may touch what its parent registered, each
 * has its own copy, and the device sees the parent's. Nobody calls
 * ibv_fork_init(): rdma-core 44's takes the memory away from children even
 * where that is not needed. */
TEST(fork, copies_registered_memory)
{
    EXPECT_EQ(IBV_FORK_UNNEEDED, ibv_is_fork_initialized());

    Device dev;
    Qp a(dev), b(dev);
    Memory mem(dev, 64 << 10), into(dev, 8000);
    ibv_ah *ah = dev.ah(dev.gid);

    mem.fill(5);
    expect_ended_well(fork_child([&] {
        int wrong = fill_diff(mem.data(), mem.size(), 5, 0) >= 0;
        mem.fill(6);
        return wrong;
    }));
    ASSERT_EQ(0, b.recv(1, {into.sge(0, 8000)}));
    ASSERT_EQ(0, a.send(1, ah, b.address(), {mem.sge(0, 8000)}));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(b.rcq).status);
    EXPECT_LT(fill_diff(into.data(), 8000, 5, 0), 0);
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
}

/* A child opens the device for itself, and its child does; all go on. */
TEST(fork, child_opens_the_device)
{
    Device dev;

    for (unsigned i = 0; i < 5; ++i) {
        pid_t pid = fork_child([&] {
            Device mine;
            pid_t grandchild = fork_child([] {
                Device its;
                return loop_back(its, 20, 3000) != 0;
            });
            int status = -1, wrong = loop_back(mine, 50, 2000) != 0;
            waitpid(grandchild, &status, 0);
            return wrong + 2 * (status != 0);
        });
        EXPECT_EQ(0u, loop_back(dev, 50, 1000));
        expect_ended_well(pid);
    }
}

/* UCX's hooks of munmap() take locks, which a thread of the parent may have. */
TEST(fork, unmaps_past_hooks)
{
    Device dev;
    unsigned before = unmaps;

    munmap(mmap(nullptr, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1);
    EXPECT_EQ(before + 1, unmaps);
    expect_ended_well(fork_child([&] { return unmaps != before + 1; }));
}

/* fork() at any moment of other threads' commands and polls. */
TEST(fork, while_threads_work)
{
    Device dev;
    std::atomic<bool> stop{false};
    std::atomic<unsigned> wrong{0};
    std::thread commands([&] {
        while (!stop) {
            Memory mem(dev, 100000);
        }
    });
    std::thread traffic([&] {
        while (!stop) {
            wrong += loop_back(dev, 20, 100);
        }
    });

    for (unsigned i = 0; i < 100; ++i) {
        expect_ended_well(fork_child([&] {
            if (i % 4) {
                return 0;
            }
            Device mine;
            return (int)(loop_back(mine, 5, 7) != 0);
        }));
    }
    stop = true;
    commands.join();
    traffic.join();
    EXPECT_EQ(0u, wrong);
}

/* Programs started in all ways, with messages in between. */
TEST(fork, programs_start)
{
    Device dev;
    char name[] = "true";
    char *argv[] = {name, nullptr};

    for (unsigned i = 0; i < 20; ++i) {
        pid_t pid;
        ASSERT_EQ(0, posix_spawnp(&pid, name, nullptr, nullptr, argv,
                                  environ));
        EXPECT_EQ(0u, loop_back(dev, 5, i));
        expect_ended_well(pid);
        pid = vfork();
        if (pid == 0) {
            execvp(name, argv);
            _exit(127);
        }
        EXPECT_EQ(0u, loop_back(dev, 5, i));
        expect_ended_well(pid);
        EXPECT_EQ(0, system("exec true"));
    }
}

/* Becomes another program, when told, with its device open. */
TEST(DISABLED_Role, executer)
{
    Parent parent;
    Device dev;
    Qp qp(dev);
    Memory mem(dev, 1000);

    qp.recv(1, {mem.sge(0, 1000)});
    parent.meet(dev, qp.address());
    ASSERT_EQ(IBV_WC_SUCCESS, poll_one(qp.rcq).status);
    execlp("sleep", "sleep", "100", (char*)nullptr);
    FAIL() << strerror(errno);
}

static std::string program_of(pid_t pid)
{
    std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
    std::string name;

    file >> name;
    return name;
}

/* exec() closes a device: who sends to it is told so, and does not learn it by
 * the time-out of a peer that lives. */
TEST(fork, exec_closes_the_device)
{
    Device dev;
    Qp qp(dev);
    Memory mem(dev, 100);
    Child child(1, "executer");
    child.meet(dev, qp.address());
    const Address &peer = child.peer;

    ASSERT_EQ(0, qp.send(1, child.ah, peer, {mem.sge(0, 100)}));
    ASSERT_EQ(IBV_WC_SUCCESS, poll_one(qp.scq).status);
    until([&] { return program_of(peer.pid) == "sleep"; });
    ASSERT_EQ(0, qp.send(2, child.ah, peer, {mem.sge(0, 100)}));
    EXPECT_EQ(ST_BAD_QPN, poll_one(qp.scq).vendor_err);
    child.kill(SIGTERM, peer.pid);
}

/* Becomes a program without the device, which cannot say that it has ended. */
TEST(DISABLED_Role, bare_executer)
{
    Parent parent;
    Device dev;
    Qp qp(dev);
    Memory mem(dev, 1000);
    const char *none[] = {nullptr};

    parent.meet(dev, qp.address(mem));
    parent.get<char>();
    execle("/bin/sleep", "sleep", "100", nullptr, none);
    FAIL() << strerror(errno);
}

/* The memory is another program's, perhaps another user's. */
TEST(fork, exec_without_the_device_closes_it)
{
    Device dev;
    Qp qp(dev);
    Memory mem(dev, 1000);
    Child child(1, "bare_executer");
    child.meet(dev, qp.address());
    const Address &peer = child.peer;

    ASSERT_EQ(0, qp.read(1, child.ah, peer, mem.sge(0, 1000), peer.buf, peer.rkey));
    ASSERT_EQ(IBV_WC_SUCCESS, poll_one(qp.scq).status);
    child.put<char>('e');
    until([&] { return program_of(peer.pid) == "sleep"; });
    ASSERT_EQ(0, qp.read(2, child.ah, peer, mem.sge(0, 1000), peer.buf, peer.rkey));
    EXPECT_EQ(ST_BAD_QPN, poll_one(qp.scq).vendor_err);
    child.kill(SIGTERM, peer.pid);
}
