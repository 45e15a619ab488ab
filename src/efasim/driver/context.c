/* SPDX-License-Identifier: BSD-3-Clause */
#include "context.h"
#include "backstop.h"
#include "channel.h"
#include "cntr_cmds.h"
#include "cq_cmds.h"
#include "device.h"
#include "lock.h"
#include "mr_cmds.h"
#include "qp_cmds.h"
#include "standby.h"

#include "efasim/fabric/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* With the lock held: a free entry; NULL, after a line: all are taken. */
static struct drv_ctx *ctx_find_free(void)
{
    unsigned i, end = atomic_load(&drv.ctx_end);

    for (i = 0; i < end; ++i) {
        if (atomic_load(&drv.ctx[i].fd) < 0) {
            return &drv.ctx[i];
        }
    }

    if (end < DRV_CONTEXTS) {
        atomic_store(&drv.ctx[end].fd, -1);
        drv.ctx[end].async_fd = -1;
        atomic_store(&drv.ctx_end, end + 1);
        return &drv.ctx[end];
    }
    drv_log("this process has %d contexts open, as many as can be: close some",
            DRV_CONTEXTS);
    return NULL;
}

int drv_memfd(const char *name, unsigned flags)
{
    return syscall(SYS_memfd_create, name, flags);
}

int drv_ctx_open(unsigned device, int flags)
{
    struct drv_dev *dev = &drv.device[device];
    struct drv_ctx *ctx = NULL;
    int fd, ret;
    char name[32];

    if (dev->knobs.refuse_open != 0) {
        errno = dev->knobs.refuse_open;
        return -1;
    }
    if (drv_lock_is_interrupted("opening the device")) {
        errno = EBUSY;
        return -1;
    }

    snprintf(name, sizeof(name), "efasim-" FABRIC_UVERBS_NAME "%u", device);
    fd = drv_memfd(name, (flags & O_CLOEXEC) ? MFD_CLOEXEC : 0);
    if (fd < 0) {
        return -1;
    }

    drv_lock();
    ret = drv_device_start(dev);
    ctx = (ret == 0) ? ctx_find_free() : NULL;
    if (ctx != NULL) {
        ctx->dev  = dev;
        ctx->size = 0;
        atomic_store(&ctx->fd, fd);
        atomic_fetch_add(&drv.contexts, 1);
    }
    drv_unlock();

    if (ctx == NULL) {
        close(fd);
        errno = ret ? -ret : EMFILE;
        return -1;
    }

    if (drv_backstop_start()) {
        drv_standby_start();
    }
    return fd;
}

struct drv_ctx *drv_ctx_find(int fd)
{
    unsigned i, end;

    if ((fd < 0) || (atomic_load_explicit(&drv.contexts,
                                          memory_order_relaxed) == 0)) {
        return NULL;
    }

    end = atomic_load(&drv.ctx_end);
    for (i = 0; i < end; ++i) {
        if (atomic_load_explicit(&drv.ctx[i].fd,
                                 memory_order_relaxed) == fd) {
            return &drv.ctx[i];
        }
    }

    return NULL;
}

/* The kernel's work when the last reference to the file goes. */
static void ctx_release(struct drv_ctx *ctx)
{
    struct drv_dev *dev = ctx->dev;
    struct drv_qp *qp   = &drv.qp[dev->index * SIM_MAX_QP];
    struct drv_cq *cq   = &drv.cq[dev->index * SIM_MAX_CQ];
    unsigned i;

    for (i = 0; i < SIM_MAX_QP; ++i) {
        if (qp[i].ctx == ctx) {
            drv_qp_release(&qp[i]);
        }
    }
    for (i = 0; i < dev->sim->cq_end; ++i) {
        if (cq[i].ctx == ctx) {
            drv_cq_release(&cq[i]);
        }
    }
    for (i = 0; i < DRV_CNTRS; ++i) {
        if (dev->cntr[i].ctx == ctx) {
            drv_cntr_release(&dev->cntr[i]);
        }
    }
    for (i = 0; (ctx->mrs > 0) && (i < SIM_MAX_MR); ++i) {
        if (dev->mr[i].ctx == ctx) {
            drv_mr_release(dev, i);
        }
    }
    for (i = 0; i < dev->sim->ah_end; ++i) {
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
    atomic_fetch_sub(&drv.contexts, 1);
}

void drv_ctx_close(int fd)
{
    struct drv_ctx *ctx;

    if (!drv_is_open() || (drv.pid != getpid())) {
        return;
    }

    ctx = drv_ctx_find(fd);
    if (drv_lock_inside) {
        /* the device closes a file of its own; or a signal handler that
         * interrupted the device closes a context: its objects stay until the
         * process ends, but the descriptor may be another file's soon */
        if (ctx != NULL) {
            atomic_store(&ctx->fd, -1);
            atomic_fetch_sub(&drv.contexts, 1);
        }
        return;
    }
    if ((ctx == NULL) && list_is_empty(&drv.channels)) {
        return;
    }

    drv_lock();
    if ((ctx != NULL) && (atomic_load(&ctx->fd) == fd) &&
        (ctx->dev->sim != NULL)) {
        ctx_release(ctx);
    }
    drv_channel_close(fd);
    drv_unlock();
}
