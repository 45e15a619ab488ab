/* SPDX-License-Identifier: BSD-3-Clause */
/* The registration cache for a C++ test, which cannot read its C11 atomics. */
#include "uct/ib/efa/efa_rcache.h"

#include <stdlib.h>

typedef struct efa_rcache_test {
    efa_rcache_t     cache;
    efa_rcache_ops_t ops;
} efa_rcache_test_t;

typedef struct rcache_test_gone {
    efa_rcache_gone_t super;
    int              *flag;
} rcache_test_gone_t;

typedef int (*rcache_test_reg_t)(void*, void*, size_t, int, void**);

efa_rcache_test_t *
rcache_test_new(unsigned max_regions, size_t max_bytes, rcache_test_reg_t reg,
                void (*dereg)(void*, void*), void *arg);
void rcache_test_free(efa_rcache_test_t *test);
int  rcache_test_get(efa_rcache_test_t *test, uintptr_t address, size_t length,
                     int strong, void **region_p);
void rcache_test_put(efa_rcache_test_t *test, void *region);
void rcache_test_invalidate(efa_rcache_test_t *test, void *region, int *gone);
int  rcache_test_give_back(efa_rcache_test_t *test);
void
rcache_test_unmapped(efa_rcache_test_t *test, uintptr_t start, uintptr_t end);
void rcache_test_unmapped_amid(efa_rcache_test_t *test, uintptr_t start,
                               uintptr_t end);

efa_rcache_test_t *
rcache_test_new(unsigned max_regions, size_t max_bytes, rcache_test_reg_t reg,
                void (*dereg)(void*, void*), void *arg)
{
    efa_rcache_test_t *test = calloc(1, sizeof(*test));

    test->ops.reg   = reg;
    test->ops.dereg = dereg;
    efa_rcache_init(&test->cache, &test->ops, arg, max_regions, max_bytes);
    return test;
}

void rcache_test_free(efa_rcache_test_t *test)
{
    efa_rcache_cleanup(&test->cache);
    free(test);
}

int rcache_test_get(efa_rcache_test_t *test, uintptr_t address, size_t length,
                    int strong, void **region_p)
{
    return efa_rcache_get(&test->cache, (void*)address, length, strong,
                          (efa_rcache_region_t**)region_p);
}

void rcache_test_put(efa_rcache_test_t *test, void *region)
{
    efa_rcache_put(&test->cache, region);
}

static void rcache_test_gone(efa_rcache_gone_t *gone)
{
    ++*((rcache_test_gone_t*)gone)->flag;
    free(gone);
}

void rcache_test_invalidate(efa_rcache_test_t *test, void *region, int *gone)
{
    rcache_test_gone_t *node = calloc(1, sizeof(*node));

    node->super.func = rcache_test_gone;
    node->flag       = gone;
    efa_rcache_invalidate(&test->cache, region, &node->super);
}

int rcache_test_give_back(efa_rcache_test_t *test)
{
    return efa_rcache_give_back(&test->cache);
}

void
rcache_test_unmapped(efa_rcache_test_t *test, uintptr_t start, uintptr_t end)
{
    efa_rcache_unmapped(&test->cache, start, end);
}

/* While another thread notes something, or a forked child's did. */
void rcache_test_unmapped_amid(efa_rcache_test_t *test, uintptr_t start,
                               uintptr_t end)
{
    atomic_flag_test_and_set(&test->cache.notes_lock);
    efa_rcache_unmapped(&test->cache, start, end);
    atomic_flag_clear(&test->cache.notes_lock);
}
