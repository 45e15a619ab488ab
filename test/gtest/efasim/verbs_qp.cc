/* SPDX-License-Identifier: BSD-3-Clause */
/* The state table, the depths and what may be posted. */
#include "verbs_test.h"

#include <cerrno>
#include <cstring>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

const int INIT_MASK = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                      IBV_QP_QKEY;
const int RTS_MASK  = IBV_QP_STATE | IBV_QP_SQ_PSN;

QpParams reset_params()
{
    QpParams params;

    params.rts = false;
    return params;
}

int qp_state(const Qp &qp)
{
    ibv_qp_attr attr      = {};
    ibv_qp_init_attr init = {};

    EXPECT_EQ(0, ibv_query_qp(qp.qp, &attr, IBV_QP_STATE, &init));
    return attr.qp_state;
}

} // namespace

/* The whole table: each pair of states, with all attributes that the step needs,
 * without each of them, and with one of RC. */
TEST(qp_state, table)
{
    const struct {
        int from, to, need;
    } valid[] = {
        {IBV_QPS_RESET, IBV_QPS_INIT, INIT_MASK},
        {IBV_QPS_INIT, IBV_QPS_RTR, 0},   {IBV_QPS_INIT, IBV_QPS_INIT, 0},
        {IBV_QPS_RTR, IBV_QPS_RTS, RTS_MASK},
        {IBV_QPS_RTS, IBV_QPS_RTS, 0},    {IBV_QPS_RTS, IBV_QPS_SQD, 0},
        {IBV_QPS_SQD, IBV_QPS_RTS, 0},    {IBV_QPS_SQD, IBV_QPS_SQD, 0},
        {IBV_QPS_RESET, IBV_QPS_RESET, 0},
    };
    const int states[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
                          IBV_QPS_SQD, IBV_QPS_ERR};
    Device dev;
    Qp qp(dev, reset_params());

    for (int from : states) {
        for (int to = IBV_QPS_RESET; to <= 8; ++to) {
            bool leaves  = from != IBV_QPS_RESET && to == IBV_QPS_RESET;
            bool fails   = from != IBV_QPS_RESET && to == IBV_QPS_ERR;
            int expected = leaves || fails ? 0 : EINVAL, need = IBV_QP_STATE;

            ASSERT_EQ(0, qp.modify(IBV_QPS_RESET, IBV_QP_STATE, 0, 0));
            for (int i = 1; i < 5 && qp_state(qp) != from; ++i) {
                bool last = from == IBV_QPS_ERR && i == 2;
                int mask  = i == 1 ? INIT_MASK : i == 3 ? RTS_MASK :
                                                          IBV_QP_STATE;
                ASSERT_EQ(0, qp.modify(last ? IBV_QPS_ERR : (ibv_qp_state)i,
                                       mask, 1, 0));
            }
            for (auto &move : valid) {
                if (move.from == from && move.to == to) {
                    expected = 0;
                    need     = move.need | IBV_QP_STATE;
                }
            }
            for (int bit = IBV_QP_CUR_STATE; bit <= need; bit <<= 1) {
                if (need & bit) {
                    EXPECT_EQ(EINVAL, qp.modify((ibv_qp_state)to, need & ~bit,
                                                1, 0)) << bit;
                }
            }
            EXPECT_EQ(EINVAL, qp.modify((ibv_qp_state)to, need | IBV_QP_SQ_PSN |
                                        IBV_QP_RNR_RETRY |
                                        IBV_QP_EN_SQD_ASYNC_NOTIFY, 1, 0));
            EXPECT_EQ(to > IBV_QPS_ERR ? EINVAL : EOPNOTSUPP,
                      qp.modify((ibv_qp_state)to, need | IBV_QP_DEST_QPN, 1, 0));
            EXPECT_EQ(expected, qp.modify((ibv_qp_state)to, need, 1, 0))
                    << from << " to " << to;
            EXPECT_EQ(expected ? from : to, qp_state(qp));
        }
    }
}

