/* SPDX-License-Identifier: BSD-3-Clause */
#include "ucp_test.h"

#include <cstring>
#include <sys/mman.h>

class Tag : public UcpTest, public testing::WithParamInterface<size_t> {
};

TEST_P(Tag, expected)
{
    exchange(b, connect(a, b), GetParam(), key(1));
}

TEST_P(Tag, unexpected)
{
    ucp_ep_h ep = connect(a, b);
    Buffer out(GetParam(), key(1)), in(GetParam());
    ucp_tag_recv_info_t info;
    Op out_op, in_op;

    send(ep, out, 5, out_op);
    until([&] { return ucp_tag_probe_nb(b.worker, 5, ~ucp_tag_t(0), 0,
                                        &info) != nullptr; }, "probe");
    EXPECT_EQ(GetParam(), info.length);
    recv(b, in, 5, in_op);
    finish(in_op, "receive");
    finish(out_op, "send");
    EXPECT_TRUE(in.holds(key(1)));
}

TEST_P(Tag, sync)
{
    ucp_ep_h ep = connect(a, b);
    Buffer out(GetParam(), key(1)), in(GetParam());
    Op out_op, in_op;

    send(ep, out, 5, out_op, true);
    for (int i = 0; i < 2000; ++i) {
        progress();
    }
    EXPECT_EQ(0, out_op.done) << "done before anyone received it";
    recv(b, in, 5, in_op);
    finish(in_op, "receive");
    finish(out_op, "send");
    EXPECT_TRUE(in.holds(key(1)));
}

/* Both ways at once, 40 messages, the receives posted backwards. */
TEST_P(Tag, both_ways)
{
    const unsigned n = (GetParam() > 1 << 20) ? 2 : 40;
    ucp_ep_h ab = connect(a, b), ba = connect(b, a);
    std::vector<Buffer> out(2 * n), in(2 * n);
    std::vector<Op> out_op(2 * n), in_op(2 * n);

    for (unsigned i = 0; i < 2 * n; ++i) {
        out[i] = Buffer(GetParam(), key(i));
        in[i]  = Buffer(GetParam());
        send((i % 2) ? ba : ab, out[i], i, out_op[i]);
    }
    for (unsigned i = 2 * n; i-- > 0;) {
        recv((i % 2) ? a : b, in[i], i, in_op[i]);
    }
    for (unsigned i = 0; i < 2 * n; ++i) {
        finish(in_op[i], "receive");
        finish(out_op[i], "send");
        EXPECT_TRUE(in[i].holds(key(i)));
    }
}

INSTANTIATE_TEST_SUITE_P(sizes, Tag, testing::ValuesIn(edge_sizes()),
                         testing::PrintToStringParamName());

class TagMore : public UcpTest {
};

TEST_F(TagMore, truncated)
{
    ucp_ep_h ep = connect(a, b);

    for (size_t len : {100ul, 8000ul, 100000ul, 1000000ul}) {
        Buffer out(len, key(len)), in(len / 2);
        Op out_op, in_op;
        recv(b, in, len, in_op);
        send(ep, out, len, out_op);
        finish(in_op, "short receive", UCS_ERR_MESSAGE_TRUNCATED);
        until([&] { return out_op.done > 0; }, "send");
        if (out_op.request != nullptr) {
            ucp_request_free(out_op.request);
        }
        exchange(b, ep, len, key(len + 1));
    }
}

TEST_F(TagMore, cancelled_receive)
{
    ucp_ep_h ep = connect(a, b);
    Buffer in(100);
    Op in_op;

    recv(b, in, 1, in_op);
    ucp_request_cancel(b.worker, in_op.request);
    finish(in_op, "cancelled receive", UCS_ERR_CANCELED);
    exchange(b, ep, 100, 1);
}

/* Tag masks: a wildcard receive takes the oldest. */
TEST_F(TagMore, wildcard_takes_the_oldest)
{
    ucp_ep_h ep = connect(a, b);
    std::vector<Buffer> out(100);
    std::vector<Op> out_op(100);

    for (unsigned i = 0; i < 100; ++i) {
        out[i] = Buffer(i * 97, key(i));
        send(ep, out[i], 1000 + i, out_op[i]);
    }
    for (unsigned i = 0; i < 100; ++i) {
        Buffer in(100 * 97);
        Op in_op;
        ucp_request_param_t param = in_op.tag_param();
        in_op.started(ucp_tag_recv_nbx(b.worker, in.data(), in.size(), 0, 0,
                                       &param));
        finish(in_op, "receive");
        EXPECT_EQ(1000 + i, in_op.tag);
        EXPECT_EQ(i * 97, in_op.got);
        EXPECT_LT(fill_diff(in.data(), in_op.got, key(i), 0), 0);
    }
    for (auto &op : out_op) {
        finish(op, "send");
    }
}

/* Memory that was read-only when it was sent, and is received into later. UCX
 * has a registration of it by then, and does not ask again. */
TEST_F(UcpTest, read_only_memory_is_received_into_once_it_may_be_written)
{
    const size_t size = 1 << 20;
    void *memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
                        -1, 0);
    ASSERT_NE(MAP_FAILED, memory);
    ucp_ep_h ab = connect(a, b), ba = connect(b, a);
    Buffer in(size), out(size, key(1));
    Op in_op, out_op, again_in, again_out;
    ucp_request_param_t param = out_op.send_param();

    recv(b, in, 1, in_op);
    out_op.started(ucp_tag_send_nbx(ab, memory, size, 1, &param));
    finish(in_op, "receive");
    finish(out_op, "send from read-only memory");
    EXPECT_EQ(0, memcmp(in.data(), memory, size));

    ASSERT_EQ(0, mprotect(memory, size, PROT_READ | PROT_WRITE));
    param = again_in.tag_param();
    again_in.started(ucp_tag_recv_nbx(a.worker, memory, size, 2,
                                      ~ucp_tag_t(0), &param));
    send(ba, out, 2, again_out);
    finish(again_in, "receive into memory that was read-only");
    finish(again_out, "send");
    EXPECT_EQ(0, memcmp(out.data(), memory, size));
    munmap(memory, size);
}
