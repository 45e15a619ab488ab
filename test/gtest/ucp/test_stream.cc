/* SPDX-License-Identifier: BSD-3-Clause */
#include "ucp_test.h"

#include <tuple>

/* Sizes of what is sent at a time and of what is received at a time. */
class Stream : public UcpTest,
               public testing::WithParamInterface<std::tuple<size_t, size_t>> {
};

TEST_P(Stream, bytes_in_order)
{
    auto [piece, want] = GetParam();
    size_t total       = std::min<size_t>(200 * piece, 20 << 20);
    ucp_ep_h ep        = connect(a, b);
    ucp_ep_h back      = connect(b, a);
    Buffer out(total, key(1));
    std::vector<Op> ops((total + piece - 1) / piece);
    size_t got = 0;

    for (size_t i = 0; i < ops.size(); ++i) {
        size_t len = std::min(piece, total - i * piece);
        auto param = ops[i].send_param();
        ops[i].started(ucp_stream_send_nbx(ep, out.data() + i * piece, len,
                                           &param));
    }
    while (got < total) {
        Buffer in(std::min(want, total - got));
        Op op;
        auto param = op.stream_param();
        op.started(ucp_stream_recv_nbx(back, in.data(), in.size(), &op.got,
                                       &param));
        finish(op, "stream receive");
        ASSERT_GT(op.got, 0u);
        ASSERT_LE(op.got, in.size());
        ptrdiff_t at = fill_diff(in.data(), op.got, key(1), got);
        ASSERT_LT(at, 0) << "stream byte " << got + at;
        got += op.got;
    }
    for (auto &op : ops) {
        finish(op, "stream send");
    }
}

INSTANTIATE_TEST_SUITE_P(
        pieces, Stream,
        testing::Combine(testing::Values(1, 8, 100, 4096, 8900, 8929, 100000,
                                         3000000),
                         testing::Values(17, 8192, 1 << 20)));
