/* SPDX-License-Identifier: BSD-3-Clause */
/* The device's limits, and objects that it refuses to create; others the kernel's
 * driver judges (test/kernel). */
#include "verbs_test.h"

#include <cerrno>
#include <cstring>
#include <set>
#include <sys/resource.h>

TEST(device, limits)
{
    Device dev;
    ibv_device_attr attr  = {};
    efadv_device_attr efa = {};

    ASSERT_EQ(0, ibv_query_device(dev.ctx, &attr));
    EXPECT_EQ(256, attr.max_qp);
    EXPECT_EQ(512, attr.max_cq);
    EXPECT_EQ(256, attr.max_pd);
    EXPECT_EQ(262144, attr.max_mr);
    EXPECT_EQ((int)AH_MAX, attr.max_ah);
    EXPECT_EQ(32768, attr.max_cqe);
    EXPECT_EQ(96ull << 30, attr.max_mr_size);
    EXPECT_EQ(0, attr.max_srq);
    EXPECT_EQ(IBV_ATOMIC_NONE, attr.atomic_cap);

    ASSERT_EQ(0, efadv_query_device(dev.ctx, &efa, sizeof(efa)));
    EXPECT_EQ((uint32_t)SQ_WR_MAX, efa.max_sq_wr);
    EXPECT_EQ((uint32_t)RQ_WR_MAX, efa.max_rq_wr);
    EXPECT_EQ(SQ_SGE_MAX, efa.max_sq_sge);
    EXPECT_EQ(RQ_SGE_MAX, efa.max_rq_sge);
    EXPECT_EQ(INLINE_MAX, efa.inline_buf_size);
    EXPECT_EQ(1u << 30, efa.max_rdma_size);
    EXPECT_TRUE(efa.device_caps & EFADV_DEVICE_ATTR_CAPS_RDMA_READ);
    EXPECT_TRUE(efa.device_caps & EFADV_DEVICE_ATTR_CAPS_RNR_RETRY);
}

/* Contexts to the emulator's limit; what is beyond it is refused by name, and
 * the last ones carry data as well as the first. A context is three files. */
class Contexts {
public:
    ~Contexts()
    {
        for (ibv_context *ctx : list) {
            EXPECT_EQ(0, ibv_close_device(ctx));
        }
    }

    /* Opens @count more. @return 0 or errno. */
    int open(ibv_device *device, size_t count)
    {
        for (size_t i = 0; i < count; ++i) {
            errno            = 0;
            ibv_context *ctx = ibv_open_device(device);
            if (ctx == nullptr) {
                return errno ? errno : EIO;
            }
            list.push_back(ctx);
        }
        return 0;
    }

    std::vector<ibv_context*> list;
};

TEST(device, contexts)
{
    enum { MAX = 1024, FILES = 3, MORE = 64 };
    rlimit files = {};

    ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &files));
    if (files.rlim_max < FILES * MAX + MORE) {
        GTEST_SKIP() << "a process may open " << files.rlim_max << " files";
    }
    files.rlim_cur = files.rlim_max;
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));

    Device first;
    Contexts many;
    ASSERT_EQ(0, many.open(first.ctx->device, MAX - 2)) << many.list.size();
    {
        Device last;
        EXPECT_NE(0, many.open(last.ctx->device, 1));

        Qp a(first), b(last);
        Memory from(first, 64), to(last, 64);
        ibv_ah *ah = first.ah(last.gid);
        from.fill(7);
        ASSERT_EQ(0, b.recv(1, {to.sge(0, 64)}));
        ASSERT_EQ(0, a.send(2, ah, b.address(), {from.sge(0, 64)}));
        EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
        EXPECT_EQ(IBV_WC_SUCCESS, poll_one(b.rcq).status);
        EXPECT_EQ(from.bytes, to.bytes);
    }
    EXPECT_EQ(0, many.open(first.ctx->device, 1)) << "not given back";
}

/* Fewer files than that: an error again, and those that are open work. */
TEST(device, contexts_without_files)
{
    rlimit files = {}, few = {};
    Device first;
    Contexts many;

    ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &files));
    few          = files;
    few.rlim_cur = 100;
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &few));
    EXPECT_NE(0, many.open(first.ctx->device, 100));
    EXPECT_GT(many.list.size(), 10u);
    ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
    EXPECT_EQ(0, many.open(first.ctx->device, 1));
    Qp qp(first);
}

/* The driver gives one number to all that ask, and does not count them: whoever
 * destroys it ends it for the others. */
