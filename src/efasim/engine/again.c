/* SPDX-License-Identifier: BSD-3-Clause */
/* The knob write-again-us: the first bytes of a write come once more, over what
 * the target has put there since. */
#include "steps.h"
#include "mr.h"
#include "op.h"

#include <string.h>

void sim_again_add(const struct sim_op *op, uint32_t owner,
                   const struct sim_near *near)
{
    struct sim_dev *dev            = op->qp->dev;
    const struct io_remote *remote = &op->wqe.rdma.remote;
    struct sim_again *again        = &dev->again[dev->again_num];

    if ((dev->knobs.write_again_us == 0) || (op->length == 0) ||
        (dev->again_num == SIM_AGAIN_MAX) ||
        (sim_opcode_of(op) != IO_OP_WRITE)) {
        return;
    }

    again->owner = owner;
    again->nic   = op->nic;
    again->pd    = atomic_load(&dev->dir->nic[op->nic]
                                .qp[op->wqe.meta.dest_qpn].pd);
    again->range = (struct sim_mr_range){
        .key    = remote->rkey,
        .access = SIM_ACCESS_REMOTE_WRITE,
        .iova   = io_addr(remote->addr_lo, remote->addr_hi),
        .length = (op->length < sizeof(again->bytes)) ? op->length :
                                                        sizeof(again->bytes),
    };
    if (near->bytes != NULL) {
        memcpy(again->bytes, near->bytes, again->range.length);
    } else {
        dev->ops->mem_read(dev->env, again->bytes, near->addr,
                           again->range.length);
    }
    again->due = dev->ops->now(dev->env) + dev->knobs.write_again_us * 1000;
    ++dev->again_num;
}

/* The target's device looks at the key each time. */
static void again_place(struct sim_dev *dev, const struct sim_again *again)
{
    uint64_t addr;

    if (sim_mr_remote(dev, again->nic, again->owner, again->pd, &again->range,
                      &addr) == 0) {
        (void)dev->ops->rdma(dev->env, again->owner, IO_OP_WRITE,
                             (struct sim_near){ .bytes = again->bytes }, addr,
                             again->range.length);
    }
}

unsigned sim_again_run(struct sim_dev *dev)
{
    unsigned i, kept = 0, done;

    for (i = 0; i < dev->again_num; ++i) {
        if (dev->again[i].due <= dev->now) {
            again_place(dev, &dev->again[i]);
        } else {
            dev->again[kept++] = dev->again[i];
        }
    }

    done           = dev->again_num - kept;
    dev->again_num = kept;
    return done;
}
