/* SPDX-License-Identifier: BSD-3-Clause */
/* The effects of states on work, depths, and what may be posted. (The states
 * and attributes themselves the kernel's driver judges: test/kernel.) */
#include "verbs_test.h"

#include <cerrno>

/* Posted receives come back flushed, and sends under way, which nobody posted a
 * receive for. */
TEST(qp_state, error_flushes)
{
    Two two;

    for (unsigned i = 0; i < 10; ++i) {
        ASSERT_EQ(0, two.a.recv(i, {two.mem.sge(0, 64)}));
        ASSERT_EQ(0, two.a.send(i, two.ah, two.b.address(),
                                {two.mem.sge(0, 8)}));
    }
    EXPECT_TRUE(poll_none(two.a.scq, 100));
    ASSERT_EQ(0, two.a.modify(IBV_QPS_ERR, IBV_QP_STATE, 0, 0));
    for (auto cq : {two.a.scq, two.a.rcq}) {
        for (auto &wc : poll_many(cq, 10)) {
            EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, wc.status);
            EXPECT_EQ((uint32_t)ST_FLUSHED, wc.vendor_err);
        }
    }
}

/* Drained: what is posted waits, what was under way ends, receives go on. */
TEST(qp_state, drained_and_back)
{
    Two two;

    two.exchange(64);
    ASSERT_EQ(0, two.a.recv(1, {two.mem.sge(0, 64)}));
    ASSERT_EQ(0, two.a.modify(IBV_QPS_SQD, IBV_QP_STATE, 0, 0));
    ASSERT_EQ(0, two.b.recv(2, {two.mem.sge(64, 64)}));
    ASSERT_EQ(0, two.a.send(1, two.ah, two.b.address(),
                            {two.mem.sge(128, 64)}));
    EXPECT_TRUE(poll_none(two.a.scq, 20));
    ASSERT_EQ(0, two.b.send(2, two.ah, two.a.address(),
                            {two.mem.sge(128, 64)}));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(two.b.scq).status);
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(two.a.rcq).status);
    EXPECT_TRUE(poll_none(two.b.rcq, 1));
    ASSERT_EQ(0, two.a.modify(IBV_QPS_RTS, IBV_QP_STATE, 0, 0));
    EXPECT_EQ(1u, poll_one(two.a.scq).wr_id);
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(two.b.rcq).status);
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
}

/* Every place of a full queue comes back with its completion. */
TEST(qp_limits, full_send_queue)
{
    QpParams params;
    params.send_wr = 16;
    Two two(params);
    unsigned n     = 0;
    auto send      = [&] {
        return two.a.send(n, two.ah, two.b.address(), {two.mem.sge(0, 8)});
    };

    while (send() == 0) {
        ASSERT_LT(++n, 10000u);
    }
    EXPECT_GE(n, 16u);
    EXPECT_EQ(ENOMEM, send());
    for (unsigned i = 0; i < n; ++i) {
        ASSERT_EQ(0, two.b.recv(i, {two.mem.sge(0, 64)}));
    }
    for (auto &wc : poll_many(two.a.scq, n)) {
        EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
    }
    poll_many(two.b.rcq, n);
    two.exchange(8);
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
        list[i]       = send_of(i, &sge, ah, {});
        list[i].next  = (i + 1 < list.size()) ? &list[i + 1] : nullptr;
        list[i].wr.ud = {ah, 255, 1}; /* nobody */
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
}
