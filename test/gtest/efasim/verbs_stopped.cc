/* SPDX-License-Identifier: BSD-3-Clause */
/* A process that is stopped: its card lives on. */
#include "verbs_test.h"

#include <csignal>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fstream>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern "C" int capset(cap_user_header_t head, const cap_user_data_t data);

namespace {

enum : size_t {
    RECEIVES = 32, /* posted before the stop */
    REST     = 3,  /* messages that find none */
    LEN      = 1000,
    BIG      = 3 << 20
};

enum : uint64_t { KEY_READ = 21, KEY_WRITTEN = 22, KEY_SENT = 100 };

QpParams params(bool writes)
{
    QpParams params;

    params.write = writes;
    return params;
}

char state_of(pid_t pid)
{
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string line;

    std::getline(file, line);
    return line[line.rfind(')') + 2];
}

/* Stops a process for as long as it lives. */
class Stop {
public:
    virtual ~Stop() {}
};

class StopBySignal : public Stop {
public:
    explicit StopBySignal(pid_t pid) : pid(pid)
    {
        EXPECT_EQ(0, kill(pid, SIGSTOP));
        until([&] { return state_of(pid) == 'T'; });
    }
    ~StopBySignal() { kill(pid, SIGCONT); }

private:
    pid_t pid;
};

/* As a debugger does: all threads, one by one. */
class StopByDebugger : public Stop {
public:
    explicit StopByDebugger(pid_t pid)
    {
        DIR *dir = opendir(("/proc/" + std::to_string(pid) + "/task").c_str());

        while (dirent *entry = readdir(dir)) {
            pid_t tid = atoi(entry->d_name);
            if (tid == 0) {
                continue;
            }
            EXPECT_EQ(0, ptrace(PTRACE_SEIZE, tid, nullptr, nullptr));
            EXPECT_EQ(0, ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr));
            EXPECT_EQ(tid, waitpid(tid, nullptr, __WALL));
            threads.push_back(tid);
        }
        closedir(dir);
    }
    ~StopByDebugger()
    {
        for (pid_t tid : threads) {
            EXPECT_EQ(0, ptrace(PTRACE_DETACH, tid, nullptr, nullptr));
        }
    }

private:
    std::vector<pid_t> threads;
};

} // namespace

/* Is stopped while it waits for a word; then all is there, once. */
TEST(DISABLED_Role, stopped)
{
    Parent parent;
    Device dev;
    bool writes = device_caps(dev) & CAP_RDMA_WRITE;
    Qp qp(dev, params(writes));
    Memory mem(dev, (RECEIVES + REST) * LEN);
    Memory big(dev, BIG, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                         (writes ? IBV_ACCESS_REMOTE_WRITE : 0));

    for (size_t i = 0; i < RECEIVES; ++i) {
        ASSERT_EQ(0, qp.recv(i, {mem.sge(i * LEN, LEN)}));
    }
    big.fill(KEY_READ);
    parent.meet(dev, qp.address(big));
    parent.get<char>();

    std::vector<unsigned> seen(RECEIVES + REST);
    for (size_t i = 0; i < RECEIVES + REST; ++i) {
        if (i == RECEIVES) {
            EXPECT_TRUE(poll_none(qp.rcq, 0)) << "without a receive";
            for (size_t rest = RECEIVES; rest < RECEIVES + REST; ++rest) {
                ASSERT_EQ(0, qp.recv(rest, {mem.sge(rest * LEN, LEN)}));
            }
        }
        ibv_wc wc = poll_one(qp.rcq);
        ASSERT_EQ(IBV_WC_SUCCESS, wc.status);
        ASSERT_EQ(LEN, wc.byte_len);
        uint32_t number = be32toh(wc.imm_data);
        ASSERT_LT(number, seen.size());
        EXPECT_EQ(1u, ++seen[number]);
        EXPECT_LT(fill_diff(mem.data() + wc.wr_id * LEN, LEN,
                            KEY_SENT + number, 0), 0);
    }
    EXPECT_TRUE(poll_none(qp.rcq, 0));
    EXPECT_LT(fill_diff(big.data(), BIG, writes ? KEY_WRITTEN : KEY_READ, 0), 0);
    parent.put<char>('d');
    parent.get<char>();
}

