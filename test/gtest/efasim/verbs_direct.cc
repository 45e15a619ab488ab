/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that writes work requests and reads completions itself
 * (efadv_query_qp_wqs, efadv_query_cq of rdma-core 59), and the emulator's own
 * calls for tests (efasim.h).
 */
#include "verbs_test.h"

#include "efasim/efasim.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
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

template <typename T> T symbol(const char *name)
{
    return (T)dlsym(RTLD_DEFAULT, name);
}

class Direct : public testing::Test {
protected:
    void SetUp() override
    {
        auto query_wqs = symbol<int (*)(ibv_qp*, WqAttr*, WqAttr*, uint32_t)>(
                "efadv_query_qp_wqs");
        auto query_cq  = symbol<int (*)(ibv_cq*, CqAttr*, uint32_t)>(
                "efadv_query_cq");

        if (query_wqs == nullptr) {
            GTEST_SKIP() << "this rdma-core has no efadv_query_qp_wqs";
        }
        a.reset(new Qp(dev));
        b.reset(new Qp(dev));
        out.reset(new Memory(dev, 4096));
        in.reset(new Memory(dev, 4096));
        ah = dev.ah(dev.gid);
        ASSERT_EQ(0, query_wqs(a->qp, &sq, &unused, sizeof(sq)));
        ASSERT_EQ(0, query_wqs(b->qp, &unused, &rq, sizeof(rq)));
        ASSERT_EQ(0, query_cq(a->scq, &scq, sizeof(scq)));
        ASSERT_EQ(0, query_cq(b->rcq, &rcq, sizeof(rcq)));
    }

    /* One send of @len bytes, its phase flipped by @damage. */
    void post(uint16_t id, uint32_t len, uint8_t damage = 0)
    {
        write(id, len, damage);
        ring();
    }

    void write(uint16_t id, uint32_t len, uint8_t damage = 0)
    {
        uint8_t wqe[64]  = {};
        uint16_t ah_num  = handle(), qpn = b->qp->qp_num, one = 1;
        uint32_t words[] = {len, out->mr->lkey,
                            (uint32_t)(uintptr_t)out->data(),
                            (uint32_t)((uintptr_t)out->data() >> 32)};

        memcpy(wqe, &id, 2);
        wqe[2] = 0x80;
        wqe[3] = 0x1c | ((sq_pc / sq.num_entries) & 1);
        wqe[3] ^= damage;
        memcpy(wqe + 4, &qpn, 2);
        memcpy(wqe + 6, &one, 2);
        memcpy(wqe + 12, &ah_num, 2);
        memcpy(wqe + 16, &b->qkey, 4);
        memcpy(wqe + 32, words, 16);
        memcpy(sq.buffer + (sq_pc % sq.num_entries) * 64, wqe, 64);
        ++sq_pc;
    }

    void ring()
    {
        __atomic_store_n(sq.doorbell, (uint32_t)sq_pc, __ATOMIC_RELEASE);
    }

    ibv_qp_state state()
    {
        ibv_qp_attr attr      = {};
        ibv_qp_init_attr init = {};

        EXPECT_EQ(0, ibv_query_qp(a->qp, &attr, IBV_QP_STATE, &init));
        return attr.qp_state;
    }

    void post_recv(uint16_t id)
    {
        uint64_t addr   = (uintptr_t)in->data();
        uint16_t len    = 4096;
        uint32_t lkey   = in->mr->lkey | 3u << 30;
        uint8_t *target = rq.buffer + (rq_pc % rq.num_entries) * 16;

        memcpy(target, &addr, 8);
        memcpy(target + 8, &id, 2);
        memcpy(target + 10, &len, 2);
        memcpy(target + 12, &lkey, 4);
        ++rq_pc;
        __atomic_store_n(rq.doorbell, (uint32_t)rq_pc, __ATOMIC_RELEASE);
    }

    uint16_t handle()
    {
        efadv_ah_attr attr = {};

        EXPECT_EQ(0, efadv_query_ah(ah, &attr, sizeof(attr)));
        return attr.ahn;
    }

    /* The next completion's request and status. */
    static bool poll(const CqAttr &cq, uint16_t *at, uint16_t *id,
                     uint8_t *status)
    {
        const uint8_t *cqe = cq.buffer + (*at % cq.num_entries) *
                                         cq.entry_size;
        int64_t end        = now_ms() + 5000;
        uint32_t first;

        do {
            if (progress != nullptr) {
                progress();
            }
            first = __atomic_load_n((const uint32_t*)cqe, __ATOMIC_ACQUIRE);
        } while ((first >> 24 & 1) == ((*at / cq.num_entries) & 1u) &&
                 now_ms() < end);
        if ((first >> 24 & 1) == ((*at / cq.num_entries) & 1u)) {
            return false;
        }
        *id     = first;
        *status = first >> 16;
        ++*at;
        __atomic_store_n(cq.doorbell, (uint32_t)*at, __ATOMIC_RELEASE);
        return true;
    }

