/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_device_mem.h"
#include "efa_clock.h"
#include "efa_mr_priv.h"

#include <files/bus.h>

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define EFA_DEVICE_MEM_LOOK     64          /* pages at a time */
#define EFA_DEVICE_MEM_PATIENCE 1000000000u /* ns for a call to be over */

/*
 * Peers count by the CPU, which a signal would end, while a device writes to
 * the pages that were registered, wherever they are: the memory has to be
 * there. A cache of UCP's may keep memory registered that is unmapped. UCX
 * tells of the calls by which memory may leave, before they are made: then
 * nobody counts in it until the call is over, and afterwards in the pages that
 * it left. Pages that went are not believed again, whatever is mapped there
 * later.
 * Unmappings that UCX does not see (system calls made directly, dlclose,
 * UCX_MEM_EVENTS=n) remain, and memory made read-only.
 */
static size_t efa_device_mem_page(uintptr_t address)
{
    return address / (size_t)sysconf(_SC_PAGESIZE);
}

static int efa_device_mem_is_mapped(size_t page, size_t count)
{
    const size_t  size = sysconf(_SC_PAGESIZE);
    unsigned char there[EFA_DEVICE_MEM_LOOK];

    return mincore((void*)(page * size), count * size, there) == 0;
}

/* These pages of a handle's went, or, if it `failed`, those not mapped. */
static void efa_device_mem_pages_went(efa_memh_t *memh, size_t page,
                                      size_t count, int failed)
{
    size_t first = efa_device_mem_page((uintptr_t)memh->address);

    if (failed && efa_device_mem_is_mapped(page, count)) {
        return;
    }
    for (; count > 0; ++page, --count) {
        if (!failed || !efa_device_mem_is_mapped(page, 1)) {
            memh->went[(page - first) / 8] |= 1u << (page - first) % 8;
        }
    }
}

static void efa_device_mem_part_went(efa_memh_t *memh, uintptr_t start,
                                     uintptr_t end, int failed)
{
    uintptr_t memory;
    size_t    page, last, count;

    if (!memh->counts) {
        return;
    }
    memory = (uintptr_t)memh->address;
    start  = (start > memory) ? start : memory;
    end    = (end < memory + memh->length) ? end : memory + memh->length;
    if (start >= end) {
        return;
    }
    if ((memh->went == NULL) || (!failed && (end - start == memh->length))) {
        memh->counts = 0;
        return;
    }
    last = efa_device_mem_page(end - 1);
    for (page = efa_device_mem_page(start); page <= last; page += count) {
        count = last - page + 1;
        count = (count < EFA_DEVICE_MEM_LOOK) ? count : EFA_DEVICE_MEM_LOOK;
        efa_device_mem_pages_went(memh, page, count, failed);
    }
}

static void efa_device_mem_went(const efa_md_t *md, uintptr_t start,
                                uintptr_t end, int failed)
{
    efa_memh_t *memhs;
    void      **block;
    unsigned    i;

    if (start >= end) {
        return;
    }
    for (block = __atomic_load_n(&md->memh_blocks, __ATOMIC_ACQUIRE);
         block != NULL; block = *block) {
        memhs = (efa_memh_t*)(block + 1);
        for (i = 0; i < EFA_MEMH_BLOCK; ++i) {
            efa_device_mem_part_went(&memhs[i], start, end, failed);
        }
    }
}

/* The call is over: memory outside of [stays, stays_end) went. */
static void efa_device_mem_left(efa_md_t *md, efa_leaving_t *leaving,
                                uintptr_t stays, uintptr_t stays_end,
                                int failed)
{
    efa_device_mem_went(md, leaving->start,
                        (leaving->end < stays) ? leaving->end : stays, failed);
    efa_device_mem_went(md,
                        (leaving->start > stays_end) ? leaving->start :
                                                       stays_end,
                        leaving->end, failed);
    leaving->end = leaving->start;
}

