/* SPDX-License-Identifier: BSD-3-Clause */
/* Registration of memory, through the cache where there is one. */
#include "efa_mr.h"
#include "efa_block.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EFA_MEMH_BLOCK 64 /* handles that are added at a time */

/* A read-only mapping cannot be pinned for writing (EFAULT), but can be sent:
 * a weak registration. */
static int
efa_mr_reg(void *arg, void *address, size_t length, int weak, void **mr_p)
{
    efa_md_t *md = arg;

    errno = 0;
    *mr_p = md->device->verbs->reg_mr(md->pd, address, length,
                                      weak ? md->access &
                                                     IBV_ACCESS_REMOTE_READ :
                                             md->access);
    return (*mr_p != NULL) ? 0 : ((errno != 0) ? errno : EIO);
}

static void efa_mr_dereg(void *arg, void *mr)
{
    efa_md_t *md = arg;

    if (md->device->verbs->dereg_mr(mr) != 0) {
        host_error(md->super.host, "%s: a memory region cannot be "
                   "deregistered: %s", md->device->name, strerror(errno));
    }
}

static const efa_rcache_ops_t efa_mr_cache_ops = {efa_mr_reg, efa_mr_dereg};

static void efa_md_unmapped(void *address, size_t length, void *arg)
{
    efa_md_t *md = arg;

    efa_rcache_unmapped(&md->cache, (uintptr_t)address,
                        (uintptr_t)address + length);
}

void efa_md_cache_open(efa_md_t *md, const efa_md_config_t *config)
{
    ucs_status_t status;

    md->has_cache = 0;
    /* From 1.16 UCP's own cache serves all protocols */
    if ((config->reg_cache == UCS_NO) ||
        ((config->reg_cache == UCS_TRY) && (md->super.host->minor > 15))) {
        return;
    }

    efa_rcache_init(&md->cache, &efa_mr_cache_ops, md, config->reg_cache_max,
                    config->reg_cache_bytes);
    status = ucx_host_watch_unmap(md->super.host, efa_md_unmapped, md);
    if (status != UCS_OK) {
        efa_rcache_cleanup(&md->cache);
        host_log(md->super.host,
                 (config->reg_cache == UCS_YES) ? UCS_LOG_LEVEL_WARN :
                                                  UCS_LOG_LEVEL_DEBUG,
                 "%s: no registration cache, since UCX cannot tell when memory "
                 "is unmapped (UCX_MEM_EVENTS=n?): large transfers will be "
                 "slow",
                 md->device->name);
        return;
    }
    md->has_cache = 1;
}

void efa_md_cache_close(efa_md_t *md)
{
    if (md->has_cache) {
        ucx_host_unwatch_unmap(md->super.host, efa_md_unmapped, md);
        efa_rcache_cleanup(&md->cache);
        md->has_cache = 0;
    }
}

void efa_md_memh_open(efa_md_t *md)
{
    pthread_mutex_init(&md->memh_lock, NULL);
    md->memh_free   = NULL;
    md->memh_blocks = NULL;
}

void efa_md_memh_close(efa_md_t *md)
{
    efa_block_list_free(&md->memh_blocks);
    pthread_mutex_destroy(&md->memh_lock);
}

/* Is it a handle of this domain, whatever it is good for? */
static int efa_memh_is_of(uct_mem_h handle, const efa_md_t *md)
{
    const efa_memh_t *memh = handle;

    return (memh != NULL) && ((uintptr_t)handle % sizeof(void*) == 0) &&
           (memh->md == md);
}

static ucs_status_t efa_memh_refuse(const efa_md_t *md, uct_mem_h memh)
{
    if (memh == NULL) {
        host_error(md->super.host,
                   "%s: this memory is not registered: an earlier registration "
                   "failed (UCX_LOG_LEVEL=diag shows why; for GPU memory see "
                   "srd_info --check)",
                   md->device->name);
        return UCS_ERR_INVALID_PARAM;
    }
    host_error(md->super.host,
               "%s: %p is no memory handle of this device: register the memory "
               "with it, and give the handle back last",
               md->device->name, memh);
    return UCS_ERR_INVALID_PARAM;
}

static void efa_memh_put(efa_memh_t *memh)
{
    efa_md_t *md = memh->md;

    memh->md   = NULL;
    memh->full = NULL;
    pthread_mutex_lock(&md->memh_lock);
    memh->next    = md->memh_free;
    md->memh_free = memh;
    pthread_mutex_unlock(&md->memh_lock);
}

