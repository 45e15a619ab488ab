/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion channels: who sleeps is woken, once. */
#include "verbs_test.h"

#include <chrono>
#include <cstring>
#include <poll.h>
#include <thread>

class Event : public testing::Test, public Two {
protected:
    Event() : Two(with_events())
    {
    }

    static QpParams with_events()
    {
        QpParams params;

        params.events = true;
        return params;
    }

    static bool readable(ibv_comp_channel *channel, int ms)
    {
        pollfd pfd = {channel->fd, POLLIN, 0};

        return poll(&pfd, 1, ms) == 1;
    }
};

TEST_F(Event, after_the_arm_only)
{
    ASSERT_EQ(0, b.recv(1, {mem.sge(0, 64)}));
    ASSERT_EQ(0, a.send(2, ah, b.address(), {mem.sge(64, 8)}));
    poll_one(a.scq);
    poll_one(b.rcq);
    EXPECT_FALSE(readable(b.channel, 50)) << "never armed";

    ASSERT_EQ(0, ibv_req_notify_cq(b.rcq, 0));
    EXPECT_FALSE(readable(b.channel, 50)) << "nothing came";
    ASSERT_EQ(0, b.recv(3, {mem.sge(0, 64)}));
    ASSERT_EQ(0, a.send(4, ah, b.address(), {mem.sge(64, 8)}));
    ASSERT_TRUE(readable(b.channel, WAIT_MS));
    EXPECT_EQ(b.rcq, next_event(b.channel));
    EXPECT_EQ(3u, poll_one(b.rcq).wr_id);
    poll_one(a.scq);

    /* One arm, one event. */
    ASSERT_EQ(0, b.recv(5, {mem.sge(0, 64)}));
    ASSERT_EQ(0, a.send(6, ah, b.address(), {mem.sge(64, 8)}));
    poll_one(a.scq);
    poll_one(b.rcq);
    EXPECT_FALSE(readable(b.channel, 50));
}

/* One that is well, and one that failed */
TEST_F(Event, of_a_send)
{
    Address nobody = b.address();

    nobody.qpn = 0xffff;
    ASSERT_EQ(0, b.recv(1, {mem.sge(0, 64)}));
    for (auto &to : {b.address(), nobody}) {
        ASSERT_EQ(0, ibv_req_notify_cq(a.scq, 0));
        ASSERT_EQ(0, a.send(2, ah, to, {mem.sge(64, 8)}));
        ASSERT_TRUE(readable(a.channel, WAIT_MS));
        EXPECT_EQ(a.scq, next_event(a.channel));
        EXPECT_EQ(to.qpn == nobody.qpn ? ST_BAD_QPN : ST_OK,
                  poll_one(a.scq).vendor_err);
    }
}

/* Arm, look once more, sleep: no message may be missed. */
TEST_F(Event, none_is_missed)
{
    const unsigned n = 2000;
    std::thread sender([&] {
        for (unsigned i = 0; i < n; ++i) {
            while (a.send(i, ah, b.address(), {mem.sge(64, 8)}) != 0) {
                poll_one(a.scq);
            }
            if (i % 7 == 0) {
                std::this_thread::sleep_for(std::chrono::microseconds(300));
            }
        }
    });
    unsigned got = 0;
    ibv_wc wc;

    for (unsigned i = 0; i < 128; ++i) {
        ASSERT_EQ(0, b.recv(i, {mem.sge(0, 64)}));
    }
    while (got < n) {
        ASSERT_EQ(0, ibv_req_notify_cq(b.rcq, 0));
        unsigned before = got;
        while (ibv_poll_cq(b.rcq, 1, &wc) == 1) {
            EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
            ++got;
            b.recv(1, {mem.sge(0, 64)});
        }
        if (got == before) {
            if (!readable(b.channel, WAIT_MS)) {
                ADD_FAILURE() << "nothing came at message " << got;
                break;
            }
            next_event(b.channel);
        } else if (readable(b.channel, 0)) {
            next_event(b.channel);
        }
    }
    sender.join();
    EXPECT_EQ(n, got);
}

TEST(event, channels_opened_many_times)
{
    Device dev;

    for (int i = 0; i < 2000; ++i) {
        ibv_comp_channel *channel = ibv_create_comp_channel(dev.ctx);
        ASSERT_NE(nullptr, channel) << i;
        ibv_cq *cq = ibv_create_cq(dev.ctx, 16, nullptr, channel, 0);
        ASSERT_NE(nullptr, cq) << i;
        ASSERT_EQ(0, ibv_req_notify_cq(cq, 0));
        ASSERT_EQ(0, ibv_destroy_cq(cq));
        ASSERT_EQ(0, ibv_destroy_comp_channel(channel));
    }
}

/* Both ends of a ping-pong that sleeps for each message. */
static void sleeping_turns(Qp &qp, Memory &mem, ibv_ah *ah, const Address &to,
                           unsigned n, bool first)
{
    for (unsigned i = 0; i < n; ++i) {
        ibv_wc wc;
        ASSERT_EQ(0, first ? qp.send(i, ah, to, {mem.sge(0, 64)}) : 0);
        while (ibv_poll_cq(qp.rcq, 1, &wc) == 0) {
            ASSERT_EQ(0, ibv_req_notify_cq(qp.rcq, 0));
            if (ibv_poll_cq(qp.rcq, 1, &wc) == 1) {
                break;
            }
            ASSERT_EQ(qp.rcq, next_event(qp.channel));
        }
        ASSERT_EQ(IBV_WC_SUCCESS, wc.status);
        ASSERT_EQ(0, qp.recv(i, {mem.sge(64, 64)}));
        ASSERT_EQ(0, first ? 0 : qp.send(i, ah, to, {mem.sge(0, 64)}));
        while (ibv_poll_cq(qp.scq, 1, &wc) == 1) {
        }
    }
}

static QpParams sleeping_params()
{
    QpParams params;

    params.events  = true;
    params.send_wr = 512; /* completions are taken now and then */
    return params;
}

TEST(DISABLED_Role, event_sleeper)
{
    Parent parent;
    Device dev;
    Qp qp(dev, sleeping_params());
    Memory mem(dev, 128);

    ASSERT_EQ(0, qp.recv(0, {mem.sge(64, 64)}));
    parent.put(qp.address());
    Address peer = parent.get<Address>();
    auto n       = parent.get<unsigned>();
    ibv_ah *ah   = dev.ah(peer.gid);
    sleeping_turns(qp, mem, ah, peer, n, false);
    parent.put<char>('e');
    parent.get<char>();
}

/* A program that sleeps for each message is woken by the message, not when the
 * device happens to look (which here is seldom): from the first rounds after a
 * rest, too. It looks in vain where another program has the peer's CPU. */
TEST(event, sleepers_are_woken_at_once)
{
    const unsigned bursts = 8, n = 60;
    Device dev;
    Qp qp(dev, sleeping_params());
    Memory mem(dev, 128);
    Child child(1, "event_sleeper");
    Address peer = child.get<Address>();
    ibv_ah *ah   = dev.ah(peer.gid);

    ASSERT_EQ(0, qp.recv(0, {mem.sge(64, 64)}));
    child.put(qp.address());
    child.put(bursts * n);
    for (unsigned i = 0; i < bursts; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
        backstop.patience = 100;
        backstop.unwoken  = 0;
        sleeping_turns(qp, mem, ah, peer, n, true);
        backstop.patience = 1;
        ASSERT_LE(backstop.unwoken, n / 2) << "burst " << i;
    }
    child.get<char>();
    child.put<char>('e');
    child.expect_ok();
}
