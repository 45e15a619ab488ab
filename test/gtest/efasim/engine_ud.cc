/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine_test.h"

#include <cerrno>
#include <map>

namespace {

struct UdPair : public Pair {
    explicit UdPair(const char *knobs = "", unsigned depth = 64) :
        Pair(7, knobs, depth, RIG_UD)
    {
        rig_qp_conf conf = {};

        rig_qp_destroy(rig, tx);
        conf.flags = RIG_UD;
        conf.sq    = depth;
        conf.rq    = depth;
        conf.cq    = 4 * depth;
        tx         = rig_qp(rig, &conf);
    }
};

} // namespace

/* 40 bytes stay free, and count in the completion's length. */
TEST(engine_ud, prefix_and_contents)
{
    UdPair pair;
    rig_cqe cqe;

    for (uint32_t length : {0u, 1u, 32u, 4096u, 8927u, 8928u}) {
        memset(pair.dst.data(), 0x5a, 9000);
        pair.recv(4, length + 40);
        pair.send(1, length);
        ASSERT_EQ(0, pair.outcome()) << length;
        ASSERT_EQ(1, rig_poll_recv(pair.rig, pair.rx, &cqe));
        EXPECT_EQ(0, cqe.status);
        EXPECT_EQ(length + 40, cqe.length);
        EXPECT_EQ(rig_qpn(pair.rig, pair.tx), cqe.src_qpn);
        for (unsigned i = 0; i < 40; ++i) {
            ASSERT_EQ(0x5a, pair.dst.data()[i]);
        }
        EXPECT_EQ(0, memcmp(pair.dst.data() + 40, pair.src.data(), length));
        EXPECT_EQ(0x5a, pair.dst.data()[40 + length]);
    }
}

/* The prefix may end anywhere in the list of buffers. */
TEST(engine_ud, prefix_across_buffers)
{
    for (uint32_t first : {1u, 39u, 40u, 41u, 100u}) {
        UdPair pair;
        void *buf[2]       = {pair.dst.data(), pair.dst.data() + 1000};
        uint32_t length[2] = {first, 400};

        rig_post_recv(pair.rig, pair.rx, 1, 2, buf, length, pair.dst.key);
        pair.send(1, 200);
        EXPECT_EQ(0, pair.outcome());
        EXPECT_EQ(0, pair.received());
        uint32_t head = first > 40 ? first - 40 : 0;
        uint32_t skip = first < 40 ? 40 - first : 0;
        EXPECT_EQ(0, memcmp(pair.dst.data() + 40, pair.src.data(), head));
        EXPECT_EQ(0, memcmp(pair.dst.data() + 1000 + skip,
                            pair.src.data() + head, 200 - head));
    }
}

TEST(engine_ud, too_long)
{
    UdPair pair, small("ud-mtu=4096");

    pair.send(1, 8929);
    EXPECT_EQ(6, pair.outcome());
    small.send(1, 4096);
    EXPECT_EQ(0, small.outcome());
    small.send(1, 4097);
    EXPECT_EQ(6, small.outcome());
    pair.recv(1, 139);
    pair.send(1, 100); /* no room for the prefix */
    EXPECT_EQ(0, pair.outcome());
    EXPECT_EQ(6, pair.received());
}

/* Nobody ever learns that a datagram found no receive. */
TEST(engine_ud, lost_on_empty_queue)
{
    UdPair pair;

    for (unsigned i = 0; i < 10; ++i) {
        pair.send(i, 100);
        EXPECT_EQ(0, pair.outcome());
    }
    EXPECT_EQ(-1, pair.received());
    EXPECT_EQ(10u, rig_counter(pair.rig, 1, RIG_RX_DROPS));
    EXPECT_EQ(0u, rig_counter(pair.rig, 1, RIG_RNR));
    pair.recv(1, 200);
    pair.send(1, 100);
    EXPECT_EQ(0, pair.outcome());
    EXPECT_EQ(0, pair.received());
}

TEST(engine_ud, to_nowhere)
{
    UdPair pair;
    rig_send send = pair.message(1, 10);

    send.qpn = 200;
    rig_post_send(pair.rig, pair.tx, &send);
    EXPECT_EQ(0, pair.outcome());
    send    = pair.message(1, 10);
    send.ah = pair.rig.ah(0, 7);
    rig_post_send(pair.rig, pair.tx, &send);
    EXPECT_EQ(0, pair.outcome());
    EXPECT_EQ(2u, rig_counter(pair.rig, 0, RIG_LOST));
    send      = pair.message(1, 10);
    send.qkey = 99;
    pair.recv(1, 100);
    rig_post_send(pair.rig, pair.tx, &send);
    EXPECT_EQ(0, pair.outcome());
    EXPECT_EQ(-1, pair.received());
    EXPECT_EQ(1u, rig_counter(pair.rig, 1, RIG_RX_DROPS));
}

