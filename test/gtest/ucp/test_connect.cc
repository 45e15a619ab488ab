/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections: who to whom, when, how often, and the traces that they leave. */
#include "ucp_test.h"

#include <cstdlib>

class Connect : public UcpTest {
};

TEST_F(Connect, to_itself)
{
    ucp_ep_h ep = connect(a, a);

    for (size_t len : {0ul, 8ul, 9000ul, 1000000ul}) {
        exchange(a, ep, len, key(len));
    }
}

TEST_F(Connect, twice_to_one_peer)
{
    ucp_ep_h ep[2] = {connect(a, b), connect(a, b)};

    EXPECT_NE(ep[0], ep[1]);
    for (unsigned i = 0; i < 100; ++i) {
        exchange(b, ep[i % 2], i * 401, key(i));
    }
    close(ep[0]);
    exchange(b, ep[1], 100000, key(1000));
}

/* Both sides connect and send before either has heard of the other. */
TEST_F(Connect, both_at_once)
{
    for (unsigned round = 0; round < 20; ++round) {
        Entity &c = entity_new(), &d = entity_new();
        ucp_ep_h cd = connect(c, d), dc = connect(d, c);
        size_t len  = round * round * 997;
        Buffer out_c(len, key(2 * round)), in_c(len);
        Buffer out_d(len, key(2 * round + 1)), in_d(len);
        Op op[4];

        send(cd, out_c, 1, op[0]);
        send(dc, out_d, 1, op[1]);
        recv(c, in_c, 1, op[2]);
        recv(d, in_d, 1, op[3]);
        for (auto &o : op) {
            finish(o, "simultaneous connect");
        }
        EXPECT_TRUE(in_d.holds(key(2 * round)));
        EXPECT_TRUE(in_c.holds(key(2 * round + 1)));
        close(cd);
        close(dc);
        entity_drop(c);
        entity_drop(d);
    }
}

TEST_F(Connect, close_and_reopen)
{
    for (unsigned i = 0; i < 300; ++i) {
        ucp_ep_h ep = connect(a, b, i % 2);
        exchange(b, ep, (i * i) % 20011, key(i));
        close(ep);
    }
}

/* Close right after the send: what was sent still comes. */
TEST_F(Connect, close_flushes)
{
    for (unsigned i = 0; i < 100; ++i) {
        ucp_ep_h ep = connect(a, b);
        std::vector<Buffer> out(10), in(10);
        std::vector<Op> out_op(10), in_op(10);
        for (unsigned j = 0; j < 10; ++j) {
            out[j] = Buffer((i * 131 + j * 977) % 9500, key(i * 10 + j));
            in[j]  = Buffer(out[j].size());
            recv(b, in[j], j, in_op[j]);
            send(ep, out[j], j, out_op[j]);
        }
        close(ep);
        for (unsigned j = 0; j < 10; ++j) {
            finish(out_op[j], "send before close");
            finish(in_op[j], "receive");
            EXPECT_TRUE(in[j].holds(key(i * 10 + j)));
        }
    }
}

/* Never used: opened and closed. */
TEST_F(Connect, idle_endpoints)
{
    std::vector<ucp_ep_h> eps;

    for (unsigned i = 0; i < 200; ++i) {
        eps.push_back(connect(a, b));
    }
    for (auto ep : eps) {
        close(ep);
    }
    exchange(b, connect(a, b), 5000, key(1));
}

TEST_F(Connect, many_workers_to_one)
{
    const unsigned n = 20;
    std::vector<Entity*> peers;
    std::vector<ucp_ep_h> eps;
    std::vector<Buffer> out(n * 50), in(n * 50);
    std::vector<Op> out_op(n * 50), in_op(n * 50);

    for (unsigned i = 0; i < n; ++i) {
        peers.push_back(&entity_new());
        eps.push_back(connect(*peers[i], b));
    }
    for (unsigned i = 0; i < n * 50; ++i) {
        out[i] = Buffer((i * 379) % 30000, key(i));
        in[i]  = Buffer(out[i].size());
        send(eps[i % n], out[i], i, out_op[i]);
    }
    for (unsigned i = 0; i < n * 50; ++i) {
        recv(b, in[i], i, in_op[i]);
    }
    for (unsigned i = 0; i < n * 50; ++i) {
        finish(in_op[i], "receive");
        finish(out_op[i], "send");
        EXPECT_TRUE(in[i].holds(key(i)));
    }
}

/* A peer's worker goes and another comes (with numbers used again). */
TEST_F(Connect, successors_of_a_worker)
{
    for (unsigned i = 0; i < 30; ++i) {
        Entity &c     = entity_new();
        ucp_ep_h to   = connect(a, c);
        ucp_ep_h from = connect(c, a);
        exchange(c, to, 8 + i * 700, key(2 * i));
        exchange(a, from, 8 + i * 800, key(2 * i + 1));
        close(to);
        close(from);
        entity_drop(c);
    }
}

/* Forced close with sends under way: they end, others are not disturbed. */
TEST_F(Connect, forced_close)
{
    ucp_ep_h other = connect(a, b);

    for (unsigned i = 0; i < 20; ++i) {
        /* UCX's own threshold follows CPU and device */
        setenv("UCX_RNDV_THRESH", "65536", 1);
        Entity &c   = entity_new();
        unsetenv("UCX_RNDV_THRESH");
        ucp_ep_h ep = connect(c, b, true);
        exchange(b, ep, 1000, key(i));
        std::vector<Buffer> out(20);
        std::vector<Op> op(20);
        for (unsigned j = 0; j < 20; ++j) {
            /* One packet each, or a rendezvous; of a message of several eager
             * packets UCP would wait for the rest for ever. */
            out[j] = Buffer(j < 19 ? j * 430 : 1 << 20, key(j));
            send(ep, out[j], 7777, op[j]);
        }
        close(ep, UCP_EP_CLOSE_FLAG_FORCE);
        for (auto &o : op) {
            until([&] { return o.done > 0; }, "send of a closed endpoint");
            if (o.request != nullptr) {
                ucp_request_free(o.request);
            }
        }
        exchange(b, other, 3000, key(100 + i));
        /* UCX 1.13 asserts if a worker goes while lanes are discarded. */
        flush(c);
        entity_drop(c);
    }
    /* Eager ones may have come; take them so that UCP does not warn. */
    take_unexpected(b, 7777);
}
