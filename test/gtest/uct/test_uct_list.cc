/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists: what is moved, and when it may be posted. */
#include "list_test.h"

using namespace uct_test;

namespace {

TEST_P(UctList, each_count__each_piece_at_its_place_told_once)
{
    ASSERT_EQ(64u, max());
    for (size_t count = 1; count <= max(); ++count) {
        move(pieces(count));
        if (HasFailure()) {
            FAIL() << count << " pieces";
        }
    }
    move(pieces(max())); /* the same again, elsewhere in the ring */
}

TEST_P(UctList, lengths__none_and_short_ones_among_long_ones)
{
    const size_t lengths[] = {0, 1, 7, 0, 2 * PIECE, 33, 0, 4097, 0};
    List list;
    size_t place = 0;

    for (size_t length : lengths) {
        list.add(*here, *there, place++ * 2 * PIECE, length);
    }
    move(list);
}

TEST_P(UctList, keys__each_element_has_its_own)
{
    std::vector<std::unique_ptr<Memory>> locals, remotes;
    Completion comp;
    List list;

    for (uint32_t i = 0; i < max(); ++i) {
        locals.emplace_back(new Memory(*a, 500 + i, i));
        remotes.emplace_back(new Memory(*b, 500 + i, 1000 + i));
        list.add(*locals[i], *remotes[i], 3, 490 + i);
    }
    ASSERT_EQ(UCS_INPROGRESS, until_taken(list, &comp));
    EXPECT_EQ(UCS_OK, end_of(comp));
    for (uint32_t i = 0; i < max(); ++i) {
        Memory &target = is_put() ? *remotes[i] : *locals[i];

        Bytes want = make_message(is_put() ? 1000 + i : i, 500 + i);
        Bytes sent = make_message(is_put() ? i : 1000 + i, 500 + i);
        std::copy_n(sent.begin() + 3, 490 + i, want.begin() + 3);
        ASSERT_EQ(want, Bytes(target.data(), target.data() + 500 + i)) << i;
    }
}

TEST_P(UctList, blocks__counts_and_strides)
{
    List list;

    list.add(*here, *there, 0, 100, 5, 300);
    list.add(*here, *there, 2000, 1, 1, 0);
    list.add(*here, *there, 3000, 77, 0, 99);
    list.add(*here, *there, 4000, 50, 40, 50);
    list.add(*here, *there, 9000, 0, 3, 10);
    move(list);

    list.strides.clear(); /* each block at the same place */
    move(list);
}

TEST_P(UctList, nothing__is_done_at_once)
{
    List none, zeros, zero_blocks;
    Completion comp;

    for (int i = 0; i < 3; ++i) {
        zeros.add(*here, *there, i, 0);
        zero_blocks.add(*here, *there, i, 10, 0, 0);
    }
    EXPECT_EQ(UCS_OK, post(none, &comp));
    EXPECT_EQ(UCS_OK, post(zeros, &comp));
    EXPECT_EQ(UCS_OK, post(zero_blocks, &comp));
    EXPECT_EQ(1, comp.uct.count);
    EXPECT_EQ(0u, comp.done);
}

/* With a read behind each piece. */
TEST_P(UctList, put_flush__each_piece_once)
{
    restart({{"PUT_FLUSH", "y"}});
    for (int i = 0; i < 5; ++i) {
        move(pieces(max()));
    }
}

/* Every fault is found before anything is posted. */
TEST_P(UctList, refused__moves_nothing)
{
    Memory beside(*b, 64, 3);
    Completion comp;
    List many = pieces(63), foreign = pieces(10), blocks, huge, wrapping;

    many.add(*here, *there, 0, 1);
    many.add(*here, *there, 0, 1);
    foreign.memhs.back() = beside.memh();
    blocks.add(*here, *there, 0, 1, 257, 0);
    wrapping.add(*here, *there, 0, 1, SIZE_MAX / 2 + 2, 0);
    wrapping.add(*here, *there, 0, 1, SIZE_MAX / 2 + 2, 0);
    huge.add(*here, *there, 0, 1);
    huge.add(*here, *there, 0, SIZE_MAX);

    clear();
    for (const List &list : {many, foreign, blocks, huge, wrapping}) {
        EXPECT_EQ(UCS_ERR_INVALID_PARAM, post(list, &comp));
    }
    EXPECT_EQ(1, comp.uct.count);
    EXPECT_EQ(UCS_OK, uct_ep_flush(ep, 0, nullptr)) << "something was posted";
    expect_moved(List());
    move(pieces(2));
}

/* An endpoint's lists may have 8 of 16 operations, and no list waits for a part
 * of its needs. */
TEST_P(UctList, too_few_operations__nothing_is_posted)
{
    restart({{"TX_QUEUE_LEN", "16"}});
    ASSERT_EQ(8u, max());
    uct_ep_h others[] = {a->connect(*b), a->connect(*b)};
    Completion comps[4];

    for (uct_ep_h other : others) { /* where no RMA was yet it waits */
        Completion ready;
        ASSERT_TRUE(wait([&] {
            return post(pieces(1), &ready, other) == UCS_INPROGRESS;
        }));
        ASSERT_TRUE(wait([&] { return ready.done > 0; }));
    }
    clear();
    ASSERT_EQ(UCS_INPROGRESS, post(pieces(5), &comps[0]));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, post(pieces(4, 5), &comps[1]));
    ASSERT_EQ(UCS_INPROGRESS, post(pieces(3, 5), &comps[1]));
    ASSERT_EQ(UCS_INPROGRESS, post(pieces(5, 8), &comps[2], others[0]));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, post(pieces(4, 13), &comps[3], others[1]));
    EXPECT_EQ(1, comps[3].uct.count);
    ASSERT_TRUE(wait([&] {
        return comps[0].done && comps[1].done && comps[2].done;
    }));
    expect_moved(pieces(13));
    ASSERT_EQ(UCS_INPROGRESS, post(pieces(4, 13), &comps[3], others[1]));
    ASSERT_TRUE(wait([&] { return comps[3].done > 0; }));
    expect_moved(pieces(17));
    uct_ep_destroy(others[0]);
    uct_ep_destroy(others[1]);
}

