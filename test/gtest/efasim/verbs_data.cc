/* SPDX-License-Identifier: BSD-3-Clause */
/* Contents: what SEND and RDMA READ move, at all sizes. */
#include "verbs_test.h"

#include <cstring>
#include <map>

class Data : public testing::Test, public Two {
protected:
    Data() : Two(wide(), 2 * MSG_MAX + 2)
    {
    }

    static QpParams wide()
    {
        QpParams params;

        params.send_sge  = 2;
        params.recv_sge  = 3;
        params.inline_sz = INLINE_MAX;
        params.recv_wr   = 1024;
        params.send_wr   = 1024;
        params.cq_depth  = 2048;
        return params;
    }

    /* One message of @len bytes; contents, length and sender checked. */
    void message(size_t len, unsigned flags)
    {
        const uint8_t *in = mem.data() + MSG_MAX + 1;

        mem.poison();
        fill_bytes(mem.data(), len, len + 1, 0);
        ibv_wc got = exchange(len, 7, flags);
        EXPECT_EQ(len, got.byte_len);
        EXPECT_EQ(a.qp->qp_num, got.src_qp);
        EXPECT_EQ(b.qp->qp_num, got.qp_num);
        EXPECT_LT(fill_diff(in, len, len + 1, 0), 0) << len;
        EXPECT_EQ(0xa5, in[len]) << "written beyond the message";
    }
};

TEST_F(Data, send_sizes)
{
    for (size_t len : {0, 1, 2, 7, 8, 31, 32, 33, 63, 64, 65, 255, 4085, 4096,
                       8191, 8192, 8900, MSG_MAX - 1, (int)MSG_MAX}) {
        message(len, 0);
    }
}

TEST_F(Data, inline_sizes)
{
    for (size_t len = 0; len <= INLINE_MAX; ++len) {
        message(len, IBV_SEND_INLINE);
    }
}

/* Inline data is taken at the post: what comes after does not matter. */
TEST_F(Data, inline_is_copied_at_once)
{
    Memory in(dev, 64);
    uint8_t plain[INLINE_MAX]; /* not registered */
    ibv_sge sge = {(uintptr_t)plain, sizeof(plain), 0};

    for (unsigned i = 0; i < 100; ++i) {
        fill_bytes(plain, sizeof(plain), i, 0);
        ASSERT_EQ(0, b.recv(i, {in.sge(0, 64)}));
        ASSERT_EQ(0, a.send(i, ah, b.address(), {sge},
                            IBV_SEND_SIGNALED | IBV_SEND_INLINE));
        memset(plain, 0, sizeof(plain));
        EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
        EXPECT_EQ(IBV_WC_SUCCESS, poll_one(b.rcq).status);
        EXPECT_LT(fill_diff(in.data(), INLINE_MAX, i, 0), 0);
    }
}

/* Two pieces out, three pieces in, cut everywhere. */
TEST_F(Data, gather_and_scatter)
{
    Memory out(dev, 1000), in(dev, 1000);

    out.fill(3);
    for (size_t cut = 0; cut <= 100; cut += 7) {
        in.poison();
        ASSERT_EQ(0, b.recv(1, {in.sge(0, cut), in.sge(300, 50),
                                in.sge(600, 400)}));
        ASSERT_EQ(0, a.send(2, ah, b.address(),
                            {out.sge(0, cut), out.sge(cut, 200 - cut)}));
        EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
        EXPECT_EQ(200u, poll_one(b.rcq).byte_len);
        EXPECT_LT(fill_diff(in.data(), cut, 3, 0), 0);
        EXPECT_LT(fill_diff(in.data() + 300, 50, 3, cut), 0);
        EXPECT_LT(fill_diff(in.data() + 600, 150 - cut, 3, cut + 50), 0);
        EXPECT_EQ(0xa5, in.data()[750 - cut]);
    }
}

/* An immediate, and the number of the sender's address handle */
TEST_F(Data, immediate)
{
    efadv_ah_attr attr = {};
    uint32_t imm       = 0xcafe1234;

    ASSERT_EQ(0, efadv_query_ah(ah, &attr, sizeof(attr)));
    ASSERT_EQ(0, b.recv(1, {mem.sge(64, 64)}));
    ASSERT_EQ(0, a.send(2, ah, b.address(), {mem.sge(0, 5)}, IBV_SEND_SIGNALED,
                        &imm));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
    ibv_wc got = poll_one(b.rcq);
    EXPECT_TRUE(got.wc_flags & IBV_WC_WITH_IMM);
    EXPECT_EQ(imm, be32toh(got.imm_data));
    EXPECT_EQ(5u, got.byte_len);
    EXPECT_EQ(attr.ahn, got.slid);
}

