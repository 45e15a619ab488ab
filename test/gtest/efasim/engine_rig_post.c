/* What libefa does: build requests, ring doorbells, read completions. */
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
    memcpy(qp->sq + (qp->sq_pc % qp->sq_depth) * sizeof(*wqe), wqe,
           sizeof(*wqe));
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
        memcpy(wqe.inl, send->buf, send->length < 32 ? send->length : 32);
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
    rig_sgl(&wqe.rdma.local, read->buf, read->length, read->key);
    rig_post(rig, qp, &wqe, IO_OP_READ);
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

static int rig_poll(struct rig_cq *cq, struct rig_cqe *out)
{
    uint8_t *entry = cq->buf + (cq->consumed % cq->depth) * cq->cqe_size;
    unsigned phase = !((cq->consumed / cq->depth) & 1);
    struct io_cqe cqe;

    memset(&cqe, 0, sizeof(cqe));
    memcpy(&cqe, entry, cq->cqe_size);
    if ((cqe.flags & 1) != phase) {
        return 0;
    }

    ++cq->consumed;
    atomic_store(&cq->db, cq->consumed & 0xffff);
    out->req_id  = cqe.req_id;
    out->status  = cqe.status;
    out->queue   = (cqe.flags >> 1) & 3;
    out->op      = (cqe.flags >> 4) & 7;
    out->has_imm = (cqe.flags >> 3) & 1;
    out->qpn     = cqe.qpn;
    out->length  = cqe.length;
    out->ah      = cqe.ah;
    out->src_qpn = cqe.src_qpn;
    out->imm     = cqe.imm;
    memcpy(out->src_gid, cqe.src_addr, 16);
    return 1;
}

int rig_poll_send(struct rig *rig, int qp, struct rig_cqe *cqe)
{
    return rig_poll(&rig->qp[qp]->scq, cqe);
}

int rig_poll_recv(struct rig *rig, int qp, struct rig_cqe *cqe)
{
    return rig_poll(&rig->qp[qp]->rcq, cqe);
}

void rig_arm_recv(struct rig *rig, int qp)
{
    sim_cq_arm(rig->qp[qp]->rcq.cq);
}