    Device dev;
    std::unique_ptr<Qp> a, b;
    std::unique_ptr<Memory> out, in;
    ibv_ah *ah = nullptr;
    WqAttr sq = {}, rq = {}, unused = {};
    CqAttr scq = {}, rcq = {};
    uint16_t sq_pc = 0, rq_pc = 0, scq_at = 0, rcq_at = 0;
    static int (*progress)();
};

int (*Direct::progress)() = symbol<int (*)()>("efasim_progress");

} // namespace

/* Round all rings several times, and the 16 bits of the doorbells once. */
TEST_F(Direct, messages)
{
    uint16_t id;
    uint8_t status;

    for (unsigned i = 0; i < 70000; ++i) {
        uint32_t len = 1 + i % 4096;

        if (i % 1000 == 0) {
            out->fill(i);
        }
        post_recv(i % 256);
        post(i % 64, len);
        ASSERT_TRUE(poll(scq, &scq_at, &id, &status)) << i;
        ASSERT_EQ(0, status);
        ASSERT_EQ(i % 64, id);
        ASSERT_TRUE(poll(rcq, &rcq_at, &id, &status)) << i;
        ASSERT_EQ(0, status);
        ASSERT_EQ(i % 256, id);
        ASSERT_EQ(0, memcmp(in->data(), out->data(), len));
    }
}

/* Nobody calls: the backstop moves it. */
TEST_F(Direct, without_calls)
{
    auto keep = progress;
    uint16_t id;
    uint8_t status;

    progress = nullptr;
    for (unsigned i = 0; i < 20; ++i) {
        post_recv(i);
        post(i, 100);
        ASSERT_TRUE(poll(scq, &scq_at, &id, &status)) << i;
        ASSERT_TRUE(poll(rcq, &rcq_at, &id, &status)) << i;
        EXPECT_EQ(0, status);
    }
    progress = keep;
}

TEST_F(Direct, wrong_phase)
{
    uint16_t id;
    uint8_t status;

    post(1, 10, 1);
    ASSERT_TRUE(poll(scq, &scq_at, &id, &status));
    EXPECT_EQ(2, status);
    EXPECT_EQ(IBV_QPS_ERR, state());
}

/* libefa's max_batch is the number that a doorbell may announce. */
TEST_F(Direct, batch_of_a_doorbell)
{
    ASSERT_EQ(32u, sq.max_batch);
    for (unsigned more = 0; more < 2; ++more) {
        for (unsigned i = 0; i < sq.max_batch + more; ++i) {
            write(i, 10);
        }
        ring();
        progress();
        EXPECT_EQ(more ? IBV_QPS_ERR : IBV_QPS_RTS, state()) << more;
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
    auto progress = symbol<int (*)()>("efasim_progress");
    int polls = -1, command = -1;

    ASSERT_NE(nullptr, progress);
    Device dev;
    progress();
    std::thread([&] {
        if (count_masks()) {
            masks_set = 0;
            for (unsigned i = 0; i < 1000; ++i) {
                progress();
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
    auto control = symbol<int (*)(const char*, const char*)>("efasim_control");
    auto counter = symbol<int (*)(const char*, unsigned long long*)>(
            "efasim_counter");
    unsigned long long before = 0, after = 0;

    ASSERT_NE(nullptr, clock);
    Device dev;
    Qp a(dev), b(dev);
    Memory memory(dev, 64);
    ibv_ah *ah = dev.ah(dev.gid);

    ASSERT_EQ(0, clock(1));
    ASSERT_EQ(0, control("delay-us", "10000000")); /* 10 s */
    ASSERT_EQ(0, counter("rx_pkts", &before));
    EXPECT_EQ(ENOENT, counter("no_such", &after));
    ASSERT_EQ(0, b.recv(1, {memory.sge(0, 64)}));
    ASSERT_EQ(0, a.send(2, ah, b.address(), {memory.sge(0, 8)}));
    EXPECT_TRUE(poll_none(b.rcq, 30));
    ASSERT_EQ(0, clock(10000000002ull));
    EXPECT_EQ(EINVAL, clock(5));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(b.rcq, 3000).status);
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.scq, 3000).status);
    ASSERT_EQ(0, counter("rx_pkts", &after));
    EXPECT_EQ(before + 1, after);
    ASSERT_EQ(0, control("delay-us", "0"));
    ASSERT_EQ(0, clock(0));
}
