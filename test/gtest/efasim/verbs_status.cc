/* SPDX-License-Identifier: BSD-3-Clause */
/* Each completion status, provoked for real; then by injection. */
#include "verbs_test.h"

#include <util/efa_status.h>

#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

class Status : public testing::Test {
protected:
    Status() : a(dev), b(dev), mem(dev, 2 * MSG_MAX)
    {
        ah = dev.ah(dev.gid);
    }

    ~Status() override
    {
        EXPECT_EQ(0, ibv_destroy_ah(ah));
    }

    /* Older libefa call a status they do not know a general error. */
    void expect(ibv_wc wc, ibv_wc_status status, unsigned raw)
    {
        if (wc.status != IBV_WC_GENERAL_ERR) {
            EXPECT_EQ(status, wc.status) << ibv_wc_status_str(wc.status);
        }
        EXPECT_EQ(raw, wc.vendor_err);
    }

    /* After any failure the queue pair goes on working. */
    void still_works()
    {
        ASSERT_EQ(0, b.recv(100, {mem.sge(MSG_MAX, 100)}));
        ASSERT_EQ(0, a.send(101, ah, b.address(), {mem.sge(0, 50)}));
        ibv_wc wc = poll_one(a.scq);
        EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
        EXPECT_EQ(101u, wc.wr_id);
        EXPECT_EQ(100u, poll_one(b.rcq).wr_id);
    }

    Device dev;
    Qp     a, b;
    Memory mem;
    ibv_ah *ah;
};

/* The verbs call itself fails: nothing is sent, and the queue goes on. */
TEST_F(Status, failed_post)
{
    auto control = reinterpret_cast<int (*)(const char*, const char*)>(
            dlsym(RTLD_DEFAULT, "efasim_control"));

    ASSERT_NE(nullptr, control);
    ASSERT_EQ(0, b.recv(1, {mem.sge(MSG_MAX, 100)}));
    ASSERT_EQ(0, control("inject", "post:12:2"));
    EXPECT_EQ(ENOMEM, a.send(2, ah, b.address(), {mem.sge(0, 8)}));
    EXPECT_EQ(ENOMEM, a.read(3, ah, b.address(), mem.sge(0, 8), 0, 0));
    EXPECT_TRUE(poll_none(a.scq, 20));
    ASSERT_EQ(0, a.send(4, ah, b.address(), {mem.sge(0, 8)}));
    EXPECT_EQ(4u, poll_one(a.scq).wr_id);
    EXPECT_EQ(1u, poll_one(b.rcq).wr_id);
    still_works();
}

TEST_F(Status, bad_lkey_of_a_send)
{
    ibv_sge sge = mem.sge(0, 8);

    sge.lkey ^= 0x5a5a5a;
    ASSERT_EQ(0, b.recv(1, {mem.sge(MSG_MAX, 100)}));
    ASSERT_EQ(0, a.send(2, ah, b.address(), {sge}));
    expect(poll_one(a.scq), IBV_WC_LOC_PROT_ERR, ST_BAD_LKEY);
    EXPECT_TRUE(poll_none(b.rcq, 20));
    ASSERT_EQ(0, a.send(3, ah, b.address(), {mem.sge(0, 8)}));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
    EXPECT_EQ(1u, poll_one(b.rcq).wr_id) << "its receive was still posted";
}

TEST_F(Status, range_beyond_the_registration)
{
    for (size_t at : {mem.size() - 7, mem.size(), mem.size() + 100}) {
        ASSERT_EQ(0, a.send(1, ah, b.address(), {mem.sge(at, 8)}));
        expect(poll_one(a.scq), IBV_WC_LOC_PROT_ERR, ST_BAD_LKEY);
    }
    ASSERT_EQ(0, a.send(1, ah, b.address(), {mem.sge(-1, 8)}));
    expect(poll_one(a.scq), IBV_WC_LOC_PROT_ERR, ST_BAD_LKEY);
    still_works();
}

