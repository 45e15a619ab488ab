/* SPDX-License-Identifier: BSD-3-Clause */
/* UD queue pairs, by the plain verbs calls. */
#include "verbs_test.h"

#include <cerrno>
#include <cstring>

/* A UD queue pair with one CQ. */
class UdQp {
public:
    explicit UdQp(Device &dev) : dev(dev)
    {
        ibv_qp_init_attr init = {};
        ibv_qp_attr attr      = {};

        cq                    = ibv_create_cq(dev.ctx, 512, nullptr, nullptr, 0);
        init.send_cq          = cq;
        init.recv_cq          = cq;
        init.cap.max_send_wr  = 128;
        init.cap.max_recv_wr  = 128;
        init.cap.max_send_sge = 1;
        init.cap.max_recv_sge = 1;
        init.cap.max_inline_data = 32;
        init.qp_type          = IBV_QPT_UD;
        init.sq_sig_all       = 1;
        qp                    = ibv_create_qp(dev.pd, &init);
        if (cq == nullptr || qp == nullptr) {
            throw std::runtime_error("no UD queue pair");
        }
        attr.qp_state = IBV_QPS_INIT;
        attr.port_num = 1;
        attr.qkey     = 0x2222;
        EXPECT_EQ(0, ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT |
                                              IBV_QP_PKEY_INDEX |
                                              IBV_QP_QKEY));
        attr.qp_state = IBV_QPS_RTR;
        EXPECT_EQ(0, ibv_modify_qp(qp, &attr, IBV_QP_STATE));
        attr.qp_state  = IBV_QPS_RTS;
        attr.rnr_retry = 3;
        EXPECT_EQ(EINVAL, ibv_modify_qp(qp, &attr, IBV_QP_STATE |
                                                   IBV_QP_SQ_PSN |
                                                   IBV_QP_RNR_RETRY));
        EXPECT_EQ(0, ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
    }

    ~UdQp()
    {
        EXPECT_EQ(0, ibv_destroy_qp(qp));
        EXPECT_EQ(0, ibv_destroy_cq(cq));
    }

    int send(uint64_t id, ibv_ah *ah, const UdQp &to, ibv_sge sge,
             unsigned flags)
    {
        ibv_send_wr wr = {}, *bad;

        wr.wr_id             = id;
        wr.opcode            = IBV_WR_SEND_WITH_IMM;
        wr.imm_data          = htobe32(id);
        wr.send_flags        = IBV_SEND_SIGNALED | flags;
        wr.sg_list           = &sge;
        wr.num_sge           = 1;
        wr.wr.ud.ah          = ah;
        wr.wr.ud.remote_qpn  = to.qp->qp_num;
        wr.wr.ud.remote_qkey = 0x2222;
        return ibv_post_send(qp, &wr, &bad);
    }

    int recv(uint64_t id, ibv_sge sge)
    {
        ibv_recv_wr wr = {}, *bad;

        wr.wr_id   = id;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        return ibv_post_recv(qp, &wr, &bad);
    }

    Device &dev;
    ibv_cq *cq;
    ibv_qp *qp;
};

TEST(ud, datagrams)
{
    Device dev;
    UdQp a(dev), b(dev);
    Memory out(dev, 4096, IBV_ACCESS_LOCAL_WRITE);
    Memory in(dev, 4200, IBV_ACCESS_LOCAL_WRITE);
    ibv_ah *ah = dev.ah(dev.gid);

    for (size_t len : {1, 31, 32, 33, 1000, 4096}) {
        in.poison();
        out.fill(len);
        ASSERT_EQ(0, b.recv(5, in.sge(0, len + 40)));
        ASSERT_EQ(0, a.send(len, ah, b, out.sge(0, len),
                            len <= 32 ? IBV_SEND_INLINE : 0));
        EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.cq).status);
        ibv_wc got = poll_one(b.cq);
        EXPECT_EQ(5u, got.wr_id);
        EXPECT_EQ(len + 40, got.byte_len);
        EXPECT_EQ(a.qp->qp_num, got.src_qp);
        EXPECT_EQ(htobe32(len), got.imm_data);
        EXPECT_LT(fill_diff(in.data() + 40, len, len, 0), 0);
        EXPECT_EQ(0xa5, in.data()[0]);
        EXPECT_EQ(0xa5, in.data()[40 + len]);
    }
}

TEST(ud, empty_queue_loses)
{
    Device dev;
    UdQp a(dev), b(dev);
    Memory out(dev, 100, IBV_ACCESS_LOCAL_WRITE);
    Memory in(dev, 200, IBV_ACCESS_LOCAL_WRITE);
    ibv_ah *ah = dev.ah(dev.gid);

    for (unsigned i = 0; i < 100; ++i) {
        ASSERT_EQ(0, a.send(i, ah, b, out.sge(0, 100), 0));
        EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.cq).status);
    }
    EXPECT_TRUE(poll_none(b.cq, 20));
    ASSERT_EQ(0, b.recv(1, in.sge(0, 200)));
    ASSERT_EQ(0, a.send(555, ah, b, out.sge(0, 100), 0));
    EXPECT_EQ(htobe32(555), poll_one(b.cq).imm_data);
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.cq).status);
}
