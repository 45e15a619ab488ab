/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_MR_PRIV_H_
#define EFA_MR_PRIV_H_

#include "efa_mr.h"
#include "efa_rkey.h"

/* Shared by the files of memory registration. Functions that return an int
 * return 0 or an errno value. */

enum {
    EFA_REG_STRONG = 1, /* for all uses or not at all */
    EFA_REG_ALONE  = 2  /* past the cache */
};

#define EFA_MEMH_BLOCK 64 /* handles in a block of md->memh_blocks */

/* A handle that is of no registration yet, NULL when out of memory; and back,
 * when it is of none any more. */
efa_memh_t *efa_memh_get(efa_md_t *md);
void        efa_memh_put(efa_memh_t *memh);

/* The rights that UCX asks for: the device takes more memory at a time where no
 * peer may write. Nothing asked for is all (older callers of UCT). */
static inline int efa_mr_access(const efa_md_t *md, unsigned flags)
{
    return ((flags & UCT_MD_MEM_ACCESS_ALL) &&
            !(flags & UCT_MD_MEM_ACCESS_REMOTE_PUT)) ?
                   md->access & ~IBV_ACCESS_REMOTE_WRITE :
                   md->access;
}

/* The device's registration; `weak`: without the right to write, as read-only
 * pages need it. */
int efa_mr_reg(void *arg, void *address, size_t length, int weak, void **mr_p);

/* A handle of one registration, by address or by dma-buf; `how`: EFA_REG_. */
int efa_memh_reg(efa_md_t *md, const ucx_mem_reg_t *reg, unsigned how,
                 efa_memh_t **memh_p);

/* Registers a weak one anew: the memory may be writable by now (mprotect), and
 * UCX's caches do not ask again. The weak registration ends with the handle:
 * posts and peers may have its keys. */
int efa_memh_strengthen(efa_md_t *md, efa_memh_t *memh);

/* Is it a handle of this domain, whatever it is good for? */
static inline int efa_memh_is_of(uct_mem_h handle, const efa_md_t *md)
{
    const efa_memh_t *memh = handle;

    return (memh != NULL) && ((uintptr_t)handle % sizeof(void*) == 0) &&
           (memh->md == md);
}

/* Tells that it is not. UCS_ERR_INVALID_PARAM. */
ucs_status_t efa_memh_refuse(const efa_md_t *md, uct_mem_h memh);

/*
 * Memory that the device refuses for its size is registered in segments, behind
 * one handle. They are of one size, which the device took before or which is
 * found by halving, and overlap by the longest RDMA, so that each fits into one
 * of them and none is cut. They lie past the cache, which would merge them.
 */

/* Whether memory so long that peers may write was refused before. */
static inline int
efa_segments_needed(const efa_md_t *md, const ucx_mem_reg_t *reg)
{
    return (md->segment != 0) && (reg->length > md->segment) &&
           (efa_mr_access(md, reg->flags) & IBV_ACCESS_REMOTE_WRITE);
}

/* Registers memory for which the device returned `err`, which is returned where
 * segments do not help. */
int efa_segments_reg(efa_md_t *md, const ucx_mem_reg_t *reg, int err,
                     efa_memh_t **memh_p);

/* Makes each of them fit to be written that can be; the error of the others. */
int efa_segments_strengthen(efa_md_t *md, efa_memh_t *memh);

/* Writes the keys as they are now where peers read them. */
void efa_segments_pack(efa_memh_t *memh, efa_rkey_wire_t *wire);

#endif