TEST_F(Status, key_of_another_domain)
{
    ibv_pd *pd = ibv_alloc_pd(dev.ctx);
    ibv_mr *mr = ibv_reg_mr(pd, mem.data(), 100, IBV_ACCESS_LOCAL_WRITE);
    ibv_sge sge = mem.sge(0, 8);

    sge.lkey = mr->lkey;
    ASSERT_EQ(0, a.send(1, ah, b.address(), {sge}));
    expect(poll_one(a.scq), IBV_WC_LOC_PROT_ERR, ST_BAD_LKEY);
    EXPECT_EQ(0, ibv_dereg_mr(mr));
    EXPECT_EQ(0, ibv_dealloc_pd(pd));
    still_works();
}

TEST_F(Status, key_of_a_registration_that_is_gone)
{
    ibv_sge sge;
    {
        Memory gone(dev, 100);
        sge = gone.sge(0, 8);
    }
    ASSERT_EQ(0, a.send(1, ah, b.address(), {sge}));
    expect(poll_one(a.scq), IBV_WC_LOC_PROT_ERR, ST_BAD_LKEY);
    still_works();
}

/* A read writes into its buffer: the registration must allow that. */
TEST_F(Status, read_into_memory_that_may_not_be_written)
{
    Memory fixed(dev, 100, 0), from(dev, 100);

    ASSERT_EQ(0, a.read(1, ah, b.address(), fixed.sge(0, 50),
                        (uintptr_t)from.data(), from.mr->rkey));
    expect(poll_one(a.scq), IBV_WC_LOC_PROT_ERR, ST_BAD_LKEY);
    EXPECT_EQ(0xa5, fixed.data()[0]);
    still_works();
}

TEST_F(Status, message_too_long)
{
    ASSERT_EQ(0, b.recv(1, {mem.sge(0, MSG_MAX)}));
    ASSERT_EQ(0, a.send(2, ah, b.address(), {mem.sge(0, MSG_MAX + 1)}));
    expect(poll_one(a.scq), IBV_WC_LOC_LEN_ERR, ST_TOO_LONG);
    ASSERT_EQ(0, a.send(3, ah, b.address(), {mem.sge(0, MSG_MAX)}));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
    EXPECT_EQ((uint32_t)MSG_MAX, poll_one(b.rcq).byte_len);
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
        expect(poll_one(a.scq), IBV_WC_REM_ACCESS_ERR, ST_BAD_ADDRESS);
        EXPECT_EQ(0xa5, mem.data()[0]) << "a refused read wrote something";
    }
    ASSERT_EQ(0, a.read(2, ah, b.address(), mem.sge(0, 1000), at,
                        from.mr->rkey));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
    still_works();
}

TEST_F(Status, destination_does_not_exist)
{
    Address nobody = b.address();

    {
        Qp gone(dev);
        nobody = gone.address();
    }
    ASSERT_EQ(0, a.send(1, ah, nobody, {mem.sge(0, 8)}));
    expect(poll_one(a.scq), IBV_WC_REM_INV_RD_REQ_ERR, ST_BAD_QPN);
    still_works();
}

/* A host that is not there at all never answered. */
TEST_F(Status, destination_host_does_not_exist)
{
    Address nobody = b.address();
    ibv_gid gid    = dev.gid;

    gid.raw[9] ^= 0x55;
    ibv_ah *far = dev.ah(gid);
    ASSERT_NE(nullptr, far);
    ASSERT_EQ(0, a.send(1, far, nobody, {mem.sge(0, 8)}));
    ibv_wc wc = poll_one(a.scq, 60000);
    EXPECT_TRUE(wc.vendor_err == ST_UNREACHABLE ||
                wc.vendor_err == ST_UNRESPONSIVE) << wc.vendor_err;
    EXPECT_EQ(0, ibv_destroy_ah(far));
    still_works();
}

