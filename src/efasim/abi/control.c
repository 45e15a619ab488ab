#include "abi.h"

#include "efasim/efasim.h"

#include <errno.h>
#include <string.h>

__attribute__((visibility("default")))
int efasim_control(const char *name, const char *value)
{
    const struct sim_knob *knob = sim_knob_find(name);
    char err[320];
    int ret = 0;

    if (knob == NULL) {
        abi_log("no knob is named %.64s: see efasim --help", name);
        return EINVAL;
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
