/* SPDX-License-Identifier: BSD-3-Clause */
/* A device of the host, from the first open of it by this process on, and the
 * contexts on it. */
#include "context.h"
#include "backstop.h"
#include "cmds.h"
#include "config.h"
#include "lock.h"
#include "standby.h"

#include "efasim/fabric/folder.h"
#include "efasim/fabric/process.h"
#include "efasim/fabric/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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

static int device_tables(struct drv_dev *dev)
{
    if (dev->mr == NULL) {
        dev->mr = calloc(SIM_MAX_MR, sizeof(*dev->mr));
    }
    if (dev->ah_ctx == NULL) {
        dev->ah_ctx = calloc(dev->knobs.max_ah, sizeof(*dev->ah_ctx));
    }

    return ((dev->mr != NULL) && (dev->ah_ctx != NULL)) ? 0 : -ENOMEM;
}

/* The fabric, which the devices of a process share. */
static struct fabric *device_fabric(const char *path)
{
    const struct drv_dev *other;

    drv_for_each_device(other) {
        if ((other->sim != NULL) && !strcmp(other->fabric->path, path)) {
            return fabric_share(other->fabric);
        }
    }
    return fabric_open(path, 0, -1);
}

static int device_attach(struct drv_dev *dev)
{
    char path[FABRIC_PATH_MAX];
    const char *advice;
    int err;

    if (drv_config_fabric_path(path) == NULL) {
        return -ENODEV;
    }

    drv_config_check_rank();
    dev->fabric = device_fabric(path);
    if ((dev->fabric != NULL) &&
        (fabric_attach(dev->fabric, dir_nic_of(drv_config_node(), dev->index),
                       1) == 0)) {
        return 0;
    }

    err    = errno;
    advice = fabric_process_advice(err);
    if (err == EPERM) {
        drv_log("%s", fabric_folder_say(path));
    } else if ((err == ENOENT) || (err == ENOSPC) || (*advice == '\0')) {
        drv_log("no fabric at %s (%s): has the `efasim run` that made it "
                "ended, or are %d processes and devices attached?", path,
                strerror(err), SIM_SLOTS);
    } else {
        drv_log("no fabric at %s: %s%s", path, strerror(err), advice);
    }
    if (dev->fabric != NULL) {
        fabric_forget(dev->fabric);
        dev->fabric = NULL;
    }
    return -ENODEV;
}

/* The process sleeps at one place for all its devices: at the first one's. */
static void device_home(struct drv_dev *dev)
{
    struct dir *dir = dev->fabric->dir;
    const struct drv_dev *other;

    drv_for_each_device(other) {
        if (other->sim != NULL) {
            dir->slot[dev->fabric->slot].home =
                    dir->slot[other->fabric->slot].home;
            fabric_env_ops.wake(&dev->env, dev->fabric->slot);
            break; /* the sleeper now knows of one more */
        }
    }
}

int drv_device_start(struct drv_dev *dev)
{
    int ret;

    if (dev->sim != NULL) {
        return 0;
    }

    ret = device_tables(dev);
    if (ret == 0) {
        ret = device_attach(dev);
    }
    if (ret != 0) {
        return ret;
    }

    /* others read our registered memory; Yama asks for this */
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    dev->env.fabric  = dev->fabric;
    dev->env.event   = drv_channel_event;
    dev->env.removed = drv_device_fatal;
    drv.pid          = getpid();
    device_home(dev);
    dev->sim = sim_dev_open(dev->fabric->dir, dev->fabric->slot,
                            dev->fabric->nic, &fabric_env_ops, &dev->env,
                            &dev->knobs);
    if (dev->sim == NULL) {
        fabric_close(dev->fabric);
        dev->fabric = NULL;
        return -ENOMEM;
    }

    if (drv.plan != NULL) {
        sim_fault_plan(dev->sim, drv.plan);
    }
    dev->sim->tracing = (dev->env.trace_fd >= 0);
    return 0;
}

void drv_device_forget(struct drv_dev *dev)
{
    dev->abandoned[0] = dev->sim;
    dev->abandoned[1] = dev->ah_ctx;
    dev->abandoned[2] = dev->mr;
    dev->sim          = NULL;
    dev->ah_ctx       = NULL;
    dev->mr           = NULL;
    dev->mr_reserved  = 0;
    memset(dev->pd, 0, sizeof(dev->pd));
    memset(dev->cntr, 0, sizeof(dev->cntr));
    if (dev->fabric != NULL) {
        fabric_forget(dev->fabric);
        dev->fabric = NULL;
    }
}
