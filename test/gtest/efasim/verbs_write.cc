/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA WRITE, on devices of the generations that have it (efasim run --device
 * efa2 or efa3) under an rdma-core that knows it (46 and later).
 */
#include "verbs_test.h"

#include <cstring>

class Write : public testing::Test {
protected:
    void SetUp() override
    {
        if (!(device_caps(dev) & CAP_RDMA_WRITE)) {
            GTEST_SKIP() << "no RDMA write: an older device or rdma-core";
        }
        ah = dev.ah(dev.gid);
        in.reset(new Memory(dev, 1 << 20, IBV_ACCESS_LOCAL_WRITE |
                                          IBV_ACCESS_REMOTE_WRITE));
        out.reset(new Memory(dev, 1 << 20, IBV_ACCESS_LOCAL_WRITE));
    }

    static QpParams writing(uint16_t efa_flags = 0, uint32_t inline_sz = 0)
    {
        QpParams params;

        params.write     = true;
        params.efa_flags = efa_flags;
        params.inline_sz = inline_sz;
        return params;
    }

    /* Write @len bytes and compare; the status. */
    ibv_wc write(Qp &a, Qp &b, size_t len, const uint32_t *imm = nullptr,
                 bool as_inline = false)
    {
        in->poison();
        out->fill(len + 5);
        EXPECT_EQ(0, a.write(9, ah, b.address(*in), out->sge(0, len), imm,
                             as_inline));
        ibv_wc wc = poll_one(a.scq);
        EXPECT_EQ(9u, wc.wr_id);
        EXPECT_EQ(IBV_WC_RDMA_WRITE, wc.opcode);
        if (wc.status == IBV_WC_SUCCESS) {
            EXPECT_LT(fill_diff(in->data(), len, len + 5, 0), 0) << len;
            if (len < in->size()) {
                EXPECT_EQ(0xa5, in->data()[len]);
            }
        }
        return wc;
    }

    Device dev;
    ibv_ah *ah = nullptr;
    std::unique_ptr<Memory> in, out;
};

TEST_F(Write, sizes)
{
    Qp a(dev, writing()), b(dev, writing());

    for (size_t len : {1, 8, 4096, 8929, 65536, 262145, 1 << 20}) {
        EXPECT_EQ(IBV_WC_SUCCESS, write(a, b, len).status) << len;
    }
}

TEST_F(Write, immediate)
{
    Qp a(dev, writing()), b(dev, writing());
    Memory none(dev, 8);
    uint32_t imm = 0x01020304;

    ASSERT_EQ(0, b.recv(77, {none.sge(0, 8)}));
    EXPECT_EQ(IBV_WC_SUCCESS, write(a, b, 100000, &imm).status);
    ibv_wc got = poll_one(b.rcq);
    EXPECT_EQ(77u, got.wr_id);
    EXPECT_EQ(IBV_WC_RECV_RDMA_WITH_IMM, got.opcode);
    EXPECT_EQ(100000u, got.byte_len);
    EXPECT_EQ(htobe32(imm), got.imm_data);
    EXPECT_TRUE(got.wc_flags & IBV_WC_WITH_IMM);
    EXPECT_EQ(a.qp->qp_num, got.src_qp);
    EXPECT_EQ(0xa5, none.data()[0]);
}

TEST_F(Write, unsolicited)
{
    if (!(device_caps(dev) & CAP_UNSOLICITED_WRITE)) {
        GTEST_SKIP() << "this rdma-core knows no unsolicited receives";
    }
    Qp a(dev, writing(QP_UNSOLICITED_WRITE));
    Qp b(dev, writing(QP_UNSOLICITED_WRITE)), c(dev, writing());
    uint32_t imm = 5;

    EXPECT_EQ(IBV_WC_SUCCESS, write(a, b, 10, &imm).status);
    ibv_wc got = poll_one(b.rcq);
    EXPECT_EQ(IBV_WC_SUCCESS, got.status);
    EXPECT_EQ(0u, got.wr_id);
    EXPECT_EQ(htobe32(5), got.imm_data);
    EXPECT_EQ(18u, write(a, c, 10, &imm).vendor_err);
    EXPECT_EQ(IBV_WC_SUCCESS, write(a, c, 10).status) << "nothing is received";
}

/* 128 B work requests: rdma-core 63 and a device of the fourth generation. */
TEST_F(Write, large_requests)
{
    std::unique_ptr<Qp> a;

    try {
        a.reset(new Qp(dev, writing(QP_INLINE_WRITE, 80)));
    } catch (std::exception&) {
        GTEST_SKIP() << "no 128 B work requests";
    }
    Qp b(dev, writing());
    Memory got(dev, 100);

    for (size_t len = 1; len <= 80; ++len) {
        EXPECT_EQ(IBV_WC_SUCCESS, write(*a, b, len, nullptr, true).status);
        ASSERT_EQ(0, b.recv(1, {got.sge(0, 100)}));
        ASSERT_EQ(0, a->send(2, ah, b.address(), {out->sge(0, len)},
                             IBV_SEND_SIGNALED | IBV_SEND_INLINE));
        EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a->scq).status);
        EXPECT_EQ(len, poll_one(b.rcq).byte_len);
        EXPECT_EQ(0, memcmp(got.data(), out->data(), len));
    }
}

/* Into another process, on another host. */
TEST(DISABLED_Role, write_target)
{
    Device dev;
    QpParams params;
    Parent parent;

    params.write = true;
    Qp qp(dev, params);
    Memory in(dev, 1 << 20, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);

    in.poison();
    ASSERT_EQ(0, qp.recv(4, {in.sge(0, 8)}));
    parent.meet(dev, qp.address(in));

    ibv_wc wc = poll_one(qp.rcq);
    EXPECT_EQ(IBV_WC_RECV_RDMA_WITH_IMM, wc.opcode);
    EXPECT_LT(fill_diff(in.data(), wc.byte_len, 11, 0), 0);
    parent.put<int>(2);
    parent.get<int>();
}

TEST_F(Write, to_another_host)
{
    Child child(1, "write_target");
    Qp a(dev, writing());
    uint32_t imm = 1;

    child.meet(dev, a.address());
    out->fill(11);
    ASSERT_EQ(0, a.write(3, child.ah, child.peer, out->sge(0, 500000), &imm));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
    EXPECT_EQ(2, child.get<int>());
    EXPECT_GE(stat_counter(1, "rdma_write_recv_bytes"), 500000);
    child.put<int>(3);
    child.expect_ok();
}
