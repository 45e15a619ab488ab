/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The knob late: a completion that comes before its data. The last byte of the
 * completed data waits here; a program that takes the completion for proof
 * reads the old one.
 */
#include "steps.h"

void sim_late_add(struct sim_dev *dev, enum sim_late_op op,
                  const struct sim_late *late)
{
    dev->late[dev->late_num]      = *late;
    dev->late[dev->late_num].due  = dev->ops->now(dev->env) +
                                    dev->knobs.late[op] * 1000;
    ++dev->late_num;
}

static void late_place(struct sim_dev *dev, const struct sim_late *late)
{
    if (late->remote) {
        (void)dev->ops->rdma(dev->env, late->owner, late->op,
                             (struct sim_near){ .addr = late->local },
                             late->far, 1);
    } else {
        dev->ops->mem_write(dev->env, late->local, &late->value, 1);
    }
}

void sim_late_flush(struct sim_dev *dev)
{
    while (dev->late_num > 0) {
        late_place(dev, &dev->late[--dev->late_num]);
    }
}

unsigned sim_late_run(struct sim_dev *dev)
{
    unsigned i, kept = 0, done;

    for (i = 0; i < dev->late_num; ++i) {
        if (dev->late[i].due <= dev->now) {
            late_place(dev, &dev->late[i]);
        } else {
            dev->late[kept++] = dev->late[i];
        }
    }

    done          = dev->late_num - kept;
    dev->late_num = kept;
    return done;
}
