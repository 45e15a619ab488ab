/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of a work request, as the device makes them. */
#include "steps.h"
#include "mr.h"
#include "op.h"

#include <string.h>

/* Is the operation one that this QP has? */
static int check_op(const struct sim_qp *qp, const struct sim_opcode *code)
{
    if (!code->is_rdma) {
        return 1;
    }
    return code->exists && !qp->attr.ud &&
           ((sim_profile_caps(qp->dev) & code->caps) == code->caps);
}

/* Are these 6 bytes zero? */
static int check_zero(const void *bytes)
{
    uint32_t low;
    uint16_t high;

    memcpy(&low, bytes, sizeof(low));
    memcpy(&high, (const uint8_t*)bytes + sizeof(low), sizeof(high));
    return (low | high) == 0;
}

/* The knob share-ah: without it a handle is its first user's alone. */
static int check_ah_is_others(const struct sim_qp *qp, struct sim_ah *ah)
{
    if (qp->dev->knobs.share_ah) {
        return 0;
    }
    if (ah->user == 0) {
        ah->user = qp->qpn;
    }
    return ah->user != qp->qpn;
}

/* The fault of a work request in itself: a status, or OK. */
static uint8_t check_meta(const struct sim_qp *qp,
                          const struct io_tx_meta *meta)
{
    if (!(meta->ctrl1 & IO_TX_META) || (meta->ctrl1 & IO_TX_META_EXT) ||
        ((meta->ctrl2 & IO_TX_CTRL2_MUST) != IO_TX_CTRL2_MUST) ||
        (meta->ctrl2 & IO_TX_CTRL2_MBZ) || (meta->ctrl3 & ~3) ||
        (meta->reserved != 0) ||
        !check_zero(meta->reserved2) ||
        (!qp->attr.req_id_64 && !check_zero(meta->req_id_ex)) ||
        ((meta->ctrl2 & IO_TX_PHASE) != qp->sq.phase)) {
        return EFA_STATUS_LOCAL_INTERNAL;
    }

    if (!check_op(qp, &sim_opcodes[IO_TX_OP(meta)])) {
        return EFA_STATUS_LOCAL_OPERATION;
    }

    if ((meta->ah >= qp->dev->knobs.max_ah) ||
        (qp->dev->ah[meta->ah].pd != qp->attr.pd) ||
        check_ah_is_others(qp, &qp->dev->ah[meta->ah])) {
        return sim_answer(&qp->dev->knobs, SIM_ANSWER_HANDLE,
                          EFA_STATUS_LOCAL_AH);
    }

    return EFA_STATUS_OK;
}

/* May the device read (or with SIM_ACCESS_LOCAL_WRITE write) this buffer of a
 * work request? A status. */
static uint8_t check_buf(const struct sim_qp *qp, const struct io_buf *buf,
                         uint32_t access)
{
    struct sim_mr_range range = sim_mr_range(buf, access);
    uint64_t addr;

    if (buf->lkey & ~IO_LKEY_MASK) {
        return EFA_STATUS_LOCAL_INTERNAL;
    }
    if (buf->length == 0) {
        return EFA_STATUS_OK;
    }

    return sim_mr_local(qp->dev, qp->attr.pd, &range, &addr) ?
           EFA_STATUS_LOCAL_LKEY : EFA_STATUS_OK;
}

static uint8_t check_send(struct sim_op *op)
{
    const struct io_tx_meta *meta = &op->wqe.meta;
    uint64_t length = 0;
    uint8_t status;
    unsigned i;

    if (meta->ctrl1 & IO_TX_INLINE) {
        op->length = meta->length;
        return (meta->length <= ((op->qp->sq.stride == IO_TX_WQE_LARGE) ?
                                 IO_TX_INLINE_LARGE : IO_TX_INLINE_SMALL)) ?
               EFA_STATUS_OK : EFA_STATUS_LOCAL_LENGTH;
    }

    if (meta->length > SIM_MAX_SQ_SGE) {
        return EFA_STATUS_LOCAL_INTERNAL;
    }
    for (i = 0; i < meta->length; ++i) {
        length += op->wqe.sgl[i].length;
    }
    if ((length > (op->qp->attr.ud ? op->qp->dev->knobs.ud_mtu :
                                     SIM_MAX_MSG)) ||
        (!op->qp->attr.ud &&
         !sim_accepts(&op->qp->dev->knobs, SIM_ACCEPT_MESSAGE, length))) {
        return EFA_STATUS_LOCAL_LENGTH;
    }
    for (i = 0; i < meta->length; ++i) {
        status = check_buf(op->qp, &op->wqe.sgl[i], 0);
        if (status != EFA_STATUS_OK) {
            return status;
        }
    }

    op->length = length;
    return EFA_STATUS_OK;
}

/* An inline write: only 128 B requests have room for data and address. */
static uint8_t check_inline_write(struct sim_op *op)
{
    const struct io_tx_meta *meta = &op->wqe.meta;

    if ((sim_opcode_of(op) != IO_OP_WRITE) ||
        (op->qp->sq.stride == IO_TX_WQE_SMALL)) {
        return EFA_STATUS_LOCAL_OPERATION;
    }

    op->length = meta->length;
    return ((meta->length > IO_TX_INLINE_LARGE) ||
            (op->wqe.rdma.remote.length != op->length)) ?
           EFA_STATUS_LOCAL_LENGTH : EFA_STATUS_OK;
}

static uint8_t check_rdma(struct sim_op *op)
{
    const struct io_buf *local    = &op->wqe.rdma.local;
    const struct io_tx_meta *meta = &op->wqe.meta;

    if ((sim_opcode_of(op) == IO_OP_READ) && (meta->ctrl1 & IO_TX_HAS_IMM)) {
        return EFA_STATUS_LOCAL_OPERATION;
    }
    if (meta->ctrl1 & IO_TX_INLINE) {
        return check_inline_write(op);
    }
    if (meta->length > SIM_MAX_RDMA_SGE) {
        return EFA_STATUS_LOCAL_INTERNAL;
    }

    op->length = meta->length ? local->length : 0;
    if ((op->length > op->qp->dev->knobs.max_rdma) ||
        !sim_accepts(&op->qp->dev->knobs, SIM_ACCEPT_READ, op->length) ||
        (op->wqe.rdma.remote.length != op->length)) {
        return EFA_STATUS_LOCAL_LENGTH;
    }

    return (op->length == 0) ?
           EFA_STATUS_OK :
           check_buf(op->qp, local, sim_opcode(op)->local_access);
}

uint8_t sim_check(struct sim_op *op)
{
    uint8_t status = check_meta(op->qp, &op->wqe.meta);

    if (status != EFA_STATUS_OK) {
        return status;
    }

    op->nic = op->qp->dev->ah[op->wqe.meta.ah].nic;
    return sim_opcode(op)->is_rdma ? check_rdma(op) : check_send(op);
}
