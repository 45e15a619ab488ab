/* SPDX-License-Identifier: BSD-3-Clause */
/* Out-of-order delivery and completion, from a seed. */
#include "verbs_test.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>

namespace {

enum { ORDER_N = 500 };

struct Orders {
    uint16_t delivered[ORDER_N];
    uint16_t completed[ORDER_N];
};

} // namespace

/* Sends numbered messages to itself; tells the orders seen. Time stands still:
 * else a pause of the kernel's lets go what is held. */
TEST(DISABLED_Role, orders)
{
    auto clock = (int (*)(unsigned long long))dlsym(RTLD_DEFAULT,
                                                    "efasim_clock");
    Parent parent;

    ASSERT_NE(nullptr, clock);
    ASSERT_EQ(0, clock(1));
    Device dev;
    QpParams params;
    params.send_wr = params.recv_wr = 1024;
    Qp a(dev, params), b(dev, params);
    Memory out(dev, ORDER_N * 64), in(dev, ORDER_N * 64);
    ibv_ah *ah = dev.ah(dev.gid);
    Orders orders = {};

    for (unsigned i = 0; i < ORDER_N; ++i) {
        ASSERT_EQ(0, b.recv(i, {in.sge(i * 64, 64)}));
        memcpy(out.data() + i * 64, &i, sizeof(i));
    }
    for (unsigned i = 0; i < ORDER_N; ++i) {
        ASSERT_EQ(0, a.send(i, ah, b.address(), {out.sge(i * 64, 64)}));
    }
    auto got = poll_many(b.rcq, ORDER_N);
    auto done = poll_many(a.scq, ORDER_N);
    for (unsigned i = 0; i < ORDER_N; ++i) {
        unsigned number;
        EXPECT_EQ(IBV_WC_SUCCESS, got[i].status);
        EXPECT_EQ(IBV_WC_SUCCESS, done[i].status);
        memcpy(&number, in.data() + got[i].wr_id * 64, sizeof(number));
        orders.delivered[i] = number;
        orders.completed[i] = done[i].wr_id;
    }
    parent.put(orders);
    EXPECT_EQ(0, ibv_destroy_ah(ah));
}

static Orders orders_of(const std::vector<std::string> &options)
{
    Child child(0, "orders", options);
    Orders orders = child.get<Orders>();

    child.expect_ok();
    return orders;
}

static unsigned out_of_place(const uint16_t *order)
{
    unsigned n = 0;

    for (unsigned i = 1; i < ORDER_N; ++i) {
        n += (order[i] < order[i - 1]);
    }
    return n;
}

static bool is_permutation(const uint16_t *order)
{
    std::vector<uint16_t> sorted(order, order + ORDER_N);

    std::sort(sorted.begin(), sorted.end());
    for (unsigned i = 0; i < ORDER_N; ++i) {
        if (sorted[i] != i) {
            return false;
        }
    }
    return true;
}

TEST(order, kept_without_reorder)
{
    Orders orders = orders_of({"--reorder", "0"});

    EXPECT_TRUE(is_permutation(orders.delivered));
    EXPECT_EQ(0u, out_of_place(orders.delivered));
    EXPECT_EQ(0u, out_of_place(orders.completed));
}

TEST(order, changed_by_reorder)
{
    for (auto p : {"0.05", "0.3", "1"}) {
        Orders orders = orders_of({"--reorder", p, "--seed", "7"});
        EXPECT_TRUE(is_permutation(orders.delivered)) << p;
        EXPECT_TRUE(is_permutation(orders.completed)) << p;
        EXPECT_GT(out_of_place(orders.delivered), 0u) << p;
        EXPECT_GT(out_of_place(orders.completed), 0u) << p;
    }
}

/* By chance no two orders of 500 are the same. */
TEST(order, same_seed_same_order)
{
    Orders one = orders_of({"--reorder", "0.3", "--seed", "42"});
    Orders two = orders_of({"--reorder", "0.3", "--seed", "42"});
    Orders other = orders_of({"--reorder", "0.3", "--seed", "43"});

    EXPECT_EQ(0, memcmp(one.delivered, two.delivered,
                        sizeof(one.delivered)));
    EXPECT_NE(0, memcmp(one.delivered, other.delivered,
                        sizeof(one.delivered)));
}

TEST(order, bad_knobs_are_refused)
{
    for (auto &bad : {"1.5", "-1", "x", "", "nan"}) {
        Child child(0, "orders", {"--reorder", bad});
        EXPECT_NE(0, child.wait()) << "--reorder " << bad;
    }
    Child child(0, "orders", {"--inject", "jump:13"});
    EXPECT_NE(0, child.wait());
}
