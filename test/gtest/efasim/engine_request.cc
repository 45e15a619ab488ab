/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of programs that write the queues themselves, and those that no library
 * posts, or only a new one. Those of any library are in verbs_*.cc. */
#include "engine_test.h"

#include <cerrno>
#include <map>

static void refused(Pair &pair, const Qp *qp, const char *what)
{
    pair.rig.settle();
    EXPECT_EQ(SIM_QPS_ERR, qp->qp->state);
    EXPECT_NE(std::string::npos, pair.rig.log.find(what)) << pair.rig.log;
}

/* Refused, with a line; the next is flushed. */
TEST(engine_request, malformed)
{
    const struct {
        unsigned at, bits;
    } damage[] = {
        {2, 0x80}, {2, 0x40}, {3, 0x04}, {3, 0x08}, {3, 0x10}, {3, 0x02},
        {3, 0x20}, {3, 0x01}, /* the phase */ {15, 1}, {20, 1}, {25, 1},
        {26, 1} /* of a long id */, {39, 1} /* of a key */,
    };

    for (auto &one : damage) {
        Pair pair;
        io_tx_wqe wqe = pair.send_of(1, 10);

        ((uint8_t*)&wqe)[one.at] ^= one.bits;
        pair.recv(1, 100);
        pair.tx->post(wqe);
        pair.send(2, 10);
        refused(pair, pair.tx, "malformed work request");
        EXPECT_EQ(2, pair.sent()) << one.at;
        EXPECT_EQ(1, pair.sent());
        EXPECT_EQ(-1, pair.received());
    }
}

TEST(engine_request, wild_doorbells)
{
    const struct {
        uint32_t sends, receives;
        const char *what;
    } wild[] = {
        {0x10000, 0x10001, "wider than 16 bits"}, {65, 65, "beyond the queue"},
        {0xffff, 0xffff, "beyond the queue"},
    };

    for (auto &one : wild) {
        Pair pair;

        pair.tx->sq_db = one.sends;
        refused(pair, pair.tx, one.what);
        pair.tx = pair.rig.qp(0);
        pair.rx->rq_db = one.receives;
        pair.send(1, 10);
        refused(pair, pair.rx, one.what);
    }

    Pair pair; /* exactly full is full */
    pair.rx->rq_db = 64;
    pair.rig.settle();
    EXPECT_EQ(SIM_QPS_RTS, pair.rx->qp->state);
}

/* 32 requests of 64 bytes are what one doorbell may announce; the device sees
 * how many only if it looks at each: if the program calls it then, and it is not
 * an eager one. */
TEST(engine_request, batch_of_a_doorbell)
{
    const struct {
        const char *knobs;
        bool       calls;
    } cases[] = {{"strict-batch=1", true}, {"strict-batch=1", false},
                 {"strict-batch=0", true}, {"strict-batch=1 eager=1", true}};

    for (const auto &one : cases) {
        Pair pair(one.knobs);

        if (one.calls) {
            pair.rig.proc[0].dev->told = 1;
        }
        for (unsigned round = 0; round < 4; ++round) {
            for (unsigned i = 0; i < 32; ++i) {
                pair.recv(i, 100);
                pair.send(i, 10);
            }
            pair.rig.settle();
            for (unsigned i = 0; i < 32; ++i) {
                ASSERT_EQ(0, pair.sent()) << one.knobs;
                ASSERT_EQ(0, pair.received());
            }
        }
        for (unsigned i = 0; i < 33; ++i) {
            pair.send(i, 10);
        }
        if (&one == cases) {
            refused(pair, pair.tx, "more than max_tx_batch (0x21)");
        } else {
            pair.rig.settle();
            EXPECT_EQ(SIM_QPS_RTS, pair.tx->qp->state);
        }
    }
}

/* Bad packets of another process: its ring is left, nothing is read out of
 * bounds. */
TEST(engine_request, damaged_ring)
{
    const struct {
        uint32_t size, length;
    } bad[] = {
        { 0, 0 },          { 8, 0 },        { 17, 0 },       { 1u << 31, 0 },
        { 48, 0xffffffe0 }, { 64, 4096 },    { 1u << 18, 16 }, { 48, 8929 },
        { 0xfffffff0, 16 }, { 32, 1 },
    };

    for (auto &one : bad) {
        Pair pair;

        pair.recv(1, 9000);
        pair.send(1, 16);
        pair.rig.progress(0);
        ring &from  = *pair.rig.rings[0][1];
        auto *first = (ring_pkt*)&from.data[from.tail % SIM_RING_BYTES];
        first->size   = one.size;
        first->length = one.length;
        EXPECT_EQ(-1, pair.outcome()) << one.size << " " << one.length;
        EXPECT_EQ(-1, pair.received());
    }
}

