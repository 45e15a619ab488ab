/* SPDX-License-Identifier: BSD-3-Clause */
/* A device of the host, from the first open of it by this process on. */
#include "device.h"
#include "channel.h"
#include "config.h"
#include "device_cmds.h"
#include "efasim/fabric/folder.h"
#include "efasim/fabric/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

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
