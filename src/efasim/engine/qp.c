/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs and their states, as the device sees them: which state may follow
 * which. The kernel's driver asks for the attributes that a change needs.
 */
#include "qp.h"
#include "cntr.h"
#include "cq.h"
#include "log.h"
#include "op.h"
#include "steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define QP_TO(_state) (1u << SIM_QPS_##_state)

/* From every state there is a way to RESET and to ERR. */
static const uint8_t qp_next[SIM_QPS_LAST] = {
    [SIM_QPS_RESET] = QP_TO(INIT),
    [SIM_QPS_INIT]  = QP_TO(INIT) | QP_TO(RTR),
    [SIM_QPS_RTR]   = QP_TO(RTS),
    [SIM_QPS_RTS]   = QP_TO(RTS) | QP_TO(SQD),
    [SIM_QPS_SQD]   = QP_TO(RTS) | QP_TO(SQD),
    [SIM_QPS_SQE]   = QP_TO(RTS),
};

static void qp_wq_reset(struct sim_wq *wq)
{
    wq->pc    = 0;
    wq->cc    = 0;
    wq->phase = 0;
}

static void qp_wq_init(struct sim_wq *wq, uint8_t *ring,
                       _Atomic uint32_t *db, uint32_t depth, uint16_t stride)
{
    wq->ring   = ring;
    wq->db     = depth ? db : NULL;
    wq->depth  = depth;
    wq->stride = stride;
    qp_wq_reset(wq);
}

static int qp_may_be_made(const struct sim_dev *dev)
{
    unsigned i, count = 1;

    for (i = 0; i < SIM_MAX_QP; ++i) {
        count += (dev->qp[i] != NULL);
    }
    return sim_accepts(&dev->knobs, SIM_ACCEPT_QUEUE_PAIRS, count);
}

int sim_qp_create(struct sim_dev *dev, const struct sim_qp_attr *attr,
                  struct sim_qp **qp_p)
{
    struct sim_qp *qp = calloc(1, sizeof(*qp));
    int qpn;

    if (qp == NULL) {
        return -ENOMEM;
    }

    /* the lowest number first, or that behind the last */
    qpn = qp_may_be_made(dev) ?
          dir_qp_claim(dev->dir, dev->nic, dev->owner,
                       dev->knobs.reuse_qpn ? 1 : dev->qpn_next) : -1;
    if (qpn < 0) {
        free(qp);
        return -ENOMEM;
    }

    dev->qpn_next = qpn + 1;
    qp->dev       = dev;
    qp->attr      = *attr;
    qp->qpn       = qpn;
    qp->entry     = &dev->dir->nic[dev->nic].qp[qpn];
    qp->count     = &dev->dir->nic[dev->nic].qp_count[qpn];
    qp->gen       = atomic_load(&qp->entry->gen);
    qp->state     = SIM_QPS_RESET;
    qp->rnr_retry = dev->knobs.rnr_retry;
    list_init(&qp->ops);
    qp_wq_init(&qp->sq, attr->sq_ring, attr->sq_db, attr->sq_depth,
               attr->sq_stride);
    qp_wq_init(&qp->rq, attr->rq_ring, attr->rq_db, attr->rq_depth,
               sizeof(struct io_rx_desc));
    list_add_tail(&dev->qps, &qp->link);
    dev->qp[qpn] = qp;
    ++attr->pd->refs;
    ++attr->send_cq->refs;
    ++attr->recv_cq->refs;
    *qp_p = qp;
    return 0;
}

/* Complete every request with status 1; the ones still in the ring too. */
static void qp_flush_sends(struct sim_qp *qp)
{
    struct sim_wq *sq = &qp->sq;
    struct sim_op *op;
    uint16_t pc;

    while (!list_is_empty(&qp->ops)) {
        op         = list_entry(qp->ops.next, struct sim_op, qp_link);
        op->status = EFA_STATUS_FLUSHED;
        sim_complete_now(op);
    }

    pc = sq->db ? (uint16_t)atomic_load(sq->db) : sq->cc;
    if ((uint16_t)(pc - sq->cc) > sq->depth) {
        return; /* a wild doorbell names no requests */
    }
    for (; sq->cc != pc; ++sq->cc) {
        sim_complete_cqe(qp, sim_wq_at(sq, sq->cc), EFA_STATUS_FLUSHED);
    }
}