/* Queues of 4 wrap many times; a device of the first generation has a CQ of two
 * rings, for sends and receives. */
TEST(engine_request, many_wraps)
{
    for (auto knobs : {"device=efa0", "device=efa1"}) {
        Pair pair(knobs, RIG_SGID, 4);
        uint8_t gid[16];

        dir_gid(pair.rig.dir, dir_nic_of(0, 0), gid);
        for (unsigned i = 0; i < 20000; ++i) {
            memcpy(pair.src.data(), &i, sizeof(i));
            pair.recv(i & 0xffff, 64);
            pair.send(i & 0xffff, 8);
            ASSERT_GT(pair.rig.progress(0), 0u);
            ASSERT_GT(pair.rig.progress(1), 0u);
            pair.rig.progress(0);
            ASSERT_EQ(0, pair.sent());
            ASSERT_EQ(i & 0xffff, pair.cqe.req_id);
            ASSERT_EQ(0, pair.received());
            ASSERT_EQ(i & 0xffff, pair.cqe.req_id);
            ASSERT_EQ(IO_AH_UNKNOWN, pair.cqe.ah);
            ASSERT_EQ(0, memcmp(gid, pair.cqe.src_addr, 16));
            ASSERT_TRUE(pair.is_equal(sizeof(i)));
        }
        EXPECT_EQ(0u, pair.rig.counter(0, "cq_overruns"));
    }
}

/* More than the ring between two processes holds: the rest waits, and goes. */
TEST(engine_request, full_ring)
{
    Pair pair;

    for (unsigned i = 0; i < 64; ++i) {
        pair.recv(i, 8928);
        pair.send(i, 8928);
    }
    pair.rig.progress(0);
    pair.rig.progress(0);
    EXPECT_LT(pair.rig.counter(0, "tx_pkts"), 30u);
    pair.rig.settle();
    for (unsigned i = 0; i < 64; ++i) {
        EXPECT_EQ(0, pair.sent());
        EXPECT_EQ(i, pair.cqe.req_id);
        EXPECT_EQ(0, pair.received());
        EXPECT_EQ(i, pair.cqe.req_id);
    }
}

/* A QKEY that is not the receiver's, of a device that does not answer then */
TEST(engine_request, wrong_qkey_may_be_silence)
{
    Pair pair("qkey-status=0 timeout-ms=100");
    io_tx_wqe wqe = pair.send_of(1, 10);

    ++wqe.meta.qkey;
    pair.recv(1, 100);
    EXPECT_EQ(-1, pair.end(wqe));
    pair.rig.now += 101 * MS;
    EXPECT_EQ(15, pair.outcome());
    EXPECT_EQ(-1, pair.received());
}

/* The responder's CPU has no part in a read; a long one does not hold up a short
 * one behind it, and stops where its key goes, or its target. */
TEST(engine_request, long_reads)
{
    const unsigned LONG = 1 << 20;
    Pair pair;

    pair.dst.fill(9);
    pair.read(1, LONG);
    pair.read(2, 8);
    for (unsigned i = 0; i < 4; ++i) {
        pair.rig.progress(0);
    }
    for (uint16_t id : {2, 1}) {
        EXPECT_EQ(0, pair.sent());
        EXPECT_EQ(id, pair.cqe.req_id);
        EXPECT_EQ(IO_OP_READ, pair.cqe.flags >> 4);
    }
    EXPECT_TRUE(pair.is_equal(LONG));

    memset(pair.src.data(), 0, LONG);
    pair.read(3, LONG);
    pair.rig.progress(0);
    EXPECT_EQ(0, pair.rig.mr_destroy(1, pair.rkey));
    EXPECT_EQ(7, pair.outcome());
    EXPECT_EQ(0, pair.src.data()[LONG - 1]);

    pair.rkey = 0;
    pair.read(4, LONG);
    pair.rig.progress(0);
    pair.rig.proc[1].dead = true;
    EXPECT_EQ(8, pair.outcome());
    pair.read(5, 100);
    EXPECT_EQ(9, pair.outcome());
}

