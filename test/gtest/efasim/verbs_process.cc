/* SPDX-License-Identifier: BSD-3-Clause */
/* Several processes, nodes, forks, deaths; counters of what crossed. */
#include "verbs_test.h"

#include <csignal>
#include <cstring>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

/* Post @n receives of one piece of @mem each. */
void post_receives(Qp &qp, Memory &mem, unsigned n, size_t len)
{
    for (unsigned i = 0; i < n; ++i) {
        ASSERT_EQ(0, qp.recv(i, {mem.sge(i * len, len)}));
    }
}

QpParams deep()
{
    QpParams params;

    params.send_wr = 512;
    params.recv_wr = 512;
    return params;
}

} // namespace

/* Echoes messages; opens its memory to reads. */
TEST(DISABLED_Role, echo)
{
    Parent parent;
    Device dev;
    Qp qp(dev, deep());
    Memory mem(dev, 256 * MSG_MAX), big(dev, 4 << 20);

    post_receives(qp, mem, 256, MSG_MAX);
    big.fill(21);
    parent.meet(dev, qp.address(big));
    unsigned n = parent.get<unsigned>();
    for (unsigned i = 0; i < n; ++i) {
        ibv_wc wc = poll_one(qp.rcq);
        ASSERT_EQ(IBV_WC_SUCCESS, wc.status);
        ASSERT_EQ(0, qp.send(wc.wr_id, parent.ah, parent.peer,
                             {mem.sge(wc.wr_id * MSG_MAX, wc.byte_len)}));
        wc = poll_one(qp.scq);
        ASSERT_EQ(IBV_WC_SUCCESS, wc.status);
        ASSERT_EQ(0, qp.recv(wc.wr_id,
                             {mem.sge(wc.wr_id * MSG_MAX, MSG_MAX)}));
    }
    parent.get<char>();
}

/* Messages there and back, and a read; the counters agree. */
TEST(process, two_nodes)
{
    const unsigned n = 300;
    Device dev;
    Qp qp(dev, deep());
    Memory out(dev, MSG_MAX), in(dev, MSG_MAX), into(dev, 4 << 20);
    Child child(1, "echo");
    child.meet(dev, qp.address());
    const Address &peer = child.peer;

    EXPECT_NE(0, memcmp(&peer.gid, &dev.gid, sizeof(dev.gid)))
            << "each node has a GID of its own";
    child.put(n);
    int64_t tx    = stat_counter(0, "tx_bytes");
    int64_t pkts  = stat_counter(0, "tx_pkts");
    int64_t rx    = stat_counter(1, "rx_bytes");
    int64_t reads = stat_counter(0, "rdma_read_bytes");
    int64_t resp  = stat_counter(1, "rdma_read_resp_bytes");
    int64_t total = 0;

    for (unsigned i = 0; i < n; ++i) {
        size_t len = (i * 7919) % (MSG_MAX + 1);
        fill_bytes(out.data(), len, i, 0);
        in.poison();
        ASSERT_EQ(0, qp.recv(i, {in.sge(0, MSG_MAX)}));
        ASSERT_EQ(0, qp.send(i, child.ah, peer, {out.sge(0, len)}));
        ASSERT_EQ(IBV_WC_SUCCESS, poll_one(qp.scq).status);
        ibv_wc wc = poll_one(qp.rcq);
        ASSERT_EQ(len, wc.byte_len);
        ASSERT_LT(fill_diff(in.data(), len, i, 0), 0) << len;
        total += len;
    }
    ASSERT_EQ(0, qp.read(1, child.ah, peer, into.sge(0, peer.len), peer.buf,
                         peer.rkey));
    ASSERT_EQ(IBV_WC_SUCCESS, poll_one(qp.scq).status);
    EXPECT_LT(fill_diff(into.data(), into.size(), 21, 0), 0);

    EXPECT_EQ(total, stat_counter(0, "tx_bytes") - tx);
    EXPECT_EQ((int64_t)n, stat_counter(0, "tx_pkts") - pkts);
    EXPECT_EQ(total, stat_counter(1, "rx_bytes") - rx);
    EXPECT_EQ((int64_t)peer.len, stat_counter(0, "rdma_read_bytes") - reads);
    EXPECT_EQ((int64_t)peer.len,
              stat_counter(1, "rdma_read_resp_bytes") - resp);
    child.put<char>('e');
    child.expect_ok();
}

/* Waits for a word, never polling, with receives posted. */
TEST(DISABLED_Role, sleeper)
{
    Parent parent;
    Device dev;
    Qp qp(dev, deep());
    Memory mem(dev, 100 * 1000);

    post_receives(qp, mem, 100, 1000);
    parent.put(qp.address());
    parent.get<char>();
    unsigned n = 0;
    for (auto &wc : poll_many(qp.rcq, 100)) {
        EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
        EXPECT_LT(fill_diff(mem.data() + wc.wr_id * 1000, 1000, 31, 0), 0);
        ++n;
    }
    parent.put(n);
    parent.get<char>();
}

