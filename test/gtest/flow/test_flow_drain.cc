/* SPDX-License-Identifier: BSD-3-Clause */
/* drain.c, and what path.c makes of it: when senders are silent, which packets
 * measure the way, and that nobody waits for ever. */
#include "resend_test.h"

#include <random>

extern "C" {
#include "flow/drain_priv.h"
}

namespace flow_test {

class Drain : public ::testing::Test {
protected:
    enum { US = 1000 >> FLOW_STAMP_SHIFT, SLOT = 1 << 17 };

    /* A flow whose receiver's clock is so far ahead. */
    static flow_path_t flow(uint32_t rtt, uint32_t ahead, unsigned window = 8)
    {
        flow_path_t path;

        flow_path_init(&path, 7, window, 0);
        path.start = 0;
        flow_path_sample(&path, rtt, 0);
        (void)flow_path_told(&path, ahead + 1, 0, 0, 0, 1);
        return path;
    }

    /* A packet that is sent at `phase` of the slot n takes rtt. */
    static int sample(flow_path_t *path, uint32_t n, uint32_t phase,
                      uint32_t rtt)
    {
        return flow_drain_sample(path, rtt,
                                 n * SLOT + phase + rtt - path->ahead);
    }

    static uint16_t tell(flow_path_t *path, uint32_t clock, unsigned heard,
                         unsigned psn, unsigned local, uint32_t now)
    {
        return (uint16_t)flow_path_told(path, clock, (uint16_t)heard,
                                        (flow_psn_t)psn, (uint16_t)local, now);
    }

