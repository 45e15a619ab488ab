/* SPDX-License-Identifier: BSD-3-Clause */
/* UD queue pairs, by the plain verbs calls. */
#include "verbs_test.h"

#include <cerrno>

class ud : public testing::Test, public Two {
protected:
    ud() : Two(datagrams(), 8400, IBV_ACCESS_LOCAL_WRITE)
    {
    }

    static QpParams datagrams()
    {
        QpParams params;

        params.ud        = true;
        params.inline_sz = INLINE_MAX;
        return params;
    }
};

/* 40 bytes before the contents stay free. */
TEST_F(ud, datagrams)
{
    const uint8_t *in = mem.data() + mem.size() / 2;

    for (uint32_t len : {1, 31, 32, 33, 1000, 4096}) {
        mem.poison();
        fill_bytes(mem.data(), len, len, 0);
        ibv_wc got = exchange(len, 5, len <= 32 ? IBV_SEND_INLINE : 0, &len);
        EXPECT_EQ(len + 40, got.byte_len);
        EXPECT_EQ(a.qp->qp_num, got.src_qp);
        EXPECT_EQ(htobe32(len), got.imm_data);
        EXPECT_LT(fill_diff(in + 40, len, len, 0), 0);
        EXPECT_EQ(0xa5, in[0]);
        EXPECT_EQ(0xa5, in[40 + len]);
    }
}

TEST_F(ud, empty_queue_loses)
{
    for (unsigned i = 0; i < 100; ++i) {
        ASSERT_EQ(0, a.send(i, ah, b.address(), {mem.sge(0, 100)}));
        EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
    }
    EXPECT_TRUE(poll_none(b.rcq, 20));
    exchange(100, 555);
}

TEST_F(ud, has_no_rnr_retry)
{
    QpParams params = datagrams();

    params.rts = false;
    Qp qp(dev, params);
    EXPECT_EQ(EINVAL, qp.to_rts(1, 3));
}