/* The device works while the process does not: the sends complete. */
TEST(process, sleeping_receiver_receives)
{
    Device dev;
    Qp qp(dev, deep());
    Memory out(dev, 1000);
    Child child(1, "sleeper");
    Address peer  = child.get<Address>();
    ibv_ah *ah    = dev.ah(peer.gid);

    out.fill(31);
    for (unsigned i = 0; i < 100; ++i) {
        ASSERT_EQ(0, qp.send(i, ah, peer, {out.sge(0, 1000)}));
    }
    for (auto &wc : poll_many(qp.scq, 100)) {
        EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
    }
    child.put<char>('w');
    EXPECT_EQ(100u, child.get<unsigned>());
    child.put<char>('e');
    child.expect_ok();
}

/* A sender that sleeps after its posts has sent. */
TEST(process, sleeping_sender_sends)
{
    Device dev;
    Qp qp(dev, deep());
    Memory out(dev, 100);
    Child child(1, "echo");

    child.meet(dev, qp.address());
    child.put(10u);
    int64_t before = stat_counter(0, "rx_pkts");
    for (unsigned i = 0; i < 10; ++i) {
        ASSERT_EQ(0, qp.recv(i, {out.sge(0, 100)}));
        ASSERT_EQ(0, qp.send(i, child.ah, child.peer, {out.sge(0, 10)}));
    }
    until([&] { return stat_counter(0, "rx_pkts") >= before + 10; });
    ibv_wc wc[20];
    EXPECT_EQ(10, ibv_poll_cq(qp.scq, 20, wc));
    EXPECT_EQ(10, ibv_poll_cq(qp.rcq, 20, wc));
    child.put<char>('e');
    child.expect_ok();
}

/* Receives until it is killed. */
TEST(DISABLED_Role, victim)
{
    Parent parent;
    Device dev;
    Qp qp(dev, deep());
    Memory mem(dev, 1 << 20);

    post_receives(qp, mem, 100, 1000);
    parent.meet(dev, qp.address(mem));
    for (;;) {
        ibv_wc wc;
        if (ibv_poll_cq(qp.rcq, 1, &wc) == 1) {
            qp.recv(wc.wr_id, {mem.sge(wc.wr_id * 1000, 1000)});
        }
    }
}

/* Requests under way end soon, with the status of the command line: the dead
 * one's NIC answers, or its host is gone, and then 15 stands for 13 if it never
 * did. With a time-out of one second nothing waits longer. */
TEST(DISABLED_Role, survivor)
{
    Parent parent;
    Device dev;
    Qp qp(dev, deep());
    Memory mem(dev, 1 << 20);

    parent.put(qp.address());
    Address peer    = parent.get<Address>();
    unsigned status = parent.get<unsigned>();
    ibv_ah *ah      = dev.ah(peer.gid);
    ibv_wc wc;
    unsigned under_way = 0, done = 0;
    for (unsigned i = 0; i < 2000; ++i) {
        if (qp.send(i, ah, peer, {mem.sge(0, 500)}) == 0) {
            ++under_way;
        }
        while (ibv_poll_cq(qp.scq, 1, &wc) == 1) {
            EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
            ++done;
        }
    }
    ASSERT_EQ(0, kill(peer.pid, SIGKILL));
    int64_t end = now_ms() + WAIT_MS; /* of all, of which each waits a second */
    while (done < under_way) {
        wc = poll_one(qp.scq, end - now_ms());
        EXPECT_TRUE(wc.vendor_err == ST_OK || wc.vendor_err == status ||
                    (wc.vendor_err == ST_UNREACHABLE &&
                     status == ST_UNRESPONSIVE)) << wc.vendor_err;
        ++done;
    }
    /* New ones fail too, sends and reads; of the first the device may not know
     * yet that it is one to the dead. */
    ASSERT_EQ(0, qp.send(1, ah, peer, {mem.sge(0, 500)}));
    wc = poll_one(qp.scq);
    EXPECT_TRUE(wc.vendor_err == status ||
                (wc.vendor_err == ST_UNREACHABLE &&
                 status == ST_UNRESPONSIVE)) << wc.vendor_err;
    status = (status == ST_UNRESPONSIVE) ? ST_UNREACHABLE : ST_BAD_QPN;
    ASSERT_EQ(0, qp.read(2, ah, peer, mem.sge(0, 500), peer.buf, peer.rkey));
    EXPECT_EQ(status, poll_one(qp.scq).vendor_err);
}

