/* SPDX-License-Identifier: BSD-3-Clause */
/* libefa's work: build requests, ring doorbells, read completions. */
#include "engine_rig_struct.h"

#include <string.h>

static void rig_sgl(struct io_buf *buf, const void *addr, uint32_t length,
                    uint32_t key)
{
    buf->addr_lo = (uint32_t)(uintptr_t)addr;
    buf->addr_hi = (uint32_t)((uintptr_t)addr >> 32);
    buf->length  = length;
    buf->lkey    = key;
}

static void rig_post(struct rig *rig, int index, struct io_tx_wqe *wqe,
                     unsigned op)
{
    struct rig_qp *qp = rig->qp[index];

    wqe->meta.ctrl1 |= IO_TX_META | op;
    wqe->meta.ctrl1 ^= rig->ctrl1;
    wqe->meta.ctrl2  = IO_TX_CTRL2_MUST |
                       ((qp->sq_pc / qp->sq_depth) & 1);
    wqe->meta.ctrl2 ^= rig->ctrl2;
    wqe->meta.reserved = rig->reserved;
    rig->ctrl1 = rig->ctrl2 = rig->reserved = 0;
    memcpy(qp->sq + (qp->sq_pc % qp->sq_depth) * qp->sq_stride, wqe,
           qp->sq_stride);
    ++qp->sq_pc;
    atomic_store(&qp->sq_db, qp->sq_pc);
}

void rig_post_send(struct rig *rig, int qp, const struct rig_send *send)
{
    struct io_tx_wqe wqe;

    memset(&wqe, 0, sizeof(wqe));
    wqe.meta.req_id   = send->req_id;
    wqe.meta.ah       = send->ah;
    wqe.meta.dest_qpn = send->qpn;
    wqe.meta.qkey     = send->qkey ? send->qkey : RIG_QKEY;
    if (send->flags & RIG_IMM) {
        wqe.meta.ctrl1 |= IO_TX_HAS_IMM;
        wqe.meta.imm    = send->imm;
    }
    if (send->flags & RIG_INLINE) {
        wqe.meta.ctrl1 |= IO_TX_INLINE;
        wqe.meta.length = send->length;
        memcpy(wqe.inl, send->buf, send->length < 80 ? send->length : 80);
    } else {
        wqe.meta.length = (send->buf2 != NULL) ? 2 : 1;
        rig_sgl(&wqe.sgl[0], send->buf, send->length, send->key);
        if (send->buf2 != NULL) {
            rig_sgl(&wqe.sgl[1], send->buf2, send->length2, send->key2);
        }
    }
    rig_post(rig, qp, &wqe, send->op);
}

void rig_post_read(struct rig *rig, int qp, const struct rig_read *read)
{
    struct io_tx_wqe wqe;

    memset(&wqe, 0, sizeof(wqe));
    wqe.meta.req_id         = read->req_id;
    wqe.meta.ah             = read->ah;
    wqe.meta.dest_qpn       = read->qpn;
    wqe.meta.qkey           = read->qkey ? read->qkey : RIG_QKEY;
    wqe.meta.length         = 1;
    wqe.rdma.remote.length  = read->length;
    wqe.rdma.remote.rkey    = read->rkey;
    wqe.rdma.remote.addr_lo = (uint32_t)read->remote;
    wqe.rdma.remote.addr_hi = (uint32_t)(read->remote >> 32);
    wqe.meta.req_id_ex[0]   = (uint16_t)(read->long_id >> 16);
    wqe.meta.req_id_ex[1]   = (uint16_t)(read->long_id >> 32);
    wqe.meta.req_id_ex[2]   = (uint16_t)(read->long_id >> 48);
    if (read->flags & RIG_IMM) {
        wqe.meta.ctrl1 |= IO_TX_HAS_IMM;
        wqe.meta.imm    = read->imm;
    }
    if (read->flags & RIG_INLINE) {
        wqe.meta.ctrl1 |= IO_TX_INLINE;
        wqe.meta.length = read->length;
        memcpy(wqe.rdma.inl, read->buf, read->length < 80 ? read->length : 80);
    } else {
        rig_sgl(&wqe.rdma.local, read->buf, read->length, read->key);
    }
    rig_post(rig, qp, &wqe, read->write ? IO_OP_WRITE : IO_OP_READ);
}

