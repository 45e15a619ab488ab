/* SPDX-License-Identifier: BSD-3-Clause */
/* The registration cache alone, with a registrar that only counts. */
#include "../c11.h"

#include <cerrno>
#include <map>
#include <unistd.h>

extern "C" {
#include <uct/ib/efa/efa_rcache.h>
}

class Rcache : public ::testing::Test {
protected:
    static int reg(void *arg, void *address, size_t length, int weak, void **mr)
    {
        Rcache *self = static_cast<Rcache *>(arg);
        uintptr_t start = reinterpret_cast<uintptr_t>(address);

        if (self->refuse > 0) {
            --self->refuse;
            return self->refuse_by;
        }
        if (!weak && (start < self->read_only.second) &&
            (start + length > self->read_only.first)) {
            return EFAULT;
        }
        ++self->regs;
        *mr = reinterpret_cast<void *>(++self->last);
        self->live[self->last] = {start, start + length};
        return 0;
    }
    static void dereg(void *arg, void *mr)
    {
        Rcache *self = static_cast<Rcache *>(arg);

        EXPECT_EQ(1u, self->live.erase(reinterpret_cast<uintptr_t>(mr)));
    }
    void open(unsigned max_regions = 100, size_t max_bytes = 1ul << 40)
    {
        efa_rcache_init(&cache, &ops, this, max_regions, max_bytes);
    }
    void TearDown() override
    {
        efa_rcache_cleanup(&cache);
        EXPECT_TRUE(live.empty());
    }
    efa_rcache_region_t *get(unsigned page, unsigned count = 1)
    {
        efa_rcache_region_t *region = nullptr;
        EXPECT_EQ(0, try_get(page, count, false, &region));
        return region;
    }
    int try_get(unsigned page, unsigned count, bool strong,
                efa_rcache_region_t **region)
    {
        return get_bytes(page * page_size, count * page_size, strong, region);
    }
    int get_bytes(size_t at, size_t length, bool strong,
                  efa_rcache_region_t **region)
    {
        return efa_rcache_get(&cache, (void*)(base + at), length, strong,
                              region);
    }
    void protect(unsigned page, unsigned count)
    {
        read_only = {base + page * page_size,
                     base + (page + count) * page_size};
    }
    void put(efa_rcache_region_t *region)
    {
        efa_rcache_put(&cache, region);
    }
    void unmap(unsigned page, unsigned count = 1)
    {
        efa_rcache_unmapped(&cache, base + page * page_size,
                            base + (page + count) * page_size);
    }

    efa_rcache_t cache;
    efa_rcache_ops_t ops = {reg, dereg}; /* what too many notes would spoil */
    size_t page_size = sysconf(_SC_PAGESIZE);
    uintptr_t base = 0x10000000;
    unsigned regs = 0, refuse = 0;
    int refuse_by = ENOMEM;
    std::pair<uintptr_t, uintptr_t> read_only = {0, 0};
    uintptr_t last = 0;
    std::map<uintptr_t, std::pair<uintptr_t, uintptr_t>> live;
};

TEST_F(Rcache, get__the_same_range_registers_once)
{
    open();
    auto *one = get(0, 4), *two = get(1, 2);

    EXPECT_EQ(one, two);
    EXPECT_EQ(1u, regs);
    put(one);
    put(two);
    EXPECT_EQ(one, get(3));
    put(one);
    EXPECT_EQ(1u, regs);
}

TEST_F(Rcache, get__unaligned_bytes_take_whole_pages)
{
    open();
    efa_rcache_region_t *region;

    ASSERT_EQ(0, get_bytes(100, page_size, false, &region));
    EXPECT_EQ(base, live.begin()->second.first);
    EXPECT_EQ(base + 2 * page_size, live.begin()->second.second);
    put(region);
}

TEST_F(Rcache, get__overlap_makes_one_region_and_keeps_the_used_one_alive)
{
    open();
    auto *low = get(0, 2), *both = get(1, 3);

    EXPECT_NE(low, both);
    EXPECT_EQ(2u, live.size()); /* low is in use */
    put(low);
    EXPECT_EQ(1u, live.size());
    EXPECT_EQ(both, get(0)); /* the union */
    put(both);
    put(both);
}

TEST_F(Rcache, unmapped__an_unused_region_is_never_found_again)
{
    open();
    put(get(0, 4));
    unmap(2);
    put(get(0, 4));
    EXPECT_EQ(2u, regs);
    EXPECT_EQ(1u, live.size());
}

TEST_F(Rcache, unmapped__neighbours_stay)
{
    open();
    put(get(0));
    put(get(2));
    unmap(1);
    put(get(0));
    put(get(2));
    EXPECT_EQ(2u, regs);
}

