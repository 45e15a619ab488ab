/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_device_mem.h"
#include "efa_mr_priv.h"

#include <unistd.h>

/* A part of a handle's memory is gone: one range is kept, from the first such
 * byte to the last. */
static void efa_device_mem_went(efa_memh_t *memh, uintptr_t start,
                                uintptr_t end)
{
    if ((memh->hole_end == 0) || (start < memh->hole)) {
        memh->hole = start;
    }
    if (end > memh->hole_end) {
        memh->hole_end = end;
    }
}

/* Memory leaves the address space, with the next instructions. A cache of UCP's
 * may keep it registered, and a device that wrote there would do no harm. In
 * any thread, and in calls that are made under memh_lock. */
static void efa_device_mem_unmapped(void *address, size_t length, void *arg)
{
    efa_md_t    *md    = arg;
    uintptr_t    start = (uintptr_t)address, end = start + length, memory;
    efa_memh_t  *memhs;
    void       **block;
    unsigned     i;

    if ((address == NULL) || (md->count_pid != getpid())) {
        return; /* nobody knows where; a child has no thread that counts */
    }
    pthread_mutex_lock(&md->count_lock);
    for (block = __atomic_load_n(&md->memh_blocks, __ATOMIC_ACQUIRE);
         block != NULL; block = *block) {
        memhs = (efa_memh_t*)(block + 1);
        for (i = 0; i < EFA_MEMH_BLOCK; ++i) {
            memory = (uintptr_t)memhs[i].address;
            if (memhs[i].counts && (start < memory + memhs[i].length) &&
                (memory < end)) {
                efa_device_mem_went(&memhs[i], start, end);
            }
        }
    }
    pthread_mutex_unlock(&md->count_lock);
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
    pthread_mutex_destroy(&md->count_lock);
}

void efa_device_mem_counts(efa_memh_t *memh, int counts)
{
    efa_md_t *md = memh->md;

    efa_device_mem_lock(md);
    pthread_mutex_lock(&md->count_lock);
    memh->counts   = counts;
    memh->hole     = 0;
    memh->hole_end = 0;
    pthread_mutex_unlock(&md->count_lock);
    efa_device_mem_unlock(md);
}

static int efa_device_mem_is(const efa_memh_t *memh, const efa_md_t *md,
                             uint32_t rkey, uint64_t address, size_t length)
{
    uint64_t offset = address - (uintptr_t)memh->address;

    return memh->counts && (memh->full == md) && (memh->mr->rkey == rkey) &&
           (efa_mr_access(md, memh->flags) & IBV_ACCESS_REMOTE_WRITE) &&
           (offset <= memh->length) && (length <= memh->length - offset) &&
           ((address + length <= memh->hole) || (address >= memh->hole_end));
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

    pthread_mutex_lock(&md->count_lock);
    memh = efa_device_mem_at(md, cache, rkey, address, length);
    if (memh != NULL) {
        kind = memh->is_host ? EFA_DEVICE_MEM_HOST :
               memh->is_gpu  ? EFA_DEVICE_MEM_GPU :
                               EFA_DEVICE_MEM_ANY;
    }
    pthread_mutex_unlock(&md->count_lock);
    return kind;
}

int efa_device_mem_add(efa_md_t *md, efa_device_mem_cache_t *cache,
                       uint32_t rkey, uint64_t address, uint64_t add)
{
    int is_there;

    pthread_mutex_lock(&md->count_lock);
    is_there = efa_device_mem_at(md, cache, rkey, address, sizeof(add)) != NULL;
    if (is_there) {
        __atomic_fetch_add((uint64_t*)address, add, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&md->count_lock);
    return is_there;
}
