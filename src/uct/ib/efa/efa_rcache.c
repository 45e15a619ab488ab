/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_rcache.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EFA_RCACHE_TRIES 1000
#define EFA_RCACHE_LOST  (UINT_MAX / 2 + 1) /* in notes_count: of others */

static void efa_rcache_lru_add(efa_rcache_t *cache, efa_rcache_region_t *region)
{
    region->lru_prev           = cache->lru.lru_prev;
    region->lru_next           = &cache->lru;
    region->lru_prev->lru_next = region;
    cache->lru.lru_prev        = region;
}

static void efa_rcache_lru_remove(efa_rcache_region_t *region)
{
    region->lru_prev->lru_next = region->lru_next;
    region->lru_next->lru_prev = region->lru_prev;
}

/* Index of the first region that ends beyond `address`. */
static unsigned efa_rcache_find(const efa_rcache_t *cache, uintptr_t address)
{
    unsigned low = 0, high = cache->count, mid;

    while (low < high) {
        mid = (low + high) / 2;
        if (cache->regions[mid]->end <= address) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }

    return low;
}

static void efa_rcache_destroy(efa_rcache_t *cache, efa_rcache_region_t *region)
{
    efa_rcache_gone_t *gone;

    cache->ops->dereg(cache->arg, region->mr);
    cache->bytes -= region->end - region->start;
    while ((gone = region->gone) != NULL) {
        region->gone = gone->next;
        gone->next   = cache->gone;
        cache->gone  = gone;
    }
    free(region);
}

/* Unlocks, and only then tells those that wait for a deregistration: they may
 * call the cache again. */
static void efa_rcache_unlock(efa_rcache_t *cache)
{
    efa_rcache_gone_t *gone = cache->gone, *next;

    cache->gone = NULL;
    pthread_mutex_unlock(&cache->lock);
    for (; gone != NULL; gone = next) {
        next = gone->next;
        gone->func(gone);
    }
}

/* Takes a region out of the array; an unused one is deregistered at once. */
static void efa_rcache_evict(efa_rcache_t *cache, unsigned index)
{
    efa_rcache_region_t *region = cache->regions[index];

    memmove(&cache->regions[index], &cache->regions[index + 1],
            (cache->count - index - 1) * sizeof(*cache->regions));
    --cache->count;
    ++cache->evictions;
    region->cached = 0;
    if (region->refs == 0) {
        efa_rcache_lru_remove(region);
        efa_rcache_destroy(cache, region);
    }
}

static void
efa_rcache_evict_range(efa_rcache_t *cache, uintptr_t start, uintptr_t end)
{
    unsigned index = efa_rcache_find(cache, start);

    while ((index < cache->count) && (cache->regions[index]->start < end)) {
        efa_rcache_evict(cache, index);
    }
}

/* Nonzero: it is taken, in so many tries. */
static int efa_rcache_notes_try(efa_rcache_t *cache, unsigned tries)
{
    for (; tries > 0; --tries) {
        if (!atomic_flag_test_and_set_explicit(&cache->notes_lock,
                                               memory_order_acquire)) {
            return 1;
        }
    }
    return 0;
}

static void efa_rcache_notes_release(efa_rcache_t *cache)
{
    atomic_flag_clear_explicit(&cache->notes_lock, memory_order_release);
}

void efa_rcache_unmapped(efa_rcache_t *cache, uintptr_t start, uintptr_t end)
{
    int      taken = efa_rcache_notes_try(cache, EFA_RCACHE_TRIES);
    unsigned count = atomic_load_explicit(&cache->notes_count,
                                          memory_order_relaxed);

    if (taken && (count < EFA_RCACHE_NOTES)) {
        cache->notes[count].start = start;
        cache->notes[count].end   = end;
        atomic_fetch_add_explicit(&cache->notes_count, 1, memory_order_release);
    } else {
        atomic_fetch_or_explicit(&cache->notes_count, EFA_RCACHE_LOST,
                                 memory_order_release);
    }
    if (taken) {
        efa_rcache_notes_release(cache);
    }
}

/* Removes the ranges that the notes name. Evicting may unmap memory and so add
 * notes: hence a copy, and a loop. */
