/* SPDX-License-Identifier: BSD-3-Clause */
/* Work requests: taken from the ring that the host wrote. */
#include "steps.h"
#include "dev.h"
#include "fault.h"
#include "op.h"
#include "qp.h"

#include <string.h>

/* Does a program that writes the queue itself announce more than it may? That
 * is known only where each doorbell is seen alone: a guest's, and those of a
 * program that calls after each. Between two looks at any other's there may be
 * several. */
static int tx_is_too_many(const struct sim_qp *qp, uint16_t announced)
{
    const struct sim_dev *dev = qp->dev;

    return (announced * qp->sq.stride > SIM_MAX_TX_BATCH * IO_TX_WQE_SMALL) &&
           dev->knobs.strict_batch && !dev->knobs.eager &&
           (dev->guest || atomic_load(&dev->told)) &&
           !atomic_load_explicit(&qp->by_library, memory_order_relaxed);
}

/* The program announced requests. */
static void tx_rung(struct sim_qp *qp)
{
    struct sim_dev *dev = qp->dev;

    sim_dev_count(dev, DIR_DOORBELLS, 1);
    if (!dev->guest &&
        !atomic_load_explicit(&qp->by_library, memory_order_relaxed)) {
        sim_dev_rung(dev);
    }
}

/* The doorbell's value; 0 if it is sound. */
static int tx_doorbell(struct sim_qp *qp)
{
    struct sim_wq *sq = &qp->sq;
    uint32_t db       = atomic_load_explicit(sq->db, memory_order_acquire);

    if (db > 0xffff) {
        sim_qp_set_error(qp, "send doorbell wider than 16 bits", db);
        return -1;
    }
    if ((uint16_t)(db - sq->cc) > sq->depth) {
        sim_qp_set_error(qp, "send doorbell beyond the queue", db);
        return -1;
    }
    if (tx_is_too_many(qp, (uint16_t)(db - sq->pc))) {
        sim_qp_set_error(qp, "send doorbell announces more than max_tx_batch",
                         (uint16_t)(db - sq->pc));
        return -1;
    }

    if ((uint16_t)db != sq->pc) {
        tx_rung(qp);
    }
    sq->pc = (uint16_t)db;
    return 0;
}

/* The request at the head of the queue; of a size that the compiler knows. */
static void tx_read(struct io_tx_wqe *wqe, const struct sim_wq *sq)
{
    const void *src = sim_wq_at(sq, sq->cc);

    if (sq->stride == IO_TX_WQE_SMALL) {
        memcpy(wqe, src, IO_TX_WQE_SMALL);
    } else {
        memcpy(wqe, src, IO_TX_WQE_LARGE);
    }
}

/* A program that keeps to its queue's depth never has more under way; a guest
 * may have none that does. The rest stays in the queue. */
static int tx_is_full(const struct sim_qp *qp)
{
    return qp->dev->guest && ((qp->under_way >= qp->sq.depth) ||
                              (qp->dev->outstanding >= SIM_GUEST_OPS));
}

unsigned sim_tx_fetch(struct sim_qp *qp)
{
    struct sim_dev *dev = qp->dev;
    struct sim_wq *sq   = &qp->sq;
    unsigned done       = 0;
    struct sim_op *op;
    uint8_t status;

    if ((qp->state != SIM_QPS_RTS) || (tx_doorbell(qp) != 0)) {
        return 0;
    }

    while ((sq->cc != sq->pc) && (done < SIM_TX_BURST) && !tx_is_full(qp)) {
        op = sim_op_alloc(qp);
        if (op == NULL) {
            break; /* out of memory: the request stays in the queue */
        }

        tx_read(&op->wqe, sq);
        status = sim_check(op);
        if (op->wqe.meta.ah < dev->ah_end) {
            list_add_tail(&dev->ah[op->wqe.meta.ah].ops, &op->ah_link);
        }
        sq->phase ^= (((sq->cc + 1) & (sq->depth - 1)) == 0);
        ++sq->cc;
        ++done;

        if (status == EFA_STATUS_LOCAL_INTERNAL) {
            sim_complete(op, status);
            sim_qp_set_error(qp, "malformed work request",
                      op->wqe.meta.ctrl1 << 8 | op->wqe.meta.ctrl2);
            break;
        }
        if ((status == EFA_STATUS_OK) &&
            !sim_inject_hit(dev, sim_opcode(op)->inject, &status)) {
            sim_send_start(op);
        } else {
            sim_complete(op, status);
        }
        if (dev->overtaking > 0) {
            sim_timer_overtaken(dev);
        }
    }

    return done;
}