/* A QKEY of the upper half is for those with CAP_NET_RAW. */
TEST(qp_state, privileged_qkey)
{
    __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct had[2], few[2];
    Device dev;
    Qp qp(dev);

    ASSERT_EQ(0, syscall(SYS_capget, &head, had));
    memcpy(few, had, sizeof(had));
    for (unsigned bit : {1u << CAP_NET_RAW, 0u}) {
        few[0].effective = (had[0].effective | bit) ^ bit;
        ASSERT_EQ(0, syscall(SYS_capset, &head, few));
        int want = few[0].effective & (1u << CAP_NET_RAW) ? 0 : EPERM;
        EXPECT_EQ(want, qp.modify(IBV_QPS_RTS, IBV_QP_QKEY, 0x80000000u, 0));
        EXPECT_EQ(want, qp.modify(IBV_QPS_RTS, IBV_QP_QKEY, ~0u, 0));
        EXPECT_EQ(0, qp.modify(IBV_QPS_RTS, IBV_QP_QKEY, 0x7fffffff, 0));
    }
    EXPECT_EQ(IBV_QPS_RTS, qp_state(qp));
}

/* A post before RTS is refused; receives are taken from INIT on. */
TEST(qp_state, posts)
{
    Device dev;
    Qp qp(dev, reset_params());
    Memory mem(dev, 64);
    ibv_ah *ah = dev.ah(dev.gid);

    EXPECT_EQ(EINVAL, qp.send(1, ah, qp.address(), {mem.sge(0, 8)}));
    EXPECT_EQ(EINVAL, qp.recv(1, {mem.sge(0, 8)}));
    ASSERT_EQ(0, qp.modify(IBV_QPS_INIT, INIT_MASK, 1, 0));
    EXPECT_EQ(EINVAL, qp.send(1, ah, qp.address(), {mem.sge(0, 8)}));
    EXPECT_EQ(0, ibv_destroy_ah(ah));
}

/* Posted receives come back flushed, and sends are refused. */
TEST(qp_state, error_flushes)
{
    Device dev;
    Qp qp(dev);
    Memory mem(dev, 64);
    ibv_ah *ah = dev.ah(dev.gid);

    for (unsigned i = 0; i < 5; ++i) {
        ASSERT_EQ(0, qp.recv(i, {mem.sge(0, 64)}));
    }
    ASSERT_EQ(0, qp.modify(IBV_QPS_ERR, IBV_QP_STATE, 0, 0));
    for (unsigned i = 0; i < 5; ++i) {
        ibv_wc wc = poll_one(qp.rcq);
        EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, wc.status);
        EXPECT_EQ((uint32_t)ST_FLUSHED, wc.vendor_err);
    }
    EXPECT_EQ(EINVAL, qp.send(9, ah, qp.address(), {mem.sge(0, 8)}));
    EXPECT_EQ(0, ibv_destroy_ah(ah));
}

/* Sends under way when the QP goes to error come back, flushed or done. */
TEST(qp_state, error_with_sends_under_way)
{
    Device dev;
    Qp qp(dev), silent(dev);
    Memory mem(dev, 64);
    ibv_ah *ah = dev.ah(dev.gid);

    /* Nobody posted a receive there: endless retries. */
    for (unsigned i = 0; i < 10; ++i) {
        ASSERT_EQ(0, qp.send(i, ah, silent.address(), {mem.sge(0, 8)}));
    }
    EXPECT_TRUE(poll_none(qp.scq, 100));
    ASSERT_EQ(0, qp.modify(IBV_QPS_ERR, IBV_QP_STATE, 0, 0));
    for (auto &wc : poll_many(qp.scq, 10)) {
        EXPECT_EQ((uint32_t)ST_FLUSHED, wc.vendor_err);
    }
    EXPECT_EQ(0, ibv_destroy_ah(ah));
}