/* The range that this thread has announced, or a free place (is_new). NULL:
 * there is none. */
static efa_leaving_t *efa_device_mem_leaving(efa_md_t *md, int is_new)
{
    const unsigned count = sizeof(md->leaving) / sizeof(*md->leaving);
    efa_leaving_t *place = NULL;
    unsigned       i;

    for (i = 0; i < count; ++i) {
        if (md->leaving[i].start == md->leaving[i].end) {
            place = is_new ? &md->leaving[i] : place;
        } else if (pthread_equal(md->leaving[i].thread, pthread_self())) {
            return &md->leaving[i];
        }
    }
    return place;
}

static void
efa_device_mem_leaves(efa_md_t *md, uintptr_t start, uintptr_t end)
{
    efa_leaving_t *leaving = efa_device_mem_leaving(md, 1);

    if (leaving == NULL) { /* too many threads: it is as good as gone */
        efa_device_mem_went(md, start, end, 0);
        return;
    }
    efa_device_mem_left(md, leaving, 0, 0, 0); /* nobody told the end */
    leaving->thread = pthread_self();
    leaving->start  = start;
    leaving->end    = end;
    leaving->since  = efa_clock();
}

/* In any thread, and in calls that are made under memh_lock. */
static void efa_device_mem_unmapped(ucx_unmap_t what, void *address,
                                    size_t length, void *arg)
{
    efa_md_t      *md    = arg;
    uintptr_t      start = (uintptr_t)address, end = start + length;
    efa_leaving_t *leaving;

    if (md->count_pid != getpid()) {
        return; /* a child has no thread that counts */
    }
    pthread_mutex_lock(&md->count_lock);
    if ((what == UCX_UNMAP_BEGIN) && (start < end)) {
        efa_device_mem_leaves(md, start, end);
    } else if ((what == UCX_UNMAP_DONE) && (address != NULL)) {
        efa_device_mem_went(md, start, end, 0); /* (NULL: nobody knows where) */
    } else if ((what == UCX_UNMAP_END) || (what == UCX_UNMAP_FAIL)) {
        leaving = efa_device_mem_leaving(md, 0);
        if (leaving != NULL) {
            efa_device_mem_left(md, leaving, start,
                                (what == UCX_UNMAP_END) ? end : start,
                                what == UCX_UNMAP_FAIL);
        }
    }
    pthread_mutex_unlock(&md->count_lock);
}

/* Locks, when no call is under way by which this counter may leave. One that
 * never ends was not announced by who makes it. */
static void efa_device_mem_settle(efa_md_t *md, uint64_t address)
{
    const unsigned count = sizeof(md->leaving) / sizeof(*md->leaving);
    efa_leaving_t *leaving;
    unsigned       i = 0;

    pthread_mutex_lock(&md->count_lock);
    while (i < count) {
        leaving = &md->leaving[i];
        if ((address < leaving->start) || (address >= leaving->end)) {
            ++i;
        } else if (pthread_equal(leaving->thread, pthread_self()) ||
                   (efa_clock() - leaving->since > EFA_DEVICE_MEM_PATIENCE)) {
            efa_device_mem_left(md, leaving, 0, 0, 0);
        } else {
            pthread_mutex_unlock(&md->count_lock);
            sched_yield();
            pthread_mutex_lock(&md->count_lock);
            i = 0;
        }
    }
}

/* A thread that adds, which has to be told if the file of that memory is cut
 * off. Any thread's signal handler looks at all of them: they are of no domain
 * for ever. */
typedef struct efa_adding {
    efa_md_t  *md; /* NULL: free */
    uintptr_t  address; /* 0: none now */
    pthread_t  thread;
    sigjmp_buf failed;
} efa_adding_t;

static efa_adding_t    efa_addings[64];
static pthread_mutex_t efa_addings_lock = PTHREAD_MUTEX_INITIALIZER;

