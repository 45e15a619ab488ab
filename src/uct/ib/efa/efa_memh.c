/* SPDX-License-Identifier: BSD-3-Clause */
/* Registration as UCX asks for it. A handle may be of more than one: of memory
 * that was, or is in parts, read-only, and of memory in segments. */
#include "efa_mr_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Memory that this process may write to, and other memory. */
enum {
    EFA_MEMORY_WRITABLE  = 1,
    EFA_MEMORY_READ_ONLY = 2
};

static ucs_status_t efa_mr_status(int err)
{
    switch (err) {
    case ENOMEM:
        return UCS_ERR_NO_MEMORY;
    case EINVAL:
    case EFAULT:
        return UCS_ERR_INVALID_ADDR;
    case EOPNOTSUPP:
        return UCS_ERR_UNSUPPORTED;
    default:
        return UCS_ERR_IO_ERROR;
    }
}

static void
efa_mr_report(efa_md_t *md, const ucx_mem_reg_t *reg, int err)
{
    int  level = host_reg_level(reg->flags);
    char limit[64];

    if (err == ENOMEM) {
        /* Not hidden the first time: UCP does without, more slowly, or ends by
         * an assertion that names no cause (rndv_rtr.c of Debian 13's). */
        if ((level == UCS_LOG_LEVEL_DIAG) &&
            !__atomic_exchange_n(&md->shortage_said, 1, __ATOMIC_RELAXED)) {
            level = UCS_LOG_LEVEL_WARN;
        }
        host_log(md->super.host, level,
                 "%s: cannot register %zu bytes at %p: out of memory, of "
                 "locked memory (the limit is %s; raise it with 'ulimit -l "
                 "unlimited' or memlock in limits.conf), of memory regions, or "
                 "of the pages that the device can know (huge pages are fewer: "
                 "hugetlb, or madvise with MADV_HUGEPAGE)",
                 md->device->name, reg->length, reg->address,
                 efa_memlock_text(limit, sizeof(limit)));
    } else if (reg->dmabuf_fd >= 0) {
        host_log(md->super.host, level,
                 "%s: cannot register %zu bytes of GPU memory at %p by its "
                 "dma-buf: %s; UCX_EFA_DMABUF=n does without dma-bufs, "
                 "at the cost of copies",
                 md->device->name, reg->length, reg->address, strerror(err));
    } else {
        host_log(md->super.host, level,
                 "%s: cannot register %zu bytes at %p: %s%s",
                 md->device->name, reg->length, reg->address, strerror(err),
                 (err == EFAULT) ? " (no memory of this process, or a GPU's "
                                   "that has no way to this device: "
                                   "srd_info --check)" : "");
    }
}

ucs_status_t
efa_mem_reg(ucx_md_t *super, const ucx_mem_reg_t *reg, uct_mem_h *memh_p)
{
    efa_md_t   *md = (efa_md_t*)super;
    efa_memh_t *memh;
    int         err;

    if (reg->length == 0) {
        return UCS_ERR_INVALID_PARAM;
    }
    err = efa_segments_needed(md, reg) ?
                  ENOMEM :
                  efa_memh_reg(md, reg, 0, &memh);
    if ((err == ENOMEM) || (err == EINVAL)) {
        err = efa_segments_reg(md, reg, err, &memh);
    }
    if (err != 0) {
        efa_mr_report(md, reg, err);
        return efa_mr_status(err);
    }
    *memh_p = memh;
    return UCS_OK;
}

/* The registration of a part that has all of these bytes, and may be written
 * with `write`; NULL: there is none. */
static efa_memh_t *
efa_memh_find_part(efa_md_t *md, const efa_memh_t *memh, uintptr_t start,
                   size_t length, int write)
{
    efa_memh_t *part;
    uintptr_t   offset;

    pthread_mutex_lock(&md->memh_lock);
    for (part = memh->before; part != NULL; part = part->before) {
        offset = start - (uintptr_t)part->address;
        if ((!write || (part->full != NULL)) && (offset <= part->length) &&
            (length <= part->length - offset)) {
            break;
        }
    }
    pthread_mutex_unlock(&md->memh_lock);
    return part;
}

/* A mapping of this process's. */
typedef struct efa_mapping {
    uintptr_t from, to;
    char      right; /* to write: 'w' */
} efa_mapping_t;

/* The next line of /proc/self/maps. 0: there is none. */
static int efa_mapping_next(FILE *maps, efa_mapping_t *mapping)
{
    return fscanf(maps, "%" SCNxPTR "-%" SCNxPTR " %*c%c%*[^\n]",
                  &mapping->from, &mapping->to, &mapping->right) == 3;
}

/* A part as large as the mappings that it lies in, so that there are few of
 * them, wherever the memory is received into. */
