/* SPDX-License-Identifier: BSD-3-Clause */
#include "depart.h"
#include "op.h"
#include "path.h"
#include "send.h"

void sim_depart(struct sim_op *op)
{
    struct sim_dev *dev = op->qp->dev;
    unsigned overtake   = sim_op_overtake(op, SIM_STREAM_OVERTAKEN);

    ++dev->departures;
    dev->quiet = 0;
    if (overtake > 0) {
        sim_op_hold(op, SIM_OP_HELD, dev->departures + overtake);
    } else {
        sim_send(op);
    }
}

void sim_depart_start(struct sim_op *op)
{
    uint64_t due = sim_path_due(op);

    if (due > op->qp->dev->now) {
        sim_op_wait(op, SIM_OP_DELAYED, due);
    } else {
        sim_depart(op);
    }
}