/* Drained: what is posted waits, what was under way ends, receives go on. */
TEST(qp_state, drained_and_back)
{
    Device dev;
    Qp qp(dev), other(dev);
    Memory mem(dev, 256);
    ibv_ah *ah = dev.ah(dev.gid);

    for (unsigned i = 0; i < 2; ++i) {
        ASSERT_EQ(0, qp.recv(i, {mem.sge(0, 64)}));
        ASSERT_EQ(0, other.recv(i, {mem.sge(64, 64)}));
    }
    ASSERT_EQ(0, qp.modify(IBV_QPS_SQD, IBV_QP_STATE, 0, 0));
    ASSERT_EQ(0, qp.send(1, ah, other.address(), {mem.sge(128, 64)}));
    EXPECT_TRUE(poll_none(qp.scq, 20));
    ASSERT_EQ(0, other.send(2, ah, qp.address(), {mem.sge(128, 64)}));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(other.scq).status);
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(qp.rcq).status);
    EXPECT_TRUE(poll_none(other.rcq, 1));
    ASSERT_EQ(0, qp.modify(IBV_QPS_RTS, IBV_QP_STATE, 0, 0));
    EXPECT_EQ(1u, poll_one(qp.scq).wr_id);
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(other.rcq).status);
    EXPECT_EQ(0, ibv_destroy_ah(ah));
}

/* Attributes that a QP may be asked for and told, and others. */
TEST(qp_state, queries_and_other_ports)
{
    Device dev;
    Qp qp(dev, reset_params());
    ibv_qp_attr attr      = {};
    ibv_qp_init_attr init = {};
    const int known       = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                            IBV_QP_QKEY | IBV_QP_SQ_PSN | IBV_QP_CAP |
                            IBV_QP_RNR_RETRY;

    ASSERT_EQ(0, ibv_query_qp(qp.qp, &attr, known, &init));
    EXPECT_EQ(IBV_QPS_RESET, attr.qp_state);
    EXPECT_EQ(64u, attr.cap.max_send_wr);
    EXPECT_EQ(EOPNOTSUPP, ibv_query_qp(qp.qp, &attr, known | IBV_QP_AV,
                                       &init));
    attr            = {};
    attr.qp_state   = IBV_QPS_INIT;
    attr.port_num   = 1;
    attr.pkey_index = 1;
    EXPECT_EQ(EOPNOTSUPP, ibv_modify_qp(qp.qp, &attr, INIT_MASK));
    attr.pkey_index = 0;
    attr.port_num   = 2;
    EXPECT_EQ(EINVAL, ibv_modify_qp(qp.qp, &attr, INIT_MASK));
}

/* Destroyed while sends wait for a receiver, a long read is under way and
 * receives are posted: all of it can go at once, and the number's next holder
 * hears nothing of it. */
TEST(qp, destroyed_with_work_in_flight)
{
    Device dev;
    Qp silent(dev);
    Memory big(dev, 64 << 20), mem(dev, 4096);
    ibv_ah *ah = dev.ah(dev.gid);
    uint32_t qpn;

    {
        Qp busy(dev);
        qpn = busy.qp->qp_num;
        for (unsigned i = 0; i < 10; ++i) {
            ASSERT_EQ(0, busy.recv(i, {mem.sge(0, 64)}));
            ASSERT_EQ(0, busy.send(i, ah, silent.address(),
                                   {mem.sge(0, 64)}));
        }
        ASSERT_EQ(0, busy.read(10, ah, silent.address(),
                               big.sge(0, 32 << 20),
                               (uintptr_t)big.data() + (32 << 20),
                               big.mr->rkey));
        ASSERT_EQ(0, silent.send(1, ah, busy.address(), {mem.sge(0, 64)}));
    }
    poll_one(silent.scq); /* it came in time, or the QP was gone: 9 */
    Qp next(dev);
    EXPECT_EQ(qpn, next.qp->qp_num);
    ASSERT_EQ(0, next.recv(77, {mem.sge(0, 64)}));
    for (unsigned i = 0; i < 10; ++i) {
        ASSERT_EQ(0, silent.recv(i, {mem.sge(0, 64)}));
    }
    EXPECT_TRUE(poll_none(next.scq, 20)) << "a completion of the dead";
    EXPECT_TRUE(poll_none(next.rcq, 1));
    ASSERT_EQ(0, next.send(5, ah, next.address(), {mem.sge(64, 64)}));
    EXPECT_EQ(5u, poll_one(next.scq).wr_id);
    EXPECT_EQ(77u, poll_one(next.rcq).wr_id);
    EXPECT_EQ(0, ibv_destroy_ah(ah));
}

