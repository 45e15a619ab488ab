/* SPDX-License-Identifier: BSD-3-Clause */
#include "ucp_test.h"

#include <cstring>
#include <sys/mman.h>

class Rma : public UcpTest, public testing::WithParamInterface<size_t> {
protected:
    /* Open @len bytes of @owner to the endpoint of another. */
    void map(Entity &owner, ucp_ep_h ep, size_t len)
    {
        memory_ = Buffer(len);
        open(region_, owner, ep, memory_.data(), len);
    }

    uint64_t remote()
    {
        return reinterpret_cast<uint64_t>(memory_.data());
    }

    void put(ucp_ep_h ep, const void *data, size_t len, size_t at, Op &op)
    {
        auto param = op.send_param();
        op.started(ucp_put_nbx(ep, data, len, remote() + at, region_.rkey,
                               &param));
    }

    void get(ucp_ep_h ep, void *data, size_t len, size_t at, Op &op)
    {
        auto param = op.send_param();
        op.started(ucp_get_nbx(ep, data, len, remote() + at, region_.rkey,
                               &param));
    }

    Buffer memory_;
    Region region_;
};

/* A get brings the bytes that were put and flushed, again and again, and none
 * beside them. */
TEST_P(Rma, put_flush_get)
{
    ucp_ep_h ep = connect(a, b);
    size_t len  = GetParam();

    map(b, ep, len + 2);
    for (unsigned i = 0; i < 6; ++i) {
        Buffer out(len, key(i)), in(len + 2);
        Op put_op, get_op;
        put(ep, out.data(), len, 1, put_op);
        (i % 2) ? flush(ep) : flush(a);
        EXPECT_EQ(1, put_op.done) << "flush was done before the put";
        finish(put_op, "put");
        get(ep, in.data() + 1, len, 1, get_op);
        finish(get_op, "get");
        for (uint8_t *bytes : {memory_.data(), in.data()}) {
            EXPECT_LT(fill_diff(bytes + 1, len, key(i), 0), 0);
            EXPECT_EQ(0xa5, bytes[0]);
            EXPECT_EQ(0xa5, bytes[len + 1]);
        }
    }
    close(region_);
}

/* Sizes around what a packet, a fragment and a protocol switch holds. */
static const size_t edge_sizes[] = {
    0,    1,    2,    7,     8,     13,    16,     24,
    31,   32,   33,   63,    64,    65,    100,    255,
    256,  1000, 1024, 4085,  4096,  8191,  8192,   8871,
    8879, 8880, 8888, 8892,  8899,  8900,  8901,   8919,
    8920, 8927, 8928, 8929,  9000,  17800, 17856,  26701,
    65535, 65536, 65537, 262145, 1048576, 4194303, 16777216
};

INSTANTIATE_TEST_SUITE_P(sizes, Rma, testing::ValuesIn(edge_sizes),
                         testing::PrintToStringParamName());

/* 500 operations in flight on one endpoint; one flush for all. */
TEST_F(Rma, many_then_worker_flush)
{
    const unsigned n = 500, len = 3001;
    ucp_ep_h ep      = connect(a, b);
    std::vector<Buffer> out(n), in(n);
    std::vector<Op> put_op(n), get_op(n);

    map(b, ep, n * len);
    for (unsigned i = 0; i < n; ++i) {
        out[i] = Buffer(len, key(i));
        put(ep, out[i].data(), len, i * len, put_op[i]);
    }
    flush(a);
    for (unsigned i = 0; i < n; ++i) {
        EXPECT_EQ(1, put_op[i].done);
        finish(put_op[i], "put");
        EXPECT_LT(fill_diff(memory_.data() + i * len, len, key(i), 0), 0);
        in[i] = Buffer(len);
        get(ep, in[i].data(), len, i * len, get_op[i]);
    }
    flush(ep);
    for (unsigned i = 0; i < n; ++i) {
        EXPECT_EQ(1, get_op[i].done);
        finish(get_op[i], "get");
        EXPECT_TRUE(in[i].holds(key(i)));
    }
    close(region_);
}

/* A put after a fence may not be seen before one that precedes it. */
TEST_F(Rma, fence_orders_puts)
{
    const size_t len = 200000;
    ucp_ep_h ep      = connect(a, b);

    map(b, ep, len + 8);
    for (uint64_t round = 1; round <= 20; ++round) {
        Buffer out(len, key(round));
        volatile uint64_t *flag = (uint64_t*)(memory_.data() + len);
        uint64_t seen;
        Op first, second;
        put(ep, out.data(), len, 0, first);
        ASSERT_EQ(UCS_OK, fence(a, b));
        put(ep, &round, sizeof(round), len, second);
        until([&] { memcpy(&seen, (void*)flag, 8); return seen == round; },
              "the flag put after the fence");
        ASSERT_LT(fill_diff(memory_.data(), len, key(round), 0), 0)
                << "the flag came before the data";
        flush(ep);
        finish(first, "put");
        finish(second, "put");
    }
    close(region_);
}

