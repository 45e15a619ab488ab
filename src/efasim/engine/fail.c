/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that do not arrive: their status, and when it comes. */
#include "steps.h"
#include "dev.h"
#include "log.h"
#include "op.h"

void sim_fail_lost(struct sim_op *op)
{
    sim_log_trace(op->qp->dev, "lost qp=%u id=%u", op->qp->qpn,
                  op->wqe.meta.req_id);
    sim_dev_count(op->qp->dev, DIR_LOST, 1);
    sim_complete(op, EFA_STATUS_OK);
}

void sim_fail_time_out(struct sim_op *op)
{
    if (op->qp->attr.ud) {
        sim_fail_lost(op);
    } else {
        sim_complete(op, op->peer->has_answered ? EFA_STATUS_REMOTE_STOPPED :
                                                  EFA_STATUS_REMOTE_UNREACHED);
    }
}

void sim_fail_peer_died(struct sim_op *op)
{
    uint64_t status = op->qp->dev->knobs.killed_status;
    int host_gone   = (status == EFA_STATUS_REMOTE_STOPPED);

    if (!op->qp->attr.ud && sim_path_is_unreachable(op->qp->dev, op->nic)) {
        op->status = EFA_STATUS_REMOTE_STOPPED; /* nobody can have told */
        sim_op_wait(op, SIM_OP_LOST, op->due);
    } else if (op->qp->attr.ud || (host_gone && (op->peer != NULL))) {
        sim_fail_time_out(op);
    } else {
        sim_complete(op, ((op->done > 0) && !host_gone) ?
                         EFA_STATUS_REMOTE_RESET : status);
    }
}

uint8_t sim_fail_no_qp(const struct sim_op *op)
{
    const struct sim_dev *dev = op->qp->dev;
    const struct dir_slot *slot;

    if (dev->knobs.killed_status != EFA_STATUS_REMOTE_STOPPED) {
        return sim_answer(&dev->knobs, SIM_ANSWER_DEAD, EFA_STATUS_REMOTE_QPN);
    }
    for (slot = dev->dir->slot; slot < dev->dir->slot + SIM_SLOTS; ++slot) {
        if ((atomic_load(&slot->owner) != 0) && slot->is_device &&
            (slot->nic == (uint32_t)op->nic)) {
            return EFA_STATUS_REMOTE_QPN;
        }
    }

    return EFA_STATUS_REMOTE_UNREACHED;
}

void sim_fail_reject(struct sim_op *op, uint8_t status)
{
    if (op->qp->attr.ud) {
        sim_fail_lost(op);
    } else if (status == EFA_STATUS_REMOTE_UNREACHED) {
        sim_op_deadline(op);
        op->status = sim_answer(&op->qp->dev->knobs, SIM_ANSWER_ABSENT, status);
        sim_op_wait(op, SIM_OP_LOST, op->due);
    } else {
        sim_complete(op, status);
    }
}
