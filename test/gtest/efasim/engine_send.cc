/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine_test.h"

TEST(engine_send, contents_of_all_sizes)
{
    Pair pair;

    for (uint32_t length : {0u, 1u, 31u, 32u, 33u, 4095u, 8927u, 8928u}) {
        rig_cqe cqe;

        memset(pair.dst.data(), 0xee, 9000);
        pair.recv(length % 1000, 9000);
        pair.send(7, length);
        ASSERT_EQ(0, pair.outcome()) << length;
        ASSERT_EQ(1, rig_poll_recv(pair.rig, pair.rx, &cqe));
        EXPECT_EQ(length % 1000, cqe.req_id);
        EXPECT_EQ(length, cqe.length);
        EXPECT_EQ(0, memcmp(pair.dst.data(), pair.src.data(), length));
        EXPECT_EQ(0xee, pair.dst.data()[length]); /* and not one byte more */
    }
}

TEST(engine_send, completion_fields)
{
    Pair pair;
    rig_send send = pair.message(42, 10);
    rig_cqe cqe;

    send.flags = RIG_IMM;
    send.imm   = 0xdeadbeef;
    pair.recv(43, 100);
    rig_post_send(pair.rig, pair.tx, &send);
    rig_settle(pair.rig);
    ASSERT_EQ(1, rig_poll_send(pair.rig, pair.tx, &cqe));
    EXPECT_EQ(42, cqe.req_id);
    EXPECT_EQ(1, cqe.queue);
    EXPECT_EQ(rig_qpn(pair.rig, pair.tx), cqe.qpn);
    ASSERT_EQ(1, rig_poll_recv(pair.rig, pair.rx, &cqe));
    EXPECT_EQ(43, cqe.req_id);
    EXPECT_EQ(2, cqe.queue);
    EXPECT_EQ(1, cqe.has_imm);
    EXPECT_EQ(0xdeadbeef, cqe.imm);
    EXPECT_EQ(rig_qpn(pair.rig, pair.tx), cqe.src_qpn);
    EXPECT_EQ(0xffff, cqe.ah); /* no handle for the sender */
}

/* The sender's handle when there is one; its GID when there is none and the
 * CQ was made to tell. */
TEST(engine_send, who_sent_it)
{
    Pair pair(7, "", 64, RIG_SGID);
    uint8_t gid[16];
    rig_cqe cqe;
    uint16_t ah;

    pair.recv(1, 100);
    pair.send(1, 1);
    ASSERT_EQ(0, pair.outcome());
    ASSERT_EQ(1, rig_poll_recv(pair.rig, pair.rx, &cqe));
    EXPECT_EQ(0xffff, cqe.ah);
    rig_gid(pair.rig, 0, gid);
    EXPECT_EQ(0, memcmp(gid, cqe.src_gid, 16));

    ah = pair.rig.ah(1, 0);
    pair.recv(2, 100);
    pair.send(2, 1);
    ASSERT_EQ(0, pair.outcome());
    ASSERT_EQ(1, rig_poll_recv(pair.rig, pair.rx, &cqe));
    EXPECT_EQ(ah, cqe.ah);
}

TEST(engine_send, inline_and_two_elements)
{
    Pair pair;
    rig_send send = pair.message(1, 32);
    uint8_t bytes[40];

    memset(bytes, 0x5a, sizeof(bytes));
    send.flags = RIG_INLINE;
    send.buf   = bytes;
    pair.recv(1, 100);
    rig_post_send(pair.rig, pair.tx, &send);
    ASSERT_EQ(0, pair.outcome());
    EXPECT_EQ(0, memcmp(bytes, pair.dst.data(), 32));

    send.length = 33;
    rig_post_send(pair.rig, pair.tx, &send);
    EXPECT_EQ(6, pair.outcome());

    send         = pair.message(2, 100);
    send.buf2    = pair.src.data() + 5000;
    send.length2 = 77;
    send.key2    = pair.src.key;
    pair.recv(2, 200);
    rig_post_send(pair.rig, pair.tx, &send);
    ASSERT_EQ(0, pair.outcome());
    EXPECT_EQ(0, memcmp(pair.dst.data(), pair.src.data(), 100));
    EXPECT_EQ(0, memcmp(pair.dst.data() + 100, pair.src.data() + 5000, 77));
}

TEST(engine_send, scatter_over_three_elements)
{
    Pair pair;
    void *buf[3] = { pair.dst.data() + 1000, pair.dst.data(),
                     pair.dst.data() + 2000 };
    uint32_t length[3] = { 10, 20, 30 };

    rig_post_recv(pair.rig, pair.rx, 1, 3, buf, length, pair.dst.key);
    pair.send(1, 45);
    ASSERT_EQ(0, pair.outcome());
    EXPECT_EQ(0, memcmp(buf[0], pair.src.data(), 10));
    EXPECT_EQ(0, memcmp(buf[1], pair.src.data() + 10, 20));
    EXPECT_EQ(0, memcmp(buf[2], pair.src.data() + 30, 15));
}