namespace {

template <class Stopper>
void served_while_stopped()
{
    Device dev;
    bool writes = device_caps(dev) & CAP_RDMA_WRITE;
    Qp qp(dev, params(writes));
    Memory out(dev, LEN * (RECEIVES + REST)), into(dev, BIG);
    Child child(1, "stopped", {"--timeout-ms", "1000"});
    child.meet(dev, qp.address());
    const Address &peer = child.peer;
    ibv_ah *ah          = child.ah;
    auto send = [&](uint32_t i) {
        fill_bytes(out.data() + i * LEN, LEN, KEY_SENT + i, 0);
        ASSERT_EQ(0, qp.send(i, ah, peer, {out.sge(i * LEN, LEN)},
                             IBV_SEND_SIGNALED, &i));
    };
    usleep(100000); /* its device has come to rest: nobody is in there */
    {
        Stopper stop(peer.pid);

        for (uint32_t i = 0; i < RECEIVES; ++i) {
            send(i);
        }
        for (auto &wc : poll_many(qp.scq, RECEIVES)) {
            EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
        }
        ASSERT_EQ(0, qp.read(1, ah, peer, into.sge(0, BIG), peer.buf,
                             peer.rkey));
        EXPECT_EQ(IBV_WC_SUCCESS, poll_one(qp.scq).status);
        EXPECT_LT(fill_diff(into.data(), BIG, KEY_READ, 0), 0);
        if (writes) {
            into.fill(KEY_WRITTEN);
            ASSERT_EQ(0, qp.write(2, ah, peer, into.sge(0, BIG)));
            EXPECT_EQ(IBV_WC_SUCCESS, poll_one(qp.scq).status);
        }
        for (uint32_t i = RECEIVES; i < RECEIVES + REST; ++i) {
            send(i);
        }
        int64_t before = stat_counter(1, "rnr");
        until([&] { return stat_counter(1, "rnr") >= before + 10; });
        EXPECT_TRUE(poll_none(qp.scq, 0));
    }
    child.put<char>('c');
    for (auto &wc : poll_many(qp.scq, REST)) {
        EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
    }
    child.get<char>();
    child.put<char>('e');
    child.expect_ok();
}

} // namespace

TEST(stopped, by_a_signal)
{
    served_while_stopped<StopBySignal>();
}

TEST(stopped, by_a_debugger)
{
    served_while_stopped<StopByDebugger>();
}

static int filter_nothing(long option, bool by_prctl)
{
    sock_filter allow   = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    sock_fprog program  = {1, &allow};

    return by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) :
                      (int)syscall(SYS_seccomp, option, 0, &program);
}

/* The kernel may have no Landlock. */
static int landlock()
{
    uint64_t makes_sockets = 1 << 9;

    syscall(446, syscall(444, &makes_sockets, sizeof(makes_sockets), 0), 0);
    return 0;
}

/* By none of the C library's functions that the device stands in front of. */
template <class... Args> static int call_unseen(Args... args)
{
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

    return (int)((long (*)(long, ...))dlsym(libc, "syscall"))(args...);
}

enum : size_t { UNSEEN = 4 }; /* last ones of these */

/* The ways to give up rights, or what is seen. */
static const std::vector<std::function<int()>> ways = {
    [] { return setuid(65534); },
    [] { return seteuid(65534); },
    [] { return setreuid(65534, 65534); },
    [] { return setresuid(65534, 65534, 65534); },
    [] { return setgid(65534); },
    [] { return setegid(65534); },
    [] { return setregid(65534, 65534); },
    [] { return setresgid(65534, 65534, 65534); },
    [] { return setgroups(0, nullptr); },
    [] {
        __user_cap_header_struct head  = {_LINUX_CAPABILITY_VERSION_3, 0};
        __user_cap_data_struct none[2] = {};
        return capset(&head, none);
    },
    [] { return initgroups("nobody", 65534); },
    [] { return chroot("/"); },
    [] { return unshare(CLONE_FS); },
    [] { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); },
    [] { return filter_nothing(0, true); },
    [] { return filter_nothing(SECCOMP_SET_MODE_FILTER, false); },
    landlock,
    [] { return (int)syscall(SYS_setresuid, 65534, 65534, 65534); },
    [] { return setns(open("/proc/self/ns/uts", O_RDONLY), 0); },
    [] { return setfsuid(65534); },
    [] { return setfsgid(65534); },
    [] { return (int)syscall(SYS_setfsgid, 65534); },
    [] { return call_unseen(SYS_setresuid, 65534, 65534, 65534); },
    [] { return call_unseen(SYS_setfsgid, 65534); },
    [] { return call_unseen(SYS_chroot, "/proc"); },
    [] { return call_unseen(SYS_unshare, CLONE_NEWNS); },
};

/* A program of root's that becomes another user, and ends. */
TEST(DISABLED_Role, drops_rights)
{
    Parent parent;
    Device dev;
    size_t way = parent.get<size_t>();

    ASSERT_EQ(0, ways[way]());
    auto is_ended = [] { /* no process has memory that is another user's */
        return waitid(P_ALL, 0, nullptr,
                      WEXITED | WNOHANG | WNOWAIT | __WALL) != 0;
    };
    if (way + UNSEEN < ways.size()) {
        EXPECT_TRUE(is_ended()) << "this program may be written by now";
    }
    until(is_ended);
    parent.put('e');
}