/* A page that is registered, and gone */
TEST(engine_request, read_of_nothing)
{
    Pair pair;
    io_tx_wqe wqe = pair.rdma_of(IO_OP_READ, 1, 100);
    uint32_t key;

    ASSERT_EQ(0, pair.rig.mr(1, (void*)16, 100, RIG_READ, &key));
    set_remote(wqe, 16, key);
    EXPECT_EQ(7, pair.end(wqe));
    EXPECT_EQ(SIM_QPS_RTS, pair.tx->qp->state);
    EXPECT_EQ(SIM_QPS_RTS, pair.rx->qp->state);
}

TEST(engine_request, read_of_a_host_that_died)
{
    Pair pair("killed-status=13 timeout-ms=1000");
    io_tx_wqe wqe = pair.rdma_of(IO_OP_READ, 1, 100);

    pair.rig.proc[1].dead = true;
    EXPECT_EQ(13, pair.end(wqe));
    EXPECT_EQ(-1, pair.end(wqe));
    pair.rig.now += 1001 * MS;
    EXPECT_EQ(15, pair.outcome());
}

static const char WRITES[] = "device=efa3";

static io_tx_wqe write_imm(Pair &pair, uint32_t length)
{
    io_tx_wqe wqe = pair.rdma_of(IO_OP_WRITE, 1, length);

    set_imm(wqe, 0xdeadbeef);
    return wqe;
}

/* It takes one receive and touches no buffer of it. */
TEST(engine_write, immediate)
{
    Pair pair(WRITES), finite(WRITES, 0, 64, 0);

    EXPECT_EQ(-1, pair.end(write_imm(pair, 300000))) << "it waits";
    pair.recv(77, 100, 600000);
    pair.dst.data()[600000] = 0x5a;
    pair.rig.now += MS;
    EXPECT_EQ(0, pair.outcome());
    EXPECT_EQ(300000u, pair.rig.counter(0, "rdma_write_bytes"));
    EXPECT_EQ(0, pair.received());
    EXPECT_EQ(77, pair.cqe.req_id);
    EXPECT_EQ(0xdeadbeefu, pair.cqe.imm);
    EXPECT_EQ(IO_OP_WRITE << 4 | IO_CQE_IMM | IO_Q_RECV << 1 | 1,
              pair.cqe.flags);
    EXPECT_EQ(300000, pair.cqe.length | pair.cqe.length_hi << 16);
    EXPECT_EQ(pair.back, pair.cqe.ah);
    EXPECT_EQ(pair.tx->qp->qpn, pair.cqe.src_qpn);
    EXPECT_TRUE(pair.is_equal(300000));
    EXPECT_EQ(0x5a, pair.dst.data()[600000]);

    EXPECT_EQ(10, finite.end(write_imm(finite, 100)));
    EXPECT_EQ(1u, finite.rig.counter(0, "rdma_write_wr_err"));
}

/* Writes that are refused, and a device that has none. */
TEST(engine_write, refusals)
{
    Pair pair(WRITES), none("device=efa1"), injected(
            "device=efa3 inject=write:8:1:1");
    io_tx_wqe good = pair.rdma_of(IO_OP_WRITE, 1, 100), bad = good;
    uint32_t key;

    ASSERT_EQ(0, pair.rig.mr(1, pair.dst.data(), 100, RIG_READ,
                        &bad.rdma.remote.rkey));
    EXPECT_EQ(7, pair.end(bad)) << "for reads";
    bad = good;
    set_remote(bad, (uintptr_t)pair.dst.data() + (1 << 20) - 99, pair.rkey);
    EXPECT_EQ(7, pair.end(bad)) << "beyond the end";
    bad                 = good;
    bad.rdma.local.lkey = 0x123;
    EXPECT_EQ(5, pair.end(bad));
    bad = good;
    ASSERT_EQ(0, pair.rig.mr(0, pair.src.data(), 100, 0,
                        &bad.rdma.local.lkey));
    EXPECT_EQ(0, pair.end(bad)) << "it is only read";
    ASSERT_EQ(0, pair.rig.ah_destroy(1, pair.back));
    EXPECT_EQ(14, pair.end(write_imm(pair, 100)));

    EXPECT_EQ(3, none.end(good));
    EXPECT_EQ(-EOPNOTSUPP, none.rig.mr(1, none.dst.data(), 100,
                                  RIG_LOCAL | RIG_WRITE, &key));
    for (int status : {0, 8, 0}) {
        EXPECT_EQ(status, injected.end(injected.rdma_of(IO_OP_WRITE, 1, 10)));
    }
}