    static bool is_known(const flow_path_t &path)
    {
        return path.trust >= FLOW_DRAIN_TRUST;
    }
};

/* Behind the silence the window fills in two round trips, a packet at a time. */
TEST_F(Drain, wait__window_fills)
{
    const uint32_t rtt = 100 * US;
    flow_path_t path   = flow(rtt, 0, 8);

    path.pressed = path.sent = SLOT - US;
    for (unsigned out = 0; out < 8; ++out) {
        uint32_t wait = flow_path_pause(&path, out, SLOT);
        EXPECT_LE(rtt + out * rtt / 4, wait) << out;
        EXPECT_GE(rtt + (out + 1) * rtt / 4, wait) << out;
        EXPECT_EQ(0u, flow_path_room(&path, out, SLOT + wait - 1));
        EXPECT_EQ(1u, flow_path_room(&path, out, SLOT + wait));
    }
    EXPECT_EQ(8u, flow_path_room(&path, 0, SLOT + 3 * rtt));
    EXPECT_FALSE(flow_drain_is_on(&path, SLOT - 1));
    EXPECT_TRUE(flow_drain_is_on(&path, SLOT + 3 * rtt - 1));
}

/* A flow of a long way drains less often, and always with the others. */
TEST_F(Drain, wait__long_ways_drain_with_others)
{
    flow_path_t fast = flow(100 * US, 0), slow = flow(3000 * US, 0);
    unsigned drains  = 0;

    for (uint32_t clock = SLOT; clock < 64 * SLOT; clock += SLOT) {
        fast.pressed = slow.pressed = fast.sent = slow.sent = clock - US;
        EXPECT_EQ(0u, flow_path_room(&fast, 0, clock)) << clock;
        drains += flow_path_room(&slow, 0, clock) == 0;
        EXPECT_NE(0u, flow_path_room(&slow, 0, clock + SLOT / 8 * 7));
    }
    EXPECT_LT(2u, drains);
    EXPECT_GT(16u, drains);
}

/* A flow whose window was not full for two round trips when the drain began, or
 * that sent nothing, has no part in the queue, and sends what it likes. */
TEST_F(Drain, wait__idle_flows_do_not)
{
    const uint32_t rtt = 100 * US;
    flow_path_t path   = flow(rtt, 0, 8);

    path.pressed = path.sent = SLOT - 2 * rtt + US;
    EXPECT_EQ(0u, flow_path_room(&path, 0, SLOT + rtt / 2));
    path.pressed = SLOT - 2 * rtt;
    EXPECT_EQ(8u, flow_path_room(&path, 0, SLOT + rtt / 2));
    path.pressed = SLOT - US;
    path.sent    = SLOT - 2 * rtt;
    EXPECT_EQ(8u, flow_path_room(&path, 0, SLOT + rtt / 2));
    for (unsigned out : {6, 8}) {
        path.pressed = SLOT / 2;
        path.round   = path.sent = SLOT - US;
        flow_path_acked(&path, 1, out, SLOT - US);
        EXPECT_EQ(out == 6, flow_path_room(&path, 0, SLOT + US) != 0) << out;
    }
}

/* Where our own host has other traffic its link drains when its own clock says
 * so, as its receiving flows measure then. */
TEST_F(Drain, wait__own_host)
{
    const uint32_t rtt = 100 * US;

    for (unsigned others : {0, 1}) {
        flow_path_t path = flow(rtt, SLOT / 2);
        tell(&path, SLOT / 2, 1, 1, others, 1);
        path.pressed = path.sent = SLOT - US;
        EXPECT_EQ(others, path.duplex);
        EXPECT_EQ(others == 0, flow_path_room(&path, 0, SLOT) != 0);
        EXPECT_EQ(others ? rtt - US : 0,
                  flow_path_pause(&path, 0, SLOT + US));
        EXPECT_NE(0u, flow_path_room(&path, 0, SLOT + rtt));
        path.pressed = SLOT - 2 * rtt;
        EXPECT_NE(0u, flow_path_room(&path, 0, SLOT)) << "it was idle";
    }
}

/* Packets behind a drain meet no queue: the round trip that time-outs and the
 * steering go by stays. */
TEST_F(Drain, sample__rtt_stays)
{
    const uint32_t rtt = 100 * US;
    flow_path_t path   = flow(rtt, 0), first = {};

    flow_path_sample(&first, rtt, 0);
    EXPECT_EQ(rtt / 2, first.var);
    flow_path_sample(&path, 30 * US, SLOT + rtt + 31 * US);
    EXPECT_EQ((uint32_t)rtt, path.rtt);
    EXPECT_EQ(30u * US, path.base);
    EXPECT_EQ(30u * US, path.latest);
    EXPECT_EQ(0u, path.round_count);
    uint32_t var = path.var;
    flow_path_sample(&path, 90 * US, SLOT + SLOT / 2);
    EXPECT_EQ(var - var / 4 + 10 * US / 4, path.var);
    EXPECT_GT((uint32_t)rtt, path.rtt);
    EXPECT_EQ(1u, path.round_count);
}

/* A flow that may not send now waits for an acknowledgement of what is out, or
 * for a time that comes, whatever it knows, and whatever a receiver tells. */
TEST_F(Drain, pause__nobody_waits_for_ever)
{
    std::mt19937 random(1);
    uint32_t now = 0;

    for (int i = 0; i < 200000; ++i) {
        flow_path_t path = flow(1 + random() % (20000 * US), random());
        unsigned out     = random() % 8;
        path.window      = FLOW_PATH_ONE / 8 + random() % (8 * FLOW_PATH_ONE);
        path.trust       = (uint8_t)(random() % 17);
        path.sent        = now - random() % (40000 * US);
        (void)flow_path_told(&path, random(), (uint16_t)random(),
                             (flow_psn_t)random(), (uint16_t)random(), now);
        for (int steps = 0; flow_path_room(&path, out, now) == 0; ++steps) {
            uint32_t pause = flow_path_pause(&path, out, now);
            ASSERT_TRUE((pause != 0) || (out != 0)) << i;
            ASSERT_GE(8 * path.rtt + (2000000u >> FLOW_STAMP_SHIFT) + path.rtt,
                      pause) << i;
            ASSERT_GT(8, steps) << i;
            if (pause == 0) {
                out = 0; /* acknowledged */
            }
            now += pause;
        }
        now += random() % SLOT;
    }
}

/* One that is alone at its receiver and its host is not shrunk by delay below 16
 * packets; a second one of either, however slow, makes an end of that. */
TEST_F(Drain, told__alone)
{
    const uint32_t rtt = 1000 * US;

    for (unsigned others : {0, 1, 2}) {
        flow_path_t path = flow(rtt, 0, 32);
        uint32_t now     = SLOT / 2;
        uint16_t heard   = 0, local = 0;
        for (flow_psn_t psn = 1; psn < 4000; ++psn) {
            heard += 1 + (psn % 128 == 0) * (others & 1);
            local += (psn % 128 == 0) * (others >> 1);
            now   += rtt / 16; /* never a drain */
            local += tell(&path, SLOT, heard, psn, local, now);
            tell(&path, SLOT, heard - 2, psn - 1, local - 1, now); /* late */
            flow_path_sample(&path, rtt, now);
            flow_path_acked(&path, 1, 16, now);
        }
        if (others == 0) {
            EXPECT_EQ(16u * FLOW_PATH_ONE, path.window);
        } else {
            EXPECT_GT(2u * FLOW_PATH_ONE, path.window);
        }
    }
}

/* A way that is known is no queue, and the window grows; one that is not, and
 * that another uses, is taken for one. */
TEST_F(Drain, target__known_way)
{
    const uint32_t rtt = 150 * US;

    for (bool known : {false, true}) {
        flow_path_t path = flow(rtt, 0, 8);
        uint32_t now     = SLOT / 2;
        uint16_t local   = 0;
        for (uint32_t slot = 1; known && (slot <= 4); ++slot) {
            ASSERT_TRUE(sample(&path, slot, rtt + US, rtt));
        }
        for (flow_psn_t psn = 1; psn < 2000; ++psn) {
            now += rtt / 8;
            local += tell(&path, now, 2 * psn, psn, local, now);
            flow_path_sample(&path, rtt, now);
            flow_path_acked(&path, 1, 64, now);
        }
        if (known) {
            EXPECT_LT(FLOW_WINDOW_MAX / 2 * FLOW_PATH_ONE, (int)path.window);
        } else {
            EXPECT_GT(1u * FLOW_PATH_ONE, path.window);
        }
    }
}

/* No queue explains a round trip of 5 ms and more: it is believed after sixteen
 * without an overflow, whoever else sends. */
TEST_F(Drain, target__long_way)
{
    for (uint32_t rtt : {4000u * US, 6000u * US}) {
        flow_path_t path = flow(rtt, 0, 8);
        uint32_t now     = SLOT;
        uint16_t local   = 0;
        for (flow_psn_t psn = 1; psn < 40; ++psn) {
            now += rtt;
            local += tell(&path, SLOT * 5, 2 * psn, psn, local, now);
            flow_path_sample(&path, rtt, now);
            flow_path_acked(&path, 1, 64, now);
        }
        EXPECT_EQ(rtt > 5000u * US, is_known(path));
        EXPECT_EQ(rtt > 5000u * US, path.window > 4u * FLOW_PATH_ONE);
    }
}

class flow_resend_drain : public Resend {
protected:
    /* Packets that one has sent arrive at the other a little later. */
    void hand(Node &from, Node &to)
    {
        a.now += 10000;
        b.now  = a.now;
        flow_timer_set_now(a.core, a.now);
        flow_timer_set_now(b.core, b.now);
        for (Packet &packet : take(from)) {
            to.receive(packet);
            from.complete(packet);
        }
        to.pull_releases();
        to.pull_events();
    }
};

/* The receiver tells its clock and what it delivered. */
TEST_F(flow_resend_drain, ack__tells)
{
    connect_both();
    ASSERT_TRUE(a.send(ab, "one"));
    b.now = a.now + 77 * MS;
    settle(a, b);
    b.now += 100 * MS;
    flow_timer_run(b.core, b.now);
    settle(b, a);
    const flow_path_t &way = path(a, ab);
    EXPECT_EQ(1, way.told);
    EXPECT_LT(flow_path_stamp(70 * MS), way.ahead);
    EXPECT_EQ((uint16_t)b.counters().delivered, way.heard);
}

/* Where headers of data acknowledge, a clock is told now and then to a flow that
 * is busy, and to no other. */
TEST_F(flow_resend_drain, ack__tells_though_headers_do)
{
    connect_both();
    for (int messages : {(int)FLOW_WINDOW_MAX, FLOW_WINDOW_MAX / 4}) {
        uint64_t alone = 0;
        for (int i = 0; i < 4 + messages; ++i) {
            if (i == 4) { /* both directions carry */
                a.now += 5 * MS;
                alone  = b.counters().acks_alone;
            }
            ASSERT_TRUE(a.send(ab, "x"));
            hand(a, b);
            ASSERT_TRUE(b.send(ba, "y"));
            hand(b, a);
        }
        if (messages == FLOW_WINDOW_MAX) {
            EXPECT_LT(alone, b.counters().acks_alone);
            EXPECT_EQ(1, path(a, ab).told);
            EXPECT_GT(alone + 5, b.counters().acks_alone);
        } else {
            EXPECT_EQ(alone, b.counters().acks_alone);
        }
    }
}

} /* namespace flow_test */
