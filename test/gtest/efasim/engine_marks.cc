/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a receiver learns of packets: by a mark, which stays while packets come,
 * and a look at the ring. Also the counts that each side makes.
 */
#include "engine_test.h"

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

namespace {

/* Longer than a receiver goes on looking at a silent peer */
const unsigned LONG_IDLE = 1000;

struct MarksTest : public ::testing::Test {
    void idle(unsigned calls)
    {
        while (calls-- > 0) {
            pair.rig.progress(1);
        }
    }

    /* One message, which the receiver must find at its next call. */
    void message(uint16_t id)
    {
        pair.recv(id, 100);
        pair.send(id, 16);
        pair.rig.progress(0);
        EXPECT_NE(0, pair.rig.is_busy(1));
        pair.rig.progress(1);
        ASSERT_EQ(0, pair.received());
        pair.rig.progress(0);
        ASSERT_EQ(0, pair.sent());
    }

    Pair pair;
};

} // namespace

using engine_marks = MarksTest;

/* Any state of the receiver towards the sender when the packet comes. */
TEST_F(engine_marks, found_after_any_silence)
{
    for (unsigned calls = 0; calls < LONG_IDLE; ++calls) {
        idle(calls);
        message(calls);
        ASSERT_FALSE(HasFatalFailure()) << "after " << calls << " idle calls";
    }
}

/* A process may sleep in the kernel when nothing is there for it, in the middle
 * of traffic, too: then the mark is still set. */
TEST_F(engine_marks, busy_only_with_packets)
{
    for (unsigned calls : {0u, 1u, 10u, LONG_IDLE}) {
        message(calls);
        idle(calls);
        EXPECT_EQ(0, pair.rig.is_busy(1)) << calls;
        EXPECT_EQ(0, pair.rig.is_busy(0)) << calls;
    }
}

/* Where all goes one way nobody asks for the ring of the other, which is a
 * system call; and the receiver asks for its ring once. */
TEST_F(engine_marks, one_way_opens_one_ring)
{
    for (unsigned i = 0; i < 200; ++i) {
        message(i);
    }
    EXPECT_EQ(0u, pair.rig.proc[0].ring_asked);
    EXPECT_EQ(1u, pair.rig.proc[1].ring_asked);
}

/* An answer that comes when the request is gone already leaves nothing behind
 * that would keep the sender looking or awake. */
TEST_F(engine_marks, answer_to_nobody)
{
    pair.recv(1, 100);
    pair.send(1, 16);
    pair.rig.progress(0);
    sim_qp_destroy(pair.tx->qp);
    pair.rig.settle();
    EXPECT_EQ(0, pair.received());
    EXPECT_EQ(0, pair.rig.is_busy(0));
    pair.tx = pair.rig.qp(0);
    message(2);
}

/* Two threads: packets come at the very moment at which the receiver takes the
 * mark back. None may lie there unseen. As many as three seconds allow. */
TEST_F(engine_marks, no_packet_is_overlooked)
{
    using clock = std::chrono::steady_clock;
    const auto end        = clock::now() + std::chrono::seconds(3);
    const unsigned enough = 20000;
    std::atomic<bool> done{false};
    std::mt19937 random(1);
    unsigned messages = 0;

    for (unsigned i = 0; i < 8; ++i) { /* time stands still: never not ready */
        pair.recv(i, 100);
    }
    std::thread receiver([&] {
        while (!done) {
            pair.rig.progress(1);
            if (pair.received() == 0) {
                pair.recv(1, 100);
            }
        }
    });

    while ((messages < enough) && (clock::now() < end)) {
        unsigned pause = random() % 2000; /* idle calls: some cool it */

        pair.send(messages, 16);
        while ((pair.sent() != 0) &&
               (clock::now() < end + std::chrono::seconds(20))) {
            pair.rig.progress(0);
        }
        if (pair.rig.is_busy(0)) {
            break;
        }
        ++messages;
        while (pause-- > 0) {
            pair.rig.progress(0);
        }
    }
    EXPECT_EQ(0, pair.rig.is_busy(0)) << "after " << messages;
    done = true;
    receiver.join();
}

/* Counts of a process stay when it is gone, and are not made twice. */
TEST_F(engine_marks, counters_outlive_their_process)
{
    for (unsigned i = 0; i < 10; ++i) {
        message(i);
    }
    for (unsigned i = 0; i < 3; ++i) {
        EXPECT_EQ(160u, pair.rig.counter(0, "tx_bytes"));
        EXPECT_EQ(10u, pair.rig.counter(1, "rx_pkts"));
        EXPECT_EQ(160u, dir_pair(pair.rig.dir, dir_nic_of(0, 0),
                                 dir_nic_of(1, 0)));
        EXPECT_EQ(0, pair.rig.purge_leaves(0));
        EXPECT_EQ(0, pair.rig.purge_leaves(1));
    }
}