static void efa_rcache_apply_notes(efa_rcache_t *cache)
{
    efa_rcache_range_t range;
    unsigned           count;

    while (atomic_load_explicit(&cache->notes_count, memory_order_acquire) >
           0) {
        range.start = 0;
        range.end   = UINTPTR_MAX;
        while (!efa_rcache_notes_try(cache, EFA_RCACHE_TRIES)) {
        }
        count = atomic_load_explicit(&cache->notes_count,
                                     memory_order_relaxed);
        if ((count > 0) && (count <= EFA_RCACHE_NOTES)) {
            range = cache->notes[count - 1];
            atomic_fetch_sub_explicit(&cache->notes_count, 1,
                                      memory_order_relaxed);
        } else { /* some range is lost, so drop them all */
            atomic_store_explicit(&cache->notes_count, 0,
                                  memory_order_relaxed);
        }
        efa_rcache_notes_release(cache);
        efa_rcache_evict_range(cache, range.start, range.end);
    }
}

static void efa_rcache_keep_limits(efa_rcache_t *cache)
{
    efa_rcache_region_t *oldest;

    while ((cache->count > cache->max_regions) ||
           (cache->bytes > cache->max_bytes)) {
        oldest = cache->lru.lru_next;
        if (oldest == &cache->lru) {
            return; /* all in use */
        }
        efa_rcache_evict(cache, efa_rcache_find(cache, oldest->start));
    }
}

static int efa_rcache_make_room(efa_rcache_t *cache)
{
    efa_rcache_region_t **regions;
    unsigned              room;

    if (cache->count < cache->room) {
        return 0;
    }
    room    = (cache->room == 0) ? 64 : cache->room * 2;
    regions = realloc(cache->regions, room * sizeof(*regions));
    if (regions == NULL) {
        return ENOMEM;
    }
    cache->regions = regions;
    cache->room    = room;
    return 0;
}

/* Registers a region, in the place of those that it overlaps. */
static int efa_rcache_add(efa_rcache_t *cache, uintptr_t start, uintptr_t end,
                          int weak, efa_rcache_region_t **region_p)
{
    efa_rcache_region_t *region;
    unsigned             index;
    int                  err;

    region = calloc(1, sizeof(*region));
    if ((region == NULL) || (efa_rcache_make_room(cache) != 0)) {
        free(region);
        return ENOMEM;
    }

    err = cache->ops->reg(cache->arg, (void*)start, end - start, weak,
                          &region->mr);
    if (err != 0) {
        free(region);
        return err;
    }

    efa_rcache_evict_range(cache, start, end);
    region->start  = start;
    region->end    = end;
    region->weak   = weak;
    region->refs   = 1;
    region->cached = 1;
    index          = efa_rcache_find(cache, start);
    memmove(&cache->regions[index + 1], &cache->regions[index],
            (cache->count - index) * sizeof(*cache->regions));
    cache->regions[index] = region;
    ++cache->count;
    cache->bytes += end - start;
    *region_p     = region;
    return 0;
}

/* Adds the range alone: with the right to write or, if its pages do not have it
 * and nobody asks (@strong), without. */
static int efa_rcache_add_range(efa_rcache_t *cache, uintptr_t start,
                                uintptr_t end, int strong,
                                efa_rcache_region_t **region_p)
{
    int err = efa_rcache_add(cache, start, end, 0, region_p);

    return ((err != EFAULT) || strong) ? err :
           efa_rcache_add(cache, start, end, 1, region_p);
}

/* Registers the range that was asked for, with the regions that it overlaps:
 * two users of parts of one buffer shall meet in one region. Where the union
 * cannot be registered (a neighbour's pages are gone, or may not be written),
 * the range alone. */
static int efa_rcache_miss(efa_rcache_t *cache, uintptr_t start, uintptr_t end,
                           int strong, efa_rcache_region_t **region_p)
{
    uintptr_t union_start = start, union_end = end;
    unsigned  index;
    int       err;

    ++cache->misses;
    for (index = efa_rcache_find(cache, start);
         (index < cache->count) && (cache->regions[index]->start < end);
         ++index) {
        if (cache->regions[index]->start < union_start) {
            union_start = cache->regions[index]->start;
        }
        if (cache->regions[index]->end > union_end) {
            union_end = cache->regions[index]->end;
        }
    }

    efa_rcache_evict_range(cache, start, end);
    err = ((union_start == start) && (union_end == end)) ? EFAULT :
          efa_rcache_add(cache, union_start, union_end, 0, region_p);
    if (err != 0) {
        err = efa_rcache_add_range(cache, start, end, strong, region_p);
    }
    return err;
}

