/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that compute, are stopped, or die: who is alive on UD, and who is
 * not. */
#include "ud_peer.h"
#include "ud_test.h"

#include <csignal>
#include <memory>
#include <unistd.h>

using namespace uct_test;

class UctUdPeer : public UdTest {
protected:
    static constexpr double LONG = 60; /* seconds: of what must come to an end */

    void meet(const Config &config = {}, const char *tries = "64")
    {
        a = new Entity(config);
        peer.reset(new UdPeer(*a, tries));
        ep = a->connect(peer->device_addr, peer->iface_addr);
    }

    void TearDown() override
    {
        UdTest::TearDown();
        peer.reset();
    }

    /* Numbered messages until `seconds` are over or `count` were taken. */
    uint64_t send_for(double seconds, uint64_t count, uint64_t first = 0)
    {
        uint64_t sent = 0;

        for (double end = now() + seconds; (now() < end) && (sent < count);) {
            sent += uct_ep_am_short(ep, AM_ID, first + sent, nullptr, 0) ==
                    UCS_OK;
            a->progress();
        }
        return sent;
    }

    /* Those, too, that the device does not send as it knows the process dead */
    static unsigned long long packets()
    {
        return counter("tx_pkts") + counter("lost_pkts");
    }

    bool flushed()
    {
        return wait_a([&] {
            return uct_ep_flush(ep, 0, nullptr) == UCS_OK;
        });
    }

    std::unique_ptr<UdPeer> peer;
};

TEST_F(UctUdPeer, traffic__both_ways)
{
    meet();
    peer->send(1000);
    ASSERT_TRUE(wait([&] { return a->count == 1000; }));
    peer->take(1000);
    ASSERT_EQ(1000u, send_for(LONG, 1000));
    ASSERT_TRUE(flushed());
    PeerCount count = peer->count();
    EXPECT_EQ(1000u, count.all);
    EXPECT_EQ(1000u, count.in_order);
}

/* Dead after TRIES time-outs, whether something is under way or the keepalive
 * asks: so many packets go to it. */
TEST_F(UctUdPeer, killed__is_dead_after_its_tries)
{
    for (bool asks : {false, true}) {
        meet({{"TRIES", "8"}});
        peer->take(1);
        ASSERT_EQ(1u, send_for(LONG, 1));
        ASSERT_TRUE(flushed());
        peer->signal(SIGKILL);
        auto before = packets();
        Completion comp;
        if (!asks) {
            ASSERT_EQ(UCS_INPROGRESS,
                      uct_ep_am_zcopy(ep, AM_ID, "12345678", 8, nullptr, 0, 0,
                                      &comp.uct));
        }
        ASSERT_TRUE(wait_a([&] {
            if (asks) {
                uct_ep_check(ep, 0, nullptr);
            }
            return !a->failures.empty() && (asks || comp.done);
        }));
        EXPECT_EQ(1 + 8u, packets() - before);
        EXPECT_EQ(1u, a->failures.size());
        EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, a->failures[0].status);
        EXPECT_EQ(asks ? UCS_OK : UCS_ERR_ENDPOINT_TIMEOUT, comp.status);
        uct_ep_destroy(ep);
        ep = nullptr;
        delete a;
        a = nullptr;
        peer.reset();
    }
}

/* The peer computes for long, from before it heard of us, and we have tries for
 * about two seconds: it is alive, hears all of it, and we ask it all the time.
 * UD_COMPUTE: seconds. */
