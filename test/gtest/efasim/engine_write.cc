/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine_test.h"

#include <cerrno>

namespace {

/* A pair on devices that write, whose responder knows the requester. */
struct WritePair : public Pair {
    explicit WritePair(unsigned flags = 0, const char *knobs = "device=efa3",
                       unsigned rnr_retry = 7) :
        Pair(rnr_retry, knobs, 64, flags)
    {
        if (flags != 0) {
            rig_qp_conf conf = {};

            rig_qp_destroy(rig, tx); /* the sender's QP alike */
            conf.flags     = flags;
            conf.rnr_retry = rnr_retry;
            tx             = rig_qp(rig, &conf);
        }
        back = rig.ah(1, 0);
        EXPECT_EQ(0, rig_mr(rig, 1, 0, dst.data(), 1 << 20,
                            RIG_LOCAL | RIG_WRITE, &rkey));
    }

    rig_read write_of(uint16_t id, uint32_t length)
    {
        rig_read write = read_of(id, length);

        write.write = 1;
        write.rkey  = rkey;
        return write;
    }

    int write(uint16_t id, uint32_t length, unsigned flags = 0,
              uint32_t imm = 0)
    {
        rig_read write = write_of(id, length);

        write.flags = flags;
        write.imm   = imm;
        rig_post_read(rig, tx, &write);
        return outcome();
    }

    uint16_t back;
    uint32_t rkey;
};

} // namespace

TEST(engine_write, contents_of_all_sizes)
{
    WritePair pair;
    rig_cqe cqe;

    for (uint32_t length : {0u, 1u, 4096u, 262143u, 262144u, 262145u,
                            1u << 20}) {
        rig_read write = pair.write_of(3, length);

        pair.src.fill(length);
        memset(pair.dst.data(), 0, 1 << 20);
        rig_post_read(pair.rig, pair.tx, &write);
        rig_settle(pair.rig);
        ASSERT_EQ(1, rig_poll_send(pair.rig, pair.tx, &cqe)) << length;
        EXPECT_EQ(0, cqe.status);
        EXPECT_EQ(2, cqe.op);
        EXPECT_EQ(0, memcmp(pair.src.data(), pair.dst.data(), length));
        if (length < (1u << 20)) {
            EXPECT_EQ(0, pair.dst.data()[length]);
        }
    }
    EXPECT_EQ(-1, pair.received());
    EXPECT_EQ(4096u + 1 + 3 * 262144 + (1 << 20),
              rig_counter(pair.rig, 0, RIG_WRITE_BYTES));
    EXPECT_EQ(rig_counter(pair.rig, 0, RIG_WRITE_BYTES),
              rig_counter(pair.rig, 1, RIG_WRITE_RECV_BYTES));
    EXPECT_EQ(rig_pair(pair.rig, 0, 1),
              rig_counter(pair.rig, 0, RIG_WRITE_BYTES));
    EXPECT_EQ(0u, rig_pair(pair.rig, 1, 0));
}

/* The immediate takes one receive and touches no buffer of it; it comes after
 * the bytes are in place. */
TEST(engine_write, immediate_takes_a_receive)
{
    WritePair pair;
    rig_cqe cqe;

    pair.recv(77, 100, 600000);
    pair.dst.data()[600000] = 0x5a;
    EXPECT_EQ(0, pair.write(1, 300000, RIG_IMM, 0xdeadbeef));
    ASSERT_EQ(1, rig_poll_recv(pair.rig, pair.rx, &cqe));
    EXPECT_EQ(77, cqe.req_id);
    EXPECT_EQ(0, cqe.status);
    EXPECT_EQ(2, cqe.op);
    EXPECT_EQ(1, cqe.has_imm);
    EXPECT_EQ(0, cqe.unsolicited);
    EXPECT_EQ(0xdeadbeefu, cqe.imm);
    EXPECT_EQ(300000u, cqe.length);
    EXPECT_EQ(pair.back, cqe.ah);
    EXPECT_EQ(rig_qpn(pair.rig, pair.tx), cqe.src_qpn);
    EXPECT_EQ(0, memcmp(pair.src.data(), pair.dst.data(), 300000));
    EXPECT_EQ(0x5a, pair.dst.data()[600000]);
}

