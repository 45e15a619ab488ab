/* SPDX-License-Identifier: BSD-3-Clause */
#include "ucp_test.h"

#include <cstring>
#include <sys/mman.h>

class Tag : public UcpTest {
};

TEST_F(Tag, cancelled_receive)
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
TEST_F(Tag, wildcard_takes_the_oldest)
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
        EXPECT_EQ(1000 + i, in_op.sender_tag);
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
