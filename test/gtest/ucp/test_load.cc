/* SPDX-License-Identifier: BSD-3-Clause */
/* Many messages: order, floods that nobody receives at first, wakeup. */
#include "ucp_test.h"

#include <poll.h>

class Load : public UcpTest {
protected:
    /* @n messages of one tag, received in the order sent. */
    void ordered(unsigned n, size_t max_len, bool late)
    {
        ucp_ep_h ep = connect(a, b);
        std::vector<Buffer> out(n), in(n);
        std::vector<Op> out_op(n), in_op(n);

        for (unsigned i = 0; i < n; ++i) {
            size_t len = fill_mix(key(i)) % (max_len + 1);
            out[i]     = Buffer(len, key(i));
            in[i]      = Buffer(len);
            send(ep, out[i], 3, out_op[i]);
            if (!late) {
                recv(b, in[i], 3, in_op[i]);
            }
            if (i % 16 == 0) {
                progress();
            }
        }
        for (unsigned i = 0; late && i < n; ++i) {
            recv(b, in[i], 3, in_op[i]);
        }
        for (unsigned i = 0; i < n; ++i) {
            finish(in_op[i], "receive");
            finish(out_op[i], "send");
            ASSERT_EQ(in[i].size(), in_op[i].got) << "message " << i;
            ASSERT_TRUE(in[i].holds(key(i))) << "message " << i;
        }
    }
};

TEST_F(Load, order_of_10000_small)
{
    ordered(10000, 64, false);
}

TEST_F(Load, order_of_10000_mixed)
{
    ordered(10000, 12000, false);
}

TEST_F(Load, flood_of_10000_unexpected)
{
    ordered(10000, 200, true);
}

TEST_F(Load, flood_of_2000_unexpected_packets)
{
    ordered(2000, 8900, true);
}

/* The receiver makes no progress while the sender sends all it can. */
TEST_F(Load, receiver_without_progress)
{
    const unsigned n = 5000;
    ucp_ep_h ep      = connect(a, b);
    std::vector<Buffer> out(n), in(n);
    std::vector<Op> out_op(n), in_op(n);

    exchange(b, ep, 8, key(n));
    for (unsigned i = 0; i < n; ++i) {
        out[i] = Buffer(i % 3000, key(i));
        in[i]  = Buffer(i % 3000);
        send(ep, out[i], i, out_op[i]);
        ucp_worker_progress(a.worker);
    }
    for (unsigned i = 0; i < 20000; ++i) {
        ucp_worker_progress(a.worker);
    }
    for (unsigned i = n; i-- > 0;) {
        recv(b, in[i], i, in_op[i]);
    }
    for (unsigned i = 0; i < n; ++i) {
        finish(in_op[i], "receive");
        finish(out_op[i], "send");
        EXPECT_TRUE(in[i].holds(key(i)));
    }
}

/* Three senders to one receiver that takes them by turns. */
TEST_F(Load, incast)
{
    Entity &c = entity_new(), &d = entity_new();
    ucp_ep_h eps[]   = {connect(a, b), connect(c, b), connect(d, b)};
    const unsigned n = 6000;
    std::vector<Buffer> out(n), in(n);
    std::vector<Op> out_op(n), in_op(n);

    for (unsigned i = 0; i < n; ++i) {
        out[i] = Buffer(fill_mix(i) % 5000, key(i));
        in[i]  = Buffer(out[i].size());
        send(eps[i % 3], out[i], i % 3, out_op[i]);
    }
    for (unsigned i = 0; i < n; ++i) {
        recv(b, in[i], i % 3, in_op[i]);
    }
    for (unsigned i = 0; i < n; ++i) {
        finish(in_op[i], "receive");
        finish(out_op[i], "send");
        EXPECT_TRUE(in[i].holds(key(i))) << "message " << i;
    }
}

TEST_F(Load, flush_with_nothing_to_do)
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

/* After arm said OK, a message must make the descriptor readable. */
TEST_F(Load, wakeup)
{
    Entity &c   = entity_new(UCP_FEATURE_WAKEUP);
    ucp_ep_h ep = connect(a, c), back = connect(c, a);
    struct pollfd pfd = {};

    exchange(c, ep, 8, key(1));
    exchange(a, back, 8, key(2));
    ASSERT_EQ(UCS_OK, ucp_worker_get_efd(c.worker, &pfd.fd));
    pfd.events = POLLIN;
    for (unsigned i = 0; i < 200; ++i) {
        size_t len = (i % 3) ? i * 111 : i * 5000;
        Buffer out(len, key(i)), in(len);
        Op out_op, in_op;
        unsigned sleeps = 0;

        recv(c, in, i, in_op);
        while (ucp_worker_arm(c.worker) == UCS_ERR_BUSY) {
            while (ucp_worker_progress(c.worker)) {
            }
        }
        send(ep, out, i, out_op);
        while (!in_op.done) {
            ucp_worker_progress(a.worker);
            if (poll(&pfd, 1, 1) == 0) {
                ASSERT_LT(++sleeps, 10000u) << "no event for message " << i;
                continue;
            }
            do {
                while (ucp_worker_progress(c.worker)) {
                }
            } while (ucp_worker_arm(c.worker) == UCS_ERR_BUSY);
        }
        finish(in_op, "receive");
        finish(out_op, "send");
        EXPECT_TRUE(in.holds(key(i)));
    }
}