static void efa_memh_widen(const efa_memh_t *memh, ucx_mem_reg_t *part)
{
    uintptr_t start = (uintptr_t)memh->address, end = start + memh->length;
    uintptr_t first = (uintptr_t)part->address, last = first + part->length - 1;
    FILE     *maps = fopen("/proc/self/maps", "re");
    efa_mapping_t mapping;

    if (maps == NULL) {
        return;
    }
    while (efa_mapping_next(maps, &mapping)) {
        if ((mapping.from <= first) && (first < mapping.to) &&
            (start < mapping.from)) {
            start = mapping.from;
        }
        if ((mapping.from <= last) && (last < mapping.to) &&
            (mapping.to < end)) {
            end = mapping.to;
        }
    }
    fclose(maps);
    part->address = (void*)start;
    part->length  = end - start;
}

/* Registers a part that may be received into, of memory of which other parts
 * may not, until the handle ends. 0, or an errno value. */
static int efa_memh_add_part(efa_md_t *md, efa_memh_t *memh, uintptr_t start,
                             size_t length, efa_memh_t **part_p)
{
    const size_t        offset = start - (uintptr_t)memh->address;
    const ucx_mem_reg_t bytes  = {
        .address   = (void*)start,
        .length    = length,
        .flags     = memh->flags,
        .mem_type  = UCS_MEMORY_TYPE_HOST,
        .dmabuf_fd = -1
    };
    ucx_mem_reg_t wide = bytes;
    efa_memh_t   *part;
    int           err;

    if ((offset > memh->length) || (length > memh->length - offset)) {
        return EFAULT;
    }
    efa_memh_widen(memh, &wide);
    err = efa_memh_reg(md, &wide, EFA_REG_STRONG, &part);
    if (err != 0) {
        err = efa_memh_reg(md, &bytes, EFA_REG_STRONG, &part);
    }
    if (err == 0) {
        pthread_mutex_lock(&md->memh_lock);
        part->before = memh->before;
        memh->before = part;
        pthread_mutex_unlock(&md->memh_lock);
        *part_p = part;
    }
    return err;
}

/* The handle for these bytes of one that has more than one registration. */
static efa_memh_t *
efa_memh_of_bytes(efa_md_t *md, efa_memh_t *memh, const void *buffer,
                  size_t length, int write)
{
    efa_memh_t *part = NULL;

    if (memh->full != NULL) {
        return memh;
    }
    if (write) {
        part = efa_memh_find_part(md, memh, (uintptr_t)buffer, length, 1);
    }
    if ((part == NULL) && (memh->keys != NULL)) {
        part = efa_memh_find_part(md, memh, (uintptr_t)buffer, length, 0);
    }
    return (part != NULL) ? part : memh;
}

uint32_t efa_memh_lkey_at(efa_md_t *md, uct_mem_h memh, const void *buffer,
                          size_t length)
{
    return efa_memh_of_bytes(md, memh, buffer, length, 1)->mr->lkey;
}

static ucs_status_t efa_memh_say(efa_md_t *md, const efa_memh_t *memh,
                                 const void *buffer, size_t length, int err)
{
    if (err != 0) {
        host_error(md->super.host,
                   "%s: cannot receive into the %zu bytes at %p: %s%s",
                   md->device->name, (buffer != NULL) ? length : memh->length,
                   (buffer != NULL) ? buffer : memh->address, strerror(err),
                   (err == EFAULT) ? " (the memory is read-only: mmap or "
                                     "mprotect it with PROT_WRITE; or it is a "
                                     "shared mapping of a file: receive "
                                     "elsewhere)" : "");
    }
    return (err == 0) ? UCS_OK : efa_mr_status(err);
}

/* The kinds of memory (EFA_MEMORY_) that these bytes lie in; 0: not known. */
static unsigned efa_memory_kinds(const void *address, size_t length)
{
    uintptr_t     start = (uintptr_t)address;
    unsigned      kinds = 0;
    FILE         *maps  = fopen("/proc/self/maps", "re");
    efa_mapping_t mapping;

    if (maps == NULL) {
        return 0;
    }
    while (efa_mapping_next(maps, &mapping)) {
        if ((mapping.from < start + length) && (start < mapping.to)) {
            kinds |= (mapping.right == 'w') ? EFA_MEMORY_WRITABLE :
                                              EFA_MEMORY_READ_ONLY;
        }
    }
    fclose(maps);
    return kinds;
}

/* Makes of a handle one for these bytes, to be written, or for all (NULL). 0,
 * or an errno value and the kinds of memory that they lie in. */