TEST_F(Rcache, unmapped__more_notes_than_fit_drop_everything)
{
    open(1000);
    for (unsigned i = 0; i < 10; ++i) {
        put(get(2 * i));
    }
    for (unsigned i = 0; i < 1000; ++i) {
        unmap(100000 + i); /* none of ours, but some are lost */
    }
    put(get(0));
    EXPECT_EQ(11u, regs);
    EXPECT_EQ(1u, live.size());
}

TEST_F(Rcache, unmapped__amid_another_note_waits_for_none_and_is_not_lost)
{
    open();
    put(get(0));
    unmap(50);
    /* another thread notes something, or a forked child's did */
    atomic_flag_test_and_set(&cache.notes_lock);
    unmap(0);
    atomic_flag_clear(&cache.notes_lock);
    unmap(51);
    put(get(0));
    put(get(0));
    EXPECT_EQ(2u, regs);
}

TEST_F(Rcache, limits__the_oldest_unused_go_first)
{
    open(3);
    for (unsigned i = 0; i < 3; ++i) {
        put(get(2 * i));
    }
    put(get(0)); /* now the youngest */
    put(get(10));
    EXPECT_EQ(3u, live.size());
    regs = 0;
    put(get(0));
    EXPECT_EQ(0u, regs);
    put(get(2));
    EXPECT_EQ(1u, regs);
}

TEST_F(Rcache, limits__bytes_count_too_and_used_regions_stay)
{
    open(100, 4 * page_size);
    auto *used = get(0, 3);

    put(get(10, 3));
    EXPECT_EQ(1u, live.size());
    put(used);
}

TEST_F(Rcache, invalidate__tells_when_the_last_user_is_gone)
{
    open();
    struct Gone : efa_rcache_gone_t {
        unsigned calls = 0;
        Gone()
        {
            func = [](efa_rcache_gone_t *self) {
                ++static_cast<Gone*>(self)->calls;
            };
        }
    } gone_one, gone_two;
    auto *one = get(0), *two = get(0), *three = get(0);

    efa_rcache_invalidate(&cache, one, &gone_one);
    EXPECT_EQ(0u, gone_one.calls);
    efa_rcache_invalidate(&cache, two, &gone_two);
    put(three);
    EXPECT_EQ(1u, gone_one.calls);
    EXPECT_EQ(1u, gone_two.calls);
    EXPECT_TRUE(live.empty());
    put(get(0));
    EXPECT_EQ(2u, regs);
    EXPECT_EQ(1u, gone_one.calls) << "it was told again";
}

TEST_F(Rcache, refused_union__falls_back_to_the_range_alone)
{
    open();
    put(get(0, 2));
    refuse = 1; /* the neighbour's page is no more */
    put(get(1, 2));
    EXPECT_EQ(1u, live.size());
    EXPECT_EQ(base + page_size, live.begin()->second.first);
}

TEST_F(Rcache, unused_registrations__are_given_back)
{
    open();
    efa_rcache_region_t *used = get(0), *region;
    put(get(10));
    refuse = 1;
    EXPECT_EQ(ENOMEM, try_get(50, 1, false, &region));
    EXPECT_TRUE(efa_rcache_give_back(&cache));
    EXPECT_EQ(1u, live.size());
    EXPECT_FALSE(efa_rcache_give_back(&cache));
    put(used);
}

TEST_F(Rcache, weak__is_made_anew_for_who_writes_and_stays_where_it_cannot)
{
    open();
    protect(0, 4);
    efa_rcache_region_t *sent = get(0, 4), *received;

    EXPECT_EQ(EFAULT, try_get(0, 4, true, &received));
    EXPECT_EQ(sent, get(1)); /* still found */
    put(sent);
    protect(2, 2);
    ASSERT_EQ(0, try_get(1, 1, true, &received)); /* that page alone */
    EXPECT_NE(sent, received);
    EXPECT_EQ(2u, live.size()); /* the other is in use */
    put(sent);
    EXPECT_EQ(1u, live.size());
    put(received);
    protect(0, 0);
    put(get(0, 4));
    ASSERT_EQ(0, try_get(0, 4, true, &received)); /* a hit */
    put(received);
    EXPECT_EQ(3u, regs);
}

TEST_F(Rcache, weak__a_read_only_neighbour_does_not_weaken)
{
    open();
    protect(0, 2);
    put(get(0, 3));
    protect(0, 1);
    efa_rcache_region_t *region;
    ASSERT_EQ(0, try_get(2, 2, true, &region));
    put(region);
    EXPECT_EQ(base + 2 * page_size, live.begin()->second.first);
}

TEST_F(Rcache, get__a_length_that_wraps_is_no_hit)
{
    open();
    put(get(0, 2));
    efa_rcache_region_t *region;
    for (auto [at, length] : {
             std::pair<size_t, size_t>(0, SIZE_MAX - page_size),
             {0, SIZE_MAX - base + page_size},
             {100, SIZE_MAX}, /* the end is in the page of the begin again */
             {100, SIZE_MAX - 98}}) {
        EXPECT_EQ(EINVAL, get_bytes(at, length, false, &region)) << length;
    }
}
