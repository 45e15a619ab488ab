/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_MR_H_
#define EFA_MR_H_

#include "efa_md.h"

/* UCX's handle of a registration. UCP registers for each large transfer and
 * leaves it to the cache that this is cheap, so handles come from a pool. */
struct efa_memh {
    struct ibv_mr       *mr;
    efa_md_t            *full; /* md; NULL: not for all uses, or free */
    efa_md_t            *md;   /* NULL while free */
    void                *address; /* what was asked for */
    size_t               length;
    unsigned             flags;   /* likewise */
    struct efa_memh     *before; /* the weaker one that this one replaced, and
                                    those of parts: in use until the end;
                                    under memh_lock */
    struct efa_keys     *keys;   /* of memory in segments, which are in
                                    `before`, and mr is this table's; or NULL */
    efa_rcache_region_t *region; /* of the cache; NULL: mr is ours alone */
    efa_rcache_gone_t    gone;
    int                  is_host; /* no GPU's memory, for sure */
    int                  is_gpu;  /* none of the host's, for sure */
    int                  may_end; /* a key was packed to be invalidated */
    int                  is_segment;
    int                  counts; /* peers may increment counters in it */
    unsigned char       *went; /* but not in pages that were unmapped, a bit
                                  each; NULL: no room; under count_lock, both */
    union {
        uct_completion_t *comp; /* of an invalidation */
        struct efa_memh  *next; /* while free */
    };
};

/* Is it a handle of this domain, for all uses? Not so for NULL, one that was
 * given back, and handles of other domains: structures, or odd constants. */
static inline int efa_memh_is_full(uct_mem_h handle, const efa_md_t *md)
{
    const efa_memh_t *memh = handle;

    return (memh != NULL) && ((uintptr_t)handle % sizeof(void*) == 0) &&
           (memh->full == md);
}

/*
 * May it be used, of which efa_memh_is_full is not sure? *memh_p is the handle
 * to be used for the bytes at `buffer` then, until the first one ends; NULL:
 * all of the memory is asked about, and efa_memh_lkey_at tells its keys. With
 * `write` memory that was read-only when it was registered is registered anew:
 * all of it, or, if that still cannot be, the mapping at `buffer`.
 * UCS_OK; UCS_ERR_INVALID_PARAM: no handle of this domain;
 * UCS_ERR_INVALID_ADDR: the memory may not be written; what efa_mem_reg
 * returns. Errors are told.
 */
ucs_status_t efa_memh_check(efa_md_t *md, uct_mem_h *memh_p, const void *buffer,
                            size_t length, int write);

static inline uint32_t efa_memh_lkey(uct_mem_h memh)
{
    return ((const efa_memh_t*)memh)->mr->lkey;
}

/* The key for bytes of a handle that efa_memh_check found fit, of any kind. */
uint32_t efa_memh_lkey_at(efa_md_t *md, uct_mem_h memh, const void *buffer,
                          size_t length);

/* Entry points of the component; contracts in ucp_hooks/provider.h. */
ucs_status_t
efa_mem_reg(ucx_md_t *md, const ucx_mem_reg_t *reg, uct_mem_h *memh_p);
ucs_status_t efa_mem_dereg(ucx_md_t *md, uct_mem_h memh, int invalidate,
                           uct_completion_t *comp);
ucs_status_t efa_mkey_pack(ucx_md_t *md, uct_mem_h memh, const void *address,
                           size_t length, int invalidate, void *buffer);

/* mem_advise of the component (provider.h). */
ucs_status_t efa_mem_advise(ucx_md_t *md, uct_mem_h memh, void *address,
                            size_t length, unsigned advice);

/* Keys of 32 bits, for a GPU's kernels: mem_elem_pack of the component
 * (provider.h). Memory in segments has more than one: it is refused. */
ucs_status_t efa_mem_elem_pack(ucx_md_t *md, uct_mem_h memh, uct_rkey_t rkey,
                               ucx_device_mem_t *elem);

/* Starts and ends the registration cache of a domain. A cache that cannot be
 * kept right (no memory events) is not kept. */
void efa_md_cache_open(efa_md_t *md, const efa_md_config_t *config);
void efa_md_cache_close(efa_md_t *md);

/* The pool of handles; after close no handle is valid. */
void efa_md_memh_open(efa_md_t *md);
void efa_md_memh_close(efa_md_t *md);

#endif
