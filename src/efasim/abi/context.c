/* SPDX-License-Identifier: BSD-3-Clause */
#include "abi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* With the lock held. NULL, after a line: all are taken. */
static struct abi_ctx *ctx_find_free(void)
{
    unsigned i, end = atomic_load(&abi.ctx_end);

    for (i = 0; i < end; ++i) {
        if (atomic_load(&abi.ctx[i].fd) < 0) {
            return &abi.ctx[i];
        }
    }

    if (end < ABI_CONTEXTS) {
        atomic_store(&abi.ctx[end].fd, -1);
        abi.ctx[end].async_fd = -1;
        atomic_store(&abi.ctx_end, end + 1);
        return &abi.ctx[end];
    }
    abi_log("this process has %d contexts open, as many as can be: close some",
            ABI_CONTEXTS);
    return NULL;
}

int abi_open(unsigned device, int flags)
{
    struct abi_dev *dev = &abi.device[device];
    struct abi_ctx *ctx = NULL;
    int fd, ret;
    char name[32];

    if (dev->knobs.refuse_open != 0) {
        errno = dev->knobs.refuse_open;
        return -1;
    }
    if (abi_is_interrupted("opening the device")) {
        errno = EBUSY;
        return -1;
    }

    snprintf(name, sizeof(name), "efasim-" FABRIC_UVERBS_NAME "%u", device);
    fd = memfd_create(name,
                      (flags & O_CLOEXEC) ? MFD_CLOEXEC : 0);
    if (fd < 0) {
        return -1;
    }

    abi_lock();
    ret = abi_device_start(dev);
    ctx = (ret == 0) ? ctx_find_free() : NULL;
    if (ctx != NULL) {
        ctx->dev  = dev;
        ctx->size = 0;
        atomic_store(&ctx->fd, fd);
        atomic_fetch_add(&abi.contexts, 1);
    }
    abi_unlock();

    if (ctx == NULL) {
        close(fd);
        errno = ret ? -ret : EMFILE;
        return -1;
    }

    abi_backstop_start();
    return fd;
}

struct abi_ctx *abi_ctx_find(int fd)
{
    unsigned i, end;

    if ((fd < 0) || (atomic_load_explicit(&abi.contexts,
                                          memory_order_relaxed) == 0)) {
        return NULL;
    }

    end = atomic_load(&abi.ctx_end);
    for (i = 0; i < end; ++i) {
        if (atomic_load_explicit(&abi.ctx[i].fd,
                                 memory_order_relaxed) == fd) {
            return &abi.ctx[i];
        }
    }

    return NULL;
}

/* What the kernel does when the last reference to the file goes. */
static void abi_ctx_release(struct abi_ctx *ctx)
{
    struct abi_dev *dev = ctx->dev;
    unsigned i;

    for (i = 0; i < ABI_QPS; ++i) {
        if (abi.qp[i].ctx == ctx) {
            abi_qp_drop(&abi.qp[i]);
        }
    }
    for (i = 0; i < ABI_CQS; ++i) {
        if (abi.cq[i].ctx == ctx) {
            abi_cq_drop(&abi.cq[i]);
        }
    }
    for (i = 0; i < SIM_MAX_CNTR; ++i) {
        if (dev->cntr[i].ctx == ctx) {
            abi_cntr_drop(&dev->cntr[i]);
        }
    }
    for (i = 0; (ctx->mrs > 0) && (i < SIM_MAX_MR); ++i) {
        if (dev->mr[i].ctx == ctx) {
            abi_mr_drop(dev, i);
        }
    }
    for (i = 0; i < dev->knobs.max_ah; ++i) {
        while ((dev->ah_ctx[i] == ctx) && (dev->sim->ah[i].pd != NULL)) {
            sim_ah_destroy(dev->sim, i);
        }
        if (dev->ah_ctx[i] == ctx) {
            dev->ah_ctx[i] = NULL;
        }
    }
    for (i = 0; i < SIM_MAX_PD; ++i) {
        if (dev->pd[i].ctx == ctx) {
            sim_pd_destroy(dev->sim, dev->pd[i].pd);
            dev->pd[i].ctx = NULL;
        }
    }

    if (ctx->async_fd >= 0) {
        close(ctx->async_fd);
        ctx->async_fd = -1;
    }
    atomic_store(&ctx->fd, -1);
    atomic_fetch_sub(&abi.contexts, 1);
}

void abi_close(int fd)
{
    struct abi_ctx *ctx;

    if (!abi_is_open() || (abi.pid != getpid())) {
        return;
    }

    ctx = abi_ctx_find(fd);
    if (abi_inside) {
        /* our own, or a signal handler's: then its objects stay until the
         * process ends, but the number may be another file's soon */
        if (ctx != NULL) {
            atomic_store(&ctx->fd, -1);
            atomic_fetch_sub(&abi.contexts, 1);
        }
        return;
    }
    if ((ctx == NULL) && list_is_empty(&abi.channels)) {
        return;
    }

    abi_lock();
    if ((ctx != NULL) && (atomic_load(&ctx->fd) == fd) &&
        (ctx->dev->sim != NULL)) {
        abi_ctx_release(ctx);
    }
    abi_channel_close(fd);
    abi_unlock();
}

static int ctx_region_alloc(struct abi_ctx *ctx, size_t size,
                            struct abi_region *region)
{
    void *ptr;

    size = (size + ABI_PAGE - 1) & ~(size_t)(ABI_PAGE - 1);
    if (size == 0) {
        size = ABI_PAGE;
    }
    if (ftruncate(ctx->fd, ctx->size + size) != 0) {
        return -errno;
    }

    ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ctx->fd,
               ctx->size);
    if (ptr == MAP_FAILED) {
        return -errno;
    }

    region->ptr    = ptr;
    region->offset = ctx->size;
    region->size   = size;
    ctx->size     += size;
    return 0;
}

int abi_regions_alloc(struct abi_ctx *ctx, const size_t *sizes, unsigned num,
                      struct abi_region *regions)
{
    unsigned i;
    int ret;

    for (i = 0; i < num; ++i) {
        ret = ctx_region_alloc(ctx, sizes[i], &regions[i]);
        if (ret != 0) {
            while (i-- > 0) {
                abi_region_free(ctx, &regions[i]);
            }
            return ret;
        }
    }

    return 0;
}

void abi_region_free(struct abi_ctx *ctx, struct abi_region *region)
{
    if (region->ptr == NULL) {
        return;
    }

    munmap(region->ptr, region->size);
    /* offsets are never used again; the pages go back now. The descriptor may
     * be closed already: then they went with it. */
    if (fallocate(ctx->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  region->offset, region->size) != 0) {
        region->size = 0;
    }
    region->ptr = NULL;
}