/* Adds handles to the pool, under its lock. */
static void efa_memh_grow(efa_md_t *md)
{
    efa_memh_t *memhs;
    unsigned    i;

    memhs = efa_block_add(&md->memh_blocks, EFA_MEMH_BLOCK, sizeof(*memhs));
    if (memhs == NULL) {
        return;
    }
    for (i = 0; i < EFA_MEMH_BLOCK; ++i) {
        memhs[i].next = md->memh_free;
        md->memh_free = &memhs[i];
    }
}

/* A handle, NULL when out of memory. */
static efa_memh_t *efa_memh_get(efa_md_t *md)
{
    efa_memh_t *memh;

    pthread_mutex_lock(&md->memh_lock);
    if (md->memh_free == NULL) {
        efa_memh_grow(md);
    }
    memh = md->memh_free;
    if (memh != NULL) {
        md->memh_free = memh->next;
        memh->md      = md;
        memh->before  = NULL;
        memh->may_end = 0;
    }
    pthread_mutex_unlock(&md->memh_lock);
    return memh;
}

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

static int
efa_mr_reg_dmabuf(efa_md_t *md, const ucx_mem_reg_t *reg, void **mr_p)
{
    const efa_verbs_t *verbs = md->device->verbs;

    if (verbs->reg_dmabuf_mr == NULL) {
        return EOPNOTSUPP;
    }
    errno = 0;
    *mr_p = verbs->reg_dmabuf_mr(md->pd, reg->dmabuf_offset, reg->length,
                                 (uintptr_t)reg->address, reg->dmabuf_fd,
                                 md->access);
    return (*mr_p != NULL) ? 0 : ((errno != 0) ? errno : EIO);
}

static void
efa_mr_report(efa_md_t *md, const ucx_mem_reg_t *reg, int err)
{
    char limit[64];

    if (err == ENOMEM) {
        host_log(md->super.host, host_reg_level(reg->flags),
                 "%s: cannot register %zu bytes at %p: out of memory, of "
                 "locked memory (the limit is %s; raise it with 'ulimit -l "
                 "unlimited' or memlock in limits.conf) or of memory regions",
                 md->device->name, reg->length, reg->address,
                 efa_memlock_text(limit, sizeof(limit)));
    } else if (reg->dmabuf_fd >= 0) {
        host_log(md->super.host, host_reg_level(reg->flags),
                 "%s: cannot register %zu bytes of GPU memory at %p by its "
                 "dma-buf: %s; UCX_EFA_DMABUF=n does without dma-bufs, "
                 "at the cost of copies",
                 md->device->name, reg->length, reg->address, strerror(err));
    } else {
        host_log(md->super.host, host_reg_level(reg->flags),
                 "%s: cannot register %zu bytes at %p: %s%s",
                 md->device->name, reg->length, reg->address, strerror(err),
                 (err == EFAULT) ? " (no memory of this process, or a GPU's "
                                   "that has no way to this device: "
                                   "srd_info --check)" : "");
    }
}

/* By dma-buf; where that is refused and peer memory is there, by address. */
static int efa_mr_reg_gpu(efa_md_t *md, const ucx_mem_reg_t *reg, void **mr_p)
{
    int err = efa_mr_reg_dmabuf(md, reg, mr_p);

    if ((err == 0) || (md->gpu_types == 0) ||
        (efa_mr_reg(md, reg->address, reg->length, 0, mr_p) != 0)) {
        return err;
    }
    if (!md->dmabuf_refused) {
        md->dmabuf_refused = 1;
        host_warn(md->super.host,
                  "%s: a dma-buf of GPU memory was refused: %s; peer memory "
                  "does instead, for this and others (UCX_EFA_DMABUF=n tries "
                  "none)",
                  md->device->name, strerror(err));
    }
    return 0;
}

/* Registers, by address or by dma-buf; with `strong` for all uses or not at
 * all. 0, or an errno value. */