TEST(qp_limits, depth_and_sge)
{
    Device dev;
    struct {
        uint32_t QpParams::*what;
        uint32_t most;
    } limits[] = {
        {&QpParams::send_wr, SQ_WR_MAX},   {&QpParams::recv_wr, RQ_WR_MAX},
        {&QpParams::send_sge, SQ_SGE_MAX}, {&QpParams::recv_sge, RQ_SGE_MAX},
        {&QpParams::inline_sz, INLINE_MAX}
    };

    for (auto &limit : limits) {
        QpParams params;
        params.cq_depth    = 32768;
        params.*limit.what = limit.most;
        EXPECT_NO_THROW(Qp(dev, params)) << limit.most;
        params.*limit.what = limit.most + 1;
        EXPECT_THROW(Qp(dev, params), std::exception) << limit.most + 1;
    }
}

/* A full queue says ENOMEM; every place comes back with its completion. */
TEST(qp_limits, full_send_queue)
{
    Device dev;
    QpParams params;
    params.send_wr = 16;
    Qp qp(dev, params), silent(dev);
    Memory mem(dev, 64);
    ibv_ah *ah     = dev.ah(dev.gid);
    unsigned n     = 0;

    while (qp.send(n, ah, silent.address(), {mem.sge(0, 8)}) == 0) {
        ASSERT_LT(++n, 10000u);
    }
    EXPECT_GE(n, 16u);
    EXPECT_EQ(ENOMEM, qp.send(n, ah, silent.address(), {mem.sge(0, 8)}));
    for (unsigned i = 0; i < n; ++i) {
        ASSERT_EQ(0, silent.recv(i, {mem.sge(0, 64)}));
    }
    for (auto &wc : poll_many(qp.scq, n)) {
        EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
    }
    poll_many(silent.rcq, n);
    EXPECT_EQ(0, silent.recv(1, {mem.sge(0, 64)}));
    EXPECT_EQ(0, qp.send(1, ah, silent.address(), {mem.sge(0, 8)}));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(qp.scq).status);
    poll_one(silent.rcq);
    EXPECT_EQ(0, ibv_destroy_ah(ah));
}

TEST(qp_limits, full_receive_queue)
{
    Device dev;
    QpParams params;
    params.recv_wr = 32;
    Qp qp(dev, params);
    Memory mem(dev, 64);
    unsigned n = 0;

    while (qp.recv(n, {mem.sge(0, 64)}) == 0) {
        ASSERT_LT(++n, 10000u);
    }
    EXPECT_GE(n, 32u);
    EXPECT_EQ(ENOMEM, qp.recv(n, {mem.sge(0, 64)}));
}

TEST(post, flags_and_operations)
{
    Device dev;
    QpParams params;
    params.inline_sz = INLINE_MAX;
    Qp qp(dev, params);
    Memory mem(dev, 64);
    ibv_ah *ah = dev.ah(dev.gid);

    EXPECT_EQ(EINVAL, qp.send(1, ah, qp.address(), {mem.sge(0, 8)},
                              IBV_SEND_SIGNALED | IBV_SEND_FENCE));
    EXPECT_EQ(EINVAL, qp.send(1, ah, qp.address(), {mem.sge(0, 8)},
                              IBV_SEND_SIGNALED | IBV_SEND_SOLICITED));
    EXPECT_EQ(EINVAL, qp.send(1, ah, qp.address(),
                              {mem.sge(0, INLINE_MAX + 1)},
                              IBV_SEND_SIGNALED | IBV_SEND_INLINE));
    EXPECT_EQ(EINVAL, qp.send(1, ah, qp.address(),
                              {mem.sge(0, 8), mem.sge(8, 8)}));

    ibv_send_wr wr = {}, *bad;
    ibv_sge sge    = mem.sge(0, 8);
    for (auto op : {IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE,
                    IBV_WR_ATOMIC_FETCH_AND_ADD}) {
        wr.opcode     = op;
        wr.send_flags = IBV_SEND_SIGNALED;
        wr.sg_list    = &sge;
        wr.num_sge    = 1;
        wr.wr.ud.ah   = ah;
        EXPECT_EQ(EINVAL, ibv_post_send(qp.qp, &wr, &bad)) << op;
    }
    EXPECT_TRUE(poll_none(qp.scq, 20));
    EXPECT_EQ(0, ibv_destroy_ah(ah));
}

