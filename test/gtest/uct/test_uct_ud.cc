/* SPDX-License-Identifier: BSD-3-Clause */
/* UD's additions: acknowledgements and sending again, by progress and by a
 * timer beside it. */
#include "uct_entity.h"

#include <algorithm>
#include <memory>
#include <poll.h>
#include <unistd.h>

using namespace uct_test;

class UctUd : public UctTest {
protected:
    void SetUp() override
    {
        if (!is_ud()) {
            GTEST_SKIP() << "of ud alone: UCT_TRANSPORT=ud";
        }
    }

    void TearDown() override
    {
        network("");
        UctTest::TearDown();
    }

    /* "down": nothing arrives; "storm": much is lost, doubled, late; "": all is
     * well. For packets that this process sends. */
    static void network(const std::string &state)
    {
        bool storm = state == "storm";

        device("loss", (state == "down") ? "1" : storm ? "0.3" : "0");
        device("duplicate", storm ? "0.3" : "0");
        device("reorder", storm ? "0.5" : "0");
        device("delay-us", "0");
    }

    /* A message of that number from a to b, as soon as the window allows: on a
     * busy machine acknowledgements are late, and it shrinks. */
    bool post(uint64_t number)
    {
        return wait_a([&] {
            return uct_ep_am_short(ep, AM_ID, number, nullptr, 0) == UCS_OK;
        });
    }

    /* Zcopy of all of `memory` from a to b. */
    ucs_status_t send_zcopy(Memory &memory, Completion &comp)
    {
        uct_iov_t iov = memory.iov(0, memory.size());

        return uct_ep_am_zcopy(ep, AM_ID, nullptr, 0, &iov, 1, 0, &comp.uct);
    }

    /* Until the descriptor of `entity` is armed. */
    void arm(Entity *entity)
    {
        ucs_status_t status;

        while ((status = uct_iface_event_arm(
                        entity->iface(), UCT_EVENT_RECV |
                                                 UCT_EVENT_SEND_COMP)) ==
               UCS_ERR_BUSY) {
            entity->progress();
        }
        ASSERT_EQ(UCS_OK, status);
    }

    static int descriptor(Entity *entity)
    {
        int fd = -1;

        EXPECT_EQ(UCS_OK, uct_iface_event_fd_get(entity->iface(), &fd));
        return fd;
    }

    static bool readable(int fd, int ms)
    {
        struct pollfd pfd = {fd, POLLIN, 0};

        return poll(&pfd, 1, ms) == 1;
    }
};

/* b never makes progress: a is acknowledged all the same, and has less than a
 * window that was not consumed. */
TEST_F(UctUd, timer__acknowledges_while_the_receiver_computes)
{
    open();
    introduce();
    for (uint64_t i = 1; i <= 20; ++i) { /* as the congestion window allows */
        ASSERT_TRUE(post(i));
    }
    ASSERT_TRUE(wait_a([&] { return uct_ep_flush(ep, 0, nullptr) == UCS_OK; }));
    EXPECT_EQ(1u, b->count) << "delivered outside of progress";
    ASSERT_TRUE(wait([&] { return b->count == 21; }));
    expect_in_order(21);
}

/* Messages that came while the receiver computed are handed out as they came,
 * those of other endpoints, too. */
TEST_F(UctUd, timer__hands_out_flows_as_they_came)
{
    open();
    introduce();
    uct_ep_h second = a->connect(*b);
    uint64_t number = 1;
    for (int round = 0; round < 6; ++round) {
        for (uct_ep_h each : {ep, second}) {
            ASSERT_TRUE(wait_a([&] {
                return uct_ep_am_short(each, AM_ID, number, nullptr, 0) ==
                       UCS_OK;
            }));
            ++number;
            ASSERT_TRUE(wait_a(
                    [&] { return uct_ep_flush(each, 0, nullptr) == UCS_OK; }));
        }
        ASSERT_TRUE(wait([&] { return b->count == number; }));
    }
    expect_in_order(number);
    uct_ep_destroy(second);
}

/* a computes once it has sent. */
TEST_F(UctUd, timer__sends_again_while_the_sender_computes)
{
    open();
    introduce();
    network("down");
    for (uint64_t i = 1; i <= 2; ++i) {
        ASSERT_TRUE(post(i));
    }
    progress_for(0.01, {a, b});
    ASSERT_EQ(1u, b->count);
    network("");
    for (double end = ran() + 60; (b->count < 3) && (ran() < end);) {
        b->progress();
    }
    expect_in_order(3);
}

