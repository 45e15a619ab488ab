/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine_test.h"

namespace {

/* A pair whose responder holds a handle for the requester. */
struct ReadPair : public Pair {
    explicit ReadPair(const char *knobs = "") : Pair(7, knobs)
    {
        back = rig.ah(1, 0);
        dst.fill(9);
    }

    uint16_t back;
};

} // namespace

TEST(engine_read, contents_of_all_sizes)
{
    ReadPair pair;

    for (uint32_t length : {0u, 1u, 4096u, 262143u, 262144u, 262145u,
                            1u << 20}) {
        memset(pair.src.data(), 0, 1 << 20);
        pair.read(3, length);
        ASSERT_EQ(0, pair.outcome()) << length;
        EXPECT_EQ(0, memcmp(pair.src.data(), pair.dst.data(), length));
        if (length < (1u << 20)) {
            EXPECT_EQ(0, pair.src.data()[length]);
        }
    }
    EXPECT_EQ(rig_counter(pair.rig, 0, RIG_READ_BYTES),
              rig_counter(pair.rig, 1, RIG_READ_RESP_BYTES));
    EXPECT_EQ(rig_pair(pair.rig, 1, 0),
              rig_counter(pair.rig, 0, RIG_READ_BYTES));
    EXPECT_EQ(0u, rig_pair(pair.rig, 0, 1));
}

/* The responder's CPU has no part in it. */
TEST(engine_read, needs_no_progress_of_the_target)
{
    ReadPair pair;

    pair.read(1, 1000);
    for (unsigned i = 0; i < 4; ++i) {
        rig_progress(pair.rig, 0);
    }
    EXPECT_EQ(0, pair.sent());
}

TEST(engine_read, responder_must_know_the_requester)
{
    Pair pair;
    uint16_t back, other;

    ASSERT_EQ(0, rig_ah(pair.rig, 1, 1, 0, &other)); /* of another PD */
    pair.read(1, 10);
    EXPECT_EQ(14, pair.outcome());

    ASSERT_EQ(0, rig_ah(pair.rig, 1, 0, 0, &back));
    pair.read(2, 10);
    EXPECT_EQ(0, pair.outcome());
    ASSERT_EQ(0, rig_ah_destroy(pair.rig, 1, back));
    pair.read(3, 10);
    EXPECT_EQ(14, pair.outcome());
}

TEST(engine_read, remote_keys)
{
    ReadPair pair;
    rig_read read = pair.read_of(1, 100);
    uint32_t key;

    read.rkey ^= 1 << 18;
    rig_post_read(pair.rig, pair.tx, &read);
    EXPECT_EQ(7, pair.outcome());

    read         = pair.read_of(1, 100);
    read.remote += (1 << 20) - 99;
    rig_post_read(pair.rig, pair.tx, &read);
    EXPECT_EQ(7, pair.outcome());
    read.remote = (uintptr_t)pair.dst.data() - 1;
    rig_post_read(pair.rig, pair.tx, &read);
    EXPECT_EQ(7, pair.outcome());
    read.remote = ~0ull - 10;
    rig_post_read(pair.rig, pair.tx, &read);
    EXPECT_EQ(7, pair.outcome());

    read = pair.read_of(1, 100); /* registered without remote read */
    ASSERT_EQ(0, rig_mr(pair.rig, 1, 0, pair.dst.data(), 100, RIG_LOCAL,
                        &read.rkey));
    rig_post_read(pair.rig, pair.tx, &read);
    EXPECT_EQ(7, pair.outcome());
    ASSERT_EQ(0, rig_mr(pair.rig, 1, 1, pair.dst.data(), 100, RIG_READ,
                        &read.rkey)); /* in another PD */
    rig_post_read(pair.rig, pair.tx, &read);
    EXPECT_EQ(7, pair.outcome());

    ASSERT_EQ(0, rig_mr(pair.rig, 1, 0, (void*)16, 100, RIG_READ,
                        &key)); /* registered, but its pages are gone */
    read        = pair.read_of(1, 100);
    read.remote = 16;
    read.rkey   = key;
    rig_post_read(pair.rig, pair.tx, &read);
    EXPECT_EQ(7, pair.outcome());

    ASSERT_EQ(0, rig_mr_destroy(pair.rig, 1, pair.dst.key));
    pair.read(1, 100);
    EXPECT_EQ(7, pair.outcome());
    EXPECT_EQ(RIG_RTS, rig_qp_state(pair.rig, pair.tx));
    EXPECT_EQ(RIG_RTS, rig_qp_state(pair.rig, pair.rx));
}

