/* SPDX-License-Identifier: BSD-3-Clause */
#include "late.h"
#include "mr.h"

void sim_late_add(struct sim_dev *dev, uint64_t us, const struct sim_late *late)
{
    dev->late[dev->late_num]     = *late;
    dev->late[dev->late_num].due = dev->ops->now(dev->env) + us * 1000;
    ++dev->late_num;
}

/* The target's device looks at the key each time. */
static void late_again(struct sim_dev *dev, const struct sim_late *late)
{
    const struct sim_mr_range range = { .key    = late->key,
                                        .access = SIM_ACCESS_REMOTE_WRITE,
                                        .iova   = late->far,
                                        .length = late->again_num };
    uint64_t addr;

    if (sim_mr_remote(dev, late->nic, late->owner, late->pd, &range,
                      &addr) == 0) {
        (void)dev->ops->rdma(dev->env, late->owner, IO_OP_WRITE,
                             (struct sim_near){ .bytes = late->again }, addr,
                             late->again_num);
    }
}

static void late_place(struct sim_dev *dev, const struct sim_late *late)
{
    if (late->again_num > 0) {
        late_again(dev, late);
    } else if (late->remote) {
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