/* Messages, completions and failures come from calls of the user's. */
TEST_F(UctUd, timer__calls_nobody)
{
    bool inside = false;
    unsigned calls = 0, outside = 0;
    auto called = [&] {
        ++calls;
        outside += !inside;
    };

    open({{"TRIES", "7"}});
    introduce();
    b->on_message = [&](const Bytes &) { called(); };
    a->on_failure = [&](uct_ep_h) { called(); };
    Memory local(*a, 1000, 1);
    Completion comp;
    for (int round = 0; round < 5; ++round) {
        comp = Completion();
        ASSERT_EQ(UCS_INPROGRESS, send_zcopy(local, comp));
        usleep(30000); /* three runs of both timers */
        EXPECT_EQ(0u, comp.done) << "completed outside of progress";
        EXPECT_EQ(unsigned(round), calls);
        inside = true;
        EXPECT_TRUE(wait([&] { return comp.done > 0; }));
        EXPECT_TRUE(wait([&] { return calls == unsigned(round) + 1; }));
        inside = false;
    }
    network("down");
    comp = Completion();
    ASSERT_EQ(UCS_INPROGRESS, send_zcopy(local, comp));
    usleep(1500000); /* lost long since */
    EXPECT_TRUE(a->failures.empty());
    inside = true;
    EXPECT_TRUE(wait([&] { return !a->failures.empty() && comp.done; }));
    EXPECT_EQ(0u, outside);
    EXPECT_EQ(6u, calls);
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, comp.status);
    b->on_message = nullptr;
    a->on_failure = nullptr;
}

TEST_F(UctUd, zcopy__memory_is_lent_until_acknowledged)
{
    open();
    Memory local(*a, 8000, 3);
    Bytes bytes(local.data(), local.data() + 8000);
    Completion comp;

    introduce();
    network("down");
    ASSERT_EQ(UCS_INPROGRESS, send_zcopy(local, comp));
    progress_for(0.1, {a, b}); /* it has left, and left again */
    EXPECT_EQ(0u, comp.done);
    EXPECT_EQ(1u, b->count);
    network("");
    EXPECT_EQ(UCS_OK, end_of(comp));
    EXPECT_EQ(2u, b->count);
    EXPECT_EQ(bytes, b->received.back());
}

/* The memory is the user's again when the endpoint is gone, and what was in it
 * arrives. (With AddressSanitizer: nobody reads it then.) */
TEST_F(UctUd, destroy__with_unacknowledged_zcopy)
{
    open();
    introduce();
    for (unsigned count : {1u, 2u}) {
        std::vector<Completion> comps(count);
        std::vector<std::unique_ptr<Memory>> memory;
        size_t before = b->count;

        network("down");
        for (unsigned i = 0; i < count; ++i) {
            memory.emplace_back(new Memory(*a, 8000, i));
            ASSERT_EQ(UCS_INPROGRESS, send_zcopy(*memory[i], comps[i]));
        }
        usleep(20000);
        end(ep);
        for (Completion &comp : comps) {
            ASSERT_EQ(1u, comp.done);
            EXPECT_EQ(UCS_ERR_CANCELED, comp.status);
        }
        for (auto &each : memory) {
            std::fill(each->data(), each->data() + 8000, 0xee);
        }
        memory.clear();
        network("");
        ASSERT_TRUE(wait([&] { return b->count == before + count; }));
        for (unsigned i = 0; i < count; ++i) {
            EXPECT_EQ(make_message(i, 8000), b->received[before + i]);
        }
        ep = a->connect(*b);
        introduce();
    }
}

/* Nothing of it may be sent again once it is closed, nor until then: closing
 * waits for no peer. */
TEST_F(UctUd, close__with_unacknowledged_messages)
{
    open({{"TIMER", "1s"}});
    introduce();
    network("down");
    Bytes bytes = make_message(1, 8000);
    uct_ep_am_bcopy(ep, AM_ID, pack_bytes, &bytes, 0);
    ASSERT_TRUE(post(0));
    uct_ep_destroy(ep);
    ep          = nullptr;
    auto before = counter("tx_pkts");
    end(a);
    EXPECT_LT(counter("tx_pkts") - before, 10u) << "closing waits for peers";
    network("");
    a = new Entity();
    progress_for(0.1, {a, b});
    EXPECT_EQ(1u, b->count);
    ep        = a->connect(*b);
    b->record = false;
    introduce();
    EXPECT_EQ(2u, b->count);
}

/* A receiver that sleeps until something comes. */
TEST_F(UctUd, wakeup__of_a_receiver)
{
    open();
    introduce();
    int fd = descriptor(b);

    for (uint64_t i = 1; i <= 20; ++i) {
        bool timer_first = i % 2;

        arm(b);
        ASSERT_TRUE(post(i));
        if (timer_first) {
            usleep(25000);
        }
        ASSERT_TRUE(readable(fd, 60000)) << "round " << i;
        for (double end = ran() + 60; (b->count <= i) && (ran() < end);) {
            b->progress();
        }
        ASSERT_EQ(i + 1, b->count);
        ASSERT_TRUE(flush(ep));
    }
    expect_in_order(21);
}

/* The timer took a message before its user fell asleep, or an acknowledgement,
 * which is a completion. */