static int efa_memh_reg(efa_md_t *md, const ucx_mem_reg_t *reg, int strong,
                        efa_memh_t **memh_p)
{
    efa_memh_t *memh = efa_memh_get(md);
    int         weak = 0, err;
    void       *mr;

    if (memh == NULL) {
        return ENOMEM;
    }
    memh->region = NULL;
    if (reg->dmabuf_fd >= 0) {
        err = efa_mr_reg_gpu(md, reg, &mr);
    } else if (md->has_cache && (reg->mem_type == UCS_MEMORY_TYPE_HOST)) {
        err = efa_rcache_get(&md->cache, reg->address, reg->length, strong,
                             &memh->region);
        if (err == 0) {
            mr   = memh->region->mr;
            weak = memh->region->weak;
        }
    } else {
        err = efa_mr_reg(md, reg->address, reg->length, 0, &mr);
        if ((err == EFAULT) && !strong) {
            weak = 1;
            err  = efa_mr_reg(md, reg->address, reg->length, 1, &mr);
        }
    }
    if (err != 0) {
        efa_memh_put(memh);
        return err;
    }

    memh->mr      = mr;
    memh->address = reg->address;
    memh->length  = reg->length;
    memh->full    = weak ? NULL : md;
    memh->is_host = (reg->dmabuf_fd < 0) && (md->gpu_types == 0) &&
                    (reg->mem_type == UCS_MEMORY_TYPE_HOST);
    *memh_p       = memh;
    return 0;
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
    err = efa_memh_reg(md, reg, 0, &memh);
    if (err != 0) {
        efa_mr_report(md, reg, err);
        return efa_mr_status(err);
    }
    *memh_p = memh;
    return UCS_OK;
}

/* The memory may be writable by now (mprotect), and UCX's caches do not ask
 * again. The weak registration ends with the handle: posts and peers may have
 * its keys. 0, or an errno value. */
static int efa_memh_strengthen(efa_md_t *md, efa_memh_t *memh)
{
    const ucx_mem_reg_t reg = {
        .address   = memh->address,
        .length    = memh->length,
        .mem_type  = UCS_MEMORY_TYPE_HOST,
        .dmabuf_fd = -1
    };
    efa_memh_t *fresh, weak;
    int         err = efa_memh_reg(md, &reg, 1, &fresh);

    if (err != 0) {
        return err;
    }
    pthread_mutex_lock(&md->memh_lock);
    if (memh->full == NULL) {
        weak          = *memh;
        memh->region  = fresh->region;
        memh->mr      = fresh->mr;
        memh->before  = fresh;
        memh->full    = md;
        fresh->region = weak.region;
        fresh->mr     = weak.mr;
        fresh->before = weak.before;
        fresh->full   = NULL;
        fresh         = NULL;
    }
    pthread_mutex_unlock(&md->memh_lock);
    if (fresh != NULL) { /* another thread was faster */
        efa_mem_dereg(&md->super, fresh, 0, NULL);
    }
    return 0;
}

/* The registration of a part that has all of these bytes, or NULL. */
static efa_memh_t *efa_memh_find_part(efa_md_t *md, efa_memh_t *memh,
                                      uintptr_t start, size_t length)
{
    efa_memh_t *part;
    uintptr_t   offset;

    pthread_mutex_lock(&md->memh_lock);
    for (part = memh->before; part != NULL; part = part->before) {
        offset = start - (uintptr_t)part->address;
        if ((part->full != NULL) && (offset <= part->length) &&
            (length <= part->length - offset)) {
            break;
        }
    }
    pthread_mutex_unlock(&md->memh_lock);
    return part;
}

/* A part as large as the mappings that it lies in, so that there are few of
 * them, wherever the memory is received into. */