TEST(engine_write, long_request_ids)
{
    Pair pair("device=efa2", RIG_REQ_ID_64);
    io_tx_wqe wqe = pair.rdma_of(IO_OP_WRITE, 0x1234, 10);

    memcpy(wqe.meta.req_id_ex, "\1\2\3\4\5\6", 6);
    EXPECT_EQ(0, pair.end(wqe));
    EXPECT_EQ(0x1234, pair.cqe.req_id);
    EXPECT_EQ(0, memcmp(pair.cqe.req_id_ex, "\1\2\3\4\5\6", 6));
}

/* The prefix of 40 bytes may end anywhere in the list of buffers. */
TEST(engine_ud, prefix_across_buffers)
{
    for (uint32_t first : {1u, 39u, 40u, 41u, 100u}) {
        Pair pair("", RIG_UD);
        uint32_t head      = first > 40 ? first - 40 : 0;
        uint32_t skip      = first < 40 ? 40 - first : 0;

        pair.rx->recv(1, {{pair.dst.data(), first},
                          {pair.dst.data() + 1000, 400}}, pair.dst.key);
        pair.send(1, 200);
        EXPECT_EQ(0, pair.outcome());
        EXPECT_EQ(0, pair.received());
        EXPECT_EQ(0, memcmp(pair.dst.data() + 40, pair.src.data(), head));
        EXPECT_EQ(0, memcmp(pair.dst.data() + 1000 + skip,
                            pair.src.data() + head, 200 - head));
    }
}

/* Nobody is told why a datagram did not arrive. */
TEST(engine_ud, refusals)
{
    Pair pair("device=efa3", RIG_UD), small("ud-mtu=4096", RIG_UD);
    io_tx_wqe wqe = pair.send_of(1, 10);
    Qp *tx        = pair.tx;

    EXPECT_EQ(6, pair.end(pair.send_of(1, 8929)));
    EXPECT_EQ(0, small.end(small.send_of(1, 4096)));
    EXPECT_EQ(6, small.end(small.send_of(1, 4097)));
    for (auto op : {IO_OP_READ, IO_OP_WRITE}) {
        EXPECT_EQ(3, pair.end(pair.rdma_of(op, 1, 10)));
    }
    pair.recv(1, 139);
    EXPECT_EQ(0, pair.end(pair.send_of(1, 100)));
    EXPECT_EQ(6, pair.received()) << "no room for the prefix";
    wqe.meta.dest_qpn = 200;
    EXPECT_EQ(0, pair.end(wqe));
    wqe.meta.ah = pair.rig.ah(0, 7);
    EXPECT_EQ(0, pair.end(wqe));
    EXPECT_EQ(2u, pair.rig.counter(0, "lost_pkts"));
    pair.recv(2, 100);
    wqe           = pair.send_of(1, 10);
    wqe.meta.qkey = 99;
    EXPECT_EQ(0, pair.end(wqe));
    EXPECT_EQ(1u, pair.rig.counter(1, "rx_drops"));
    pair.tx = pair.rig.qp(0); /* the two kinds of QP do not hear each other */
    EXPECT_EQ(9, pair.end(pair.send_of(1, 10)));
    EXPECT_EQ(-1, pair.received());
    pair.rx = pair.rig.qp(1);
    pair.tx = tx;
    pair.recv(3, 100);
    EXPECT_EQ(0, pair.end(pair.send_of(1, 10)));
    EXPECT_EQ(-1, pair.received());
}

/* Datagrams that arrive, by number, for a seed. */
static std::map<unsigned, unsigned> arrivals(const char *knobs)
{
    Pair pair(knobs, RIG_UD, 1024);
    std::map<unsigned, unsigned> got;

    for (unsigned i = 0; i < 1000; ++i) {
        io_tx_wqe wqe = pair.send_of(i, 8);

        set_imm(wqe, i);
        pair.recv(1, 100);
        if (i % 4 == 0) {
            pair.recv(2, 100); /* room for duplicates */
        }
        EXPECT_EQ(0, pair.end(wqe));
        while (pair.received() == 0) {
            ++got[pair.cqe.imm];
        }
    }
    return got;
}

