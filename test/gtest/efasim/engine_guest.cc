/* SPDX-License-Identifier: BSD-3-Clause */
/* A device that hostile programs may use: what one call does is bounded. */
#include "engine_test.h"

namespace {

/* A sender whose device is a guest's; nobody answers at host 5. */
struct GuestPair : Pair {
    explicit GuestPair(const char *knobs = "timeout-ms=1000",
                       unsigned depth = 64) :
        Pair(knobs, 0, depth)
    {
        rig_guest(rig, 0);
        nobody = rig.ah(0, 5);
    }

    void send_to_nobody(uint16_t id)
    {
        io_tx_wqe wqe = send_of(id, 10);

        wqe.meta.ah = nobody;
        post(wqe);
    }

    uint16_t nobody = 0;
};

TEST(engine_guest, no_more_is_under_way_than_the_queue_is_deep)
{
    GuestPair pair("timeout-ms=1000", 16);

    for (unsigned i = 0; i < 16; ++i) {
        pair.send_to_nobody(i);
    }
    rig_settle(pair.rig);
    rig_advance(pair.rig, 500 * MS);
    for (unsigned i = 0; i < 16; ++i) { /* over those that are under way */
        pair.send_to_nobody(16 + i);
    }
    rig_settle(pair.rig);
    rig_advance(pair.rig, 600 * MS);
    rig_settle(pair.rig);
    EXPECT_EQ(16u, pair.ended(15)); /* the others have only begun */
    rig_advance(pair.rig, 500 * MS);
    rig_settle(pair.rig);
    EXPECT_EQ(0u, pair.ended(15));
    rig_advance(pair.rig, 600 * MS);
    rig_settle(pair.rig);
    EXPECT_EQ(16u, pair.ended(15));
    EXPECT_FALSE(rig_is_busy(pair.rig, 0));
}

TEST(engine_guest, waits_end_some_at_a_time)
{
    GuestPair pair("timeout-ms=1000", 1024);

    for (unsigned i = 0; i < 1000; ++i) {
        pair.send_to_nobody(i);
        if (i % 32 == 31) {
            rig_settle(pair.rig);
            rig_advance(pair.rig, 1000);
        }
    }
    rig_settle(pair.rig);
    rig_advance(pair.rig, 1100 * MS);
    for (unsigned left = 1000, some; left > 0; left -= some) {
        some = (left < 256) ? left : 256;
        rig_progress(pair.rig, 0);
        ASSERT_EQ(some, pair.ended(15));
    }
    EXPECT_FALSE(rig_is_busy(pair.rig, 0));
}

TEST(engine_guest, waits_end_in_order_though_others_left)
{
    GuestPair pair("timeout-ms=1000", 1024);
    int tx = pair.tx, other = pair.rig.qp(0, 0, 1024);

    for (unsigned round = 0; round < 20; ++round) { /* stale entries */
        pair.tx = other;
        for (unsigned i = 0; i < 500; ++i) {
            pair.send_to_nobody(i);
            if (i % 32 == 31) {
                rig_settle(pair.rig);
            }
        }
        rig_settle(pair.rig);
        for (unsigned state = RIG_RESET; state <= RIG_RTS; ++state) {
            rig_qp_modify(pair.rig, other, state);
        }
        pair.tx = tx;
        pair.send_to_nobody(round);
        rig_settle(pair.rig);
        rig_advance(pair.rig, MS);
    }
    for (unsigned round = 0; round < 20; ++round) {
        rig_advance(pair.rig, (round == 0) ? 980 * MS : MS);
        rig_settle(pair.rig);
        ASSERT_EQ(1u, pair.ended(15)) << round;
        EXPECT_EQ(round, pair.cqe.req_id);
    }
}

} // namespace
