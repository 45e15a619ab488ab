/* SPDX-License-Identifier: BSD-3-Clause */
/* Each completion status, provoked for real; then by injection. */
#include "verbs_test.h"

#include <cstring>

class Status : public testing::Test, public Two {
protected:
    Status() : Two({}, 2 * MSG_MAX)
    {
    }

    /* After any failure the queue pair goes on working. */
    ~Status() override
    {
        exchange(50, 101);
        EXPECT_TRUE(poll_none(b.rcq, 20));
    }

    /* Older libefa call a status they do not know a general error. */
    void expect(ibv_wc_status status, unsigned raw)
    {
        ibv_wc wc = poll_one(a.scq);

        if (wc.status != IBV_WC_GENERAL_ERR) {
            EXPECT_EQ(status, wc.status) << ibv_wc_status_str(wc.status);
        }
        EXPECT_EQ(raw, wc.vendor_err);
    }

    void expect_send(ibv_ah *ah, const Address &to, ibv_sge sge,
                     ibv_wc_status status, unsigned raw)
    {
        ASSERT_EQ(0, a.send(1, ah, to, {sge}));
        expect(status, raw);
    }
};

/* The verbs call itself fails: nothing is sent, and the queue goes on. */
TEST_F(Status, failed_post)
{
    ASSERT_EQ(0, control("inject", "post:12:2"));
    EXPECT_EQ(ENOMEM, a.send(2, ah, b.address(), {mem.sge(0, 8)}));
    EXPECT_EQ(ENOMEM, a.read(3, ah, b.address(), mem.sge(0, 8), 0, 0));
    EXPECT_TRUE(poll_none(a.scq, 20));
}

/* Keys, ranges and handles that are not the sender's */
TEST_F(Status, local)
{
    ibv_pd *pd = ibv_alloc_pd(dev.ctx);
    ibv_mr *mr = ibv_reg_mr(pd, mem.data(), 100, IBV_ACCESS_LOCAL_WRITE);
    std::unique_ptr<Memory> gone(new Memory(dev, 100));
    Memory fixed(dev, 100, 0);
    ibv_sge good = mem.sge(0, 8), wrong = good, foreign = good,
            late = gone->sge(0, 8);

    gone.reset();
    wrong.lkey  ^= 0x5a5a5a;
    foreign.lkey = mr->lkey;
    for (auto &sge : {wrong, foreign, late, mem.sge(mem.size() - 7, 8),
                      mem.sge(mem.size(), 8), mem.sge(-1, 8)}) {
        expect_send(ah, b.address(), sge, IBV_WC_LOC_PROT_ERR, ST_BAD_LKEY);
    }
    expect_send(ah, b.address(), mem.sge(0, MSG_MAX + 1), IBV_WC_LOC_LEN_ERR,
                ST_TOO_LONG);
    ibv_ah *other = dev.ah(dev.gid, pd);
    expect_send(other, b.address(), good, IBV_WC_LOC_QP_OP_ERR, ST_BAD_AH);
    EXPECT_EQ(0, dev.destroy(other));
    EXPECT_EQ(0, ibv_dereg_mr(mr));
    EXPECT_EQ(0, ibv_dealloc_pd(pd));

    /* A read writes into its buffer: the registration must allow that. */
    ASSERT_EQ(0, a.read(1, ah, b.address(), fixed.sge(0, 50),
                        (uintptr_t)mem.data(), mem.mr->rkey));
    expect(IBV_WC_LOC_PROT_ERR, ST_BAD_LKEY);
    EXPECT_EQ(0xa5, fixed.data()[0]);
}

TEST_F(Status, bad_remote_key_or_range)
{
    Memory from(dev, 1000), hidden(dev, 1000, IBV_ACCESS_LOCAL_WRITE);
    uint64_t at = (uintptr_t)from.data();
    struct {
        uint64_t addr;
        uint32_t rkey, len;
    } cases[] = {
        {at, from.mr->rkey ^ 0x5a5a5a, 8},
        {at - 1, from.mr->rkey, 8},
        {at + 993, from.mr->rkey, 8},
        {at + 1000, from.mr->rkey, 8},
        {at, from.mr->rkey, 1001},
        {~0ull - 3, from.mr->rkey, 8},
        {(uintptr_t)hidden.data(), hidden.mr->rkey, 8},
        {(uintptr_t)hidden.data(), from.mr->rkey, 8},
    };

    for (auto &c : cases) {
        mem.poison();
        ASSERT_EQ(0, a.read(1, ah, b.address(), mem.sge(0, c.len), c.addr,
                            c.rkey));
        expect(IBV_WC_REM_ACCESS_ERR, ST_BAD_ADDRESS);
        EXPECT_EQ(0xa5, mem.data()[0]) << "a refused read wrote something";
    }
    ASSERT_EQ(0, a.read(2, ah, b.address(), mem.sge(0, 1000), at,
                        from.mr->rkey));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
}

/* Queue pairs that are gone, failed, or have another key; a host that is not there
 * at all never answered. */