/* A refused list can be queued although some operation could be posted, and is
 * not tried in vain. */
TEST_P(UctList, pending__waits_until_all_fit)
{
    restart({{"TX_QUEUE_LEN", "16"}});
    Completion first, last;
    Pending request([&] { return post(pieces(8, 5), &last); });

    clear();
    ASSERT_EQ(UCS_INPROGRESS, post(pieces(5), &first));
    ASSERT_EQ(UCS_ERR_NO_RESOURCE, post(pieces(8, 5), &last));
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &request.uct, 0));
    ASSERT_TRUE(wait([&] { return last.done > 0; }));
    EXPECT_EQ(1u, request.calls);
    EXPECT_TRUE(first.done);
    expect_moved(pieces(13));
    Pending idle([] { return UCS_INPROGRESS; });
    EXPECT_EQ(UCS_ERR_BUSY, uct_ep_pending_add(ep, &idle.uct, 0));
}

/* Others who take each operation that comes back do not starve a list. */
TEST_P(UctList, pending__has_its_turn_beside_single_operations)
{
    restart({{"TX_QUEUE_LEN", "64"}}); /* a poll gives back 16 of them */
    uct_ep_h other = a->connect(*b);
    std::vector<std::unique_ptr<Pending>> singles;
    Completion many, listed;
    unsigned behind = 0;

    many.uct.count = 1000000;
    auto single    = [&] {
        uct_iov_t iov        = here->iov(0, 8);
        uint64_t remote_addr = there->address();

        return (is_put() ? uct_ep_put_zcopy : uct_ep_get_zcopy)(
                other, &iov, 1, remote_addr, there->rkey(), &many.uct);
    };
    Pending request([&] { return post(pieces(32, 1), &listed); });

    ASSERT_TRUE(wait([&] { return single() == UCS_INPROGRESS; }));
    device("jitter-us", "3000"); /* they come back one by one */
    while (single() == UCS_INPROGRESS) {
    }
    for (int i = 0; i < 3000; ++i) {
        singles.emplace_back(new Pending(single));
        ASSERT_EQ(UCS_OK, uct_ep_pending_add(other, &singles.back()->uct, 0));
    }
    ASSERT_EQ(UCS_ERR_NO_RESOURCE, post(pieces(32, 1), &listed));
    ASSERT_EQ(UCS_OK, uct_ep_pending_add(ep, &request.uct, 0));
    ASSERT_TRUE(wait([&] { return request.done; }));
    behind = std::count_if(singles.begin(), singles.end(),
                           [](const auto &one) { return !one->done; });
    EXPECT_LT(2500u, behind) << "it came late";
    EXPECT_EQ(1u, request.calls);
    device("jitter-us", "0");
    ASSERT_TRUE(wait([&] { return singles.back()->done && listed.done; }));
    ASSERT_TRUE(flush(other));
    uct_ep_destroy(other);
}

