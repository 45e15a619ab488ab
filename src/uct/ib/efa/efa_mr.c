/* SPDX-License-Identifier: BSD-3-Clause */
/* One registration of memory, through the cache where there is one. */
#include "efa_mr_priv.h"
#include "efa_block.h"
#include "efa_device_mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int efa_mr_reg_access(efa_md_t *md, void *address, size_t length,
                             int access, void **mr_p)
{
    errno = 0;
    *mr_p = md->device->verbs->reg_mr(md->pd, address, length, access);
    return (*mr_p != NULL) ? 0 : ((errno != 0) ? errno : EIO);
}

/* A read-only mapping cannot be pinned for writing (EFAULT), but can be sent:
 * a weak registration. */
int efa_mr_reg(void *arg, void *address, size_t length, int weak, void **mr_p)
{
    efa_md_t *md = arg;

    return efa_mr_reg_access(md, address, length,
                             weak ? md->access & IBV_ACCESS_REMOTE_READ :
                                    md->access, mr_p);
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

static void
efa_md_unmapped(ucx_unmap_t what, void *address, size_t length, void *arg)
{
    efa_md_t *md = arg;

    if (what != UCX_UNMAP_END) {
        efa_rcache_unmapped(&md->cache, (uintptr_t)address,
                            (uintptr_t)address + length);
    }
}

void efa_md_cache_open(efa_md_t *md, const efa_md_config_t *config)
{
    ucs_status_t status;

    md->has_cache = 0;
    if ((config->reg_cache == UCS_NO) ||
        ((config->reg_cache == UCS_TRY) &&
         (md->super.host->minor >= EFA_UCX_CACHES_ALL))) {
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

ucs_status_t efa_memh_refuse(const efa_md_t *md, uct_mem_h memh)
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

void efa_memh_put(efa_memh_t *memh)
{
    efa_md_t *md = memh->md;

    free(memh->keys);
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

efa_memh_t *efa_memh_get(efa_md_t *md)
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
        memh->keys    = NULL;
        memh->before  = NULL;
        memh->region  = NULL;
        memh->may_end = 0;
        memh->is_segment = 0;
    }
    pthread_mutex_unlock(&md->memh_lock);
    return memh;
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
                                 efa_mr_access(md, reg->flags));
    return (*mr_p != NULL) ? 0 : ((errno != 0) ? errno : EIO);
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

int efa_memh_reg(efa_md_t *md, const ucx_mem_reg_t *reg, unsigned how,
                 efa_memh_t **memh_p)
{
    efa_memh_t *memh   = efa_memh_get(md);
    int         strong = (how & EFA_REG_STRONG) != 0, weak = 0, err;
    void       *mr;

    if (memh == NULL) {
        return ENOMEM;
    }
    if (reg->dmabuf_fd >= 0) {
        err = efa_mr_reg_gpu(md, reg, &mr);
    } else if (md->has_cache && (reg->mem_type == UCS_MEMORY_TYPE_HOST) &&
               !(how & EFA_REG_ALONE) &&
               (efa_mr_access(md, reg->flags) == md->access)) {
        err = efa_rcache_get(&md->cache, reg->address, reg->length, strong,
                             &memh->region);
        if (err == 0) {
            mr   = memh->region->mr;
            weak = memh->region->weak;
        }
    } else {
        err = efa_mr_reg_access(md, reg->address, reg->length,
                                efa_mr_access(md, reg->flags), &mr);
        if ((err == EFAULT) && !strong) {
            weak = 1;
            err  = efa_mr_reg(md, reg->address, reg->length, 1, &mr);
        }
    }
    if (err != 0) {
        efa_memh_put(memh);
        /* Out of some limit: what is only kept for later makes room */
        return ((err == ENOMEM) && md->has_cache &&
                efa_rcache_give_back(&md->cache)) ?
                       efa_memh_reg(md, reg, how, memh_p) : err;
    }

    memh->mr      = mr;
    memh->address = reg->address;
    memh->length  = reg->length;
    memh->flags   = reg->flags;
    memh->full    = weak ? NULL : md;
    memh->is_gpu  = reg->dmabuf_fd >= 0;
    memh->is_host = (reg->dmabuf_fd < 0) && (md->gpu_types == 0) &&
                    (reg->mem_type == UCS_MEMORY_TYPE_HOST);
    *memh_p       = memh;
    if (md->device_api != UCS_NO) {
        efa_device_mem_counts(memh, 1);
    }
    return 0;
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

    if (md->device_api != UCS_NO) {
        efa_device_mem_counts(memh, 0);
    }
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

int efa_memh_strengthen(efa_md_t *md, efa_memh_t *memh)
{
    const ucx_mem_reg_t reg = {
        .address   = memh->address,
        .length    = memh->length,
        .flags     = memh->flags,
        .mem_type  = UCS_MEMORY_TYPE_HOST,
        .dmabuf_fd = -1
    };
    efa_memh_t *fresh, weak;
    int         err = efa_memh_reg(md, &reg, EFA_REG_STRONG, &fresh);

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
        efa_device_mem_swap(memh, fresh);
        fresh         = NULL;
    }
    pthread_mutex_unlock(&md->memh_lock);
    if (fresh != NULL) { /* another thread was faster */
        efa_mem_dereg(&md->super, fresh, 0, NULL);
    }
    return 0;
}
