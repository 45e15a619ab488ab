/* SPDX-License-Identifier: BSD-3-Clause */
#include "steps.h"
#include "dev.h"
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

/* `events` time-outs of a request, by which so much of it is sent again. */
static void path_retransmits(const struct sim_op *op, unsigned nic,
                             uint64_t events, uint64_t packets, uint64_t bytes)
{
    struct dir *dir = op->qp->dev->dir;

    dir_count(dir, nic, DIR_RETRANS_TIMEOUTS, events);
    dir_count(dir, nic, DIR_RETRANS_PKTS, packets);
    dir_count(dir, nic, DIR_RETRANS_BYTES, bytes);
}

/* How many of so many packets are lost. */
static uint32_t path_lost(const struct sim_dev *dev, struct sim_rng *rng,
                          uint32_t packets)
{
    uint32_t lost = 0;

    while (packets-- > 0) {
        lost += rng_chance(rng, dev->knobs.loss);
    }
    return lost;
}

/* For how long packets of the request are sent again until all have arrived. A
 * read's come from the other device. */
static uint64_t path_loses(struct sim_op *op)
{
    struct sim_dev *dev = op->qp->dev;
    unsigned nic        = dev->nic;
    uint32_t full       = op->length / SIM_MAX_MSG;
    uint32_t rest       = op->length % SIM_MAX_MSG;
    uint32_t last       = (rest > 0) || (full == 0); /* one that is not full */
    struct sim_rng rng  = sim_op_rng(op, SIM_STREAM_RETRANSMITTED);
    uint64_t waited     = 0;

    if (sim_opcode_of(op) == IO_OP_READ) {
        nic = op->nic;
    }
    op->is_dropped = dev->knobs.loss >= 1;
    while (!op->is_dropped) {
        full = path_lost(dev, &rng, full);
        last = path_lost(dev, &rng, last);
        if (full + last == 0) {
            return waited;
        }
        path_retransmits(op, nic, 1, full + last,
                         (uint64_t)full * SIM_MAX_MSG + last * rest);
        waited        += SIM_RETRANS_NS;
        op->is_dropped = waited > dev->knobs.timeout_ms * 1000000;
    }

    return 0;
}

void sim_path_repeat(struct sim_op *op)
{
    struct sim_dev *dev = op->qp->dev;
    uint64_t now        = (dev->now < op->due) ? dev->now : op->due;
    int64_t since       = now + dev->knobs.timeout_ms * 1000000 - op->due;
    uint32_t bytes      = (op->length < SIM_MAX_MSG) ? op->length : SIM_MAX_MSG;
    uint64_t tries      = op->tries;

    while ((since >> op->tries) >= SIM_RETRANS_NS) {
        ++op->tries;
    }
    tries = op->tries - tries;
    if (tries == 0) {
        return;
    }
    path_retransmits(op, dev->nic, tries, tries,
                     (sim_opcode_of(op) == IO_OP_READ) ? 0 : tries * bytes);
    if ((op->nic >= 0) && !sim_nics_has(&dev->impaired, op->nic)) {
        sim_nics_add(&dev->impaired, op->nic);
        sim_dev_count(dev, DIR_IMPAIRED, 1);
    }
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
    if (op->nic < 0) {
        return due;
    }
    if (!op->qp->attr.ud) {
        return due + ((dev->knobs.loss > 0) ? path_loses(op) : 0);
    }
    if (dev->knobs.ud_rate_mbps == 0) {
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