/* 1000 messages in flight: each once, none lost, contents right. */
TEST_F(Data, many_in_flight)
{
    const unsigned n = 1000;
    Memory out(dev, n * 300), in(dev, n * 300);
    std::map<uint64_t, unsigned> seen;

    for (unsigned i = 0; i < n; ++i) {
        fill_bytes(out.data() + i * 300, 300, i, 0);
        memcpy(out.data() + i * 300, &i, sizeof(i));
        ASSERT_EQ(0, b.recv(i, {in.sge(i * 300, 300)}));
    }
    for (unsigned i = 0; i < n; ++i) {
        ASSERT_EQ(0, a.send(i, ah, b.address(), {out.sge(i * 300, 300)}));
    }
    for (auto &wc : poll_many(b.rcq, n)) {
        unsigned index;
        uint8_t *at = in.data() + wc.wr_id * 300;
        memcpy(&index, at, sizeof(index));
        ASSERT_LT(index, n);
        EXPECT_EQ(1u, ++seen[index]) << "delivered again";
        EXPECT_LT(fill_diff(at + 4, 296, index, 4), 0);
    }
    std::map<uint64_t, unsigned> done;
    for (auto &wc : poll_many(a.scq, n)) {
        EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
        EXPECT_EQ(1u, ++done[wc.wr_id]);
    }
    EXPECT_TRUE(poll_none(b.rcq, 50));
}

TEST_F(Data, read_sizes)
{
    size_t most = 3 << 20;
    Memory from(dev, most), into(dev, most);
    Address to = b.address();

    from.fill(11);
    for (size_t len : {0ul, 1ul, 7ul, 8ul, 4096ul, 8928ul, 8929ul, 65536ul,
                       (256ul << 10) - 1, 256ul << 10, (256ul << 10) + 1,
                       1ul << 20, most}) {
        into.poison();
        ASSERT_EQ(0, a.read(len, ah, to, into.sge(0, len),
                            (uintptr_t)from.data(), from.mr->rkey));
        ibv_wc wc = poll_one(a.scq);
        EXPECT_EQ(IBV_WC_SUCCESS, wc.status) << len;
        EXPECT_EQ(len, wc.wr_id);
        EXPECT_LT(fill_diff(into.data(), len, 11, 0), 0) << len;
        if (len < most) {
            EXPECT_EQ(0xa5, into.data()[len]);
        }
    }
    EXPECT_TRUE(poll_none(b.rcq, 20)) << "a read completes at its reader only";
}

/* At odd places, too */
TEST_F(Data, reads_in_flight)
{
    const unsigned n = 200;
    Memory from(dev, n * 4999), into(dev, n * 4999);

    from.fill(13);
    for (unsigned i = 0; i < n; ++i) {
        ASSERT_EQ(0, a.read(i, ah, b.address(), into.sge(i * 4999, 4999),
                            (uintptr_t)from.data() + i * 4999,
                            from.mr->rkey));
    }
    for (auto &wc : poll_many(a.scq, n)) {
        EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
    }
    EXPECT_LT(fill_diff(into.data(), n * 4999, 13, 0), 0);
}

/* An unknown sender's GID comes on request. */
TEST_F(Data, source_gid_of_an_unknown_peer)
{
    ibv_cq_init_attr_ex cq_attr = {};
    efadv_cq_init_attr efa      = {};
    efadv_device_attr caps      = {};

    ASSERT_EQ(0, efadv_query_device(dev.ctx, &caps, sizeof(caps)));
    if (!(caps.device_caps & EFADV_DEVICE_ATTR_CAPS_CQ_WITH_SGID)) {
        GTEST_SKIP() << "the device does not offer it";
    }
    cq_attr.cqe      = 64;
    cq_attr.wc_flags = IBV_WC_STANDARD_FLAGS;
    efa.wc_flags     = EFADV_WC_EX_WITH_SGID;
    ibv_cq_ex *cq    = efadv_create_cq(dev.ctx, &cq_attr, &efa, sizeof(efa));
    ASSERT_NE(nullptr, cq);
    ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
}