static int efa_memh_open(efa_md_t *md, efa_memh_t **memh_p, const void *buffer,
                         size_t length, unsigned *kinds_p)
{
    efa_memh_t *memh = *memh_p;
    int         err;

    if (buffer != NULL) {
        memh = efa_memh_of_bytes(md, memh, buffer, length, 1);
    }
    *memh_p = memh;
    if (memh->full != NULL) {
        return 0;
    }
    err = (memh->keys != NULL) ? efa_segments_strengthen(md, memh) :
                                 efa_memh_strengthen(md, memh);
    if (err == 0) {
        return 0;
    }
    if (buffer == NULL) {
        *kinds_p = efa_memory_kinds(memh->address, memh->length);
        return err;
    }
    *kinds_p = efa_memory_kinds(buffer, length);
    return (*kinds_p == EFA_MEMORY_READ_ONLY) ? EFAULT :
           efa_memh_add_part(md, memh, (uintptr_t)buffer, length, memh_p);
}

ucs_status_t efa_memh_check(efa_md_t *md, uct_mem_h *handle_p,
                            const void *buffer, size_t length, int write)
{
    efa_memh_t *memh = *handle_p;
    int         err = 0;
    unsigned    kinds;

    if (!efa_memh_is_of(memh, md)) {
        return efa_memh_refuse(md, memh);
    }
    if (write) {
        err = efa_memh_open(md, &memh, buffer, length, &kinds);
    } else if (buffer != NULL) {
        memh = efa_memh_of_bytes(md, memh, buffer, length, 0);
    }
    *handle_p = memh;
    return efa_memh_say(md, memh, buffer, length, err);
}

ucs_status_t efa_mem_advise(ucx_md_t *md, uct_mem_h handle, void *address,
                            size_t length, unsigned advice)
{
    const efa_memh_t *memh = handle;
    uintptr_t         offset;

    (void)advice;
    if (!efa_memh_is_of(handle, (efa_md_t*)md)) {
        return efa_memh_refuse((efa_md_t*)md, handle);
    }
    offset = (uintptr_t)address - (uintptr_t)memh->address;
    if ((offset > memh->length) || (length > memh->length - offset)) {
        return UCS_ERR_INVALID_PARAM;
    }
    return UCS_OK; /* whatever it is: registered pages are there to stay */
}

/* Whether UCP is to put by messages, as over tcp, since the device would refuse
 * puts that are right; it then gets by them, too. A rendezvous (HIDE_ERRORS)
 * reads alone from memory that it registers for gets. */
static int
efa_memh_needs_messages(const efa_md_t *md, unsigned flags, unsigned kinds)
{
    const unsigned read = UCT_MD_MEM_FLAG_HIDE_ERRORS |
                          UCT_MD_MEM_ACCESS_REMOTE_GET;

    return (efa_mr_access(md, flags) & IBV_ACCESS_REMOTE_WRITE) &&
           (kinds & EFA_MEMORY_WRITABLE) &&
           ((kinds & EFA_MEMORY_READ_ONLY) || ((flags & read) != read));
}

ucs_status_t efa_mkey_pack(ucx_md_t *super, uct_mem_h handle,
                           const void *address, size_t length, int invalidate,
                           void *buffer)
{
    efa_md_t       *md    = (efa_md_t*)super;
    efa_memh_t     *memh  = handle;
    efa_rkey_wire_t wire  = {0, 0, 0};
    unsigned        kinds = 0;
    int             err;

    if (!efa_memh_is_of(memh, md)) {
        return efa_memh_refuse(md, memh);
    }
    memh->may_end |= invalidate;
    /* the peer may want to write: a key for reads, where it must be; refused,
     * UCX 1.18 ends the process: it counts on the length of a key */
    err = efa_memh_open(md, &memh, address, length, &kinds);
    if (memh->keys != NULL) {
        efa_segments_pack(memh, &wire);
    } else {
        wire.key = memh->mr->rkey;
    }
    if ((err != 0) && efa_memh_needs_messages(md, memh->flags, kinds)) {
        wire.table     = 0;
        wire.table_key = EFA_RKEY_MESSAGES;
        host_log(super->host, UCS_LOG_LEVEL_DIAG,
                 "%s: messages carry what peers put and get at %p, %zu bytes: "
                 "the device cannot write to all of them (some are read-only, "
                 "or a shared mapping of a file)",
                 md->device->name, memh->address, memh->length);
    } else if ((memh->flags & (UCT_MD_MEM_ACCESS_REMOTE_PUT |
                               UCT_MD_MEM_ACCESS_REMOTE_GET)) ==
               UCT_MD_MEM_ACCESS_REMOTE_PUT) { /* it will not read */
        (void)efa_memh_say(md, memh, address, length, err);
    }
    if ((err == ENOMEM) && (kinds & EFA_MEMORY_WRITABLE)) {
        efa_mr_report(md, &(ucx_mem_reg_t){.address   = memh->address,
                                           .length    = memh->length,
                                           .flags     = memh->flags,
                                           .dmabuf_fd = -1}, err);
    }
    memcpy(buffer, &wire, sizeof(wire));
    return UCS_OK;
}

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
