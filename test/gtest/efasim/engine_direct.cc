/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine_test.h"

#include <cerrno>

/*
 * Mistakes that only a program can make that writes the queues itself: the
 * device says what is wrong, and stops the QP.
 */

static void refused(Pair &pair, int qp, const char *what)
{
    rig_settle(pair.rig);
    EXPECT_EQ(RIG_ERR, rig_qp_state(pair.rig, qp));
    EXPECT_NE(nullptr, strstr(rig_log(pair.rig), what))
            << rig_log(pair.rig);
}

TEST(engine_direct, receive_doorbells)
{
    for (uint32_t value : {0x10001u, 65u, 0xffffu}) {
        Pair pair;

        rig_recv_doorbell(pair.rig, pair.rx, value);
        pair.send(1, 10);
        refused(pair, pair.rx, value > 0xffff ? "wider than 16 bits" :
                                                "beyond the queue");
    }

    Pair pair; /* exactly full is full */
    rig_recv_doorbell(pair.rig, pair.rx, 64);
    rig_settle(pair.rig);
    EXPECT_EQ(RIG_RTS, rig_qp_state(pair.rig, pair.rx));
}

/* 32 requests of 64 bytes are what one doorbell may announce; the device sees
 * how many only if it looks at each, which an eager one does not. */
TEST(engine_direct, batch_of_a_doorbell)
{
    for (auto knobs : {"strict-batch=1", "strict-batch=0",
                       "strict-batch=1 eager=1"}) {
        Pair pair(7, knobs);

        for (unsigned round = 0; round < 4; ++round) {
            for (unsigned i = 0; i < 32; ++i) {
                pair.recv(i, 100);
                pair.send(i, 10);
            }
            rig_settle(pair.rig);
            for (unsigned i = 0; i < 32; ++i) {
                ASSERT_EQ(0, pair.sent()) << knobs;
                ASSERT_EQ(0, pair.received());
            }
        }
        for (unsigned i = 0; i < 33; ++i) {
            pair.send(i, 10);
        }
        if (strcmp(knobs, "strict-batch=1") == 0) {
            refused(pair, pair.tx, "more than max_tx_batch (0x21)");
        } else {
            rig_settle(pair.rig);
            EXPECT_EQ(RIG_RTS, rig_qp_state(pair.rig, pair.tx));
        }
    }
}

TEST(engine_direct, reserved_bits_of_a_key)
{
    Pair pair;
    rig_send send = pair.message(1, 10);

    send.key |= 1u << 24;
    rig_post_send(pair.rig, pair.tx, &send);
    refused(pair, pair.tx, "malformed work request");
    EXPECT_EQ(2, pair.sent());
}

TEST(engine_direct, privileged_qkey)
{
    Pair pair;

    EXPECT_EQ(-EPERM, rig_qkey(pair.rig, pair.tx, 0x80000000u, 0));
    EXPECT_EQ(0, rig_qkey(pair.rig, pair.tx, 0x80000000u, 1));
    EXPECT_EQ(-EPERM, rig_qkey(pair.rig, pair.tx, 0xffffffffu, 0));
    EXPECT_EQ(0, rig_qkey(pair.rig, pair.tx, 0x7fffffffu, 0));
    EXPECT_EQ(RIG_RTS, rig_qp_state(pair.rig, pair.tx));
}