TEST(engine_ud, loss_and_duplication_are_seeded)
{
    auto lossy = arrivals("loss=0.2 seed=5");
    auto twice = arrivals("duplicate=0.2 seed=5");
    unsigned n = 0;

    EXPECT_NEAR(lossy.size(), 800, 70);
    EXPECT_EQ(lossy, arrivals("loss=0.2 seed=5"));
    EXPECT_NE(lossy, arrivals("loss=0.2 seed=6"));
    EXPECT_TRUE(arrivals("loss=1").empty());
    EXPECT_EQ(1000u, twice.size());
    for (auto &it : twice) {
        ASSERT_LE(it.second, 2u);
        n += it.second == 2;
    }
    EXPECT_NEAR(n, 200, 70);
    EXPECT_EQ(twice, arrivals("duplicate=0.2 seed=5"));
}

/* The device sends packets of SRD that are lost again: all arrive, later, once,
 * and the device that has the data has counted the tries. */
TEST(engine_request, lost_packets_are_sent_again)
{
    static const struct {
        io_tx_op op;
        unsigned length, nic; /* whose packets are lost */
    } cases[] = {{IO_OP_SEND, 100, 0}, {IO_OP_READ, 20000, 1}};

    for (auto &one : cases) {
        for (const char *knobs : {"", "loss=0.5 seed=5"}) {
            bool lossy = *knobs != 0;
            Pair pair(knobs, 0, 1024);
            unsigned packets = (one.length + 8927) / 8928 * 200, at_once = 0;
            auto count = [&](unsigned nic, const char *name) {
                return pair.rig.counter(nic, name);
            };

            for (unsigned i = 0; i < 200; ++i) {
                if (one.op == IO_OP_SEND) {
                    pair.recv(i, one.length);
                    pair.send(i, one.length);
                } else {
                    pair.tx->post(pair.rdma_of(one.op, i, one.length));
                }
                pair.rig.settle();
                at_once += pair.ended(0);
            }
            if (!lossy) {
                EXPECT_EQ(200u, at_once);
                EXPECT_EQ(0u, count(0, "retrans_pkts") +
                              count(1, "retrans_pkts"));
                continue;
            }
            EXPECT_LT(at_once, 150u);
            EXPECT_GT(at_once, 0u);
            pair.rig.now += 20 * MS;
            pair.rig.settle();
            EXPECT_EQ(200u, at_once + pair.ended(0));
            EXPECT_NEAR(count(one.nic, "retrans_pkts"), packets, packets / 4);
            EXPECT_EQ(0u, count(1 - one.nic, "retrans_pkts"));
            EXPECT_GE(count(one.nic, "retrans_pkts"),
                      count(one.nic, "retrans_timeout_events"));
            EXPECT_NEAR(count(one.nic, "retrans_bytes"),
                        count(one.nic, "retrans_pkts") * one.length * 200. /
                                packets, 200. * one.length / 4);
        }
    }
}

/* No try of it arrives: the time-out ends it, nobody received it. */
TEST(engine_request, all_packets_are_lost)
{
    for (io_tx_op op : {IO_OP_SEND, IO_OP_READ}) {
        Pair pair("loss=1 timeout-ms=100");

        pair.recv(1, 100);
        pair.tx->post(op == IO_OP_SEND ? pair.send_of(1, 100) :
                                     pair.rdma_of(op, 1, 100));
        EXPECT_EQ(-1, pair.outcome());
        for (unsigned i = 0; i < 110; ++i) {
            pair.rig.now += MS;
            pair.rig.progress(0);
        }
        EXPECT_EQ(13, pair.sent());
        EXPECT_EQ(-1, pair.received());
        EXPECT_EQ(10u, pair.rig.counter(0, "retrans_pkts"));
    }
}

/* A receiver that does not run: datagrams are lost, the sender goes on. */
TEST(engine_ud, receiver_does_not_run)
{
    Pair pair("", RIG_UD, 256);

    for (unsigned i = 0; i < 200; ++i) {
        pair.send(i, 4096);
    }
    for (unsigned i = 0; i < 300; ++i) {
        pair.rig.progress(0);
        pair.rig.now += MS;
    }
    EXPECT_EQ(200u, pair.ended(0));
    EXPECT_GT(pair.rig.counter(0, "lost_pkts"), 100u);
}
