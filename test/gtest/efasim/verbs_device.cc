/* SPDX-License-Identifier: BSD-3-Clause */
/* The device's attributes, and the objects that it refuses to create. */
#include "verbs_test.h"

#include <cerrno>
#include <cstring>
#include <set>
#include <sys/resource.h>

TEST(device, identity)
{
    Device dev;
    ibv_device_attr attr = {};
    ibv_port_attr port   = {};
    uint16_t pkey        = 0;

    ASSERT_EQ(0, ibv_query_device(dev.ctx, &attr));
    EXPECT_EQ(0x1d0fu, attr.vendor_id);
    EXPECT_EQ(0xefa1u, attr.vendor_part_id);
    EXPECT_STREQ("rdmap0s6", ibv_get_device_name(dev.ctx->device));
    EXPECT_EQ(IBV_NODE_UNSPECIFIED, dev.ctx->device->node_type);
    EXPECT_EQ(1, attr.phys_port_cnt);

    ASSERT_EQ(0, ibv_query_port(dev.ctx, 1, &port));
    EXPECT_EQ(IBV_PORT_ACTIVE, port.state);
    EXPECT_EQ(IBV_LINK_LAYER_UNSPECIFIED, port.link_layer);
    EXPECT_EQ(1, port.gid_tbl_len);
    EXPECT_EQ(1, port.pkey_tbl_len);
    EXPECT_EQ(1, port.lmc);
    EXPECT_EQ((uint32_t)MSG_MAX, port.max_msg_sz);
    EXPECT_EQ(IBV_MTU_4096, port.active_mtu);
    ASSERT_EQ(0, ibv_query_pkey(dev.ctx, 1, 0, &pkey));
    EXPECT_EQ(0xffff, pkey);
    EXPECT_EQ(0xfe, dev.gid.raw[0]);
    EXPECT_EQ(0x80, dev.gid.raw[1]);
    EXPECT_NE(0, ibv_query_port(dev.ctx, 2, &port));
}

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

TEST(ah, table_is_finite)
{
    EXPECT_EQ((unsigned)AH_MAX, fill_table());
    EXPECT_EQ((unsigned)AH_MAX, fill_table()) << "all were given back";
}

TEST(mr, access_flags)
{
    Device dev;
    std::vector<char> buf(4096);
    struct {
        int access;
        int err; /* 0: must work */
    } cases[] = {
        {0, 0},
        {IBV_ACCESS_LOCAL_WRITE, 0},
        {IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ, 0},
        {IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING, 0},
        {IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC, EOPNOTSUPP},
        {IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND, EOPNOTSUPP},
    };

    for (auto &c : cases) {
        errno      = 0;
        ibv_mr *mr = ibv_reg_mr(dev.pd, buf.data(), buf.size(), c.access);
        if (c.err == 0) {
            ASSERT_NE(nullptr, mr) << "access " << c.access << ": "
                                   << strerror(errno);
            EXPECT_EQ(0, ibv_dereg_mr(mr));
        } else {
            EXPECT_EQ(nullptr, mr) << "access " << c.access;
            EXPECT_EQ(c.err, errno);
        }
    }
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

TEST(pd, busy_while_in_use)
{
    Device dev;
    ibv_pd *pd = ibv_alloc_pd(dev.ctx);
    char buf[64];

    ASSERT_NE(nullptr, pd);
    ibv_mr *mr = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
    ASSERT_NE(nullptr, mr);
    EXPECT_NE(0, ibv_dealloc_pd(pd));
    EXPECT_EQ(0, ibv_dereg_mr(mr));
    EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

TEST(cq, depth)
{
    Device dev;
    ibv_cq *cq = ibv_create_cq(dev.ctx, 32768, nullptr, nullptr, 0);

    ASSERT_NE(nullptr, cq);
    EXPECT_GE(cq->cqe, 32768);
    EXPECT_NE(0, ibv_resize_cq(cq, 100)) << "EFA cannot";
    EXPECT_EQ(0, ibv_destroy_cq(cq));
    EXPECT_EQ(nullptr, ibv_create_cq(dev.ctx, 32769, nullptr, nullptr, 0));
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

TEST(DISABLED_Role, memlock)
{
    rlimit limit = {1 << 20, 1 << 20};
    Device dev;
    std::vector<char> big(8 << 20);
    std::vector<ibv_mr*> list;
    auto reg = [&](size_t length) {
        errno = 0;
        return ibv_reg_mr(dev.pd, big.data(), length, IBV_ACCESS_LOCAL_WRITE);
    };

    ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
    EXPECT_EQ(nullptr, reg(8 << 20));
    EXPECT_EQ(ENOMEM, errno);
    /* Together they may not pass it either; what is given back can be used. */
    for (int round = 0; round < 10; ++round) {
        for (ibv_mr *mr; (mr = reg(64 << 10)) != nullptr;) {
            list.push_back(mr);
        }
        EXPECT_LT(list.size(), 18u);
        EXPECT_GT(list.size(), 8u);
        for (; !list.empty(); list.pop_back()) {
            EXPECT_EQ(0, ibv_dereg_mr(list.back()));
        }
    }
}

TEST(mr, memlock_limit)
{
    Child(0, "memlock", {"--memlock-root"}).expect_ok();
}
