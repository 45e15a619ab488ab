/* SPDX-License-Identifier: BSD-3-Clause */
#include "ucp_test.h"

#include <cstring>

class Rma : public UcpTest, public testing::WithParamInterface<size_t> {
protected:
    /* Open @len bytes of @owner to the endpoint of another. */
    void map(Entity &owner, ucp_ep_h ep, size_t len)
    {
        ucp_mem_map_params_t params = {};
        void *packed                = nullptr;
        size_t packed_len           = 0;

        memory_           = Buffer(len);
        owner_            = &owner;
        params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                            UCP_MEM_MAP_PARAM_FIELD_LENGTH;
        params.address    = memory_.data();
        params.length     = len;
        ASSERT_EQ(UCS_OK, ucp_mem_map(owner.ctx, &params, &memh_));
        ASSERT_EQ(UCS_OK, ucp_rkey_pack(owner.ctx, memh_, &packed,
                                        &packed_len));
        ASSERT_EQ(UCS_OK, ucp_ep_rkey_unpack(ep, packed, &rkey_));
        ucp_rkey_buffer_release(packed);
    }

    void unmap()
    {
        ucp_rkey_destroy(rkey_);
        EXPECT_EQ(UCS_OK, ucp_mem_unmap(owner_->ctx, memh_));
    }

    uint64_t remote()
    {
        return reinterpret_cast<uint64_t>(memory_.data());
    }

    void put(ucp_ep_h ep, const void *data, size_t len, size_t at, Op &op)
    {
        auto param = op.send_param();
        op.started(ucp_put_nbx(ep, data, len, remote() + at, rkey_, &param));
    }

    void get(ucp_ep_h ep, void *data, size_t len, size_t at, Op &op)
    {
        auto param = op.send_param();
        op.started(ucp_get_nbx(ep, data, len, remote() + at, rkey_, &param));
    }

    Entity     *owner_ = nullptr;
    Buffer     memory_;
    ucp_mem_h  memh_   = nullptr;
    ucp_rkey_h rkey_   = nullptr;
};

TEST_P(Rma, put_then_flush)
{
    ucp_ep_h ep = connect(a, b);
    size_t len  = GetParam();
    Buffer out(len, key(1));
    Op op;

    map(b, ep, len + 2);
    put(ep, out.data(), len, 1, op);
    flush(ep);
    EXPECT_EQ(1, op.done) << "flush was done before the put";
    finish(op, "put");
    EXPECT_LT(fill_diff(memory_.data() + 1, len, key(1), 0), 0);
    EXPECT_EQ(0xa5, memory_.data()[0]);
    EXPECT_EQ(0xa5, memory_.data()[len + 1]);
    unmap();
}

TEST_P(Rma, get)
{
    ucp_ep_h ep = connect(a, b);
    size_t len  = GetParam();
    Buffer in(len + 2);
    Op op;

    map(b, ep, len + 1);
    fill_bytes(memory_.data() + 1, len, key(1), 0);
    get(ep, in.data() + 1, len, 1, op);
    finish(op, "get");
    EXPECT_LT(fill_diff(in.data() + 1, len, key(1), 0), 0);
    EXPECT_EQ(0xa5, in.data()[0]);
    EXPECT_EQ(0xa5, in.data()[len + 1]);
    unmap();
}

/* A get brings the bytes that were put and flushed, again and again. */
TEST_P(Rma, put_flush_get)
{
    ucp_ep_h ep = connect(a, b);
    size_t len  = GetParam();

    map(b, ep, len + 1);
    for (unsigned i = 0; i < 5; ++i) {
        Buffer out(len, key(i)), in(len);
        Op put_op, get_op;
        put(ep, out.data(), len, 0, put_op);
        flush(a);
        finish(put_op, "put");
        get(ep, in.data(), len, 0, get_op);
        finish(get_op, "get");
        EXPECT_TRUE(in.holds(key(i)));
    }
    unmap();
}

INSTANTIATE_TEST_SUITE_P(sizes, Rma, testing::ValuesIn(edge_sizes()),
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
    unmap();
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
    unmap();
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
    unmap();
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
    ucp_rkey_h first = rkey_, second;
    void *packed;
    size_t len;
    ASSERT_EQ(UCS_OK, ucp_rkey_pack(b.ctx, memh_, &packed, &len));
    ASSERT_EQ(UCS_OK, ucp_ep_rkey_unpack(eps[1], packed, &second));
    ucp_rkey_buffer_release(packed);
    for (unsigned i = 0; i < 2 * n; ++i) {
        Op op;
        uint64_t reply    = ~0ull;
        auto param        = op.send_param();
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE |
                              UCP_OP_ATTR_FIELD_REPLY_BUFFER;
        param.datatype      = ucp_dt_make_contig(8);
        param.reply_buffer  = &reply;
        op.started(ucp_atomic_op_nbx(eps[i % 2], UCP_ATOMIC_OP_ADD, &one, 1,
                                     remote(), (i % 2) ? second : first,
                                     &param));
        finish(op, "fetch and add");
        ASSERT_LT(reply, 2 * n);
        EXPECT_EQ(0u, seen[reply]++) << "value fetched twice";
    }
    memcpy(&sum, memory_.data(), 8);
    EXPECT_EQ(2 * n, sum);
    ucp_rkey_destroy(second);
    unmap();
}