TEST(ah, shared_by_destination)
{
    Two two;
    efadv_ah_attr first = {}, second = {};
    ibv_ah *other       = two.dev.ah(two.dev.gid);

    EXPECT_EQ(0, efadv_query_ah(two.ah, &first, sizeof(first)));
    EXPECT_EQ(0, efadv_query_ah(other, &second, sizeof(second)));
    EXPECT_EQ(first.ahn, second.ahn);
    two.exchange(8);
    EXPECT_EQ(0, two.dev.destroy(other));
    ASSERT_EQ(0, two.a.send(3, two.ah, two.b.address(), {two.mem.sge(32, 8)}));
    EXPECT_EQ((unsigned)ST_BAD_AH, poll_one(two.a.scq).vendor_err);
    EXPECT_EQ(0, two.dev.destroy(two.ah)) << "the driver does not tell";
    two.ah = two.dev.ah(two.dev.gid);
    two.exchange(8);
}

TEST(ah, bad_gid)
{
    Device dev;
    ibv_gid zero = {};

    errno = 0;
    EXPECT_EQ(nullptr, dev.ah(zero));
    EXPECT_EQ(EINVAL, errno);
}

/* Handles until there are none; the number, and one fits again. */
static unsigned fill_table()
{
    Device dev;
    ibv_gid gid = dev.gid;
    ibv_ah *ah, *last = nullptr;
    unsigned n;

    for (n = 0; (ah = dev.ah(gid)) != nullptr; ++n) {
        last        = ah;
        errno       = 0;
        gid.raw[8]  = 0x77;
        gid.raw[14] = n >> 8;
        gid.raw[15] = n;
    }
    EXPECT_EQ(ENOMEM, errno);
    EXPECT_EQ(0, dev.destroy(last));
    EXPECT_NE(nullptr, dev.ah(gid));
    return n;
}

TEST(mr, keys_differ)
{
    Device dev;
    std::vector<char> buf(4096);
    std::set<uint32_t> keys;
    std::vector<ibv_mr*> list;

    for (int i = 0; i < 3000; ++i) {
        list.push_back(ibv_reg_mr(dev.pd, buf.data(), buf.size(),
                                  IBV_ACCESS_LOCAL_WRITE));
        ASSERT_NE(nullptr, list.back());
        EXPECT_TRUE(keys.insert(list.back()->lkey).second);
    }
    for (auto mr : list) {
        EXPECT_EQ(0, ibv_dereg_mr(mr));
    }
}

TEST(qp, count_is_finite)
{
    Device dev;
    ibv_cq *cq            = ibv_create_cq(dev.ctx, 8, nullptr, nullptr, 0);
    ibv_qp_init_attr init = {};
    std::vector<ibv_qp*> list;

    init.qp_type = IBV_QPT_DRIVER;
    init.send_cq = init.recv_cq = cq;
    init.cap     = {1, 1, 1, 1, 0};
    for (int i = 0; i < 300; ++i) {
        ibv_qp *qp = efadv_create_driver_qp(dev.pd, &init,
                                            EFADV_QP_DRIVER_TYPE_SRD);
        if (qp == nullptr) {
            break;
        }
        list.push_back(qp);
    }
    EXPECT_EQ(256u, list.size());
    for (auto qp : list) {
        EXPECT_EQ(0, ibv_destroy_qp(qp));
    }
    EXPECT_EQ(0, ibv_destroy_cq(cq));
    Qp again(dev);
}

/* Each child opens the device under its own knobs. */
TEST(DISABLED_Role, must_not_open)
{
    int n             = 0;
    ibv_device **list = ibv_get_device_list(&n);

    ASSERT_EQ(1, n) << "the device must be there";
    EXPECT_EQ(nullptr, ibv_open_device(list[0]));
    ibv_free_device_list(list);
}

TEST(device, refused_open)
{
    Child(0, "must_not_open", {"--refuse-open"}).expect_ok();
}

TEST(DISABLED_Role, no_rdma_read)
{
    Device dev;
    efadv_device_attr efa = {};

    ASSERT_EQ(0, efadv_query_device(dev.ctx, &efa, sizeof(efa)));
    EXPECT_FALSE(efa.device_caps & EFADV_DEVICE_ATTR_CAPS_RDMA_READ);
    /* libefa refuses the operation then. */
    EXPECT_THROW(Qp{dev}, std::exception);
}

TEST(device, without_rdma_read)
{
    Child(0, "no_rdma_read", {"--no-rdma-read"}).expect_ok();
}

TEST(DISABLED_Role, few_ah)
{
    ibv_device_attr attr = {};

    ASSERT_EQ(0, ibv_query_device(Device().ctx, &attr));
    EXPECT_EQ(5, attr.max_ah);
    EXPECT_EQ(5u, fill_table());
}

TEST(ah, table_by_knob)
{
    Child(0, "few_ah", {"--max-ah", "5"}).expect_ok();
}