/* The message says that the data was put: it may not come first. */
TEST_F(Rma, flush_orders_put_and_message)
{
    ucp_ep_h ep = connect(a, b);

    map(b, ep, 1 << 20);
    for (uint64_t round = 0; round < 20; ++round) {
        Buffer out(1 << 20, key(round)), note(8, round), in(8);
        Op put_op, send_op, recv_op;
        recv(b, in, round, recv_op);
        put(ep, out.data(), out.size(), 0, put_op);
        flush(ep);
        send(ep, note, round, send_op);
        finish(recv_op, "receive");
        EXPECT_LT(fill_diff(memory_.data(), 1 << 20, key(round), 0), 0);
        finish(send_op, "send");
        finish(put_op, "put");
    }
    close(region_);
}

/* Memory of which a part is read-only is open to a peer as a whole, and UCX
 * keeps that registration: it puts into the rest, which is opened later. Before
 * 1.16 UCX does not tell of which bytes it wants a key. */
TEST_F(Rma, put_beside_read_only_memory)
{
    unsigned major, minor, release;

    ucp_get_version(&major, &minor, &release);
    if (minor < 16) {
        GTEST_SKIP() << "UCX 1." << minor;
    }
    const size_t part = 1 << 20;
    void *memory      = mmap(nullptr, 2 * part, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(MAP_FAILED, memory);
    auto rest = static_cast<uint8_t*>(memory) + part;
    ASSERT_EQ(0, mprotect(memory, part, PROT_READ));
    ucp_ep_h ep = connect(a, b);
    Buffer in(2 * part), out(part, key(1));
    Region second;
    Op get_op, put_op;
    auto param = get_op.send_param();

    open(region_, b, ep, memory, 2 * part);
    get_op.started(ucp_get_nbx(ep, in.data(), 2 * part,
                               reinterpret_cast<uint64_t>(memory),
                               region_.rkey, &param));
    finish(get_op, "get");
    EXPECT_EQ(0, memcmp(memory, in.data(), 2 * part));
    open(second, b, ep, rest, part);
    param = put_op.send_param();
    put_op.started(ucp_put_nbx(ep, out.data(), part,
                               reinterpret_cast<uint64_t>(rest), second.rkey,
                               &param));
    flush(ep);
    finish(put_op, "put");
    EXPECT_LT(fill_diff(rest, part, key(1), 0), 0);
    close(second);
    close(region_);
    munmap(memory, 2 * part);
}

TEST_F(Rma, flush_with_nothing_to_do)
{
    ucp_ep_h ep = connect(a, b);

    flush(ep);
    flush(a);
    exchange(b, ep, 100, key(1));
    for (unsigned i = 0; i < 1000; ++i) {
        flush(ep);
        flush(a);
    }
}

TEST_F(Rma, atomic_counter_of_two_workers)
{
    Entity &c    = entity_new();
    ucp_ep_h eps[2] = {connect(a, b), connect(c, b)};
    uint64_t sum = 0, one = 1;
    const unsigned n = 300;
    std::vector<uint64_t> seen(2 * n, 0);

    map(b, eps[0], 8);
    memset(memory_.data(), 0, 8);
    Region second;
    open(second, b, eps[1], memory_.data(), 8);
    for (unsigned i = 0; i < 2 * n; ++i) {
        Op op;
        uint64_t reply    = ~0ull;
        auto param        = op.send_param();
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE |
                              UCP_OP_ATTR_FIELD_REPLY_BUFFER;
        param.datatype      = ucp_dt_make_contig(8);
        param.reply_buffer  = &reply;
        op.started(ucp_atomic_op_nbx(eps[i % 2], UCP_ATOMIC_OP_ADD, &one, 1,
                                     remote(), (i % 2 ? second : region_).rkey,
                                     &param));
        finish(op, "fetch and add");
        ASSERT_LT(reply, 2 * n);
        EXPECT_EQ(0u, seen[reply]++) << "value fetched twice";
    }
    memcpy(&sum, memory_.data(), 8);
    EXPECT_EQ(2 * n, sum);
    close(second);
    close(region_);
}