TEST(process, killed_peer)
{
    for (unsigned status : {ST_BAD_QPN, ST_UNRESPONSIVE, ST_BAD_QPN}) {
        Child victim(1, "victim"), survivor(2, "survivor",
                                            {"--timeout-ms", "1000",
                                             "--killed-status",
                                             std::to_string(status)});
        Address v = victim.get<Address>();
        Address s = survivor.get<Address>();
        victim.put(s);
        victim.get<char>();
        survivor.put(v);
        survivor.put(status);
        survivor.expect_ok();
        EXPECT_EQ(128 + SIGKILL, victim.wait());
    }
}

/* Pages that were registered for it are the device's to write, whatever mprotect()
 * has made of them since; those that were unmapped are not. */
TEST(process, registered_pages_stay_the_devices)
{
    const size_t len = 20000;
    Device dev;
    Qp qp(dev, deep());
    Memory plain(dev, len);
    Child victim(1, "victim");
    victim.meet(dev, qp.address());
    const Address &peer = victim.peer;
    ibv_ah *ah          = victim.ah;
    auto at    = (uint8_t*)mmap(nullptr, len, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(at, 0xa5, len);
    ibv_mr *mr = ibv_reg_mr(dev.pd, at, len, IBV_ACCESS_LOCAL_WRITE);
    ASSERT_NE(nullptr, mr);
    ibv_sge sge = {(uintptr_t)at, (uint32_t)len, mr->lkey};

    ASSERT_EQ(0, mprotect(at, len, PROT_READ));
    ASSERT_EQ(0, qp.read(1, ah, peer, sge, peer.buf, peer.rkey));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(qp.scq).status);
    ASSERT_EQ(0, qp.read(1, ah, peer, plain.sge(0, len), peer.buf, peer.rkey));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(qp.scq).status);
    EXPECT_EQ(0, memcmp(at, plain.data(), len));
    munmap(at, len);
    testing::internal::CaptureStderr();
    ASSERT_EQ(0, qp.read(2, ah, peer, sge, peer.buf, peer.rkey));
    EXPECT_NE(IBV_WC_SUCCESS, poll_one(qp.scq).status);
    EXPECT_NE(std::string::npos, testing::internal::GetCapturedStderr().find(
                                         "RDMA failed: registered memory"));
    ibv_dereg_mr(mr);
    victim.kill(SIGKILL, peer.pid);
}

namespace {

/* A process of number @pid, with memory of @len bytes at @address; -1: none may
 * be made. */
pid_t stranger(pid_t pid, uint64_t address, size_t len)
{
    clone_args args = {};
    char ready;
    int fds[2];

    args.exit_signal  = SIGCHLD;
    args.set_tid      = (uintptr_t)&pid;
    args.set_tid_size = 1;
    EXPECT_EQ(0, pipe(fds));
    pid_t child = syscall(SYS_clone3, &args, sizeof(args));
    if (child == 0) {
        uint64_t start = address & ~4095ull;
        mmap((void*)start, address + len - start, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (write(fds[1], "r", 1) == 1) {
            pause();
        }
        _exit(0);
    }
    if (child > 0) {
        EXPECT_EQ(1, read(fds[0], &ready, 1));
    }
    close(fds[0]);
    close(fds[1]);
    return child;
}

} // namespace

/* The number of a dead process may be any other's, whose memory it is not. */
TEST(process, number_of_the_dead_is_a_strangers)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    Device dev;
    Qp qp(dev, deep());
    Memory mem(dev, 4096);
    Child victim(1, "victim");
    victim.meet(dev, qp.address());
    const Address &peer = victim.peer;
    ibv_ah *ah          = victim.ah;
    ASSERT_EQ(0, qp.read(1, ah, peer, mem.sge(0, 4096), peer.buf, peer.rkey));
    ASSERT_EQ(IBV_WC_SUCCESS, poll_one(qp.scq).status);

    ASSERT_EQ(0, kill(victim.pid, SIGKILL)); /* it would tell of the death */
    EXPECT_EQ(128 + SIGKILL, victim.wait());
    ASSERT_EQ(0, kill(peer.pid, SIGKILL));
    ASSERT_EQ(peer.pid, waitpid(peer.pid, nullptr, 0));
    usleep(20000); /* the kernel's starts of processes count 10 ms */
    pid_t pid = stranger(peer.pid, peer.buf, 4096);
    if (pid < 0) {
        GTEST_SKIP() << "no right to choose a process's number";
    }
    usleep(20000); /* longer than the dead one is believed to live */
    ASSERT_EQ(0, qp.read(2, ah, peer, mem.sge(0, 4096), peer.buf, peer.rkey));
    EXPECT_EQ(ST_BAD_QPN, poll_one(qp.scq).vendor_err);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
}
