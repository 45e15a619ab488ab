/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection domains, address handles, registrations, QPs, knobs. */
#include "engine_test.h"

#include <cerrno>
#include <set>

TEST(engine_ah, one_number_per_pd_and_gid)
{
    Rig rig({0});
    uint16_t a, b, c, d;

    ASSERT_EQ(0, rig_ah(rig, 0, 0, 1, &a));
    ASSERT_EQ(0, rig_ah(rig, 0, 0, 1, &b));
    ASSERT_EQ(0, rig_ah(rig, 0, 1, 1, &c));
    ASSERT_EQ(0, rig_ah(rig, 0, 0, 2, &d));
    EXPECT_EQ(a, b);
    EXPECT_NE(a, c);
    EXPECT_NE(a, d);
}

TEST(engine_ah, destroy__for_all_of_its_users)
{
    Rig rig({0});
    uint16_t a, b;

    ASSERT_EQ(0, rig_ah(rig, 0, 0, 1, &a));
    ASSERT_EQ(0, rig_ah(rig, 0, 0, 1, &b));
    EXPECT_EQ(0, rig_ah_destroy(rig, 0, a));
    ASSERT_EQ(0, rig_ah(rig, 0, 0, 3, &b));
    EXPECT_EQ(a, b); /* the number is used again */
    EXPECT_EQ(0, rig_ah_destroy(rig, 0, a));
    EXPECT_EQ(0, rig_ah_destroy(rig, 0, a)); /* another user is late */
}

TEST(engine_ah, destroy__counted_if_it_is_lax)
{
    Rig rig({0});
    uint16_t a, b;

    ASSERT_EQ(0, rig_knobs(rig, 0, "strict-ah=0"));
    ASSERT_EQ(0, rig_ah(rig, 0, 0, 1, &a));
    ASSERT_EQ(0, rig_ah(rig, 0, 0, 1, &b));
    EXPECT_EQ(0, rig_ah_destroy(rig, 0, a));
    ASSERT_EQ(0, rig_ah(rig, 0, 0, 3, &b));
    EXPECT_NE(a, b);
    EXPECT_EQ(0, rig_ah_destroy(rig, 0, a));
    EXPECT_EQ(-EINVAL, rig_ah_destroy(rig, 0, a));
}

/* Messages that the receiver has no room for, a read that waits, one message on
 * another handle: what is under way ends with 1, and no other does. */
TEST(engine_ah, destroy__flushes_what_is_under_way)
{
    Pair pair(7, "delay-us=500");
    uint16_t self   = pair.rig.ah(0, 0);
    rig_send other  = pair.message(4, 10);
    unsigned flushed = 0;
    rig_cqe cqe;

    other.ah  = self;
    other.qpn = 250;
    pair.send(1, 10);
    pair.send(2, 10);
    pair.read(3, 10);
    rig_post_send(pair.rig, pair.tx, &other);
    rig_settle(pair.rig);
    ASSERT_EQ(0, rig_ah_destroy(pair.rig, 0, pair.ah));
    while (rig_poll_send(pair.rig, pair.tx, &cqe)) {
        EXPECT_EQ(1, cqe.status) << cqe.req_id;
        EXPECT_NE(4, cqe.req_id);
        ++flushed;
    }
    EXPECT_EQ(3u, flushed);
    rig_advance(pair.rig, MS);
    EXPECT_EQ(9, pair.outcome()); /* nobody has that QPN */
    pair.send(5, 10);
    EXPECT_EQ(4, pair.outcome());
    EXPECT_EQ(RIG_RTS, rig_qp_state(pair.rig, pair.tx));
}

TEST(engine_ah, bad_gids_and_exhaustion)
{
    Rig rig({0});
    uint8_t gid[16] = {};
    uint16_t number;

    EXPECT_EQ(-EINVAL, rig_ah_gid(rig, 0, 0, gid, &number));
    gid[0] = 0xff;
    EXPECT_EQ(-EINVAL, rig_ah_gid(rig, 0, 0, gid, &number));

    ASSERT_EQ(0, rig_knobs(rig, 0, "max-ah=5"));
    gid[0] = 0xfe;
    for (unsigned i = 0; i < 5; ++i) {
        gid[9] = i + 100;
        EXPECT_EQ(0, rig_ah_gid(rig, 0, 0, gid, &number));
    }
    gid[9] = 200;
    EXPECT_EQ(-ENOMEM, rig_ah_gid(rig, 0, 0, gid, &number));
    gid[9] = 100;
    EXPECT_EQ(0, rig_ah_gid(rig, 0, 0, gid, &number)); /* shared */
    EXPECT_EQ(-EINVAL, rig_ah_destroy(rig, 0, 5));
    EXPECT_EQ(-EINVAL, rig_ah_destroy(rig, 0, 0xffff));
}

