/* SPDX-License-Identifier: BSD-3-Clause */
/* A path that fails under a rendezvous: the device answers one read of the
 * receiver with an error. */
#include "ucp_test.h"

#include <cstdlib>
#include <dlfcn.h>
#include <sys/mman.h>

/* Rendezvous by reads for all but short messages, for what UCP opens next. */
class ByReads {
protected:
    ByReads()
    {
        setenv("UCX_RNDV_SCHEME", "get_zcopy", 1);
        setenv("UCX_RNDV_THRESH", "8k", 1);
    }
    ~ByReads()
    {
        unsetenv("UCX_RNDV_SCHEME");
        unsetenv("UCX_RNDV_THRESH");
    }
};

using Control = int (*)(const char *, const char *);

class FailedRead : private ByReads, public UcpTest {
protected:
    /* Faults of the device, in efasim's words; bytes of a message, and how far
     * its memory is from a boundary; how many; progress between two. */
    struct Plan {
        const char *fault;
        size_t      size, offset;
        unsigned    count, pause;
        unsigned    ended; /* receives that end at least, well or not */
    };

    void receive_all(const Plan &plan, bool peer_errors = false);

    unsigned failed_ = 0; /* receives */

private:
    void start(const Plan &plan, ucp_ep_h ep);
    void look(const Plan &plan);

    std::vector<Buffer> in_, out_;
    std::vector<Op>     in_op_, out_op_;
};

void FailedRead::start(const Plan &plan, ucp_ep_h ep)
{
    in_op_.resize(plan.count);
    out_op_.resize(plan.count);
    for (unsigned i = 0; i < plan.count; ++i) {
        in_.emplace_back(plan.size + plan.offset);
        out_.emplace_back(plan.size, key(i));
    }
    for (unsigned i = 0; i < plan.count; ++i) {
        auto param = in_op_[i].tag_param();
        in_op_[i].started(ucp_tag_recv_nbx(b.worker,
                                           in_[i].data() + plan.offset,
                                           plan.size, i, ~ucp_tag_t(0),
                                           &param));
        send(ep, out_[i], i, out_op_[i]);
        for (unsigned n = 0; n < plan.pause; ++n) {
            progress();
        }
    }
}

void FailedRead::look(const Plan &plan)
{
    for (unsigned i = 0; i < plan.count; ++i) {
        const Op &op = in_op_[i];

        failed_ += op.done && (op.status != UCS_OK);
        if (op.done && (op.status == UCS_OK)) {
            EXPECT_LT(fill_diff(in_[i].data() + plan.offset, plan.size, key(i),
                                0), 0) << "receive " << i;
        }
        for (void *request : {op.request, out_op_[i].request}) {
            if (request != nullptr) {
                ucp_request_free(request);
            }
        }
    }
}

/* As many rendezvous at once: reads that were under way end after the one that
 * failed, and find the endpoint that they use. The data of those that end well
 * is right. */
void FailedRead::receive_all(const Plan &plan, bool peer_errors)
{
    ucp_ep_h ep = connect(a, b, peer_errors);
    forget(ep); /* its sends hear nothing more: nothing can end it */
    exchange(b, ep, 8, key(1000));
    exchange(b, ep, plan.size, key(1001)); /* a read has worked */
    auto control = reinterpret_cast<Control>(dlsym(RTLD_DEFAULT,
                                                   "efasim_control"));
    ASSERT_NE(nullptr, control) << "run under 'efasim run'";
    ASSERT_EQ(0, control("inject", plan.fault));
    start(plan, ep);
    until([&] {
        unsigned ended = 0, failed = 0;
        for (const Op &op : in_op_) {
            ended  += op.done;
            failed += op.done && (op.status != UCS_OK);
        }
        return (failed > 0) && (ended >= plan.ended) &&
               (errors_ >= (peer_errors ? 1 : 0));
    }, "failed read");
    /* A late packet finds its memory, or the test crashes here. */
    for (unsigned n = 0; n < 20000; ++n) {
        progress();
    }
    look(plan);
    entity_abandon(a);
    /* Reads that are still under way write there. (A receive that was not begun
     * when the path failed waits for ever in error mode NONE.) */
    static std::list<std::pair<std::vector<Buffer>, std::vector<Op>>> kept;
    kept.emplace_back(std::move(in_), std::move(in_op_));
    EXPECT_GE(failed_, 1u) << "no read failed";
    EXPECT_LE(errors_, 1); /* the sender's, which is told */
    if (peer_errors) {
        EXPECT_EQ(1, errors_) << "its keepalive comes after 20 s";
    }
    errors_ = 0;
}

TEST_F(FailedRead, of_sixteen)
{
    receive_all({"read:13:1:1", 300000, 0, 16, 0, 2});
}

TEST_F(FailedRead, of_sixteen_by_two_reads_each)
{
    receive_all({"read:13:1:1", 300000, 13, 16, 0, 2});
}

/* While it is read-only that receive alone fails. (UCP tells its sender nothing,
 * over any transport.) */
TEST_F(FailedRead, into_read_only_memory_leaves_the_endpoint)
{
    const size_t size = 1 << 20;
    void *memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
                        -1, 0);
    ASSERT_NE(MAP_FAILED, memory);
    ucp_ep_h ba = connect(b, a, true);
    Buffer out(size, key(1));
    Op in_op, out_op;
    ucp_request_param_t param = in_op.tag_param();

    in_op.started(ucp_tag_recv_nbx(a.worker, memory, size, 1, ~ucp_tag_t(0),
                                   &param));
    send(ba, out, 1, out_op);
    finish(in_op, "receive into read-only memory", UCS_ERR_INVALID_ADDR);
    exchange(a, ba, size, key(2));
    EXPECT_EQ(0, errors_);
    close(ba, UCP_EP_CLOSE_FLAG_FORCE);
    until([&] { return out_op.done > 0; }, "end of the send");
    munmap(memory, size);
}

class FailedReadOfMany
    : public FailedRead,
      public testing::WithParamInterface<std::tuple<int, bool>> {
};

/*
 * The sender goes on while the read fails: what it asks for after that must not
 * come to an endpoint that UCP has freed (without error handling, requests name
 * it by its address), and with error handling it is told now.
 */
TEST_P(FailedReadOfMany, sender_goes_on)
{
    auto [status, peer_errors] = GetParam();
    std::string fault = "read:" + std::to_string(status) + ":1:14";

    receive_all({fault.c_str(), 600000, 0, 32, 3, 1}, peer_errors);
}

INSTANTIATE_TEST_SUITE_P(Device, FailedReadOfMany,
                         testing::Combine(testing::Values(2, 7, 13, 14),
                                          testing::Bool()));