TEST_F(UctUd, wakeup__not_to_sleep_on_what_the_timer_took)
{
    open();
    introduce();
    Memory local(*a, 1000, 1);
    for (uint64_t i = 1; i <= 5; ++i) {
        ASSERT_TRUE(post(i));
        ASSERT_TRUE(wait_a([&] {
            return uct_ep_flush(ep, 0, nullptr) == UCS_OK;
        }));
        ASSERT_EQ(i, b->count);
        ASSERT_EQ(UCS_ERR_BUSY,
                  uct_iface_event_arm(b->iface(), UCT_EVENT_RECV));
        EXPECT_GT(b->progress(), 0u);
        ASSERT_EQ(i + 1, b->count);
    }
    for (int i = 0; i < 5; ++i) {
        Completion comp;
        ASSERT_EQ(UCS_INPROGRESS, send_zcopy(local, comp));
        progress_for(0.04, {b});
        ASSERT_EQ(0u, comp.done);
        ASSERT_EQ(UCS_ERR_BUSY,
                  uct_iface_event_arm(a->iface(), UCT_EVENT_SEND_COMP));
        EXPECT_GT(a->progress(), 0u);
        ASSERT_TRUE(wait([&] { return comp.done > 0; }));
    }
}

/* A sender that sleeps until its message is acknowledged, and one whose peer
 * will never do that. */
TEST_F(UctUd, wakeup__of_a_sender)
{
    open({{"TRIES", "9"}});
    introduce();
    Memory local(*a, 1000, 1);
    int fd = descriptor(a);
    auto sleep_until = [&](const std::function<bool()> &done) {
        unsigned naps = 0;
        while (!done() && (++naps < 100)) {
            arm(a);
            if (!done()) {
                ASSERT_TRUE(readable(fd, 60000)) << "nothing woke it";
                a->progress();
            }
        }
        EXPECT_TRUE(done());
    };

    for (int round = 0; round < 5; ++round) {
        Completion comp;
        ASSERT_EQ(UCS_INPROGRESS, send_zcopy(local, comp));
        sleep_until([&] { return comp.done > 0; });
    }
    network("down");
    ASSERT_TRUE(post(1));
    sleep_until([&] { return !a->failures.empty(); });
}

/* A device that says no to one datagram, by the call of libefa: nobody is asked
 * where the module writes the queues itself. */
TEST_F(UctUd, device__refuses_for_good)
{
    OtherValue direct("UCX_EFA_DIRECT", "n");
    open();
    introduce();
    Memory local(*a, 1000, 1);
    std::vector<Completion> comps(2);

    network("down");
    for (Completion &comp : comps) {
        ASSERT_EQ(UCS_INPROGRESS, send_zcopy(local, comp));
    }
    device("inject", "post:5:1"); /* of one that is sent again */
    ASSERT_TRUE(wait([&] {
        return std::all_of(comps.begin(), comps.end(),
                           [](const Completion &comp) { return comp.done; });
    }));
    for (const Completion &comp : comps) {
        EXPECT_EQ(1u, comp.done);
        EXPECT_EQ(UCS_ERR_IO_ERROR, comp.status);
    }
    ASSERT_TRUE(wait([&] { return !a->failures.empty(); }));
    EXPECT_EQ(UCS_ERR_IO_ERROR, a->failures[0].status);
    device("inject", "");
}

/* Bytes right, in order, once: whatever the network does, both ways, with all
 * kinds of messages. UD_SEEDS: so many runs of each. */
TEST_F(UctUd, storm__in_order_and_once)
{
    const char *text = getenv("UD_SEEDS");
    const int seeds  = (text != nullptr) ? atoi(text) : 1;
    unsigned resent  = 0;

    for (const char *loss : {"0", "0.01", "0.1", "0.3"}) {
        for (int seed = 1; seed <= seeds; ++seed) {
            device("seed", std::to_string(seed).c_str());
            open();
            device("loss", loss);
            device("duplicate", "0.2");
            device("reorder", "0.4");
            uct_ep_h back = b->connect(*a);
            for (uint32_t i = 0; i < 500; ++i) {
                Bytes message = make_message(i, (i * 37) % 8900);
                ASSERT_EQ(ssize_t(message.size()), send_bcopy(ep, message));
                ASSERT_EQ(ssize_t(message.size()), send_bcopy(back, message));
            }
            ASSERT_TRUE(wait([&] {
                return (b->count >= 500) && (a->count >= 500);
            }));
            ASSERT_TRUE(flush(ep) && flush(back));
            for (Entity *each : {a, b}) {
                ASSERT_EQ(500u, each->count) << loss << ", seed " << seed;
                for (uint32_t i = 0; i < 500; ++i) {
                    ASSERT_EQ(make_message(i, (i * 37) % 8900),
                              each->received[i])
                            << loss << ", seed " << seed << ", message " << i;
                }
            }
            ++resent;
            uct_ep_destroy(back);
            network("");
            UctTest::TearDown();
            a = b = nullptr;
            ep    = nullptr;
        }
    }
    printf("%u storms\n", resent);
}