TEST(engine_send, local_errors)
{
    Pair pair;
    rig_send send;
    uint16_t other;

    pair.send(1, 8929);
    EXPECT_EQ(6, pair.outcome());

    send     = pair.message(2, 10);
    send.key = pair.dst.key ^ (1 << 18); /* an older generation */
    rig_post_send(pair.rig, pair.tx, &send);
    EXPECT_EQ(5, pair.outcome());

    send     = pair.message(3, 10);
    send.buf = pair.src.data() + (1 << 20) - 9; /* one byte beyond */
    rig_post_send(pair.rig, pair.tx, &send);
    EXPECT_EQ(5, pair.outcome());

    ASSERT_EQ(0, rig_ah(pair.rig, 0, 1, 1, &other)); /* of another PD */
    send    = pair.message(4, 10);
    send.ah = other;
    rig_post_send(pair.rig, pair.tx, &send);
    EXPECT_EQ(4, pair.outcome());
    send.ah = 9999;
    rig_post_send(pair.rig, pair.tx, &send);
    EXPECT_EQ(4, pair.outcome());

    send    = pair.message(5, 10);
    send.op = 2; /* RDMA write: not this device */
    rig_post_send(pair.rig, pair.tx, &send);
    EXPECT_EQ(3, pair.outcome());

    ASSERT_EQ(0, rig_mr_destroy(pair.rig, 0, pair.src.key));
    pair.send(6, 10);
    EXPECT_EQ(5, pair.outcome());
    EXPECT_EQ(RIG_RTS, rig_qp_state(pair.rig, pair.tx)); /* none disturbs it */
}

TEST(engine_send, remote_errors)
{
    Pair pair;
    rig_send send = pair.message(1, 100);
    uint32_t key;

    send.qpn = 200; /* nobody's */
    rig_post_send(pair.rig, pair.tx, &send);
    EXPECT_EQ(9, pair.outcome());
    send.qpn = 0xffff;
    rig_post_send(pair.rig, pair.tx, &send);
    EXPECT_EQ(9, pair.outcome());

    pair.recv(1, 99); /* one byte short */
    pair.send(2, 100);
    EXPECT_EQ(11, pair.outcome());
    EXPECT_EQ(6, pair.received());

    void *buf       = pair.dst.data();
    uint32_t length = 100;
    ASSERT_EQ(0, rig_mr(pair.rig, 1, 0, buf, 100, RIG_READ, &key));
    rig_post_recv(pair.rig, pair.rx, 2, 1, &buf, &length, key);
    pair.send(3, 100); /* the buffer may not be written */
    EXPECT_EQ(12, pair.outcome());
    EXPECT_EQ(5, pair.received());

    ASSERT_EQ(0, rig_qp_modify(pair.rig, pair.rx, RIG_ERR, 0));
    pair.send(4, 100);
    EXPECT_EQ(9, pair.outcome());
    send = pair.message(5, 100);
    rig_qp_destroy(pair.rig, pair.rx);
    rig_post_send(pair.rig, pair.tx, &send);
    EXPECT_EQ(9, pair.outcome());
}

TEST(engine_send, wrong_qkey)
{
    Pair answered;
    rig_send send = answered.message(1, 10);

    send.qkey = RIG_QKEY + 1;
    answered.recv(1, 100);
    rig_post_send(answered.rig, answered.tx, &send);
    EXPECT_EQ(9, answered.outcome());
    EXPECT_EQ(-1, answered.received());
    EXPECT_EQ(1u, rig_counter(answered.rig, 1, RIG_RX_DROPS));

    Pair silent(7, "qkey-status=0 timeout-ms=100");
    send      = silent.message(1, 10);
    send.qkey = RIG_QKEY + 1;
    silent.recv(1, 100);
    rig_post_send(silent.rig, silent.tx, &send);
    EXPECT_EQ(-1, silent.outcome());
    rig_advance(silent.rig, 101 * MS);
    EXPECT_EQ(15, silent.outcome()); /* it never answered */
    EXPECT_EQ(-1, silent.received());
}

/* Mistakes of a program that bypasses libefa: refused, with a line. */
TEST(engine_send, malformed_requests_stop_the_qp)
{
    const struct {
        uint8_t ctrl1, ctrl2, reserved;
    } damage[] = {
        { 0x80, 0, 0 }, { 0x40, 0, 0 }, { 0, 0x04, 0 }, { 0, 0x08, 0 },
        { 0, 0x10, 0 }, { 0, 0x02, 0 }, { 0, 0x20, 0 }, { 0, 0, 1 },
        { 0, 0x01, 0 }, /* the phase */
    };

    for (auto &entry : damage) {
        Pair pair;

        pair.recv(1, 100);
        rig_damage(pair.rig, entry.ctrl1, entry.ctrl2, entry.reserved);
        pair.send(1, 10);
        pair.send(2, 10);
        EXPECT_EQ(2, pair.outcome());
        EXPECT_EQ(1, pair.sent()); /* the second is flushed */
        EXPECT_EQ(RIG_ERR, rig_qp_state(pair.rig, pair.tx));
        EXPECT_NE(nullptr, strstr(rig_log(pair.rig), "malformed"));
        EXPECT_EQ(-1, pair.received());
    }
}