TEST(engine_mr, keys_change_when_an_entry_is_reused)
{
    Rig rig({0});

    EXPECT_EQ(0, rig_dir_mr_cycle(rig, 0, 1000));
}

TEST(engine_mr, refusals)
{
    Rig rig({0});
    uint32_t key;
    char byte;

    EXPECT_EQ(-EINVAL, rig_mr(rig, 0, 0, &byte, 0, RIG_LOCAL, &key));
    EXPECT_EQ(-EINVAL, rig_mr(rig, 0, 0, &byte, (96ull << 30) + 1, RIG_LOCAL,
                              &key));
    EXPECT_EQ(-EINVAL, rig_mr(rig, 0, 0, (void*)~0ull, 2, RIG_LOCAL, &key));
    EXPECT_EQ(-EOPNOTSUPP, rig_mr(rig, 0, 0, &byte, 1, RIG_LOCAL | 2,
                                  &key)); /* remote write */
    EXPECT_EQ(-EOPNOTSUPP, rig_mr(rig, 0, 0, &byte, 1, 1 << 5, &key));
    EXPECT_EQ(0, rig_mr(rig, 0, 0, &byte, 1, RIG_LOCAL | (1 << 20),
                        &key)); /* optional flags are ignored */
    EXPECT_EQ(-EINVAL, rig_mr_destroy(rig, 0, 77));

    ASSERT_EQ(0, rig_knobs(rig, 0, "no-rdma-read=1"));
    EXPECT_EQ(-EOPNOTSUPP, rig_mr(rig, 0, 0, &byte, 1, RIG_READ, &key));
}

/* The whole table: each pair of states with no, each and all attributes. */
TEST(engine_qp, state_table)
{
    enum { PKEY = 1 << 4, PORT = 1 << 5, QKEY = 1 << 6, PSN = 1 << 16,
           RNR = 1 << 11, CUR = 1 << 1 };
    const struct {
        unsigned from, to, need;
    } valid[] = {
        { RIG_RESET, RIG_INIT, PKEY | PORT | QKEY },
        { RIG_INIT, RIG_RTR, 0 },      { RIG_INIT, RIG_INIT, 0 },
        { RIG_RTR, RIG_RTS, PSN },     { RIG_RTS, RIG_RTS, 0 },
        { RIG_RTS, 4, 0 },             { 4, RIG_RTS, 0 },
        { 4, 4, 0 },                   { RIG_RESET, RIG_RESET, 0 },
        { RIG_INIT, RIG_ERR, 0 },      { RIG_RTR, RIG_ERR, 0 },
        { RIG_RTS, RIG_ERR, 0 },       { 4, RIG_ERR, 0 },
        { RIG_ERR, RIG_ERR, 0 },       { RIG_INIT, RIG_RESET, 0 },
        { RIG_RTR, RIG_RESET, 0 },     { RIG_RTS, RIG_RESET, 0 },
        { 4, RIG_RESET, 0 },           { RIG_ERR, RIG_RESET, 0 },
    };
    const unsigned way[][2] = {
        { RIG_INIT, PKEY | PORT | QKEY }, { RIG_RTR, 0 }, { RIG_RTS, PSN },
        { 4, 0 },
    };
    const unsigned states[] = { RIG_RESET, RIG_INIT, RIG_RTR, RIG_RTS, 4,
                                RIG_ERR };

    for (unsigned from : states) {
        for (unsigned to = 0; to < 9; ++to) {
            Rig rig({0});
            rig_qp_conf conf = {};
            int qp, expected = -EINVAL;
            unsigned need    = 0;

            conf.reset = 1;
            qp         = rig_qp(rig, &conf);
            for (unsigned i = 0; (i < 4) && (from != RIG_RESET) &&
                                 (rig_qp_state(rig, qp) != (int)from); ++i) {
                if (from == RIG_ERR && i == 1) {
                    ASSERT_EQ(0, rig_qp_modify(rig, qp, RIG_ERR, 0));
                    break;
                }
                ASSERT_EQ(0, rig_qp_modify(rig, qp, way[i][0], way[i][1]));
            }
            ASSERT_EQ((int)from, rig_qp_state(rig, qp));

            for (auto &move : valid) {
                if ((move.from == from) && (move.to == to)) {
                    expected = 0;
                    need     = move.need;
                }
            }
            if (need != 0) { /* each attribute it needs, left out */
                for (unsigned bit = 1; bit <= need; bit <<= 1) {
                    if (need & bit) {
                        EXPECT_EQ(-EINVAL, rig_qp_modify(rig, qp, to,
                                                         need & ~bit));
                    }
                }
            }
            EXPECT_EQ(-EINVAL, rig_qp_modify(rig, qp, to, need | (1 << 2) |
                                                          RNR | PSN));
            EXPECT_EQ((to > RIG_ERR) ? -EINVAL : -EOPNOTSUPP,
                      rig_qp_modify(rig, qp, to, need | 1 << 7));
            EXPECT_EQ(expected, rig_qp_modify(rig, qp, to, need))
                    << from << " to " << to;
            EXPECT_EQ(expected ? (int)from : (int)to,
                      rig_qp_state(rig, qp));
        }
    }
}