TEST_P(UctList, flush_and_fence__wait_for_all_of_it)
{
    List list = pieces(max());
    Completion flushed, comp;
    bool all = false;

    clear();
    b->on_message = [&](const Bytes &) { expect_moved(list); };
    ASSERT_EQ(UCS_INPROGRESS, post(list, &comp));
    ASSERT_EQ(UCS_INPROGRESS, uct_ep_flush(ep, 0, &flushed.uct));
    ASSERT_EQ(UCS_OK, uct_ep_fence(ep, 0));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, uct_ep_am_short(ep, AM_ID, 1, nullptr, 0));
    ASSERT_TRUE(wait([&] {
        all |= flushed.done > 0;
        EXPECT_LE(flushed.done, comp.done) << "flushed before it was over";
        return flushed.done && comp.done;
    }));
    EXPECT_TRUE(all);
    ASSERT_EQ(UCS_OK, send_short(ep, 1, {}));
    ASSERT_TRUE(wait([&] { return b->count > 0; }));

    clear(); /* a list behind a fence */
    Completion second;
    ASSERT_EQ(UCS_INPROGRESS, post(pieces(30), &comp));
    ASSERT_EQ(UCS_OK, uct_iface_fence(a->iface(), 0));
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, post(pieces(34, 30), &second));
    ASSERT_EQ(UCS_INPROGRESS, until_taken(pieces(34, 30), &second));
    ASSERT_TRUE(wait([&] { return second.done > 0; }));
    expect_moved(pieces(64));
}

/* Blocks longer than what one work request takes (efasim's --max-rdma). */
TEST_P(UctList, longer_than_a_work_request__takes_several)
{
    const size_t most = is_put() ? a->attr().cap.put.max_zcopy :
                                   a->attr().cap.get.max_zcopy;
    const size_t size = 64 * 2 * PIECE;

    if (most > size / 4) {
        GTEST_SKIP() << "a work request takes " << most << " bytes";
    }
    List list, blocks;
    for (size_t length : {most, most + 1, 3 * most - 1, size_t(5)}) {
        list.add(*here, *there, list.lengths.empty() ? 0 :
                 reinterpret_cast<uintptr_t>(list.buffers.back()) -
                 reinterpret_cast<uintptr_t>(here->data()) +
                 list.lengths.back() + 3, length);
    }
    move(list);
    blocks.add(*here, *there, 0, most + 5, 3, most + 9);
    move(blocks);
}

INSTANTIATE_TEST_SUITE_P(gets, UctList, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(puts, UctList, testing::Values(true));

} // namespace