TEST(engine_write, immediate_waits_for_a_receive)
{
    WritePair pair;

    EXPECT_EQ(-1, pair.write(1, 100, RIG_IMM, 1));
    pair.recv(5, 10);
    rig_advance(pair.rig, MS);
    EXPECT_EQ(0, pair.outcome());
    EXPECT_EQ(0, pair.received());
    EXPECT_EQ(100u, rig_counter(pair.rig, 0, RIG_WRITE_BYTES)); /* once */

    WritePair finite(0, "device=efa3", 0);
    EXPECT_EQ(10, finite.write(1, 100, RIG_IMM, 1));
    EXPECT_EQ(1u, rig_counter(finite.rig, 0, RIG_WRITE_ERR));
}

TEST(engine_write, unsolicited_takes_no_receive)
{
    WritePair pair(RIG_UNSOLICITED);
    rig_cqe cqe;

    pair.recv(9, 10);
    EXPECT_EQ(0, pair.write(1, 100, RIG_IMM, 42));
    ASSERT_EQ(1, rig_poll_recv(pair.rig, pair.rx, &cqe));
    EXPECT_EQ(1, cqe.unsolicited);
    EXPECT_EQ(42u, cqe.imm);
    EXPECT_EQ(100u, cqe.length);
    pair.send(2, 10); /* the receive is still there */
    EXPECT_EQ(0, pair.outcome());
    ASSERT_EQ(1, rig_poll_recv(pair.rig, pair.rx, &cqe));
    EXPECT_EQ(9, cqe.req_id);
    EXPECT_EQ(0, cqe.unsolicited);
}

TEST(engine_write, unsolicited_on_one_side_only)
{
    WritePair pair;

    pair.rx = pair.rig.qp(1, 7, 64, RIG_UNSOLICITED);
    pair.recv(9, 10);
    EXPECT_EQ(18, pair.write(1, 100, RIG_IMM, 42));
    EXPECT_EQ(-1, pair.received());
    EXPECT_EQ(0, pair.write(1, 100)); /* without immediate it matters not */
}

TEST(engine_write, inline_of_large_requests)
{
    WritePair pair(RIG_LARGE);

    for (uint32_t length : {0u, 1u, 79u, 80u}) {
        rig_read write = pair.write_of(1, length);

        memset(pair.dst.data(), 0, 100);
        write.flags = RIG_INLINE;
        write.key   = 0;
        rig_post_read(pair.rig, pair.tx, &write);
        EXPECT_EQ(0, pair.outcome());
        EXPECT_EQ(0, memcmp(pair.src.data(), pair.dst.data(), length));
        EXPECT_EQ(0, pair.dst.data()[length]);
    }
    EXPECT_EQ(6, pair.write(1, 81, RIG_INLINE));

    WritePair small;
    EXPECT_EQ(3, small.write(1, 8, RIG_INLINE));
}

/* 128 B requests hold messages of 80 B, 64 B requests of 32 B. */
TEST(engine_write, inline_messages_of_large_requests)
{
    WritePair pair(RIG_LARGE);

    for (unsigned i = 0; i < 200; ++i) { /* round the ring, with its phase */
        rig_send send = pair.message(i, 1 + i % 80);

        send.flags = RIG_INLINE;
        pair.recv(1, 100);
        rig_post_send(pair.rig, pair.tx, &send);
        ASSERT_EQ(0, pair.outcome()) << i;
        ASSERT_EQ(0, pair.received());
        EXPECT_EQ(0, memcmp(pair.src.data(), pair.dst.data(), 1 + i % 80));
    }

    rig_send send = pair.message(1, 81);
    send.flags    = RIG_INLINE;
    rig_post_send(pair.rig, pair.tx, &send);
    EXPECT_EQ(6, pair.outcome());
}

TEST(engine_write, keys)
{
    WritePair pair;
    rig_read write = pair.write_of(1, 100);

    write.rkey = pair.dst.key; /* registered for reads only */
    rig_post_read(pair.rig, pair.tx, &write);
    EXPECT_EQ(7, pair.outcome());
    write         = pair.write_of(1, 100);
    write.remote += (1 << 20) - 99;
    rig_post_read(pair.rig, pair.tx, &write);
    EXPECT_EQ(7, pair.outcome());
    write     = pair.write_of(1, 100);
    write.key = 0x123;
    rig_post_read(pair.rig, pair.tx, &write);
    EXPECT_EQ(5, pair.outcome());
    write = pair.write_of(1, 100); /* memory it may only read from: enough */
    ASSERT_EQ(0, rig_mr(pair.rig, 0, 0, pair.src.data(), 100, 0,
                        &write.key));
    rig_post_read(pair.rig, pair.tx, &write);
    EXPECT_EQ(0, pair.outcome());
    EXPECT_EQ(0, memcmp(pair.src.data(), pair.dst.data(), 100));
}

