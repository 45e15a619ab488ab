#include "abi.h"

#include "efasim/efasim.h"

#include <errno.h>
#include <string.h>

#define CONTROL_EXPORT __attribute__((visibility("default")))

CONTROL_EXPORT int efasim_control(const char *name, const char *value)
{
    const struct sim_knob *knob = sim_knob_find(name);
    char err[320];
    int ret = 0;

    if (knob == NULL) {
        abi_log("no knob is named %.64s: see efasim --help", name);
        return EINVAL;
    }
    if (abi_is_interrupted("efasim_control")) {
        return EBUSY;
    }

    abi_lock();
    if ((abi.dev != NULL) &&
        (!strcmp(knob->name, "max-ah") ||
         !strcmp(knob->name, "no-rdma-read"))) {
        ret = EBUSY;
    } else if (sim_knob_set(&abi.knobs, knob, knob->name, value, err,
                            sizeof(err)) != 0) {
        abi_log("%s", err);
        ret = EINVAL;
    } else if (abi.dev != NULL) {
        sim_dev_control(abi.dev, &abi.knobs, knob);
    }
    abi_unlock();
    return ret;
}

CONTROL_EXPORT int efasim_progress(void)
{
    unsigned done = 0;

    if (abi_trylock()) {
        done = (abi.dev != NULL) ? sim_dev_progress(abi.dev) : 0;
        abi_unlock();
    }
    return done != 0;
}

CONTROL_EXPORT int efasim_counter(const char *name, unsigned long long *value)
{
    uint64_t count;
    int ret = ENODEV;

    if (abi_is_interrupted("efasim_counter")) {
        return EBUSY;
    }

    abi_lock();
    if (abi.fabric != NULL) {
        ret = ENOENT;
        if (fabric_counter(abi.fabric, abi.fabric->node, name, &count) == 0) {
            *value = count;
            ret    = 0;
        }
    }
    abi_unlock();
    return ret;
}

/* The virtual clock goes on from the real one, so no time-out sees a leap. */
CONTROL_EXPORT int efasim_clock(unsigned long long ns)
{
    static uint64_t base;
    int ret = 0;

    if (abi_is_interrupted("efasim_clock")) {
        return EBUSY;
    }

    abi_lock();
    if (ns == 0) {
        abi.env.virtual_ns = 0;
        base               = 0;
    } else {
        base = base ? base : fabric_clock();
        ret  = (base + ns < abi.env.virtual_ns) ? EINVAL : 0;
        if (ret == 0) {
            abi.env.virtual_ns = base + ns;
        }
    }
    abi_unlock();
    return ret;
}
