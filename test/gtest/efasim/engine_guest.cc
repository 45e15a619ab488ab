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
        rig.proc[0].dev->guest = 1;
        nobody = rig.ah(0, 5);
    }

    void send_to_nobody(uint16_t id)
    {
        io_tx_wqe wqe = send_of(id, 10);

        wqe.meta.ah = nobody;
        tx->post(wqe);
    }

    uint16_t nobody = 0;
};

TEST(engine_guest, no_more_is_under_way_than_the_queue_is_deep)
{
    GuestPair pair("timeout-ms=1000", 16);

    for (unsigned i = 0; i < 16; ++i) {
        pair.send_to_nobody(i);
    }
    pair.rig.settle();
    pair.rig.now += 500 * MS;
    for (unsigned i = 0; i < 16; ++i) { /* over those that are under way */
        pair.send_to_nobody(16 + i);
    }
    pair.rig.settle();
    pair.rig.now += 600 * MS;
    pair.rig.settle();
    EXPECT_EQ(16u, pair.ended(15)); /* the others have only begun */
    pair.rig.now += 500 * MS;
    pair.rig.settle();
    EXPECT_EQ(0u, pair.ended(15));
    pair.rig.now += 600 * MS;
    pair.rig.settle();
    EXPECT_EQ(16u, pair.ended(15));
    EXPECT_FALSE(pair.rig.is_busy(0));
}

TEST(engine_guest, waits_end_some_at_a_time)
{
    GuestPair pair("timeout-ms=1000", 1024);

    for (unsigned i = 0; i < 1000; ++i) {
        pair.send_to_nobody(i);
        if (i % 32 == 31) {
            pair.rig.settle();
            pair.rig.now += 1000;
        }
    }
    pair.rig.settle();
    pair.rig.now += 1100 * MS;
    for (unsigned left = 1000, some; left > 0; left -= some) {
        some = (left < 256) ? left : 256;
        pair.rig.progress(0);
        ASSERT_EQ(some, pair.ended(15));
    }
    EXPECT_FALSE(pair.rig.is_busy(0));
}

TEST(engine_guest, waits_end_in_order_though_others_left)
{
    GuestPair pair("timeout-ms=1000", 1024);
    Qp *tx = pair.tx, *other = pair.rig.qp(0, 0, 1024);

    for (unsigned round = 0; round < 20; ++round) { /* stale entries */
        pair.tx = other;
        for (unsigned i = 0; i < 500; ++i) {
            pair.send_to_nobody(i);
            if (i % 32 == 31) {
                pair.rig.settle();
            }
        }
        pair.rig.settle();
        for (unsigned state = SIM_QPS_RESET; state <= SIM_QPS_RTS; ++state) {
            other->modify(state);
        }
        pair.tx = tx;
        pair.send_to_nobody(round);
        pair.rig.settle();
        pair.rig.now += MS;
    }
    for (unsigned round = 0; round < 20; ++round) {
        pair.rig.now += (round == 0) ? 980 * MS : MS;
        pair.rig.settle();
        ASSERT_EQ(1u, pair.ended(15)) << round;
        EXPECT_EQ(round, pair.cqe.req_id);
    }
}

} // namespace