/* All numbers of a host are used, then none is left, then the freed one. */
TEST(engine_qp, numbers)
{
    Rig rig({0, 0});
    rig_qp_conf conf = {};
    std::set<unsigned> seen;
    std::vector<int> qps;
    int qp;

    conf.sq = conf.rq = conf.cq = 1;
    for (unsigned i = 0; i < 64; ++i) {
        conf.proc = i % 2;
        qp        = rig_qp(rig, &conf);
        ASSERT_GE(qp, 0);
        EXPECT_TRUE(seen.insert(rig_qpn(rig, qp)).second);
        EXPECT_NE(0, rig_qpn(rig, qp));
        qps.push_back(qp);
    }
}

TEST(engine_dir, purge_takes_all_back)
{
    Rig rig({0, 1});
    std::vector<uint8_t> bytes(100);
    uint32_t key;

    rig.qp(0);
    rig.qp(0);
    for (unsigned i = 0; i < 100; ++i) {
        ASSERT_EQ(0, rig_mr(rig, 0, 0, bytes.data(), 100, RIG_LOCAL, &key));
    }
    EXPECT_EQ(0, rig_dir_purge_leaves(rig, 0));
}

TEST(engine_knobs, values)
{
    const char *good[] = {
        "seed=0", "seed=18446744073709551615", "reorder=0", "reorder=1",
        "reorder=0.25", "reorder=.5", "timeout-ms=1", "TIMEOUT_MS=3600000",
        "rnr-us=1", "delay-us=0", "max-ah=65534", "qkey-status=0",
        "inject=send:13", "inject=read:7:10", "inject=post:12",
        "inject=recv:5:1:3,send:9",
        "memlock-root=1", "refuse-open=EACCES", "no-rdma-read=0",
    };
    const char *bad[] = {
        "seed=-1", "seed=", "seed=18446744073709551616", "seed=1x",
        "seed= 1", "reorder=1.1", "reorder=-0.1", "reorder=nan",
        "reorder=inf", "reorder=0.5x", "timeout-ms=0", "timeout-ms=3600001",
        "rnr-us=0", "max-ah=0", "max-ah=65535", "qkey-status=16",
        "inject=jump:1", "inject=send", "inject=send:", "inject=send:256",
        "inject=send:1:", "inject=send:1:2:3:4", "inject=send:1;read:2",
        "memlock-root=2", "refuse-open=maybe", "no-rdma-read=yes",
    };

    for (auto text : good) {
        Rig rig({0});
        EXPECT_EQ(0, rig_knobs(rig, 0, text)) << text;
    }
    for (auto text : bad) {
        Rig rig({0});
        EXPECT_EQ(-1, rig_knobs(rig, 0, text)) << text;
    }
}