static int efa_device_mem_bus(const uint8_t *at)
{
    const unsigned count = sizeof(efa_addings) / sizeof(*efa_addings);
    sigset_t       bus;
    unsigned       i;

    for (i = 0; i < count; ++i) {
        if ((__atomic_load_n(&efa_addings[i].address, __ATOMIC_ACQUIRE) ==
             (uintptr_t)at) &&
            pthread_equal(efa_addings[i].thread, pthread_self())) {
            sigemptyset(&bus);
            sigaddset(&bus, SIGBUS);
            pthread_sigmask(SIG_UNBLOCK, &bus, NULL);
            siglongjmp(efa_addings[i].failed, 1);
        }
    }
    return 0;
}

/* The domain's from now on. Where many have all: one that guards nothing. */
static efa_adding_t *efa_device_mem_adding(efa_md_t *md)
{
    const unsigned count = sizeof(efa_addings) / sizeof(*efa_addings);
    unsigned       i     = 0;

    pthread_mutex_lock(&efa_addings_lock);
    while ((i < count) && (efa_addings[i].md != NULL)) {
        ++i;
    }
    if (i < count) {
        efa_addings[i].md = md;
        bus_take(efa_device_mem_bus);
    }
    pthread_mutex_unlock(&efa_addings_lock);
    return (i < count) ? &efa_addings[i] : NULL;
}

static void efa_device_mem_adding_end(efa_adding_t *adding)
{
    pthread_mutex_lock(&efa_addings_lock);
    adding->md = NULL;
    bus_release(efa_device_mem_bus);
    pthread_mutex_unlock(&efa_addings_lock);
}

void efa_device_mem_open(efa_md_t *md)
{
    pthread_mutex_init(&md->count_lock, NULL);
    if ((md->device_api != UCS_NO) && /* else UCP has no cache, either */
        (ucx_host_watch_unmap(md->super.host, efa_device_mem_unmapped, md) ==
         UCS_OK)) {
        md->count_pid = getpid();
    }
}

void efa_device_mem_close(efa_md_t *md)
{
    if (md->count_pid != 0) {
        ucx_host_unwatch_unmap(md->super.host, efa_device_mem_unmapped, md);
    }
    if (md->adding != NULL) {
        efa_device_mem_adding_end(md->adding);
    }
    pthread_mutex_destroy(&md->count_lock);
}

void efa_device_mem_counts(efa_memh_t *memh, int counts)
{
    efa_md_t      *md    = memh->md;
    uintptr_t      start = (uintptr_t)memh->address;
    unsigned char *went  = NULL, *before;

    if (counts) { /* NULL: it goes as a whole */
        went = calloc(1, (efa_device_mem_page(start + memh->length - 1) -
                          efa_device_mem_page(start)) / 8 + 1);
    }
    efa_device_mem_lock(md);
    pthread_mutex_lock(&md->count_lock);
    before       = memh->went;
    memh->went   = went;
    memh->counts = counts;
    pthread_mutex_unlock(&md->count_lock);
    efa_device_mem_unlock(md);
    free(before); /* which may unmap memory */
}

void efa_device_mem_swap(efa_memh_t *memh, efa_memh_t *other)
{
    unsigned char *went = memh->went;
    int            counts;

    pthread_mutex_lock(&memh->md->count_lock);
    counts        = memh->counts;
    memh->went    = other->went;
    memh->counts  = other->counts;
    other->went   = went;
    other->counts = counts;
    pthread_mutex_unlock(&memh->md->count_lock);
}

/* Nonzero: the page of this byte of the handle's is not what it was. */
static int efa_device_mem_is_gone(const efa_memh_t *memh, uint64_t address)
{
    size_t page = efa_device_mem_page(address) -
                  efa_device_mem_page((uintptr_t)memh->address);

    return (memh->went != NULL) && ((memh->went[page / 8] >> page % 8) & 1);
}

