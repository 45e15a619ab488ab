/* SPDX-License-Identifier: BSD-3-Clause */
/* Registration of memory, through the cache where there is one. */
#include "efa_mr.h"
#include "efa_block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EFA_MEMH_BLOCK 64 /* handles that are added at a time */

static int efa_mr_reg(void *arg, void *address, size_t length, void **mr_p)
{
    efa_md_t          *md    = arg;
    const efa_verbs_t *verbs = md->device->verbs;
    struct ibv_mr     *mr;

    errno = 0;
    mr    = verbs->reg_mr(md->pd, address, length, md->access);
    if ((mr == NULL) && (errno == EFAULT)) {
        /* A read-only mapping cannot be pinned for writing, but can be sent.
         * After any other error it must not be tried: a read into memory that
         * may not be written would fail the endpoint, and nobody would know
         * why. */
        mr = verbs->reg_mr(md->pd, address, length,
                           md->access & IBV_ACCESS_REMOTE_READ);
    }
    *mr_p = mr;
    return (mr != NULL) ? 0 : ((errno != 0) ? errno : EIO);
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

static void efa_memh_put(efa_memh_t *memh)
{
    efa_md_t *md = memh->md;

    memh->md = NULL;
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
                 "dma-buf: %s; UCX_CUDA_COPY_DMABUF=n does without dma-bufs, "
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

ucs_status_t
efa_mem_reg(ucx_md_t *super, const ucx_mem_reg_t *reg, uct_mem_h *memh_p)
{
    efa_md_t   *md = (efa_md_t*)super;
    efa_memh_t *memh;
    void       *mr;
    int         err;

    if (reg->length == 0) {
        return UCS_ERR_INVALID_PARAM;
    }
    memh = efa_memh_get(md);
    if (memh == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    memh->region = NULL;
    if (reg->dmabuf_fd >= 0) {
        err = efa_mr_reg_dmabuf(md, reg, &mr);
    } else if (md->has_cache && (reg->mem_type == UCS_MEMORY_TYPE_HOST)) {
        err = efa_rcache_get(&md->cache, reg->address, reg->length,
                             &memh->region);
        mr  = (err == 0) ? memh->region->mr : NULL;
    } else {
        err = efa_mr_reg(md, reg->address, reg->length, &mr);
    }
    if (err != 0) {
        efa_mr_report(md, reg, err);
        efa_memh_put(memh);
        return efa_mr_status(err);
    }

    memh->mr      = mr;
    memh->is_host = (reg->dmabuf_fd < 0) && (md->gpu_types == 0) &&
                    (reg->mem_type == UCS_MEMORY_TYPE_HOST);
    *memh_p       = memh;
    return UCS_OK;
}

static void efa_memh_gone(efa_rcache_gone_t *gone)
{
    efa_memh_t *memh = (efa_memh_t*)((char*)gone - offsetof(efa_memh_t, gone));
    uct_completion_t *comp = memh->comp;

    efa_memh_put(memh);
    ucx_completion_done(comp, UCS_OK);
}

ucs_status_t efa_mem_dereg(ucx_md_t *super, uct_mem_h handle, int invalidate,
                           uct_completion_t *comp)
{
    efa_md_t   *md   = (efa_md_t*)super;
    efa_memh_t *memh = handle;

    if (!efa_memh_is_of(handle, md)) {
        return efa_memh_refuse(md, handle);
    }
    if (memh->region == NULL) {
        efa_mr_dereg(md, memh->mr);
    } else if (invalidate) {
        memh->comp      = comp;
        memh->gone.func = efa_memh_gone;
        efa_rcache_invalidate(&md->cache, memh->region, &memh->gone);
        return UCS_OK;
    } else {
        efa_rcache_put(&md->cache, memh->region);
    }

    efa_memh_put(memh);
    if (invalidate) {
        ucx_completion_done(comp, UCS_OK);
    }
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

    (void)invalidate; /* every key of ours ends with its registration */
    if (!efa_memh_is_of(memh, (efa_md_t*)md)) {
        return efa_memh_refuse((efa_md_t*)md, memh);
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