static void qp_flush_recvs(struct sim_qp *qp)
{
    struct sim_wq *rq = &qp->rq;
    uint16_t pc       = rq->db ? (uint16_t)atomic_load(rq->db) : rq->cc;

    if ((uint16_t)(pc - rq->cc) > rq->depth) {
        return;
    }
    for (; rq->cc != pc; ++rq->cc) {
        const struct io_rx_desc *desc = sim_wq_at(rq, rq->cc);
        struct io_cqe cqe             = { 0 };

        if (!(desc->lkey_ctrl & IO_RX_FIRST)) {
            continue;
        }
        cqe.req_id = desc->req_id;
        cqe.status = EFA_STATUS_FLUSHED;
        cqe.flags  = IO_Q_RECV << 1;
        cqe.qpn    = qp->qpn;
        cqe.ah     = IO_AH_UNKNOWN;
        sim_cq_push(qp->attr.recv_cq, &cqe);
        sim_cntr_count(qp, SIM_CNTR_RECV, cqe.status);
    }
}

/* Forget the requests, as RESET asks. */
static void qp_reset(struct sim_qp *qp)
{
    while (!list_is_empty(&qp->ops)) {
        sim_op_free(list_entry(qp->ops.next, struct sim_op, qp_link));
    }

    if (qp->sq.db != NULL) {
        atomic_store(qp->sq.db, 0);
    }
    if (qp->rq.db != NULL) {
        atomic_store(qp->rq.db, 0);
    }
    qp_wq_reset(&qp->sq);
    qp_wq_reset(&qp->rq);
}

void sim_qp_destroy(struct sim_qp *qp)
{
    struct sim_dev *dev = qp->dev;
    unsigned i;

    for (i = 0; !dev->knobs.share_ah && (i < dev->ah_end); ++i) {
        dev->ah[i].user *= (dev->ah[i].user != qp->qpn);
    }
    qp_flush_sends(qp);
    sim_cntr_detach(qp, SIM_CNTR_KNOWN);
    dev->qp[qp->qpn] = NULL;
    dir_qp_release(dev->dir, dev->nic, qp->qpn);
    list_del(&qp->link);
    --qp->attr.pd->refs;
    --qp->attr.send_cq->refs;
    --qp->attr.recv_cq->refs;
    free(qp);
}

static int qp_check(const struct sim_qp *qp, const struct sim_qp_mod *mod)
{
    if ((mod->mask & SIM_QPA_RNR_RETRY) &&
        (qp->attr.ud || (mod->rnr_retry > SIM_RNR_ENDLESS))) {
        return -EINVAL;
    }
    if (!(mod->mask & SIM_QPA_STATE) || (mod->state == SIM_QPS_RESET) ||
        (mod->state == SIM_QPS_ERR)) {
        return 0;
    }

    return ((mod->state >= SIM_QPS_LAST) ||
            ((mod->mask & SIM_QPA_CUR_STATE) &&
             (mod->cur_state != qp->state)) ||
            !(qp_next[qp->state] & (1u << mod->state))) ? -EINVAL : 0;
}

static void qp_publish(struct sim_qp *qp)
{
    atomic_store(&qp->entry->pd, qp->attr.pd->index);
    atomic_store(&qp->entry->qkey, qp->qkey);
    atomic_store(&qp->entry->state, qp->state);
}

void sim_qp_set_error(struct sim_qp *qp, const char *what, uint32_t value)
{
    sim_log(qp->dev, "QP %u: %s (%#x); the QP is now in error", qp->qpn,
            what, value);
    sim_qp_modify(qp, &(struct sim_qp_mod){ .mask  = SIM_QPA_STATE,
                                            .state = SIM_QPS_ERR });
}

int sim_qp_modify(struct sim_qp *qp, const struct sim_qp_mod *mod)
{
    uint32_t new_state = (mod->mask & SIM_QPA_STATE) ? mod->state : qp->state;
    int ret            = qp_check(qp, mod);

    if (ret != 0) {
        return ret;
    }

    if (mod->mask & SIM_QPA_QKEY) {
        qp->qkey = mod->qkey;
    }
    if (mod->mask & SIM_QPA_SQ_PSN) {
        qp->sq_psn = mod->sq_psn;
    }
    if (mod->mask & SIM_QPA_RNR_RETRY) {
        qp->rnr_retry = mod->rnr_retry;
    }

    qp->state = new_state;
    qp_publish(qp);
    if (new_state == SIM_QPS_ERR) {
        qp_flush_sends(qp);
        qp_flush_recvs(qp);
    } else if (new_state == SIM_QPS_RESET) {
        qp_reset(qp);
        qp->rnr_retry = qp->dev->knobs.rnr_retry;
    }

    return 0;
}

int sim_qp_any_is_unused(const struct sim_dev *dev)
{
    const struct sim_qp *qp;
    unsigned i;

    for (i = 0; i < SIM_MAX_QP; ++i) {
        qp = dev->qp[i];
        if ((qp != NULL) && (qp->state == SIM_QPS_RTS) && (qp->sq.pc == 0) &&
            !atomic_load_explicit(&qp->by_library, memory_order_relaxed)) {
            return 1;
        }
    }
    return 0;
}
