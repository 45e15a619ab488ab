/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_device_mem.h"
#include "efa_mr_priv.h"

ucs_status_t efa_mem_elem_pack(ucx_md_t *super, uct_mem_h handle,
                               uct_rkey_t rkey, ucx_device_mem_t *elem)
{
    efa_md_t         *md   = (efa_md_t*)super;
    const efa_memh_t *memh = handle;

    if (((memh != NULL) && (memh->keys != NULL)) ||
        (efa_rkey_segments(rkey) != NULL)) {
        host_error(super->host, "%s: memory of more pages than one "
                   "registration has is of no use to kernels: register it in "
                   "parts",
                   md->device->name);
        return UCS_ERR_UNSUPPORTED;
    }
    if ((memh != NULL) && !efa_memh_is_of(handle, md)) {
        return efa_memh_refuse(md, handle);
    }
    elem->lkey = (memh != NULL) ? memh->mr->lkey : 0;
    elem->rkey = (rkey != UCT_INVALID_RKEY) ? (uint32_t)rkey : 0;
    return UCS_OK;
}

/* Memory that UCP registers for a transfer of its own may be unmapped before
 * the registration ends; it asks for atomics where the program maps memory for
 * peers, if the program has atomics at all. */
static int efa_device_mem_counts(const efa_md_t *md, unsigned flags)
{
    return (efa_mr_access(md, flags) & IBV_ACCESS_REMOTE_WRITE) &&
           (!(flags & UCT_MD_MEM_ACCESS_ALL) || !md->asks_atomics ||
            (flags & UCT_MD_MEM_ACCESS_REMOTE_ATOMIC));
}

static int efa_device_mem_is(const efa_memh_t *memh, const efa_md_t *md,
                             uint32_t rkey, uint64_t address, size_t length)
{
    uint64_t offset = address - (uintptr_t)memh->address;

    return memh->counts && (memh->full == md) && (memh->mr->rkey == rkey) &&
           efa_device_mem_counts(md, memh->flags) &&
           (offset <= memh->length) && (length <= memh->length - offset);
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

int efa_device_mem_find(const efa_md_t *md, efa_device_mem_cache_t *cache,
                        uint32_t rkey, uint64_t address, size_t length,
                        int *is_host_p)
{
    const efa_memh_t **memh;

    memh = &cache->memhs[rkey % (sizeof(cache->memhs) / sizeof(*memh))];
    if ((*memh == NULL) ||
        !efa_device_mem_is(*memh, md, rkey, address, length)) {
        *memh = efa_device_mem_search(md, rkey, address, length);
    }
    if (*memh == NULL) {
        return 0;
    }
    *is_host_p = (*memh)->is_host;
    return 1;
}