TEST(engine_read, local_errors)
{
    ReadPair pair;
    rig_read read = pair.read_of(1, 100);

    ASSERT_EQ(0, rig_mr(pair.rig, 0, 0, pair.src.data(), 100, 0,
                        &read.key)); /* may not be written */
    rig_post_read(pair.rig, pair.tx, &read);
    EXPECT_EQ(5, pair.outcome());

    read        = pair.read_of(1, (1u << 30) + 1);
    rig_post_read(pair.rig, pair.tx, &read);
    EXPECT_EQ(6, pair.outcome());
}

TEST(engine_read, destination)
{
    ReadPair pair;
    rig_read read = pair.read_of(1, 100);

    read.qpn = 99;
    rig_post_read(pair.rig, pair.tx, &read);
    EXPECT_EQ(9, pair.outcome());
    read      = pair.read_of(1, 100);
    read.qkey = 5;
    rig_post_read(pair.rig, pair.tx, &read);
    EXPECT_EQ(9, pair.outcome());
    ASSERT_EQ(0, rig_qp_modify(pair.rig, pair.rx, RIG_ERR, 0));
    pair.read(1, 100);
    EXPECT_EQ(9, pair.outcome());
}

/* The key goes while the copy is under way: it stops there. */
TEST(engine_read, deregistered_half_way)
{
    ReadPair pair;

    memset(pair.src.data(), 0, 1 << 20);
    pair.read(1, 1 << 20);
    rig_progress(pair.rig, 0);
    EXPECT_EQ(-1, pair.sent());
    ASSERT_EQ(0, rig_mr_destroy(pair.rig, 1, pair.dst.key));
    EXPECT_EQ(7, pair.outcome());
    EXPECT_EQ(0, pair.src.data()[(1 << 20) - 1]);
}

/* A long read does not hold up a short one behind it. */
TEST(engine_read, in_turn)
{
    ReadPair pair;
    rig_cqe cqe;

    pair.read(1, 1 << 20);
    pair.read(2, 8);
    rig_settle(pair.rig);
    ASSERT_EQ(1, rig_poll_send(pair.rig, pair.tx, &cqe));
    EXPECT_EQ(2, cqe.req_id);
    EXPECT_EQ(1, cqe.op);
    ASSERT_EQ(1, rig_poll_send(pair.rig, pair.tx, &cqe));
    EXPECT_EQ(1, cqe.req_id);
}

TEST(engine_read, target_died)
{
    ReadPair pair;

    rig_kill(pair.rig, 1);
    pair.read(1, 100);
    EXPECT_EQ(9, pair.outcome());
    pair.read(2, 100);
    EXPECT_EQ(9, pair.outcome());
}

TEST(engine_read, target_died_half_way)
{
    ReadPair pair;

    pair.read(1, 1 << 20);
    rig_progress(pair.rig, 0);
    rig_kill(pair.rig, 1);
    EXPECT_EQ(8, pair.outcome());
}

TEST(engine_read, target_died_with_its_host)
{
    ReadPair pair("killed-status=13 timeout-ms=1000");

    rig_kill(pair.rig, 1);
    pair.read(1, 100);
    EXPECT_EQ(13, pair.outcome());
    pair.read(2, 100);
    EXPECT_EQ(-1, pair.outcome());
    rig_advance(pair.rig, 1001 * MS);
    EXPECT_EQ(15, pair.outcome());
}

TEST(engine_read, device_without_rdma)
{
    ReadPair pair("no-rdma-read=0");
    Rig rig({0});

    ASSERT_EQ(0, rig_knobs(rig, 0, "no-rdma-read=1"));
    int qp        = rig.qp(0);
    rig_read read = {};
    rig_cqe cqe;

    read.ah  = rig.ah(0, 0);
    read.qpn = rig_qpn(rig, qp);
    rig_post_read(rig, qp, &read);
    rig_settle(rig);
    ASSERT_EQ(1, rig_poll_send(rig, qp, &cqe));
    EXPECT_EQ(3, cqe.status);
}
