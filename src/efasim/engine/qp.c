/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs and their states. The table is that of the kernel's driver for
 * SRD: which attributes a transition needs, and which it may have. That of UD
 * is the kernel's common one, which differs in the RNR retry alone.
 */
#include "qp.h"
#include "cntr.h"
#include "complete.h"
#include "cq.h"
#include "log.h"
#include "op.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct qp_transition {
    uint8_t  valid;
    uint32_t required, optional;
};

#define QPA_INIT  (SIM_QPA_PKEY_INDEX | SIM_QPA_PORT | SIM_QPA_QKEY)
#define QPA_RUN   (SIM_QPA_CUR_STATE | SIM_QPA_QKEY)
#define QPA_KNOWN (SIM_QPA_STATE | SIM_QPA_CUR_STATE | SIM_QPA_EN_SQD | \
                   QPA_INIT | SIM_QPA_SQ_PSN | SIM_QPA_RNR_RETRY)

static const struct qp_transition
qp_transitions[SIM_QPS_LAST][SIM_QPS_LAST] = {
    [SIM_QPS_RESET] = {
        [SIM_QPS_RESET] = { 1, 0, 0 },
        [SIM_QPS_INIT]  = { 1, QPA_INIT, 0 },
    },
    [SIM_QPS_INIT] = {
        [SIM_QPS_RESET] = { 1, 0, 0 },
        [SIM_QPS_ERR]   = { 1, 0, 0 },
        [SIM_QPS_INIT]  = { 1, 0, QPA_INIT },
        [SIM_QPS_RTR]   = { 1, 0, SIM_QPA_PKEY_INDEX | SIM_QPA_QKEY },
    },
    [SIM_QPS_RTR] = {
        [SIM_QPS_RESET] = { 1, 0, 0 },
        [SIM_QPS_ERR]   = { 1, 0, 0 },
        [SIM_QPS_RTS]   = { 1, SIM_QPA_SQ_PSN, QPA_RUN | SIM_QPA_RNR_RETRY },
    },
    [SIM_QPS_RTS] = {
        [SIM_QPS_RESET] = { 1, 0, 0 },
        [SIM_QPS_ERR]   = { 1, 0, 0 },
        [SIM_QPS_RTS]   = { 1, 0, QPA_RUN },
        [SIM_QPS_SQD]   = { 1, 0, SIM_QPA_EN_SQD },
    },
    [SIM_QPS_SQD] = {
        [SIM_QPS_RESET] = { 1, 0, 0 },
        [SIM_QPS_ERR]   = { 1, 0, 0 },
        [SIM_QPS_RTS]   = { 1, 0, QPA_RUN },
        [SIM_QPS_SQD]   = { 1, 0, SIM_QPA_PKEY_INDEX | SIM_QPA_QKEY },
    },
    [SIM_QPS_SQE] = {
        [SIM_QPS_RESET] = { 1, 0, 0 },
        [SIM_QPS_ERR]   = { 1, 0, 0 },
        [SIM_QPS_RTS]   = { 1, 0, QPA_RUN },
    },
    [SIM_QPS_ERR] = {
        [SIM_QPS_RESET] = { 1, 0, 0 },
        [SIM_QPS_ERR]   = { 1, 0, 0 },
    },
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

/* The number that is tried first: the lowest, or the one behind the last. */
static unsigned qp_first(const struct sim_dev *dev)
{
    return dev->knobs.reuse_qpn ? 1 : dev->qpn_next;
}

int sim_qp_create(struct sim_dev *dev, const struct sim_qp_attr *attr,
                  struct sim_qp **qp_p)
{
    struct sim_qp *qp = calloc(1, sizeof(*qp));
    int qpn;

    if (qp == NULL) {
        return -ENOMEM;
    }

    qpn = qp_may_be_made(dev) ?
          dir_qp_claim(dev->dir, dev->nic, dev->owner, qp_first(dev)) : -1;
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
        op->status = SIM_ST_FLUSHED;
        sim_complete_now(op);
    }

    pc = sq->db ? (uint16_t)atomic_load(sq->db) : sq->cc;
    if ((uint16_t)(pc - sq->cc) > sq->depth) {
        return; /* a wild doorbell names no requests */
    }
    for (; sq->cc != pc; ++sq->cc) {
        sim_complete_cqe(qp, sim_wq_at(sq, sq->cc), SIM_ST_FLUSHED);
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
        cqe.status = SIM_ST_FLUSHED;
        cqe.flags  = IO_Q_RECV << 1;
        cqe.qpn    = qp->qpn;
        cqe.ah     = IO_AH_UNKNOWN;
        sim_cq_push(qp->attr.recv_cq, &cqe);
        sim_cntr_count(qp, SIM_CNTR_RECV, cqe.status);
    }
}

/* Forget the requests: what RESET means. */
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

    for (i = 0; !dev->knobs.share_ah && (i < dev->knobs.max_ah); ++i) {
        dev->ah[i].user *= (dev->ah[i].user != qp->qpn);
    }
    qp_flush_sends(qp);
    sim_cntr_detach(qp);
    dev->qp[qp->qpn] = NULL;
    dir_qp_release(dev->dir, dev->nic, qp->qpn);
    list_del(&qp->link);
    --qp->attr.pd->refs;
    --qp->attr.send_cq->refs;
    --qp->attr.recv_cq->refs;
    free(qp);
}

static int qp_check(const struct sim_qp *qp, const struct sim_qp_mod *mod,
                    uint32_t new_state)
{
    const struct qp_transition *move;
    uint32_t given = mod->mask & ~SIM_QPA_STATE;
    uint32_t cur   = (mod->mask & SIM_QPA_CUR_STATE) ? mod->cur_state :
                                                       qp->state;

    if (mod->mask & ~QPA_KNOWN) {
        return -EOPNOTSUPP;
    }
    if (qp->attr.ud && (mod->mask & SIM_QPA_RNR_RETRY)) {
        return -EINVAL;
    }
    if ((cur != qp->state) || (new_state >= SIM_QPS_LAST)) {
        return -EINVAL;
    }

    if ((mod->mask & SIM_QPA_QKEY) && (mod->qkey >= SIM_QKEY_PRIV)) {
        sim_log(qp->dev, "QP %u: QKEY %#x is of the privileged range; "
                "choose one below %#x", qp->qpn, mod->qkey,
                SIM_QKEY_PRIV);
        return -EPERM;
    }

    move = &qp_transitions[cur][new_state];
    if (!move->valid || ((given & move->required) != move->required) ||
        (given & ~(move->required | move->optional))) {
        return -EINVAL;
    }
    if (((given & SIM_QPA_PORT) && (mod->port != 1)) ||
        ((given & SIM_QPA_RNR_RETRY) &&
         (mod->rnr_retry > SIM_RNR_ENDLESS))) {
        return -EINVAL;
    }

    return ((given & SIM_QPA_PKEY_INDEX) && (mod->pkey_index != 0)) ?
           -EOPNOTSUPP : 0;
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
    int ret            = qp_check(qp, mod, new_state);

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
