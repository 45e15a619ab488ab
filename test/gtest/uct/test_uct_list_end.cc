/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists that do not end well: the first error is told once, when the last piece
 * has come back. */
#include "list_test.h"

using namespace uct_test;

namespace {

class UctListEnd : public UctList {
};

TEST_P(UctListEnd, bad_key__in_mid_list_ends_all_of_it_and_the_endpoint_once)
{
    for (size_t bad : {size_t(0), max() / 2, max() - 1}) {
        List list = pieces(max());
        Completion comp, later;

        list.rkeys[bad] ^= 0x5a5a00;
        ASSERT_EQ(UCS_INPROGRESS, until_taken(list, &comp));
        ASSERT_TRUE(wait([&] { return comp.done && !a->failures.empty(); }));
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, comp.status);
        EXPECT_EQ(UCS_OK, uct_ep_flush(ep, UCT_FLUSH_FLAG_CANCEL, nullptr))
                << "a part is still out";
        progress_for(0.01);
        EXPECT_EQ(1u, comp.done);
        EXPECT_EQ(1u, a->failures.size());
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, post(pieces(2), &later));
        EXPECT_EQ(UCS_ERR_CONNECTION_RESET, post(List(), &later));
        restart({});
    }
}

/* Each piece fails in another way: the first status is told, at the end. */
TEST_P(UctListEnd, device_errors__the_first_is_told)
{
    const char *op = is_put() ? "write" : "read";
    Completion comp;

    device("reorder", "0"); /* or another may come first */
    device("inject", (std::string(op) + ":13:1:5," + op + ":7:3:9").c_str());
    ASSERT_EQ(UCS_INPROGRESS, post(pieces(max()), &comp));
    ASSERT_TRUE(wait([&] { return comp.done && !a->failures.empty(); }));
    EXPECT_EQ(UCS_ERR_ENDPOINT_TIMEOUT, comp.status);
    EXPECT_EQ(1u, comp.done);
    EXPECT_EQ(0, comp.uct.count);
    device("inject", "");
}

/* A peer that was not made known to the device yet: each piece is tried again. */
TEST_P(UctListEnd, unknown_peer__is_tried_again)
{
    uct_ep_h fresh = a->connect(*b);
    List list      = pieces(max());
    Completion comp;

    clear();
    ASSERT_EQ(UCS_OK, send_short(fresh, 0, {}));
    progress_for(0.02); /* the answer */
    device("inject", is_put() ? "write:14:40:3" : "read:14:40:3");
    ASSERT_TRUE(wait([&] {
        return post(list, &comp, fresh) == UCS_INPROGRESS;
    }));
    EXPECT_EQ(UCS_OK, end_of(comp));
    expect_moved(list);
    device("inject", "");
    uct_ep_destroy(fresh);
}

TEST_P(UctListEnd, destroyed__in_mid_list_tells_once)
{
    for (const char *delay : {"0", "300000"}) {
        uct_ep_h doomed = a->connect(*b);
        Completion comp, ready;

        ASSERT_TRUE(wait([&] {
            return post(pieces(1), &ready, doomed) == UCS_INPROGRESS;
        }));
        ASSERT_TRUE(wait([&] { return ready.done > 0; }));
        device("delay-us", delay);
        ASSERT_EQ(UCS_INPROGRESS, post(pieces(max()), &comp, doomed));
        uct_ep_destroy(doomed);
        device("delay-us", "0");
        ASSERT_TRUE(wait([&] { return comp.done > 0; }));
        progress_for(0.01);
        EXPECT_EQ(1u, comp.done);
        EXPECT_EQ(0, comp.uct.count);
    }
    move(pieces(max()));
}

/* A peer that goes away ends what is out, and the rest is refused. */
TEST_P(UctListEnd, closed_peer__ends_what_is_out)
{
    Completion comp;

    device("delay-us", "100000");
    device_clock(1); /* b is gone before, on a busy host, too */
    ASSERT_EQ(UCS_INPROGRESS, post(pieces(max()), &comp));
    there.reset();
    end(b);
    device_clock(0);
    EXPECT_NE(UCS_OK, end_of(comp));
    EXPECT_EQ(1u, comp.done);
    ASSERT_TRUE(wait([&] { return !a->failures.empty(); }));
    device("delay-us", "0");
}

INSTANTIATE_TEST_SUITE_P(gets, UctListEnd, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(puts, UctListEnd, testing::Values(true));

} // namespace