TEST_F(Status, destination)
{
    Address nobody = std::unique_ptr<Qp>(new Qp(dev))->address();
    Address wrong  = b.address();
    ibv_gid gid    = dev.gid;
    Qp failed(dev);

    gid.raw[9] ^= 0x55;
    wrong.qkey ^= 1;
    ASSERT_EQ(0, failed.modify(IBV_QPS_ERR, IBV_QP_STATE, 0, 0));
    for (auto &to : {nobody, wrong, failed.address()}) {
        expect_send(ah, to, mem.sge(0, 8), IBV_WC_REM_INV_RD_REQ_ERR,
                    ST_BAD_QPN);
        ASSERT_EQ(0, a.read(1, ah, to, mem.sge(0, 8), (uintptr_t)mem.data(),
                            mem.mr->rkey));
        expect(IBV_WC_REM_INV_RD_REQ_ERR, ST_BAD_QPN);
    }
    ASSERT_EQ(0, control("timeout-ms", "200"));
    expect_send(dev.ah(gid), nobody, mem.sge(0, 8), IBV_WC_RESP_TIMEOUT_ERR,
                ST_UNREACHABLE);
    ASSERT_EQ(0, control("timeout-ms", "5000"));
}

/* A buffer that is too short, and one that may not be written */
TEST_F(Status, of_the_receiver)
{
    Memory fixed(dev, 100, 0);

    ASSERT_EQ(0, b.recv(1, {mem.sge(MSG_MAX, 10)}));
    expect_send(ah, b.address(), mem.sge(0, 11), IBV_WC_REM_INV_REQ_ERR,
                ST_REMOTE_LENGTH);
    EXPECT_EQ((unsigned)ST_TOO_LONG, poll_one(b.rcq).vendor_err);
    EXPECT_EQ(0xa5, mem.data()[MSG_MAX + 10]);
    ASSERT_EQ(0, b.recv(1, {fixed.sge(0, 100)}));
    expect_send(ah, b.address(), mem.sge(0, 11), IBV_WC_BAD_RESP_ERR, 12);
    EXPECT_EQ((unsigned)ST_BAD_LKEY, poll_one(b.rcq).vendor_err);
}

/* Receiver not ready: the tries are 20 ms apart. */
TEST(status_rnr, retries_are_counted)
{
    Device dev;
    Memory mem(dev, 64);

    ASSERT_EQ(0, control("rnr-us", "20000"));
    for (int retries : {0, 6}) {
        QpParams params;
        params.rnr_retry = retries;
        Qp a(dev, params), silent(dev);
        int64_t start = now_ms();
        ASSERT_EQ(0, a.send(1, dev.ah(dev.gid), silent.address(),
                            {mem.sge(0, 8)}));
        ibv_wc wc = poll_one(a.scq);
        EXPECT_GE(now_ms() - start, retries * 19);
        EXPECT_EQ(IBV_WC_RNR_RETRY_EXC_ERR, wc.status);
        EXPECT_EQ((uint32_t)ST_RNR, wc.vendor_err);
        /* The failed one is not delivered later. */
        ASSERT_EQ(0, silent.recv(1, {mem.sge(0, 64)}));
        EXPECT_TRUE(poll_none(silent.rcq, 50));
    }
    ASSERT_EQ(0, control("rnr-us", "100"));
}

/* The responder answers a read only to hosts it has a handle for. */
TEST(DISABLED_Role, responder_without_handle)
{
    Parent parent;
    Device dev;
    Qp qp(dev);
    Memory mem(dev, 4096);

    mem.fill(5);
    parent.put(qp.address(mem));
    Address peer = parent.get<Address>(); /* refused so far */
    ibv_ah *ah   = dev.ah(peer.gid);
    ASSERT_NE(nullptr, ah);
    parent.put<char>('h');
    parent.get<char>();                   /* answered now */
    EXPECT_EQ(0, dev.destroy(ah));
    parent.put<char>('d');
    parent.get<char>();                   /* refused again */
}

TEST_F(Status, read_needs_a_handle_at_the_responder)
{
    Child child(1, "responder_without_handle");
    Address peer = child.get<Address>();
    ibv_ah *far  = dev.ah(peer.gid);
    Memory into(dev, 4096);

    auto read = [&](bool known) {
        into.poison();
        EXPECT_EQ(0, a.read(2, far, peer, into.sge(100, 1000), peer.buf + 100,
                            peer.rkey));
        expect(known ? IBV_WC_SUCCESS : IBV_WC_REM_OP_ERR,
               known ? ST_OK : ST_UNKNOWN_PEER);
        EXPECT_EQ(known, fill_diff(into.data() + 100, 1000, 5, 100) < 0);
    };

    read(false);
    child.put(a.address());
    child.get<char>();
    read(true);
    child.put<char>('r');
    child.get<char>();
    read(false);
    child.put<char>('r');
    child.expect_ok();
}

/* Each status that there could be, of the second and third of five sends */
TEST_F(Status, injected)
{
    for (unsigned raw = 1; raw < 256; ++raw) {
        ASSERT_EQ(0, control("inject", "send:" + std::to_string(raw) + ":2:1"));
        for (unsigned status : {0u, raw, raw, 0u, 0u}) {
            if (status == 0) {
                ASSERT_EQ(0, b.recv(1, {mem.sge(MSG_MAX, 64)}));
            }
            ASSERT_EQ(0, a.send(1, ah, b.address(), {mem.sge(0, 8)}));
            ibv_wc wc = poll_one(a.scq);
            EXPECT_EQ(status, wc.vendor_err);
            EXPECT_EQ(status == 0, wc.status == IBV_WC_SUCCESS);
            if (status == 0) {
                poll_one(b.rcq);
            }
        }
    }
}
