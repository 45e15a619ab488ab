/* SPDX-License-Identifier: BSD-3-Clause */
/* Directions that starve each other. */
#include "accident.h"

#include <flow/limits.h>

using namespace uct_test;

namespace accident {

/* In-tree: 2000 progress calls and a flush never completed, because receives
 * kept coming. Four flows bring more than one progress takes. */
TEST_F(Accident, starving_completions)
{
    open();
    introduce();
    std::vector<uct_ep_h> back;
    Bytes header(8);
    Completion comp;
    uint64_t idle = 0;
    unsigned calls;

    a->record = false;
    for (int i = 0; i < 4; ++i) {
        back.push_back(b->connect(*a));
    }
    auto flood = [&] {
        for (uct_ep_h each : back) {
            while (uct_ep_am_short(each, AM_ID, 1, nullptr, 0) == UCS_OK) {
            }
        }
        b->progress();
    };
    for (int i = 0; i < 2000; ++i) { /* let it begin */
        flood();
        a->progress();
    }
    ASSERT_EQ(UCS_INPROGRESS,
              uct_ep_am_zcopy(ep, AM_ID, header.data(), header.size(), nullptr,
                              0, 0, &comp.uct));
    for (calls = 0; (comp.done == 0) && (calls < 2000); ++calls) {
        flood();
        size_t count = a->count;
        a->progress();
        idle += (a->count == count);
    }
    printf("the completion came with progress call %u, %llu of them without "
           "a receive\n", calls, (unsigned long long)idle);
    EXPECT_EQ(1u, comp.done);
    EXPECT_LT(calls, 20u);
    EXPECT_EQ(0u, idle) << "receives did not keep coming: no test";

    /* and the other way round: receives come while sends keep completing */
    size_t got = a->count;
    for (calls = 0; (a->count == got) && (calls < 2000); ++calls) {
        uct_ep_am_short(back[0], AM_ID, 1, nullptr, 0);
        fill(0);
        progress();
    }
    EXPECT_LT(calls, 20u);
    ASSERT_TRUE(flush(ep));
    for (uct_ep_h each : back) {
        uct_ep_destroy(each);
    }
}

/* Limits, answers and goodbyes pass a send queue that messages fill: each of
 * its slots is taken again as soon as it is free, and every request takes 2 ms.
 * Without limits the other side stops after a window. */
TEST_F(Accident, starving_control)
{
    const size_t count = 20 * FLOW_WINDOW_MAX;

    open({{"TX_QUEUE_LEN", "16"}});
    introduce();
    uct_ep_h back = b->connect(*a);
    a->record = b->record = false;
    ASSERT_EQ(UCS_OK, send_short(back, 0, {}));
    ASSERT_TRUE(wait([&] { return a->count == 1; }));
    ASSERT_TRUE(flush(ep));
    device("delay-us", "2000");
    ASSERT_TRUE(wait(
            [&] {
                fill(0); /* a's queue is full before and after its progress */
                a->progress();
                fill(0);
                while (uct_ep_am_short(back, AM_ID, 1, nullptr, 0) == UCS_OK) {
                }
                b->progress();
                return a->count > count;
            },
            30)) << a->count << " messages passed of " << count;
    EXPECT_GT(b->count, size_t(FLOW_WINDOW_MAX)) << "its own messages did not go on";
    device("delay-us", "0");
    ASSERT_TRUE(flush(ep));
    uct_ep_destroy(back);
}

} // namespace accident
