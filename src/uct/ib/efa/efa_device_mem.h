/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_DEVICE_MEM_H_
#define EFA_DEVICE_MEM_H_

#include "efa_mr.h"

/* Handles that were found before, by their keys. Zeroed at first. */
typedef struct efa_device_mem_cache {
    const efa_memh_t *memhs[64];
} efa_device_mem_cache_t;

/* Handles in which peers may count, from then on (counts), or no more: nobody
 * does when it returns. */
void efa_device_mem_counts(efa_memh_t *memh, int counts);

/* Exchanges what is known of two handles of the same memory, as their
 * registrations are, under efa_device_mem_lock. */
void efa_device_mem_swap(efa_memh_t *memh, efa_memh_t *other);

/* Has UCX tell what memory is unmapped, where the device API is used. */
void efa_device_mem_open(efa_md_t *md);
void efa_device_mem_close(efa_md_t *md);

/* Between the two, what is registered stays so. */
static inline void efa_device_mem_lock(efa_md_t *md)
{
    pthread_mutex_lock(&md->memh_lock);
}

static inline void efa_device_mem_unlock(efa_md_t *md)
{
    pthread_mutex_unlock(&md->memh_lock);
}

typedef enum efa_device_mem_kind {
    EFA_DEVICE_MEM_NONE,
    EFA_DEVICE_MEM_HOST, /* for sure */
    EFA_DEVICE_MEM_GPU,  /* likewise */
    EFA_DEVICE_MEM_ANY
} efa_device_mem_kind_t;

/* The owner of these bytes, an aligned counter, if they are registered, for
 * peers to write, with the device's key `rkey`, and mapped still; after a call
 * that is under way and may unmap them. Under efa_device_mem_lock, as the
 * next. */
efa_device_mem_kind_t
efa_device_mem_find(efa_md_t *md, efa_device_mem_cache_t *cache, uint32_t rkey,
                    uint64_t address, size_t length);

/* Adds to a counter that the CPU reaches. 0: it is not there any more. */
int efa_device_mem_add(efa_md_t *md, efa_device_mem_cache_t *cache,
                       uint32_t rkey, uint64_t address, uint64_t add);

#endif