TEST(engine_send, wild_doorbells_stop_the_qp)
{
    for (uint32_t value : {0x10000u, 65u, 0xffffu, 0xffffffffu}) {
        Pair pair;

        rig_doorbell(pair.rig, pair.tx, value);
        EXPECT_EQ(-1, pair.outcome());
        EXPECT_EQ(RIG_ERR, rig_qp_state(pair.rig, pair.tx)) << value;
        EXPECT_NE(nullptr, strstr(rig_log(pair.rig), "doorbell"));
    }
}

TEST(engine_send, counters)
{
    Pair pair;

    for (unsigned i = 0; i < 10; ++i) {
        pair.recv(i, 100);
        pair.send(i, 100);
    }
    rig_settle(pair.rig);
    EXPECT_EQ(10u, rig_counter(pair.rig, 0, RIG_TX_PKTS));
    EXPECT_EQ(1000u, rig_counter(pair.rig, 0, RIG_TX_BYTES));
    EXPECT_EQ(10u, rig_counter(pair.rig, 1, RIG_RX_PKTS));
    EXPECT_EQ(1000u, rig_counter(pair.rig, 1, RIG_RX_BYTES));
    EXPECT_EQ(0u, rig_counter(pair.rig, 1, RIG_TX_PKTS));
    EXPECT_EQ(1000u, rig_pair(pair.rig, 0, 1));
    EXPECT_EQ(0u, rig_pair(pair.rig, 1, 0));
}

TEST(engine_send, to_itself)
{
    Rig rig({0});
    int qp      = rig.qp(0);
    uint16_t ah = rig.ah(0, 0);
    Memory mem(rig, 0, 1000);
    void *buf       = mem.data() + 500;
    uint32_t length = 100;
    rig_send send   = {};
    rig_cqe cqe;

    mem.fill(3);
    send.ah     = ah;
    send.qpn    = rig_qpn(rig, qp);
    send.buf    = mem.data();
    send.length = 100;
    send.key    = mem.key;
    rig_post_recv(rig, qp, 5, 1, &buf, &length, mem.key);
    rig_post_send(rig, qp, &send);
    rig_settle(rig);
    ASSERT_EQ(1, rig_poll_send(rig, qp, &cqe));
    EXPECT_EQ(0, cqe.status);
    ASSERT_EQ(1, rig_poll_recv(rig, qp, &cqe));
    EXPECT_EQ(ah, cqe.ah);
    EXPECT_EQ(0, memcmp(mem.data(), mem.data() + 500, 100));
}

/* Queues of 4 wrap many times; every message arrives once, in order, whole;
 * the phases are right, or nothing would be seen. */
TEST(engine_send, many_wraps)
{
    Pair pair(7, "", 4);

    for (unsigned i = 0; i < 40000; ++i) {
        rig_cqe cqe;

        memcpy(pair.src.data(), &i, sizeof(i));
        pair.recv(i & 0xffff, 64);
        pair.send(i & 0xffff, 8);
        ASSERT_GT(rig_progress(pair.rig, 0), 0u);
        ASSERT_GT(rig_progress(pair.rig, 1), 0u);
        rig_progress(pair.rig, 0);
        ASSERT_EQ(1, rig_poll_send(pair.rig, pair.tx, &cqe));
        ASSERT_EQ(i & 0xffff, cqe.req_id);
        ASSERT_EQ(0, cqe.status);
        ASSERT_EQ(1, rig_poll_recv(pair.rig, pair.rx, &cqe));
        ASSERT_EQ(i & 0xffff, cqe.req_id);
        ASSERT_EQ(0, memcmp(pair.dst.data(), &i, sizeof(i)));
    }
}

/* More than the ring between two processes holds: the rest waits, and goes. */
TEST(engine_send, full_ring)
{
    Pair pair(7, "", 64);
    unsigned sent = 0, received = 0;

    for (unsigned i = 0; i < 64; ++i) {
        pair.recv(i, 8928);
        pair.send(i, 8928);
    }
    rig_progress(pair.rig, 0);
    rig_progress(pair.rig, 0);
    EXPECT_LT(rig_counter(pair.rig, 0, RIG_TX_PKTS), 30u);
    rig_settle(pair.rig);
    for (rig_cqe cqe; rig_poll_send(pair.rig, pair.tx, &cqe); ++sent) {
        EXPECT_EQ(sent, cqe.req_id);
        EXPECT_EQ(0, cqe.status);
    }
    for (rig_cqe cqe; rig_poll_recv(pair.rig, pair.rx, &cqe); ++received) {
        EXPECT_EQ(received, cqe.req_id);
    }
    EXPECT_EQ(64u, sent);
    EXPECT_EQ(64u, received);
}