/* Registers anew what overlaps a weak region: all of it, or the range alone. */
static int
efa_rcache_strengthen(efa_rcache_t *cache, const efa_rcache_region_t *weak,
                      uintptr_t start, uintptr_t end,
                      efa_rcache_region_t **region_p)
{
    int err = efa_rcache_add(cache, weak->start, weak->end, 0, region_p);

    return (err == 0) ? 0 : efa_rcache_add(cache, start, end, 0, region_p);
}

int efa_rcache_get(efa_rcache_t *cache, void *address, size_t length,
                   int strong, efa_rcache_region_t **region_p)
{
    uintptr_t mask  = cache->page_size - 1;
    uintptr_t start = (uintptr_t)address & ~mask;
    uintptr_t end   = ((uintptr_t)address + length + mask) & ~mask;
    unsigned  index;
    int       err = 0;

    if ((end <= start) || (length > end - start)) { /* beyond all addresses */
        return EINVAL;
    }
    pthread_mutex_lock(&cache->lock);
    efa_rcache_apply_notes(cache);

    index = efa_rcache_find(cache, start);
    if ((index >= cache->count) || (cache->regions[index]->start > start) ||
        (cache->regions[index]->end < end)) {
        err = efa_rcache_miss(cache, start, end, strong, region_p);
    } else if (strong && cache->regions[index]->weak) {
        err = efa_rcache_strengthen(cache, cache->regions[index], start, end,
                                    region_p);
    } else {
        ++cache->hits;
        *region_p = cache->regions[index];
        if ((*region_p)->refs == 0) {
            efa_rcache_lru_remove(*region_p);
        }
        ++(*region_p)->refs;
    }
    if (err == 0) {
        efa_rcache_keep_limits(cache);
    }

    efa_rcache_unlock(cache);
    return err;
}

static void
efa_rcache_put_locked(efa_rcache_t *cache, efa_rcache_region_t *region)
{
    if (--region->refs > 0) {
        return;
    }
    if (region->cached) {
        efa_rcache_lru_add(cache, region);
        efa_rcache_keep_limits(cache);
    } else {
        efa_rcache_destroy(cache, region);
    }
}

void efa_rcache_put(efa_rcache_t *cache, efa_rcache_region_t *region)
{
    pthread_mutex_lock(&cache->lock);
    efa_rcache_put_locked(cache, region);
    efa_rcache_unlock(cache);
}

void efa_rcache_invalidate(efa_rcache_t *cache, efa_rcache_region_t *region,
                           efa_rcache_gone_t *gone)
{
    unsigned index;

    pthread_mutex_lock(&cache->lock);
    if (region->cached) {
        index = efa_rcache_find(cache, region->start);
        efa_rcache_evict(cache, index);
    }
    gone->next   = region->gone;
    region->gone = gone;
    efa_rcache_put_locked(cache, region);
    efa_rcache_unlock(cache);
}

int efa_rcache_give_back(efa_rcache_t *cache)
{
    unsigned long before;
    int           some;

    pthread_mutex_lock(&cache->lock);
    before = cache->evictions;
    while (cache->lru.lru_next != &cache->lru) {
        efa_rcache_evict(cache,
                         efa_rcache_find(cache, cache->lru.lru_next->start));
    }
    some = cache->evictions != before;
    efa_rcache_unlock(cache);
    return some;
}

void efa_rcache_init(efa_rcache_t *cache, const efa_rcache_ops_t *ops,
                     void *arg, unsigned max_regions, size_t max_bytes)
{
    memset(cache, 0, sizeof(*cache));
    cache->ops          = ops;
    cache->arg          = arg;
    cache->page_size    = sysconf(_SC_PAGESIZE);
    cache->max_regions  = max_regions;
    cache->max_bytes    = max_bytes;
    cache->lru.lru_prev = &cache->lru;
    cache->lru.lru_next = &cache->lru;
    pthread_mutex_init(&cache->lock, NULL);
    atomic_flag_clear(&cache->notes_lock);
}

void efa_rcache_cleanup(efa_rcache_t *cache)
{
    while (cache->count > 0) {
        efa_rcache_evict(cache, cache->count - 1);
    }
    free(cache->regions);
    pthread_mutex_destroy(&cache->lock);
}
