/* SPDX-License-Identifier: BSD-3-Clause */
#include "path.h"
#include "op.h"

int sim_path_is_unreachable(const struct sim_dev *dev, unsigned nic)
{
    return sim_nics_has(&dev->partitioned, nic) ||
           sim_nics_has(&dev->clogged, nic) ||
           sim_nics_has(&dev->absent, nic) ||
           sim_nics_has(&dev->absent, dev->nic);
}

int sim_path_is_partitioned(const struct sim_dev *dev, unsigned nic)
{
    return sim_nics_has(&dev->partitioned, nic) ||
           sim_nics_has(&dev->absent, nic);
}

/* Let op leave after the packets that are being sent at this rate. Returns how
 * long it waits. */
static uint64_t path_paced(struct sim_op *op, uint64_t mbps,
                           uint64_t *link_free)
{
    uint64_t now = op->qp->dev->now;

    if (*link_free < now) {
        *link_free = now;
    }
    *link_free += op->length * 8000ull / mbps;
    return *link_free - now;
}

/* Is there no room for it behind the datagrams that wait for their rate? */
static int path_overflows(const struct sim_op *op)
{
    const struct sim_dev *dev = op->qp->dev;
    uint64_t free             = dev->ud_free[op->nic];
    uint64_t wait             = (free > dev->now) ? free - dev->now : 0;

    return (dev->knobs.ud_buffer != 0) &&
           (wait * dev->knobs.ud_rate_mbps / 8000 + op->length >
            dev->knobs.ud_buffer);
}

uint64_t sim_path_due(struct sim_op *op)
{
    struct sim_dev *dev = op->qp->dev;
    uint64_t due        = dev->now + (dev->knobs.delay_us +
                                      dev->knobs.latency_us) * 1000;
    struct sim_rng rng;

    if (dev->knobs.jitter_us != 0) {
        rng  = sim_op_rng(op, SIM_STREAM_JITTER);
        due += rng_range(&rng, 0, dev->knobs.jitter_us * 1000);
    }
    if (dev->knobs.rate_mbps != 0) {
        due += path_paced(op, dev->knobs.rate_mbps, &dev->link_free);
    }
    op->is_dropped = 0;
    if (!op->qp->attr.ud || (dev->knobs.ud_rate_mbps == 0) || (op->nic < 0)) {
        return due;
    }
    if (path_overflows(op)) {
        op->is_dropped = 1;
    } else {
        due += path_paced(op, dev->knobs.ud_rate_mbps,
                          &dev->ud_free[op->nic]);
    }

    return due;
}
