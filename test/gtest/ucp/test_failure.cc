/* SPDX-License-Identifier: BSD-3-Clause */
/* A path that fails under a rendezvous: the device answers one read of the
 * receiver with an error. */
#include "ucp_test.h"

#include <cstdlib>
#include <dlfcn.h>

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

class FailedRead : private ByReads, public UcpTest {
protected:
    static constexpr unsigned COUNT = 16;

    /* As many rendezvous at once: reads that were under way end after the one
     * that failed, and find the endpoint that they use. The data of those that
     * end well is right. */
    void receive_all(size_t size, size_t offset);
};

void FailedRead::receive_all(size_t size, size_t offset)
{
    std::vector<Buffer> in, out;
    std::vector<Op> in_op(COUNT), out_op(COUNT);
    unsigned failed = 0, ended = 0;

    ucp_ep_h ep = connect(a, b);
    forget(ep); /* its sends hear nothing more: nothing can end it */
    exchange(b, ep, 8, key(1000));
    using Control = int (*)(const char *, const char *);
    auto control = reinterpret_cast<Control>(dlsym(RTLD_DEFAULT,
                                                   "efasim_control"));
    ASSERT_NE(nullptr, control) << "run under 'efasim run'";
    ASSERT_EQ(0, control("inject", "read:13:1:1"));
    for (unsigned i = 0; i < COUNT; ++i) {
        in.emplace_back(size + offset);
        out.emplace_back(size, key(i));
    }
    for (unsigned i = 0; i < COUNT; ++i) {
        auto param = in_op[i].tag_param();
        in_op[i].started(ucp_tag_recv_nbx(b.worker, in[i].data() + offset,
                                          size, i, ~ucp_tag_t(0), &param));
        send(ep, out[i], i, out_op[i]);
    }
    /* What is late finds its memory, or it crashes here. (A receive that was
     * not begun when the path failed waits for ever in error mode NONE.) */
    double end = seconds_now() + 1;
    while (seconds_now() < end) {
        progress();
    }
    for (unsigned i = 0; i < COUNT; ++i) {
        ended  += in_op[i].done;
        failed += in_op[i].done && (in_op[i].status != UCS_OK);
        if (in_op[i].done && (in_op[i].status == UCS_OK)) {
            EXPECT_LT(fill_diff(in[i].data() + offset, size, key(i), 0), 0)
                    << "receive " << i;
        }
        ucp_request_free(in_op[i].request);
        ucp_request_free(out_op[i].request);
    }
    entity_abandon(a);
    EXPECT_GE(failed, 1u) << "no read failed";
    EXPECT_GE(ended, 2u);
    EXPECT_LE(errors_, 1); /* the sender's, which is told */
    errors_ = 0;
}

TEST_F(FailedRead, of_sixteen)
{
    receive_all(300000, 0);
}

TEST_F(FailedRead, of_sixteen_by_two_reads_each)
{
    receive_all(300000, 13);
}