TEST(engine_write, responder_must_know_the_requester)
{
    WritePair pair;

    ASSERT_EQ(0, rig_ah_destroy(pair.rig, 1, pair.back));
    EXPECT_EQ(14, pair.write(1, 100, RIG_IMM));
    EXPECT_NE(0, memcmp(pair.src.data(), pair.dst.data(), 100));
}

TEST(engine_write, long_request_ids)
{
    WritePair pair(RIG_REQ_ID_64);
    rig_read write = pair.write_of(0x1234, 10);
    rig_cqe cqe;

    write.long_id = 0xabcdef0123450000ull;
    rig_post_read(pair.rig, pair.tx, &write);
    rig_settle(pair.rig);
    ASSERT_EQ(1, rig_poll_send(pair.rig, pair.tx, &cqe));
    EXPECT_EQ(0, cqe.status);
    EXPECT_EQ(0xabcdef0123451234ull, cqe.long_id);

    WritePair other; /* not asked for: reserved bits */
    rig_post_read(other.rig, other.tx, &write);
    EXPECT_EQ(2, other.outcome());
}

/* A generation refuses operations that it does not have. */
TEST(engine_write, generations)
{
    WritePair first(0, "device=efa2");
    uint32_t key;

    EXPECT_EQ(0, first.write(1, 10));

    Pair none(7, "device=efa1");
    rig_read write = none.read_of(1, 10);
    write.write    = 1;
    rig_post_read(none.rig, none.tx, &write);
    EXPECT_EQ(3, none.outcome());
    EXPECT_EQ(-EOPNOTSUPP, rig_mr(none.rig, 1, 0, none.dst.data(), 100,
                                  RIG_LOCAL | RIG_WRITE, &key));
    EXPECT_EQ(0, rig_mr(none.rig, 1, 0, none.dst.data(), 100,
                        RIG_LOCAL | RIG_READ, &key));
}

/* The first generation's CQ is two rings: sends and receives apart. */
TEST(engine_write, first_generation_has_two_rings)
{
    Rig rig({0, 1});
    rig_cqe cqe;

    ASSERT_EQ(0, rig_knobs(rig, 0, "device=efa0"));
    ASSERT_EQ(0, rig_knobs(rig, 1, "device=efa0"));

    int tx = rig.qp(0), rx = rig.qp(1);
    uint16_t ah = rig.ah(0, 1);
    std::vector<uint8_t> in(100), out(100, 7);
    uint32_t in_key, out_key, length = 100;
    void *buf = in.data();

    EXPECT_EQ(-EOPNOTSUPP, rig_mr(rig, 1, 0, in.data(), 100,
                                  RIG_LOCAL | RIG_READ, &in_key));
    ASSERT_EQ(0, rig_mr(rig, 1, 0, in.data(), 100, RIG_LOCAL, &in_key));
    ASSERT_EQ(0, rig_mr(rig, 0, 0, out.data(), 100, RIG_LOCAL, &out_key));
    for (unsigned i = 0; i < 1000; ++i) {
        rig_send send = {};

        send.req_id = i % 64;
        send.ah     = ah;
        send.qpn    = rig_qpn(rig, rx);
        send.buf    = out.data();
        send.length = 100;
        send.key    = out_key;
        rig_post_recv(rig, rx, i % 64, 1, &buf, &length, in_key);
        rig_post_send(rig, tx, &send);
        rig_settle(rig);
        ASSERT_EQ(1, rig_poll_send(rig, tx, &cqe));
        ASSERT_EQ(i % 64, cqe.req_id);
        ASSERT_EQ(1, rig_poll_recv(rig, rx, &cqe));
        ASSERT_EQ(2, cqe.queue);
        ASSERT_EQ(i % 64, cqe.req_id);
    }
    EXPECT_EQ(0u, rig_counter(rig, 0, RIG_CQ_OVERRUNS));
}

TEST(engine_write, injected)
{
    WritePair pair(0, "device=efa3 inject=write:8:1:1");

    EXPECT_EQ(0, pair.write(1, 10));
    EXPECT_EQ(8, pair.write(2, 10));
    EXPECT_EQ(0, pair.write(3, 10));
}
