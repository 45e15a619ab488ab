/* SPDX-License-Identifier: BSD-3-Clause */
#include "inject.h"

#include <string.h>

int sim_inject_command(struct sim_dev *dev, const char *name)
{
    struct sim_fail *fail;
    int error = 0;
    unsigned i;

    for (i = 0; i < dev->knobs.fail_num; ++i) {
        fail = &dev->knobs.fail[i];
        if ((fail->number > 0) &&
            (!strcmp(fail->name, "any") || !strcmp(fail->name, name)) &&
            (--fail->number == 0)) {
            error = fail->error;
        }
    }

    return error;
}

int sim_inject_hit(struct sim_dev *dev, enum sim_inject_op op,
                   uint8_t *status)
{
    struct sim_inject *inject;
    unsigned i;

    for (i = 0; i < dev->knobs.inject_num; ++i) {
        inject = &dev->knobs.inject[i];
        if (inject->op != op) {
            continue;
        }
        if (inject->chance > 0) {
            if (rng_chance(&dev->chance, inject->chance)) {
                *status = inject->status;
                return 1;
            }
            continue;
        }
        if (inject->count == 0) {
            continue;
        }
        if (inject->skip > 0) {
            --inject->skip;
            continue;
        }
        --inject->count;
        *status = inject->status;
        return 1;
    }

    return 0;
}