/* The two kinds of QP do not hear each other. */
TEST(engine_ud, and_srd)
{
    UdPair pair;
    int srd = pair.rig.qp(0), srd_rx = pair.rig.qp(1);
    rig_send send = pair.message(1, 10);
    rig_cqe cqe;
    void *buf = pair.dst.data();
    uint32_t length = 100;

    pair.recv(1, 100);
    rig_post_send(pair.rig, srd, &send);
    rig_settle(pair.rig);
    ASSERT_EQ(1, rig_poll_send(pair.rig, srd, &cqe));
    EXPECT_EQ(9, cqe.status);
    EXPECT_EQ(-1, pair.received());

    rig_post_recv(pair.rig, srd_rx, 1, 1, &buf, &length, pair.dst.key);
    send.qpn = rig_qpn(pair.rig, srd_rx);
    rig_post_send(pair.rig, pair.tx, &send);
    EXPECT_EQ(0, pair.outcome());
    EXPECT_EQ(0, rig_poll_recv(pair.rig, srd_rx, &cqe));
}

TEST(engine_ud, has_no_rdma)
{
    UdPair pair("device=efa3");
    rig_read read = pair.read_of(1, 10);

    rig_post_read(pair.rig, pair.tx, &read);
    EXPECT_EQ(3, pair.outcome());
    read.write = 1;
    rig_post_read(pair.rig, pair.tx, &read);
    EXPECT_EQ(3, pair.outcome());
}

TEST(engine_ud, has_no_rnr_retry)
{
    UdPair pair;

    EXPECT_EQ(-EINVAL, rig_qp_modify(pair.rig, pair.tx, RIG_RTS, 1 << 11));
}

/* Datagrams that arrive, by number, for a seed. */
static std::map<unsigned, unsigned> arrivals(const char *knobs)
{
    UdPair pair(knobs, 1024);
    std::map<unsigned, unsigned> got;
    rig_cqe cqe;

    for (unsigned i = 0; i < 1000; ++i) {
        rig_send send = pair.message(i, 8);

        send.flags = RIG_IMM;
        send.imm   = i;
        pair.recv(1, 100);
        if (i % 4 == 0) {
            pair.recv(2, 100); /* room for duplicates */
        }
        rig_post_send(pair.rig, pair.tx, &send);
        EXPECT_EQ(0, pair.outcome());
        while (rig_poll_recv(pair.rig, pair.rx, &cqe)) {
            ++got[cqe.imm];
        }
    }
    rig_settle(pair.rig);
    while (rig_poll_recv(pair.rig, pair.rx, &cqe)) {
        ++got[cqe.imm];
    }
    return got;
}

TEST(engine_ud, loss_is_seeded)
{
    auto one = arrivals("loss=0.2 seed=5"), again = arrivals("loss=0.2 seed=5");
    auto other = arrivals("loss=0.2 seed=6");

    EXPECT_GT(one.size(), 730u);
    EXPECT_LT(one.size(), 870u);
    EXPECT_EQ(one, again);
    EXPECT_NE(one, other);
    EXPECT_TRUE(arrivals("loss=1").empty());
}

TEST(engine_ud, duplication_is_seeded)
{
    auto one = arrivals("duplicate=0.2 seed=5");
    unsigned twice = 0;

    EXPECT_EQ(1000u, one.size());
    for (auto &it : one) {
        ASSERT_LE(it.second, 2u);
        twice += it.second == 2;
    }
    EXPECT_GT(twice, 130u);
    EXPECT_LT(twice, 270u);
    EXPECT_EQ(one, arrivals("duplicate=0.2 seed=5"));
}

/* A receiver that does not run: datagrams are lost, the sender goes on. */
TEST(engine_ud, receiver_does_not_run)
{
    UdPair pair("", 256);
    unsigned done = 0;
    rig_cqe cqe;

    for (unsigned i = 0; i < 200; ++i) {
        pair.send(i, 4096);
    }
    for (unsigned i = 0; i < 300; ++i) {
        rig_progress(pair.rig, 0);
        rig_advance(pair.rig, MS);
    }
    while (rig_poll_send(pair.rig, pair.tx, &cqe)) {
        EXPECT_EQ(0, cqe.status);
        ++done;
    }
    EXPECT_EQ(200u, done);
    EXPECT_GT(rig_counter(pair.rig, 0, RIG_LOST), 100u);
}
