/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that writes work requests and reads completions itself
 * (efadv_query_qp_wqs, efadv_query_cq of rdma-core 59), as the transport does in
 * its tests, but without a call; and the emulator's own calls for tests (efasim.h).
 */
#include "verbs_test.h"

#define _Static_assert static_assert
#include "efasim/efasim.h"
#include "efasim/engine/efa_io.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>

namespace {

/* As rdma-core 59 declares them */
struct WqAttr {
    uint64_t comp_mask;
    uint8_t  *buffer;
    uint32_t entry_size, num_entries;
    uint32_t *doorbell;
    uint32_t max_batch;
    uint32_t reserved;
};

struct CqAttr {
    uint64_t comp_mask;
    uint8_t  *buffer;
    uint32_t entry_size, num_entries;
    uint32_t *doorbell;
};

} // namespace

/* Nobody calls: the backstop moves it, and does not go to sleep for 2 s meanwhile. */
TEST(Direct, without_calls)
{
    auto query_wqs = symbol<int (*)(ibv_qp*, WqAttr*, WqAttr*, uint32_t)>(
            "efadv_query_qp_wqs");
    auto query_cq  = symbol<int (*)(ibv_cq*, CqAttr*, uint32_t)>(
            "efadv_query_cq");

    if (query_wqs == nullptr) {
        GTEST_SKIP() << "this rdma-core has no efadv_query_qp_wqs";
    }
    Two two;
    WqAttr sq = {}, rq = {}, unused = {};
    CqAttr scq = {}, rcq = {};
    efadv_ah_attr ah = {};
    ASSERT_EQ(0, query_wqs(two.a.qp, &sq, &unused, sizeof(sq)));
    ASSERT_EQ(0, query_wqs(two.b.qp, &unused, &rq, sizeof(rq)));
    ASSERT_EQ(0, query_cq(two.a.scq, &scq, sizeof(scq)));
    ASSERT_EQ(0, query_cq(two.b.rcq, &rcq, sizeof(rcq)));
    ASSERT_EQ(0, efadv_query_ah(two.ah, &ah, sizeof(ah)));
    EXPECT_EQ(32u, sq.max_batch);

    for (uint16_t i = 0; i < 20; ++i) { /* less than a round of each queue */
        io_tx_wqe wqe   = {};
        io_rx_desc desc = {};
        uint64_t from   = (uintptr_t)two.mem.data(), to = from + 2048;

        desc = {(uint32_t)to, (uint32_t)(to >> 32), i, 2048,
                two.mem.mr->lkey | IO_RX_FIRST | IO_RX_LAST};
        memcpy(rq.buffer + i * sizeof(desc), &desc, sizeof(desc));
        __atomic_store_n(rq.doorbell, i + 1u, __ATOMIC_RELEASE);
        wqe.meta.req_id   = i;
        wqe.meta.ctrl1    = IO_TX_META;
        wqe.meta.ctrl2    = IO_TX_CTRL2_MUST;
        wqe.meta.dest_qpn = two.b.qp->qp_num;
        wqe.meta.length   = 1;
        wqe.meta.ah       = ah.ahn;
        wqe.meta.qkey     = two.b.qkey;
        wqe.sgl[0]        = {100, two.mem.mr->lkey, (uint32_t)from,
                             (uint32_t)(from >> 32)};
        memcpy(sq.buffer + i * IO_TX_WQE_SMALL, &wqe, IO_TX_WQE_SMALL);
        __atomic_store_n(sq.doorbell, i + 1u, __ATOMIC_RELEASE);
        for (auto cq : {scq, rcq}) {
            auto cqe = (const io_cqe*)(cq.buffer + i * cq.entry_size);
            until([&] { return __atomic_load_n(&cqe->flags, __ATOMIC_ACQUIRE); });
            EXPECT_EQ(i, cqe->req_id);
            EXPECT_EQ(EFA_STATUS_OK, cqe->status);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(i < 10 ? 50 : 0));
    }
}

namespace {

std::atomic<int> masks_set;

/* From here on this thread's changes of its signal mask are counted. */
bool count_masks()
{
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigprocmask, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    sock_fprog program    = {sizeof(code) / sizeof(code[0]), code};
    struct sigaction trap = {};

    trap.sa_handler = [](int) { ++masks_set; };
    sigaction(SIGSYS, &trap, nullptr);
    return (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) &&
           (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

} // namespace

/* A program that polls its rings calls it at each poll: no system calls for
 * signals then, which commands make. (A few: where another thread works.) */
TEST(control, polls_block_no_signals)
{
    int polls = -1, command = -1;
    Device dev;

    device_progress();
    std::thread([&] {
        if (count_masks()) {
            masks_set = 0;
            for (unsigned i = 0; i < 1000; ++i) {
                device_progress();
            }
            polls = masks_set;
            Memory(dev, 4096);
            command = masks_set - polls;
        }
    }).join();
    if (polls < 0) {
        GTEST_SKIP() << "this kernel gives no seccomp filters";
    }
    EXPECT_GT(100, polls);
    EXPECT_LT(0, command);
}

/* Time stands still until the test moves it. */
TEST(control, virtual_time)
{
    auto clock   = symbol<int (*)(unsigned long long)>("efasim_clock");
    auto counter = symbol<int (*)(const char*, unsigned long long*)>(
            "efasim_counter");
    unsigned long long none;

    ASSERT_NE(nullptr, clock);
    Device dev;
    Qp a(dev), b(dev);
    Memory memory(dev, 64);
    ibv_ah *ah = dev.ah(dev.gid);

    ASSERT_EQ(0, clock(1));
    ASSERT_EQ(0, control("delay-us", "10000000")); /* 10 s */
    int64_t before = count_of("rx_pkts");
    EXPECT_EQ(ENOENT, counter("no_such", &none));
    ASSERT_EQ(0, b.recv(1, {memory.sge(0, 64)}));
    ASSERT_EQ(0, a.send(2, ah, b.address(), {memory.sge(0, 8)}));
    EXPECT_TRUE(poll_none(b.rcq, 30));
    ASSERT_EQ(0, clock(10000000002ull));
    EXPECT_EQ(EINVAL, clock(5));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(b.rcq).status);
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
    EXPECT_EQ(before + 1, count_of("rx_pkts"));
    ASSERT_EQ(0, control("delay-us", "0"));
    ASSERT_EQ(0, clock(0));
}