void rig_post_recv(struct rig *rig, int index, uint16_t req_id, unsigned num,
                   void *const *buf, const uint32_t *length, uint32_t key)
{
    struct rig_qp *qp = rig->qp[index];
    struct io_rx_desc *desc;
    unsigned i;

    for (i = 0; i < num; ++i) {
        desc = (struct io_rx_desc*)qp->rq + (qp->rq_pc % qp->rq_depth);
        memset(desc, 0, sizeof(*desc));
        desc->addr_lo   = (uint32_t)(uintptr_t)buf[i];
        desc->addr_hi   = (uint32_t)((uintptr_t)buf[i] >> 32);
        desc->length    = length[i];
        desc->lkey_ctrl = key | (i ? 0 : IO_RX_FIRST) |
                          ((i == num - 1) ? IO_RX_LAST : 0);
        desc->req_id    = i ? 0 : req_id;
        ++qp->rq_pc;
    }
    atomic_store(&qp->rq_db, qp->rq_pc);
}

void rig_damage(struct rig *rig, uint8_t ctrl1, uint8_t ctrl2,
                uint8_t reserved)
{
    rig->ctrl1    = ctrl1;
    rig->ctrl2    = ctrl2;
    rig->reserved = reserved;
}

void rig_doorbell(struct rig *rig, int qp, uint32_t value)
{
    atomic_store(&rig->qp[qp]->sq_db, value);
}

void rig_recv_doorbell(struct rig *rig, int qp, uint32_t value)
{
    atomic_store(&rig->qp[qp]->rq_db, value);
}

static void rig_cqe_read(const struct io_cqe *cqe, struct rig_cqe *out)
{
    memset(out, 0, sizeof(*out));
    out->req_id      = cqe->req_id;
    out->status      = cqe->status;
    out->queue       = (cqe->flags >> 1) & 3;
    out->op          = (cqe->flags >> 4) & 7;
    out->has_imm     = (cqe->flags >> 3) & 1;
    out->unsolicited = cqe->flags >> 7;
    out->qpn         = cqe->qpn;
    if (out->queue == IO_Q_SEND) {
        out->long_id = cqe->req_id | ((uint64_t)cqe->req_id_ex[0] << 16) |
                       ((uint64_t)cqe->req_id_ex[1] << 32) |
                       ((uint64_t)cqe->req_id_ex[2] << 48);
        return;
    }

    out->length  = cqe->length;
    out->ah      = cqe->ah;
    out->src_qpn = cqe->src_qpn;
    out->imm     = cqe->imm;
    if (out->op == IO_OP_WRITE) {
        out->length |= (uint32_t)cqe->length_hi << 16;
    } else {
        memcpy(out->src_gid, cqe->src_addr, 16);
    }
}

static int rig_poll(struct rig_cq *cq, unsigned sub, struct rig_cqe *out)
{
    uint32_t at    = cq->consumed[sub];
    unsigned phase = !((at / cq->depth) & 1);
    struct io_cqe cqe;

    memset(&cqe, 0, sizeof(cqe));
    memcpy(&cqe, cq->buf + ((size_t)sub * cq->depth + at % cq->depth) *
                 cq->cqe_size, cq->cqe_size);
    if ((cqe.flags & 1) != phase) {
        return 0;
    }

    ++cq->consumed[sub];
    atomic_store(&cq->db, (cq->consumed[0] + cq->consumed[1]) & 0xffff);
    rig_cqe_read(&cqe, out);
    return 1;
}

int rig_poll_send(struct rig *rig, int qp, struct rig_cqe *cqe)
{
    return rig_poll(&rig->qp[qp]->scq, 0, cqe);
}

int rig_poll_recv(struct rig *rig, int qp, struct rig_cqe *cqe)
{
    struct rig_cq *cq = &rig->qp[qp]->rcq;

    return rig_poll(cq, cq->subs - 1, cqe);
}

void rig_arm_recv(struct rig *rig, int qp)
{
    sim_cq_arm(rig->qp[qp]->rcq.cq);
}