static int efa_device_mem_is(const efa_memh_t *memh, const efa_md_t *md,
                             uint32_t rkey, uint64_t address, size_t length)
{
    uint64_t offset = address - (uintptr_t)memh->address;

    return memh->counts && (memh->full == md) && (memh->mr->rkey == rkey) &&
           (efa_mr_access(md, memh->flags) & IBV_ACCESS_REMOTE_WRITE) &&
           (offset <= memh->length) && (length <= memh->length - offset) &&
           !efa_device_mem_is_gone(memh, address);
}

static const efa_memh_t *
efa_device_mem_search(const efa_md_t *md, uint32_t rkey, uint64_t address,
                      size_t length)
{
    const efa_memh_t *memhs;
    void            **block;
    unsigned          i;

    for (block = md->memh_blocks; block != NULL; block = *block) {
        memhs = (const efa_memh_t*)(block + 1);
        for (i = 0; i < EFA_MEMH_BLOCK; ++i) {
            if (efa_device_mem_is(&memhs[i], md, rkey, address, length)) {
                return &memhs[i];
            }
        }
    }
    return NULL;
}

static const efa_memh_t *
efa_device_mem_at(const efa_md_t *md, efa_device_mem_cache_t *cache,
                  uint32_t rkey, uint64_t address, size_t length)
{
    const efa_memh_t **memh;

    memh = &cache->memhs[rkey % (sizeof(cache->memhs) / sizeof(*memh))];
    if ((*memh == NULL) ||
        !efa_device_mem_is(*memh, md, rkey, address, length)) {
        *memh = efa_device_mem_search(md, rkey, address, length);
    }
    return *memh;
}

efa_device_mem_kind_t
efa_device_mem_find(efa_md_t *md, efa_device_mem_cache_t *cache, uint32_t rkey,
                    uint64_t address, size_t length)
{
    efa_device_mem_kind_t kind = EFA_DEVICE_MEM_NONE;
    const efa_memh_t     *memh;

    efa_device_mem_settle(md, address);
    memh = efa_device_mem_at(md, cache, rkey, address, length);
    if (memh != NULL) {
        kind = memh->is_host ? EFA_DEVICE_MEM_HOST :
               memh->is_gpu  ? EFA_DEVICE_MEM_GPU :
                               EFA_DEVICE_MEM_ANY;
    }
    pthread_mutex_unlock(&md->count_lock);
    return kind;
}

/* 0: the file of that memory was cut off. Under count_lock. */
static int efa_device_mem_fetch_add(efa_md_t *md, uint64_t *counter,
                                    uint64_t add)
{
    efa_adding_t *adding;

    md->adding = (md->adding != NULL) ? md->adding : efa_device_mem_adding(md);
    adding     = md->adding;
    if ((adding != NULL) && (sigsetjmp(adding->failed, 0) != 0)) {
        __atomic_store_n(&md->adding->address, 0, __ATOMIC_RELEASE);
        return 0;
    }
    if (adding != NULL) {
        adding->thread = pthread_self();
        __atomic_store_n(&adding->address, (uintptr_t)counter,
                         __ATOMIC_RELEASE);
    }
    __atomic_fetch_add(counter, add, __ATOMIC_RELEASE);
    if (adding != NULL) {
        __atomic_store_n(&adding->address, 0, __ATOMIC_RELEASE);
    }
    return 1;
}

int efa_device_mem_add(efa_md_t *md, efa_device_mem_cache_t *cache,
                       uint32_t rkey, uint64_t address, uint64_t add)
{
    int is_there;

    efa_device_mem_settle(md, address);
    is_there = (efa_device_mem_at(md, cache, rkey, address,
                                  sizeof(add)) != NULL) &&
               efa_device_mem_fetch_add(md, (uint64_t*)address, add);
    pthread_mutex_unlock(&md->count_lock);
    return is_there;
}
