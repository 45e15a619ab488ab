/* SPDX-License-Identifier: BSD-3-Clause */
#include "hooks.h"
#include "lock.h"
#include "state.h"

#include "efasim/efasim.h"
#include "efasim/fabric/clock.h"
#include "efasim/fabric/sysfs.h"

#include <errno.h>
#include <string.h>

#define CONTROL_EXPORT __attribute__((visibility("default")))

static int control_set(struct drv_dev *dev, const struct sim_knob *knob,
                       const char *value)
{
    char err[512];

    if (drv_is_open() && (knob->scope >= SIM_SCOPE_OPEN)) {
        return EBUSY;
    }
    if (sim_knob_set(&dev->knobs, knob, knob->name, value, err,
                     sizeof(err)) != 0) {
        drv_log("%s", err);
        return EINVAL;
    }

    if (dev->sim != NULL) {
        sim_control(dev->sim, &dev->knobs, knob);
    }
    return 0;
}

CONTROL_EXPORT int efasim_control(const char *name, const char *value)
{
    const struct sim_knob *knob = sim_knob_find(name);
    struct drv_dev *dev;
    int ret = 0;

    if (knob == NULL) {
        drv_log("no knob is named %.64s: see efasim --help", name);
        return EINVAL;
    }
    if (drv_lock_is_interrupted("efasim_control")) {
        return EBUSY;
    }

    drv_lock();
    drv_for_each_device(dev) {
        ret = control_set(dev, knob, value);
        if (ret != 0) {
            break; /* it is the same with the others */
        }
    }
    drv_unlock();
    return ret;
}

CONTROL_EXPORT int efasim_progress(void)
{
    struct drv_dev *dev;

    drv_for_each_device(dev) {
        if ((dev->sim != NULL) && !atomic_load(&dev->sim->told)) {
            atomic_store(&dev->sim->told, 1);
            atomic_store(&dev->sim->self_rung, 0);
        }
    }
    return drv_hook_is_eager() ? -1 : (drv_hook_called() != 0);
}

/* "NAME" counts for all open devices, "DEVICE/NAME" for one. */
CONTROL_EXPORT int efasim_counter(const char *name, unsigned long long *value)
{
    const char *slash      = strchr(name, '/');
    const char *counter    = slash ? slash + 1 : name;
    unsigned long long sum = 0;
    struct drv_dev *dev;
    uint64_t count;
    int only, ret = ENODEV;

    if (drv_lock_is_interrupted("efasim_counter")) {
        return EBUSY;
    }

    only = slash ? fabric_sysfs_device_find(name, slash - name) : -1;
    drv_lock();
    drv_for_each_device(dev) {
        if ((dev->fabric == NULL) ||
            (slash && ((int)dev->index != only))) {
            continue;
        }
        ret = ENOENT;
        if (fabric_counter(dev->fabric, dev->fabric->nic, counter,
                           &count) != 0) {
            break;
        }
        sum += count;
        ret  = 0;
    }
    drv_unlock();

    if (ret == 0) {
        *value = sum;
    }
    return ret;
}

/* The virtual clock goes on from the real one, so no time-out sees a leap. */
CONTROL_EXPORT int efasim_clock(unsigned long long ns)
{
    static uint64_t base, now;
    struct drv_dev *dev;
    int ret = 0;

    if (drv_lock_is_interrupted("efasim_clock")) {
        return EBUSY;
    }

    drv_lock();
    if (ns == 0) {
        base = now = 0;
    } else {
        base = base ? base : fabric_clock();
        ret  = (base + ns < now) ? EINVAL : 0;
        now  = ret ? now : base + ns;
    }
    drv_for_each_device(dev) {
        dev->env.virtual_ns = now;
    }
    drv_unlock();
    return ret;
}
