/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a request: its completion, now or after others. */
#include "steps.h"
#include "cntr.h"
#include "cq.h"
#include "dev.h"
#include "log.h"
#include "op.h"

#include <string.h>

void sim_complete_cqe(struct sim_qp *qp, const struct io_tx_meta *meta,
                      uint8_t status)
{
    struct io_cqe cqe = { 0 };

    cqe.req_id = meta->req_id;
    cqe.status = status;
    cqe.flags  = (IO_Q_SEND << 1) | ((meta->ctrl1 & 7) << 4);
    cqe.qpn    = qp->qpn;
    memcpy(cqe.req_id_ex, meta->req_id_ex, sizeof(cqe.req_id_ex));
    sim_cq_push(qp->attr.send_cq, &cqe);
    sim_cntr_count(qp, sim_opcodes[IO_TX_OP(meta)].cntr, status);
}

/* The completion, now. */
void sim_complete_now(struct sim_op *op)
{
    struct sim_qp *qp             = op->qp;
    struct sim_dev *dev           = qp->dev;
    const struct sim_opcode *code = sim_opcode(op);

    if (code->is_rdma && (op->status != EFA_STATUS_OK)) {
        sim_dev_count(dev, code->errors, 1);
    }

    if (op->status == EFA_STATUS_OK) {
        dir_own_count(&qp->count->sent, 1);
        dir_own_count(&qp->count->sent_bytes, op->length);
        if (!code->is_rdma) { /* else rdma.c has */
            sim_dev_count(dev, code->requests, 1);
            sim_dev_count(dev, code->bytes, op->length);
        }
    } else {
        dir_own_count(&qp->count->errors, 1);
        sim_dev_count(dev, DIR_UNRESPONSIVE,
                      (op->status == EFA_STATUS_REMOTE_STOPPED) ||
                      (op->status == EFA_STATUS_REMOTE_UNREACHED));
    }
    sim_log_trace(qp->dev, "done qp=%u id=%u op=%u status=%u", qp->qpn,
                  op->wqe.meta.req_id, sim_opcode_of(op), op->status);
    sim_complete_cqe(qp, &op->wqe.meta, op->status);
    sim_op_free(op);
}

void sim_complete(struct sim_op *op, uint8_t status)
{
    struct sim_dev *dev = op->qp->dev;
    unsigned overtake   = sim_op_overtake(op, SIM_STREAM_DONE_OVERTAKEN);

    ++dev->completions;
    dev->quiet = 0;
    op->status = status;
    if (overtake > 0) {
        sim_op_hold(op, SIM_OP_DONE, dev->completions + overtake);
    } else {
        sim_complete_now(op);
    }
}

void sim_complete_answered(struct sim_op *op, uint8_t status)
{
    struct sim_dev *dev = op->qp->dev;

    if (dev->knobs.latency_us == 0) {
        sim_complete(op, status);
    } else {
        op->status = status;
        sim_op_wait(op, SIM_OP_ANSWERED,
                    dev->now + dev->knobs.latency_us * 1000);
    }
}
