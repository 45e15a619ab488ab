/* SPDX-License-Identifier: BSD-3-Clause */
/* The library's work when a program begins, ends and forks. */
#include "config.h"
#include "context.h"
#include "lock.h"
#include "standby.h"
#include "state.h"

#include "efasim/fabric/host.h"
#include "efasim/fabric/sysfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* fork() in a handler may find its own thread in the data path: then the lock
 * is ours already, and stays. */
static void init_fork_prepare(void)
{
    if (!drv_lock_inside) {
        drv_lock();
    }
}

static void init_fork_parent(void)
{
    if (drv_lock_inside == DRV_LOCK_COMMAND) {
        drv_unlock();
    }
}

/* A forked child has none of the parent's devices: not their slots, not the
 * thread. Devices that it opens itself are new. */
static void init_fork_child(void)
{
    struct drv_dev *dev;
    unsigned end;

    drv.pid    = 0;
    drv.pinned = 0;
    drv_for_each_device(dev) {
        drv_device_forget(dev);
    }
    if (drv.host != NULL) {
        fabric_forget(drv.host);
        drv.host = NULL;
    }

    list_init(&drv.channels);
    atomic_store(&drv.contexts, 0);
    end = atomic_exchange(&drv.ctx_end, 0); /* their files are the parent's */
    memset(drv.ctx, 0, end * sizeof(drv.ctx[0]));
    memset(drv.cq, 0, sizeof(drv.cq));
    memset(drv.qp, 0, sizeof(drv.qp));
    drv_lock_after_fork();
}

/*
 * --per-node: this process is a rank, and only now is known on which host. It
 * attaches, so that the next rank of the host finds it and joins it.
 */
static void init_host(const char *path)
{
    char err[320], root[FABRIC_PATH_MAX + 16];
    unsigned node = drv_config_node();

    snprintf(root, sizeof(root), "%s/node%u", path, node);
    setenv("SYSFS_PATH", root, 1);
    drv.host = fabric_open(path, 0, -1);
    if ((drv.host == NULL) ||
        (fabric_attach(drv.host, dir_nic_of(node, 0), 0) != 0)) {
        return; /* opening the device will say why */
    }
    if ((fabric_sysfs_create(drv.host, node, drv.device[0].knobs.device,
                             drv.device[0].knobs.devices) != 0) &&
        (errno != EEXIST)) {
        drv_log("cannot write %s: %s", root, strerror(errno));
    }
    if (fabric_host_enter(drv.host, node, err, sizeof(err)) != 0) {
        drv_log("%s", err);
    }
}

__attribute__((constructor)) static void init_library(void)
{
    char path[FABRIC_PATH_MAX];
    struct drv_dev *dev;

    list_init(&drv.channels);
    drv_for_each_device(dev) {
        dev->index        = dev - drv.device;
        dev->env.trace_fd = -1;
    }
    if (drv_config_fabric_path(path) == NULL) {
        return;
    }

    fabric_leave_executed(path);
    drv_config_knobs();
    drv_lock_inside = DRV_LOCK_DATA; /* the files it opens are its own */
    drv_config_files();
    drv_lock_inside = DRV_LOCK_OUTSIDE;
    pthread_atfork(init_fork_prepare, init_fork_parent, init_fork_child);
    if (getenv("EFASIM_PER_NODE") != NULL) { /* else `efasim run` placed us */
        drv_lock_inside = DRV_LOCK_DATA;
        init_host(path);
        drv_lock_inside = DRV_LOCK_OUTSIDE;
    }
    if (!strcmp(drv_config_sysfs_root(), DRV_CONFIG_NOWHERE)) {
        setenv("SYSFS_PATH", DRV_CONFIG_NOWHERE, 1); /* others read it, too */
    }
}

__attribute__((destructor)) static void init_undo(void)
{
    struct drv_dev *dev;

    if (drv.host != NULL) {
        fabric_close(drv.host);
        drv.host = NULL;
    }
    if (!drv_is_open() || (drv.pid != getpid())) {
        return;
    }
    drv_standby_end();

    /* Threads may still run, the backstop among them: the devices stay
     * mapped, only the fabric is told that we leave. */
    if (drv_trylock()) {
        drv_for_each_device(dev) {
            if (dev->sim != NULL) {
                dev->abandoned[0] = dev->sim;
                dev->sim          = NULL;
                dev->left         = dev->fabric;
                fabric_leave(dev->fabric, !drv_is_open());
                dev->fabric = NULL;
            }
        }
        drv_unlock();
    }
}