TEST(stopped, not_by_who_drops_rights)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root may";
    }
    for (size_t way = 0; way < ways.size(); ++way) {
        Child child(0, "drops_rights");
        child.put(way);
        EXPECT_EQ('e', child.get<char>()) << way;
        child.expect_ok();
    }
}

/* Polls all the time, so that a stop is likely to find it in its device. */
TEST(DISABLED_Role, poller)
{
    Parent parent;
    Device dev;
    Qp qp(dev);
    Memory mem(dev, RECEIVES * LEN);

    for (size_t i = 0; i < RECEIVES; ++i) {
        ASSERT_EQ(0, qp.recv(i, {mem.sge(i * LEN, LEN)}));
    }
    parent.put(qp.address());
    for (unsigned n = 0; n < RECEIVES;) {
        ibv_wc wc;
        if (ibv_poll_cq(qp.rcq, 1, &wc) == 1) {
            EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
            EXPECT_LT(fill_diff(mem.data() + wc.wr_id * LEN, LEN,
                                KEY_SENT + n++, 0), 0) << "one at a time";
        }
    }
    parent.get<char>();
}

TEST(stopped, while_it_polls)
{
    Device dev;
    Qp qp(dev);
    Memory out(dev, LEN);
    Child child(1, "poller");
    Address peer = child.get<Address>();
    ibv_ah *ah   = dev.ah(peer.gid);

    for (size_t i = 0; i < RECEIVES; ++i) {
        usleep(1000); /* it is anywhere */
        StopBySignal stop(peer.pid);
        out.fill(KEY_SENT + i);
        ASSERT_EQ(0, qp.send(i, ah, peer, {out.sge(0, LEN)}));
        EXPECT_EQ(IBV_WC_SUCCESS, poll_one(qp.scq).status);
    }
    child.put<char>('e');
    child.expect_ok();
}

/* Is dumpable again at once, and ends at once. */
TEST(DISABLED_Role, dropper_in_haste)
{
    Device dev;

    ASSERT_EQ(0, setuid(65534));
    ASSERT_EQ(0, prctl(PR_SET_DUMPABLE, 1));
}

TEST(stopped, not_beyond_its_rights)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "needs root";
    }
    Child child(1, "dropper_in_haste");
    child.expect_ok();
}

/* The program's threads have little stack, the device's enough. */
TEST(DISABLED_Role, small_stacks)
{
    pthread_attr_t attr;

    pthread_attr_init(&attr);
    ASSERT_EQ(0, pthread_attr_setstacksize(&attr, 1 << 16));
    ASSERT_EQ(0, pthread_setattr_default_np(&attr));
    pthread_attr_destroy(&attr);
    Device dev;
}

TEST(stopped, with_small_stacks)
{
    Child child(1, "small_stacks");
    child.expect_ok();
}

#ifdef __x86_64__

namespace {

/* How often the device's second process has slept; it ended: very often. */
unsigned long standby_sleeps(pid_t standby)
{
    std::ifstream file("/proc/" + std::to_string(standby) + "/status");
    unsigned long count;

    for (std::string word; file >> word;) {
        if ((word == "voluntary_ctxt_switches:") && (file >> count)) {
            return count;
        }
    }
    return ~0ul;
}

pid_t standby_of(pid_t owner)
{
    std::string task = "/proc/" + std::to_string(owner) + "/task/";
    DIR *dir         = opendir(task.c_str());
    pid_t pid        = 0;

    while (dirent *entry = readdir(dir)) {
        std::ifstream(task + entry->d_name + "/children") >> pid;
        if (pid != 0) {
            break;
        }
    }
    closedir(dir);
    return pid;
}

} // namespace

TEST(DISABLED_Role, breakpoint)
{
    Parent parent;
    Device dev;

    parent.put(getpid());
    parent.put(dlsym(RTLD_NEXT, "nanosleep"));
    parent.get<char>();
}

/* A debugger's breakpoint where also the second process comes by, all the
 * time: it waits, and the program lives. */
TEST(stopped, with_a_breakpoint)
{
    Child child(1, "breakpoint");
    pid_t pid     = child.get<pid_t>();
    off_t address = (off_t)child.get<void*>();
    pid_t standby = standby_of(pid);
    int memory    = open(("/proc/" + std::to_string(pid) + "/mem").c_str(),
                         O_RDWR);
    char before, int3 = '\xcc';

    ASSERT_GT(standby, 0);
    {
        StopBySignal stop(pid);

        ASSERT_EQ(1, pread(memory, &before, 1, address));
        ASSERT_EQ(1, pwrite(memory, &int3, 1, address));
        unsigned long sleeps = standby_sleeps(standby);
        until([&] {
            return (state_of(standby) == 'Z') ||
                   (standby_sleeps(standby) - sleeps >= 20);
        });
        EXPECT_NE('Z', state_of(standby));
        ASSERT_EQ(1, pwrite(memory, &before, 1, address));
    }
    close(memory);
    child.put<char>('e');
    child.expect_ok();
}

#endif
