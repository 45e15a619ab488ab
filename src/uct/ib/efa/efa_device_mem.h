/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_DEVICE_MEM_H_
#define EFA_DEVICE_MEM_H_

#include "efa_mr.h"

/* Keys of 32 bits, for a GPU's kernels: mem_elem_pack of the component
 * (provider.h). Memory in segments has more than one: it is refused. */
ucs_status_t efa_mem_elem_pack(ucx_md_t *md, uct_mem_h memh, uct_rkey_t rkey,
                               ucx_device_mem_t *elem);

/* Handles that were found before, by their keys. Zeroed at first. */
typedef struct efa_device_mem_cache {
    const efa_memh_t *memhs[64];
} efa_device_mem_cache_t;

/* Between the two, what is registered stays so. */
static inline void efa_device_mem_lock(efa_md_t *md)
{
    pthread_mutex_lock(&md->memh_lock);
}

static inline void efa_device_mem_unlock(efa_md_t *md)
{
    pthread_mutex_unlock(&md->memh_lock);
}

/* Under that lock: nonzero if these bytes are registered, for peers to write,
 * with the device's key `rkey`. *is_host_p: they are no GPU's memory, for
 * sure. */
int efa_device_mem_find(const efa_md_t *md, efa_device_mem_cache_t *cache,
                        uint32_t rkey, uint64_t address, size_t length,
                        int *is_host_p);

#endif
