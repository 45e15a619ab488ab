/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_RCACHE_H_
#define EFA_RCACHE_H_

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Registration cache, for UCX 1.13 to 1.15 (later UCP caches itself).
 *
 * Regions are whole pages, disjoint, and lie in one array sorted by address.
 * A region is registered at its first use and stays, unused, until memory is
 * unmapped, a limit is met, or the cache is closed.
 *
 * Invalidation: UCX's memory hooks tell of an unmapping *before* it happens,
 * from any thread, perhaps from inside malloc or from inside a registration
 * of ours. Therefore efa_rcache_unmapped takes no mutex, allocates nothing and
 * deregisters nothing: it notes the range. Every later get first removes the
 * noted ranges, which is early enough, since a thread that maps the address
 * again and registers it comes after the note. Nor does it wait for long: in a
 * forked child, and in a signal handler, nobody may be there to unlock; then a
 * range counts as lost. (Tried, rejected: deregistering in the hook, as it
 * deadlocks when libibverbs itself frees memory.)
 */

#define EFA_RCACHE_NOTES 256 /* unmapped ranges between two gets; more than
                                this, or one lost, and all are dropped */

typedef struct efa_rcache_region efa_rcache_region_t;

/* Asks to be told that a region was deregistered; memory of the caller. */
typedef struct efa_rcache_gone efa_rcache_gone_t;

struct efa_rcache_gone {
    efa_rcache_gone_t *next;
    void             (*func)(efa_rcache_gone_t *gone); /* may free it */
};

struct efa_rcache_region {
    uintptr_t            start, end; /* [start, end), page aligned */
    void                *mr;         /* what reg returned */
    int                  weak;       /* may be sent, not received into */
    unsigned             refs;       /* gets without their put */
    int                  cached;     /* still found by get */
    efa_rcache_region_t *lru_prev, *lru_next; /* while refs is 0 */
    efa_rcache_gone_t   *gone;
};

typedef struct efa_rcache_ops {
    /* Registers [address, address + length); returns 0 or an errno value:
     * EFAULT where it may not be written, unless `weak`. */
    int  (*reg)(void *arg, void *address, size_t length, int weak,
                void **mr_p);
    void (*dereg)(void *arg, void *mr);
} efa_rcache_ops_t;

typedef struct efa_rcache_range {
    uintptr_t start, end;
} efa_rcache_range_t;

typedef struct efa_rcache {
    const efa_rcache_ops_t *ops;
    void                   *arg;
    size_t                  page_size;   /* bytes */
    unsigned                max_regions; /* unused ones go beyond this */
    size_t                  max_bytes;
    pthread_mutex_t         lock;    /* all below, the notes apart */
    efa_rcache_region_t   **regions; /* sorted by start */
    unsigned                count, room;
    size_t                  bytes;
    efa_rcache_region_t     lru; /* head; lru.lru_next is the oldest */
    efa_rcache_gone_t      *gone; /* to be told after the next unlock */
    unsigned long           hits, misses, evictions;
    atomic_flag             notes_lock;
    atomic_uint             notes_count; /* > EFA_RCACHE_NOTES: some are lost */
    efa_rcache_range_t      notes[EFA_RCACHE_NOTES];
} efa_rcache_t;

/* Prepares an empty cache. `ops` and `arg` must outlive it. */
void efa_rcache_init(efa_rcache_t *cache, const efa_rcache_ops_t *ops,
                     void *arg, unsigned max_regions, size_t max_bytes);

/* Deregisters everything. No region may be in use. */
void efa_rcache_cleanup(efa_rcache_t *cache);

/*
 * Finds or registers a region that covers [address, address + length) and
 * takes a reference. length > 0. With `strong` no weak region will do: one that
 * is there is replaced, and stays where that fails.
 * Returns 0, ENOMEM, EINVAL (the range wraps), or what reg returned.
 */
int efa_rcache_get(efa_rcache_t *cache, void *address, size_t length,
                   int strong, efa_rcache_region_t **region_p);

/* Gives a reference back. */
void efa_rcache_put(efa_rcache_t *cache, efa_rcache_region_t *region);

/*
 * Gives a reference back and lets nobody find the region any more. When the
 * last user has given it back it is deregistered and gone->func is called, at
 * the latest then no peer can reach the memory; perhaps before this returns.
 */
void efa_rcache_invalidate(efa_rcache_t *cache, efa_rcache_region_t *region,
                           efa_rcache_gone_t *gone);

/* Deregisters all that nobody uses. Returns whether there was any. */
int efa_rcache_give_back(efa_rcache_t *cache);

/*
 * Notes that [start, end) is about to be unmapped. Async-signal-safe; callable
 * from any thread and from inside reg and dereg.
 */
void efa_rcache_unmapped(efa_rcache_t *cache, uintptr_t start, uintptr_t end);

#endif