/* Packets with another key do not reach the queue. */
TEST_F(Status, wrong_qkey)
{
    Address wrong = b.address();

    wrong.qkey ^= 1;
    ASSERT_EQ(0, b.recv(1, {mem.sge(MSG_MAX, 100)}));
    ASSERT_EQ(0, a.send(2, ah, wrong, {mem.sge(0, 8)}));
    ibv_wc wc = poll_one(a.scq, 60000);
    EXPECT_NE(IBV_WC_SUCCESS, wc.status);
    EXPECT_TRUE(poll_none(b.rcq, 50));
    ASSERT_EQ(0, a.send(3, ah, b.address(), {mem.sge(0, 8)}));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
    EXPECT_EQ(1u, poll_one(b.rcq).wr_id);
}

TEST_F(Status, receive_buffer_too_short)
{
    ASSERT_EQ(0, b.recv(1, {mem.sge(MSG_MAX, 10)}));
    ASSERT_EQ(0, a.send(2, ah, b.address(), {mem.sge(0, 11)}));
    expect(poll_one(a.scq), IBV_WC_REM_INV_REQ_ERR, ST_REMOTE_LENGTH);
    EXPECT_EQ(0xa5, mem.data()[MSG_MAX + 10]);
}

/* Receiver not ready: the tries are 20 ms apart. */
TEST(status_rnr, retries_are_counted)
{
    auto control = reinterpret_cast<int (*)(const char*, const char*)>(
            dlsym(RTLD_DEFAULT, "efasim_control"));
    Device dev;
    ibv_ah *ah = dev.ah(dev.gid);
    Memory mem(dev, 64);

    ASSERT_EQ(0, control("rnr-us", "20000"));
    for (int retries : {0, 6}) {
        QpParams params;
        params.rnr_retry = retries;
        Qp a(dev, params), silent(dev);
        int64_t start = now_ms();
        ASSERT_EQ(0, a.send(1, ah, silent.address(), {mem.sge(0, 8)}));
        ibv_wc wc = poll_one(a.scq);
        EXPECT_GE(now_ms() - start, retries * 19);
        EXPECT_EQ(IBV_WC_RNR_RETRY_EXC_ERR, wc.status);
        EXPECT_EQ((uint32_t)ST_RNR, wc.vendor_err);
        /* The failed one is not delivered later. */
        ASSERT_EQ(0, silent.recv(1, {mem.sge(0, 64)}));
        EXPECT_TRUE(poll_none(silent.rcq, 50));
    }
    ASSERT_EQ(0, control("rnr-us", "100"));
    EXPECT_EQ(0, ibv_destroy_ah(ah));
}

/* The default retries without end: a receive posted late is found. */
TEST(status_rnr, endless)
{
    Device dev;
    ibv_ah *ah = dev.ah(dev.gid);
    Memory mem(dev, 64);

    for (int retries : {-1, (int)RNR_ENDLESS}) {
        QpParams params;
        params.rnr_retry = retries;
        Qp a(dev, params), late(dev);
        ASSERT_EQ(0, a.send(1, ah, late.address(), {mem.sge(0, 8)}));
        EXPECT_TRUE(poll_none(a.scq, 500));
        ASSERT_EQ(0, late.recv(2, {mem.sge(0, 64)}));
        EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
        EXPECT_EQ(2u, poll_one(late.rcq).wr_id);
    }
    EXPECT_EQ(0, ibv_destroy_ah(ah));
}

/* A queue pair that waits for one receiver serves the others. */
TEST(status_rnr, does_not_block_others)
{
    Device dev;
    ibv_ah *ah = dev.ah(dev.gid);
    Memory mem(dev, 64);
    Qp a(dev), silent(dev), ready(dev);

    for (unsigned i = 0; i < 10; ++i) {
        ASSERT_EQ(0, a.send(i, ah, silent.address(), {mem.sge(0, 8)}));
    }
    for (unsigned i = 0; i < 50; ++i) {
        ASSERT_EQ(0, ready.recv(i, {mem.sge(0, 64)}));
        ASSERT_EQ(0, a.send(100 + i, ah, ready.address(), {mem.sge(0, 8)}));
        EXPECT_EQ(100 + i, poll_one(a.scq, 2000).wr_id);
        EXPECT_EQ(i, poll_one(ready.rcq).wr_id);
    }
    EXPECT_EQ(0, ibv_destroy_ah(ah));
}