static void efa_memh_widen(const efa_memh_t *memh, ucx_mem_reg_t *part)
{
    uintptr_t start = (uintptr_t)memh->address, end = start + memh->length;
    uintptr_t first = (uintptr_t)part->address, last = first + part->length - 1;
    uintptr_t from, to;
    FILE     *maps = fopen("/proc/self/maps", "re");

    if (maps == NULL) {
        return;
    }
    while (fscanf(maps, "%" SCNxPTR "-%" SCNxPTR "%*[^\n]", &from, &to) == 2) {
        if ((from <= first) && (first < to) && (start < from)) {
            start = from;
        }
        if ((from <= last) && (last < to) && (to < end)) {
            end = to;
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
    err = efa_memh_reg(md, &wide, 1, &part);
    if (err != 0) {
        err = efa_memh_reg(md, &bytes, 1, &part);
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

ucs_status_t efa_memh_check(efa_md_t *md, uct_mem_h *handle_p,
                            const void *buffer, size_t length, int write)
{
    efa_memh_t *memh = *handle_p, *part = NULL;
    int         err;

    if (!efa_memh_is_of(memh, md)) {
        return efa_memh_refuse(md, memh);
    }
    if (!write || (memh->full != NULL)) {
        return UCS_OK;
    }
    if (buffer != NULL) {
        part = efa_memh_find_part(md, memh, (uintptr_t)buffer, length);
    }
    err = (part != NULL) ? 0 : efa_memh_strengthen(md, memh);
    if ((err == EFAULT) && (buffer != NULL)) {
        err = efa_memh_add_part(md, memh, (uintptr_t)buffer, length, &part);
    }
    *handle_p = (part != NULL) ? part : memh;
    if (err != 0) {
        host_error(md->super.host,
                   "%s: cannot receive into the %zu bytes at %p: %s%s",
                   md->device->name, (buffer != NULL) ? length : memh->length,
                   (buffer != NULL) ? buffer : memh->address, strerror(err),
                   (err == EFAULT) ? " (the memory is read-only: mmap or "
                                     "mprotect it with PROT_WRITE, or receive "
                                     "elsewhere)" : "");
    }
    return (err == 0) ? UCS_OK : efa_mr_status(err);
}

static void
efa_memh_dereg(efa_memh_t *memh, int invalidate, uct_completion_t *comp);

/* It is deregistered: so be what it replaced. */
static void
efa_memh_end(efa_memh_t *memh, int invalidate, uct_completion_t *comp)
{
    efa_memh_t *before = memh->before;

    efa_memh_put(memh);
    if (before != NULL) {
        efa_memh_dereg(before, invalidate, comp);
    } else if (invalidate) {
        ucx_completion_done(comp, UCS_OK);
    }
}

static void efa_memh_gone(efa_rcache_gone_t *gone)
{
    efa_memh_t *memh = (efa_memh_t*)((char*)gone - offsetof(efa_memh_t, gone));

    efa_memh_end(memh, 1, memh->comp);
}

static void
efa_memh_dereg(efa_memh_t *memh, int invalidate, uct_completion_t *comp)
{
    efa_md_t *md = memh->md;

    if (memh->region == NULL) {
        efa_mr_dereg(md, memh->mr);
    } else if (invalidate) {
        memh->comp      = comp;
        memh->gone.func = efa_memh_gone;
        efa_rcache_invalidate(&md->cache, memh->region, &memh->gone);
        return;
    } else {
        efa_rcache_put(&md->cache, memh->region);
    }
    efa_memh_end(memh, invalidate, comp);
}

ucs_status_t efa_mem_dereg(ucx_md_t *super, uct_mem_h handle, int invalidate,
                           uct_completion_t *comp)
{
    efa_md_t   *md   = (efa_md_t*)super;
    efa_memh_t *memh = handle;

    if (!efa_memh_is_of(handle, md)) {
        return efa_memh_refuse(md, handle);
    }
    if (invalidate && !memh->may_end &&
        ucx_host_checks_params(super->host, (uct_md_h)super)) {
        return UCS_ERR_INVALID_PARAM; /* UCX's word for it; it would work */
    }
    efa_memh_dereg(memh, invalidate, comp);
    return UCS_OK;
}

ucs_status_t efa_mem_advise(ucx_md_t *md, uct_mem_h memh, void *address,
                            size_t length, unsigned advice)
{
    const struct ibv_mr *mr;
    uintptr_t            start = (uintptr_t)address;

    (void)advice;
    if (!efa_memh_is_of(memh, (efa_md_t*)md)) {
        return efa_memh_refuse((efa_md_t*)md, memh);
    }
    mr = ((const efa_memh_t*)memh)->mr;
    if ((start < (uintptr_t)mr->addr) || (length > mr->length) ||
        (start - (uintptr_t)mr->addr > mr->length - length)) {
        return UCS_ERR_INVALID_PARAM;
    }
    return UCS_OK; /* whatever it is: registered pages are there to stay */
}

ucs_status_t
efa_mkey_pack(ucx_md_t *md, uct_mem_h memh, int invalidate, void *buffer)
{
    uint32_t rkey;

    if (!efa_memh_is_of(memh, (efa_md_t*)md)) {
        return efa_memh_refuse((efa_md_t*)md, memh);
    }
    ((efa_memh_t*)memh)->may_end |= invalidate;
    if (!efa_memh_is_full(memh, (efa_md_t*)md)) {
        /* the peer may want to write: a key for reads, where it must be */
        (void)efa_memh_strengthen((efa_md_t*)md, memh);
    }
    rkey = ((const efa_memh_t*)memh)->mr->rkey;
    memcpy(buffer, &rkey, sizeof(rkey));
    return UCS_OK;
}

ucs_status_t efa_rkey_unpack(ucx_host_t *host, const void *buffer,
                             uct_rkey_t *rkey_p, void **handle_p)
{
    uint32_t rkey;

    (void)host;
    memcpy(&rkey, buffer, sizeof(rkey));
    *rkey_p   = rkey;
    *handle_p = NULL;
    return UCS_OK;
}

ucs_status_t efa_rkey_release(ucx_host_t *host, uct_rkey_t rkey, void *handle)
{
    (void)host;
    (void)rkey;
    (void)handle;
    return UCS_OK;
}