TEST_F(UctUdPeer, computes__is_alive)
{
    const char *text   = getenv("UD_COMPUTE");
    const unsigned sec = (text != nullptr) ? atoi(text) : 5;

    meet({{"TRIES", "10"}}, "10");
    peer->compute(1000 * sec);
    double end    = now() + sec - 0.5;
    uint64_t sent = send_for(0.5, 1000);
    EXPECT_GT(sent, 0u);
    ASSERT_TRUE(flushed());
    while (now() < end) {
        uct_ep_check(ep, 0, nullptr);
        progress_for(0.05, {a});
        ASSERT_TRUE(a->failures.empty()) << end - now() << " s before the end";
        sent += uct_ep_am_short(ep, AM_ID, sent, nullptr, 0) == UCS_OK;
    }
    peer->take(sent + 200);
    sent += send_for(LONG, 200, sent);
    ASSERT_TRUE(flushed());
    PeerCount count = peer->count();
    EXPECT_EQ(sent, count.all);
    EXPECT_EQ(sent, count.in_order);
    EXPECT_TRUE(a->failures.empty());
}

/* The same of a sender: it falls asleep with messages under way, and what is
 * lost of them is sent again. */
TEST_F(UctUdPeer, computes__with_messages_under_way)
{
    meet();
    network("storm"); /* what it says to the other process */
    peer->progress(300);
    uint64_t sent   = send_for(20, 30);
    PeerCount count = {0, 0};
    for (double end = now() + 20; (count.all < sent) && (now() < end);) {
        peer->progress(200);
        count = peer->count(); /* sleeps until then */
    }
    EXPECT_EQ(30u, sent);
    EXPECT_EQ(sent, count.all);
    EXPECT_EQ(sent, count.in_order);
    EXPECT_TRUE(wait_a([&] { return uct_ep_flush(ep, 0, nullptr) == UCS_OK; }));
}

/* A stopped process has no timer: only the number of tries keeps it alive. */
TEST_F(UctUdPeer, stopped__goes_on)
{
    meet();
    peer->take(1);
    ASSERT_EQ(1u, send_for(LONG, 1));
    ASSERT_TRUE(flushed());
    peer->signal(SIGSTOP);
    uint64_t sent = 1 + send_for(2, 1000, 1);
    EXPECT_LT(sent, 100u) << "a window of a process that takes nothing";
    EXPECT_NE(UCS_OK, uct_ep_flush(ep, 0, nullptr));
    EXPECT_TRUE(a->failures.empty());
    peer->signal(SIGCONT);
    peer->take(1000);
    sent += send_for(LONG, 1000 - sent, sent);
    ASSERT_TRUE(flushed());
    PeerCount count = peer->count();
    EXPECT_EQ(1000u, count.all);
    EXPECT_EQ(1000u, count.in_order);
}

/* A process that never sent to a dead one has nothing that would time out; its
 * successor with the same QPN is heard, and the old one's endpoint is no
 * obstacle. */
TEST_F(UctUdPeer, killed__and_its_successor_is_heard)
{
    a = new Entity();
    for (unsigned life = 1; life <= 4; ++life) {
        UdPeer each(*a);
        each.send(100);
        ASSERT_TRUE(wait([&] { return a->count == 100 * life; }));
        each.signal(SIGKILL);
        for (uint64_t i = 0; i < 100; ++i) {
            ASSERT_EQ(i, number_of(a->received[100 * (life - 1) + i]));
        }
        progress_for(0.1, {a});
        EXPECT_EQ(100 * life, a->count);
    }
    EXPECT_TRUE(a->failures.empty());
}

/* The link is down for long, and then it is not. UD_DOWN: seconds. */
TEST_F(UctUdPeer, link_down__and_up_again)
{
    const char *text   = getenv("UD_DOWN");
    const unsigned sec = (text != nullptr) ? atoi(text) : 2;

    meet({{"TRIES", "127"}}, "127");
    peer->take(1);
    ASSERT_EQ(1u, send_for(LONG, 1));
    ASSERT_TRUE(flushed());
    network("down");
    uint64_t sent = 1 + send_for(sec, 1000, 1);
    EXPECT_LT(sent, 100u);
    network("");
    peer->take(1000);
    sent += send_for(LONG, 1000 - sent, sent);
    ASSERT_TRUE(flushed());
    PeerCount count = peer->count();
    EXPECT_EQ(1000u, count.all);
    EXPECT_EQ(1000u, count.in_order);
    EXPECT_TRUE(a->failures.empty());
}