/* The responder answers a read only to hosts it has a handle for. */
TEST(DISABLED_Role, responder_without_handle)
{
    Parent parent;
    Device dev;
    Qp qp(dev);
    Memory mem(dev, 4096);
    Address address = qp.address();

    mem.fill(5);
    address.buf  = (uintptr_t)mem.data();
    address.len  = mem.size();
    address.rkey = mem.mr->rkey;
    for (int i = 0; i < 16; ++i) {
        ASSERT_EQ(0, qp.recv(i, {mem.sge(0, 64)}));
    }
    mem.fill(5);
    parent.put(address);
    Address peer = parent.get<Address>();
    parent.get<char>();               /* refused so far */
    ibv_ah *ah = dev.ah(peer.gid);
    ASSERT_NE(nullptr, ah);
    parent.put<char>('h');
    parent.get<char>();               /* answered now */
    EXPECT_EQ(0, ibv_destroy_ah(ah));
    parent.put<char>('d');
    parent.get<char>();               /* refused again */
}

TEST_F(Status, read_needs_a_handle_at_the_responder)
{
    Child child(1, "responder_without_handle");
    Address peer = child.get<Address>();
    ibv_ah *far  = dev.ah(peer.gid);
    Memory into(dev, 4096);

    ASSERT_NE(nullptr, far);
    child.put(a.address());
    /* A send needs none. */
    ASSERT_EQ(0, a.send(1, far, peer, {mem.sge(0, 8)}));
    EXPECT_EQ(IBV_WC_SUCCESS, poll_one(a.scq).status);
    ASSERT_EQ(0, a.read(2, far, peer, into.sge(100, 1000), peer.buf + 100,
                        peer.rkey));
    expect(poll_one(a.scq), IBV_WC_REM_OP_ERR, ST_UNKNOWN_PEER);
    child.put<char>('r');
    child.get<char>();
    ASSERT_EQ(0, a.read(3, far, peer, into.sge(100, 1000), peer.buf + 100,
                        peer.rkey));
    expect(poll_one(a.scq), IBV_WC_SUCCESS, ST_OK);
    EXPECT_LT(fill_diff(into.data() + 100, 1000, 5, 100), 0);
    child.put<char>('r');
    child.get<char>();
    ASSERT_EQ(0, a.read(4, far, peer, into.sge(0, 1000), peer.buf,
                        peer.rkey));
    expect(poll_one(a.scq), IBV_WC_REM_OP_ERR, ST_UNKNOWN_PEER);
    child.put<char>('r');
    child.expect_ok();
    EXPECT_EQ(0, ibv_destroy_ah(far));
}

/* The child's device completes two sends, after one, with what we say. */
TEST(DISABLED_Role, injected)
{
    Parent parent;
    unsigned raw = parent.get<unsigned>();
    Device dev;
    Qp a(dev), b(dev);
    Memory mem(dev, 4096);
    ibv_ah *ah = dev.ah(dev.gid);
    unsigned want[] = {0, raw, raw, 0, 0};

    for (unsigned i = 0; i < 5; ++i) {
        ASSERT_EQ(0, b.recv(i, {mem.sge(0, 64)}));
    }
    for (auto status : want) {
        ASSERT_EQ(0, a.send(1, ah, b.address(), {mem.sge(0, 8)}));
        ibv_wc wc = poll_one(a.scq);
        EXPECT_EQ(status, wc.vendor_err);
        EXPECT_EQ(status == 0, wc.status == IBV_WC_SUCCESS);
    }
    EXPECT_EQ(0, ibv_destroy_ah(ah));
}

class Inject : public testing::TestWithParam<unsigned> {
};

TEST_P(Inject, send)
{
    Child child(0, "injected",
                {"--inject", "send:" + std::to_string(GetParam()) + ":2:1"});

    child.put(GetParam());
    child.expect_ok();
}

#define STATUS_OF(_name, _number, ...) _number,
INSTANTIATE_TEST_SUITE_P(statuses, Inject,
                         testing::Values(EFA_STATUSES(STATUS_OF) 200, 255));
