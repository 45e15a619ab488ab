/* SPDX-License-Identifier: BSD-3-Clause */
/* Address handles, registrations, knobs: what verbs_device.cc cannot ask for. */
#include "engine_test.h"

#include <cerrno>

TEST(engine_ah, counted_if_it_is_lax)
{
    Rig rig({0});

    ASSERT_EQ(0, rig.knobs(0, "strict-ah=0"));
    uint16_t a = rig.ah(0, 1);
    EXPECT_EQ(a, rig.ah(0, 1));
    EXPECT_EQ(0, rig.ah_destroy(0, a));
    EXPECT_NE(a, rig.ah(0, 3));
    EXPECT_EQ(0, rig.ah_destroy(0, a));
    EXPECT_EQ(-EINVAL, rig.ah_destroy(0, a));
}

/* Messages that the receiver has no room for, a read that waits, one message on
 * another handle: what is under way ends with 1, and no other does. */
TEST(engine_ah, destroy_flushes_what_is_under_way)
{
    Pair pair("delay-us=500");
    io_tx_wqe other = request(4, IO_OP_SEND, pair.rig.ah(0, 0), 250,
                              pair.src.data(), 10, pair.src.key);

    pair.send(1, 10);
    pair.send(2, 10);
    pair.read(3, 10);
    EXPECT_EQ(-1, pair.end(other));
    ASSERT_EQ(0, pair.rig.ah_destroy(0, pair.ah));
    EXPECT_EQ(3u, pair.ended(1));
    pair.rig.now += MS;
    EXPECT_EQ(9, pair.outcome()); /* nobody has that QPN */
    EXPECT_EQ(4, pair.cqe.req_id);
    EXPECT_EQ(4, pair.end(pair.send_of(5, 10)));
    EXPECT_EQ(SIM_QPS_RTS, pair.tx->qp->state);
}

TEST(engine_mr, refusals)
{
    Rig rig({0});
    uint32_t key;
    char byte;
    const struct {
        void *at;
        uint64_t length;
        uint32_t access;
        int want;
    } cases[] = {
        {&byte, 0, RIG_LOCAL, -EINVAL},
        {&byte, (96ull << 30) + 1, RIG_LOCAL, -EINVAL},
        {(void*)~0ull, 2, RIG_LOCAL, -EINVAL},
        {&byte, 1, RIG_LOCAL | RIG_WRITE, -EOPNOTSUPP},
        {&byte, 1, 1 << 5, -EOPNOTSUPP},
        {&byte, 1, RIG_LOCAL | 1 << 20, 0}, /* optional flags are ignored */
    };

    for (auto &one : cases) {
        EXPECT_EQ(one.want, rig.mr(0, one.at, one.length, one.access,
                                   &key)) << one.length;
    }
    EXPECT_EQ(-EINVAL, rig.mr_destroy(0, 77));
    ASSERT_EQ(0, rig.knobs(0, "no-rdma-read=1"));
    EXPECT_EQ(-EOPNOTSUPP, rig.mr(0, &byte, 1, RIG_READ, &key));
}

TEST(engine_dir, purge_takes_all_back)
{
    Rig rig({0, 1});
    uint32_t key, last = 0;
    char bytes[100];

    rig.qp(0);
    rig.qp(0);
    for (unsigned i = 0; i < 1000; ++i) {
        ASSERT_EQ(0, rig.mr(0, bytes, 100, RIG_LOCAL, &key));
        EXPECT_NE(last, key) << "of an entry that was used before";
        last = key;
        if (i % 10) {
            ASSERT_EQ(0, rig.mr_destroy(0, key));
        }
    }
    EXPECT_EQ(0, rig.purge_leaves(0));
}

TEST(engine_knobs, values)
{
    const char *good[] = {
        "seed=0", "seed=18446744073709551615", "reorder=0", "reorder=1",
        "reorder=0.25", "reorder=.5", "timeout-ms=1", "TIMEOUT_MS=3600000",
        "rnr-us=1", "delay-us=0", "max-ah=65534", "qkey-status=0",
        "inject=send:13", "inject=read:7:10", "inject=post:12",
        "inject=recv:5:1:3,send:9",
        "memlock=2", "refuse-open=EACCES", "no-rdma-read=0",
    };
    const char *bad[] = {
        "seed=-1", "seed=", "seed=18446744073709551616", "seed=1x",
        "seed= 1", "reorder=1.1", "reorder=-0.1", "reorder=nan",
        "reorder=inf", "reorder=0.5x", "timeout-ms=0", "timeout-ms=3600001",
        "rnr-us=0", "max-ah=0", "max-ah=65535", "qkey-status=16",
        "inject=jump:1", "inject=send", "inject=send:", "inject=send:256",
        "inject=send:1:", "inject=send:1:2:3:4", "inject=send:1;read:2",
        "memlock=3", "refuse-open=maybe", "no-rdma-read=yes",
    };
    Rig rig({0});

    for (auto text : good) {
        EXPECT_EQ(0, rig.knobs(0, text)) << text;
    }
    for (auto text : bad) {
        EXPECT_EQ(-1, rig.knobs(0, text)) << text;
    }
}