/* Without sq_sig_all an unsignaled request is refused by the library. */
TEST(post, every_request_is_signaled)
{
    Device dev;
    ibv_cq *cq                = ibv_create_cq(dev.ctx, 16, nullptr, nullptr,
                                              0);
    ibv_qp *qp                = qp_on(dev, cq);
    ibv_send_wr wr            = {}, *bad;

    wr.opcode   = IBV_WR_SEND;
    wr.wr.ud.ah = dev.ah(dev.gid);
    EXPECT_EQ(EINVAL, ibv_post_send(qp, &wr, &bad));
    EXPECT_EQ(0, ibv_destroy_ah(wr.wr.ud.ah));
    EXPECT_EQ(0, ibv_destroy_qp(qp));
    EXPECT_EQ(0, ibv_destroy_cq(cq));
}

/* libefa rings for each 32 requests of a list, and for each of several posts
 * that the device did not see one by one. */
TEST(post, long_lists)
{
    Device dev;
    Qp qp(dev);
    Memory mem(dev, 64);
    ibv_ah *ah  = dev.ah(dev.gid);
    ibv_sge sge = mem.sge(0, 8);
    std::vector<ibv_send_wr> list(64);
    ibv_send_wr *bad;

    for (unsigned i = 0; i < list.size(); ++i) {
        list[i].wr_id             = i;
        list[i].next              = (i + 1 < list.size()) ? &list[i + 1] :
                                                            nullptr;
        list[i].opcode            = IBV_WR_SEND;
        list[i].send_flags        = IBV_SEND_SIGNALED;
        list[i].sg_list           = &sge;
        list[i].num_sge           = 1;
        list[i].wr.ud.ah          = ah;
        list[i].wr.ud.remote_qpn  = 255; /* nobody */
        list[i].wr.ud.remote_qkey = 1;
    }
    for (unsigned round = 0; round < 3; ++round) {
        ASSERT_EQ(0, ibv_post_send(qp.qp, list.data(), &bad));
        for (unsigned i = 0; i < list.size(); ++i) {
            EXPECT_EQ((unsigned)ST_BAD_QPN, poll_one(qp.scq).vendor_err);
        }
    }

    ibv_wr_start(qp.qpx);
    for (unsigned i = 0; i < list.size(); ++i) {
        qp.qpx->wr_id    = i;
        qp.qpx->wr_flags = IBV_SEND_SIGNALED;
        ibv_wr_send(qp.qpx);
        ibv_wr_set_sge(qp.qpx, sge.lkey, sge.addr, sge.length);
        ibv_wr_set_ud_addr(qp.qpx, ah, 255, 1);
    }
    ASSERT_EQ(0, ibv_wr_complete(qp.qpx));
    for (unsigned i = 0; i < list.size(); ++i) {
        EXPECT_EQ((unsigned)ST_BAD_QPN, poll_one(qp.scq).vendor_err);
    }
    EXPECT_EQ(0, ibv_destroy_ah(ah));
}

/* Numbers are taken again; a predecessor's packets find another QKEY. */
TEST(qp, numbers_are_used_again)
{
    Device dev;
    std::vector<uint32_t> seen;
    bool again = false;

    for (int i = 0; i < 600 && !again; ++i) {
        Qp qp(dev);
        for (auto qpn : seen) {
            again = again || qpn == qp.qp->qp_num;
        }
        seen.push_back(qp.qp->qp_num);
    }
    EXPECT_TRUE(again);
}
