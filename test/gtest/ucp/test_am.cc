/* SPDX-License-Identifier: BSD-3-Clause */
#include "ucp_test.h"

#include <cstring>
#include <tuple>

class Am : public UcpTest,
           public testing::WithParamInterface<std::tuple<size_t, uint32_t>> {
protected:
    Am()
    {
        ucp_am_handler_param_t param = {};

        param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                           UCP_AM_HANDLER_PARAM_FIELD_CB |
                           UCP_AM_HANDLER_PARAM_FIELD_ARG;
        param.id         = 9;
        param.cb         = handler;
        param.arg        = this;
        EXPECT_EQ(UCS_OK, ucp_worker_set_am_recv_handler(b.worker, &param));
    }

    static ucs_status_t handler(void *arg, const void *header,
                                size_t header_length, void *data,
                                size_t length,
                                const ucp_am_recv_param_t *param)
    {
        Am *self = static_cast<Am*>(arg);
        uint64_t index;

        if (header_length < sizeof(index)) {
            ADD_FAILURE() << "AM header of " << header_length << " B";
            return UCS_OK;
        }
        memcpy(&index, header, sizeof(index));
        EXPECT_LT(fill_diff((const char*)header + 8, header_length - 8,
                            self->key(1000 + index), 0), 0);
        EXPECT_LT(index, self->in_.size());
        EXPECT_EQ(self->in_[index].size(), length);
        ++self->arrived_;
        if (!(param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)) {
            memcpy(self->in_[index].data(), data, length);
            ++self->done_;
            return UCS_OK;
        }
        if (length == 0) {
            ++self->done_; /* nothing to fetch: drop the descriptor */
            return UCS_OK;
        }
        Op &op                     = self->in_op_[index];
        ucp_request_param_t wanted = op.am_param();
        op.started(ucp_am_recv_data_nbx(self->b.worker, data,
                                        self->in_[index].data(), length,
                                        &wanted));
        return UCS_INPROGRESS;
    }

    size_t ready() const
    {
        size_t n = done_;

        for (auto &op : in_op_) {
            n += op.done;
        }
        return n;
    }

    std::vector<Buffer> in_;
    std::vector<Op>     in_op_;
    size_t              arrived_ = 0, done_ = 0;
};

TEST_P(Am, many)
{
    size_t len       = std::get<0>(GetParam());
    const unsigned n = (len > 1 << 20) ? 2 : 30;
    ucp_ep_h ep      = connect(a, b);
    std::vector<Buffer> out(n), head(n);
    std::vector<Op> op(n);

    in_.resize(n);
    in_op_.resize(n);
    for (uint64_t i = 0; i < n; ++i) {
        in_[i]  = Buffer(len);
        out[i]  = Buffer(len, key(i));
        head[i] = Buffer(8 + i * 11);
        memcpy(head[i].data(), &i, 8);
        fill_bytes(head[i].data() + 8, i * 11, key(1000 + i), 0);
        ucp_request_param_t param = op[i].send_param();
        param.op_attr_mask       |= UCP_OP_ATTR_FIELD_FLAGS;
        param.flags               = std::get<1>(GetParam());
        op[i].started(ucp_am_send_nbx(ep, 9, head[i].data(), head[i].size(),
                                      out[i].data(), len, &param));
    }
    until([&] { return ready() == n; }, "active messages");
    for (unsigned i = 0; i < n; ++i) {
        finish(op[i], "send of an active message");
        if (in_op_[i].done) {
            finish(in_op_[i], "data of an active message");
        }
        EXPECT_TRUE(in_[i].holds(key(i)));
    }
    EXPECT_EQ(n, arrived_);
}

static std::string am_name(const testing::TestParamInfo<Am::ParamType> &info)
{
    uint32_t flags = std::get<1>(info.param);

    return std::to_string(std::get<0>(info.param)) +
           (flags & UCP_AM_SEND_FLAG_EAGER ? "_eager" :
            flags & UCP_AM_SEND_FLAG_RNDV  ? "_rndv" :
            flags & UCP_AM_SEND_FLAG_REPLY ? "_reply" : "_auto");
}

INSTANTIATE_TEST_SUITE_P(
        sizes, Am,
        testing::Combine(testing::ValuesIn(edge_sizes()),
                         testing::Values(0u, UCP_AM_SEND_FLAG_EAGER,
                                         UCP_AM_SEND_FLAG_RNDV,
                                         UCP_AM_SEND_FLAG_REPLY)),
        am_name);
