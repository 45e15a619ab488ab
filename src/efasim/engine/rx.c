/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receive side: packets and answers from one peer.
 *
 * No public source settles these, which are chosen here: a message longer than
 * the receive buffer completes that receive with status 6 and the send with 11;
 * a receive buffer with a bad key completes with 5 and the send with 12.
 */
#include "steps.h"
#include "cntr.h"
#include "cq.h"
#include "dev.h"
#include "fault.h"
#include "log.h"
#include "mr.h"
#include "op.h"
#include "qp.h"

#include <string.h>

struct rx_sge {
    uint64_t addr;
    uint32_t length;
};

/* One posted receive, as read from the ring */
struct rx_wqe {
    struct rx_sge sge[SIM_MAX_RQ_SGE];
    unsigned      num;
    unsigned      descs;
    uint16_t      req_id;
    uint32_t      length;
    uint8_t       status;
};

/* The doorbell's value; 0 if it is sound. */
static int rx_doorbell(struct sim_qp *qp)
{
    uint32_t db = atomic_load_explicit(qp->rq.db, memory_order_acquire);

    if (db > 0xffff) {
        sim_qp_set_error(qp, "receive doorbell wider than 16 bits", db);
        return -1;
    }
    if ((uint16_t)(db - qp->rq.cc) > qp->rq.depth) {
        sim_qp_set_error(qp, "receive doorbell beyond the queue", db);
        return -1;
    }

    qp->rq.pc = (uint16_t)db;
    return 0;
}

/*
 * Read the receive at the head of the queue without taking it. 0: there is
 * none. Descriptors that do not begin with "first" or do not end within
 * SIM_MAX_RQ_SGE are malformed: they are taken one by one with status 2.
 */
static int rx_wqe_peek(struct sim_qp *qp, struct rx_wqe *wqe)
{
    struct sim_wq *rq = &qp->rq;
    struct io_rx_desc desc;
    struct sim_mr_range range;
    uint16_t cc = rq->cc;

    wqe->num    = 0;
    wqe->descs  = 0;
    wqe->req_id = 0;
    wqe->length = 0;
    wqe->status = EFA_STATUS_OK;
    if (rx_doorbell(qp) != 0) {
        return 0;
    }

    do {
        if (cc == rq->pc) {
            return 0;
        }

        desc = *(const struct io_rx_desc*)sim_wq_at(rq, cc); /* once */
        ++cc;
        ++wqe->descs;
        if (wqe->descs == 1) {
            wqe->req_id = desc.req_id;
        }
        if ((wqe->descs > SIM_MAX_RQ_SGE) ||
            (!(desc.lkey_ctrl & IO_RX_FIRST) != (wqe->descs > 1)) ||
            (desc.lkey_ctrl & IO_RX_MBZ)) {
            wqe->status = EFA_STATUS_LOCAL_INTERNAL;
            wqe->descs  = 1;
            return 1;
        }

        if (desc.length == 0) {
            continue;
        }
        range = (struct sim_mr_range){
            .key    = desc.lkey_ctrl & IO_RX_LKEY,
            .iova   = io_addr(desc.addr_lo, desc.addr_hi),
            .length = desc.length,
            .access = SIM_ACCESS_LOCAL_WRITE,
        };
        if (sim_mr_local(qp->dev, qp->attr.pd, &range,
                         &wqe->sge[wqe->num].addr) != 0) {
            wqe->status = EFA_STATUS_LOCAL_LKEY;
        }
        wqe->sge[wqe->num++].length = desc.length;
        wqe->length                += desc.length;
    } while (!(desc.lkey_ctrl & IO_RX_LAST));

    return 1;
}

/* Where byte `at` of a receive's buffers goes, which are long enough. */
static uint64_t rx_address(const struct rx_wqe *wqe, uint32_t at)
{
    unsigned i;

    for (i = 0; at >= wqe->sge[i].length; ++i) {
        at -= wqe->sge[i].length;
    }
    return wqe->sge[i].addr + at;
}

/* Copy the payload behind the first `skip` bytes of the buffers. */
static void rx_scatter(struct sim_dev *dev, const struct rx_wqe *wqe,
                       const struct ring_pkt *pkt, uint32_t skip)
{
    const uint8_t *src = (const uint8_t*)(pkt + 1);
    uint32_t left      = pkt->length;
    struct sim_late late = { 0 };
    uint32_t length, from;
    unsigned i;

    if ((left > 0) && sim_late_is_on(dev, SIM_LATE_SEND)) {
        late.value = src[--left];
        late.local = rx_address(wqe, skip + left);
        sim_late_add(dev, SIM_LATE_SEND, &late);
    }

    for (i = 0; (i < wqe->num) && (left > 0); ++i) {
        from   = (skip < wqe->sge[i].length) ? skip : wqe->sge[i].length;
        length = wqe->sge[i].length - from;
        length = (left < length) ? left : length;
        dev->ops->mem_write(dev->env, wqe->sge[i].addr + from, src, length);
        src  += length;
        left -= length;
        skip -= from;
    }
}

/* Bytes that stay free before the payload */
static uint32_t rx_prefix(const struct sim_qp *qp)
{
    return qp->attr.ud ? (uint32_t)qp->dev->knobs.ud_prefix : 0;
}

static void rx_complete(struct sim_qp *qp, const struct rx_wqe *wqe,
                        const struct ring_pkt *pkt, uint8_t status)
{
    struct io_cqe cqe = { 0 };

    cqe.req_id  = wqe->req_id;
    cqe.status  = status;
    cqe.flags   = IO_Q_RECV << 1;
    cqe.qpn     = qp->qpn;
    cqe.length  = pkt->length + rx_prefix(qp);
    cqe.src_qpn = pkt->src_qpn;
    cqe.ah      = qp->attr.pd->ah_of_nic[pkt->src_nic];
    if (pkt->flags & RING_FLAG_IMM) {
        cqe.flags |= IO_CQE_IMM;
        cqe.imm    = pkt->imm;
    }
    if (pkt->type == RING_PKT_WRITE) {
        cqe.flags    |= IO_OP_WRITE << 4;
        cqe.flags    |= qp->attr.unsolicited ? IO_CQE_UNSOLICITED : 0;
        cqe.length    = (uint16_t)pkt->written;
        cqe.length_hi = pkt->written >> 16;
    } else if ((cqe.ah == IO_AH_UNKNOWN) && qp->attr.recv_cq->with_sgid) {
        dir_gid(qp->dev->dir, pkt->src_nic, cqe.src_addr);
    }

    if (status == EFA_STATUS_OK) {
        dir_own_count(&qp->count->received, 1);
        dir_own_count(&qp->count->received_bytes, pkt->length + pkt->written);
        sim_dev_count(qp->dev, DIR_RECV_WRS, 1);
        sim_dev_count(qp->dev, DIR_RECV_BYTES, pkt->length);
    } else {
        dir_own_count(&qp->count->errors, 1);
    }
    qp->rq.cc += wqe->descs;
    sim_cq_push(qp->attr.recv_cq, &cqe);
    sim_cntr_count(qp, SIM_CNTR_RECV, status);
}

static void rx_count(struct sim_dev *dev, const struct ring_pkt *pkt)
{
    sim_dev_count(dev, DIR_RX_PKTS, 1);
    sim_dev_count(dev, DIR_RX_BYTES, pkt->length);
    dir_own_count(&dev->own->bytes_from[pkt->src_nic], pkt->length);
}

/* The immediate of an RDMA write, whose bytes are in place already. It takes a
 * receive, and touches none of its buffers. */
static uint8_t rx_write(struct sim_qp *qp, const struct ring_pkt *pkt)
{
    struct rx_wqe wqe = { 0 };

    if (!(pkt->flags & RING_FLAG_UNSOLICITED) != !qp->attr.unsolicited) {
        return EFA_STATUS_REMOTE_FEATURES;
    }
    if (!qp->attr.unsolicited &&
        ((qp->rq.db == NULL) || !rx_wqe_peek(qp, &wqe))) {
        sim_dev_count(qp->dev, DIR_RNR, 1);
        return EFA_STATUS_REMOTE_NOT_READY;
    }

    if (wqe.status == EFA_STATUS_LOCAL_INTERNAL) {
        rx_complete(qp, &wqe, pkt, wqe.status);
        return EFA_STATUS_BAD_ANSWER;
    }

    rx_complete(qp, &wqe, pkt, EFA_STATUS_OK);
    return EFA_STATUS_OK;
}

/* Returns the answer's status. */
static uint8_t rx_deliver(struct sim_qp *qp, const struct ring_pkt *pkt)
{
    struct sim_dev *dev = qp->dev;
    struct rx_wqe wqe;
    uint8_t status;

    if ((qp->rq.db == NULL) || !rx_wqe_peek(qp, &wqe)) {
        sim_dev_count(dev, qp->attr.ud ? DIR_RX_DROPS : DIR_RNR, 1);
        return EFA_STATUS_REMOTE_NOT_READY;
    }

    if (wqe.status != EFA_STATUS_OK) {
        rx_complete(qp, &wqe, pkt, wqe.status);
        return EFA_STATUS_BAD_ANSWER;
    }
    if (wqe.length < pkt->length + rx_prefix(qp)) {
        rx_complete(qp, &wqe, pkt, EFA_STATUS_LOCAL_LENGTH);
        return sim_answer(&dev->knobs, SIM_ANSWER_LONG,
                          EFA_STATUS_REMOTE_LENGTH);
    }
    if (sim_inject_hit(dev, SIM_INJECT_RECV, &status)) {
        rx_complete(qp, &wqe, pkt, status);
        return EFA_STATUS_BAD_ANSWER;
    }

    rx_scatter(dev, &wqe, pkt, rx_prefix(qp));
    rx_complete(qp, &wqe, pkt, EFA_STATUS_OK);
    rx_count(dev, pkt);
    return qp->attr.recv_cq->overrun ?
           sim_answer(&dev->knobs, SIM_ANSWER_OVERRUN, EFA_STATUS_OK) :
           EFA_STATUS_OK;
}

/* Returns 0 when there is an answer in *status, 1 for silence. */
static int rx_packet(struct sim_dev *dev, const struct ring_pkt *pkt,
                     uint8_t *status)
{
    struct sim_qp *qp = (pkt->dst_qpn < SIM_MAX_QP) ? dev->qp[pkt->dst_qpn] :
                                                      NULL;

    if ((qp == NULL) || (qp->state < SIM_QPS_RTR) ||
        (qp->state == SIM_QPS_ERR) ||
        (pkt->dst_gen != qp->gen) || /* meant for one that had the number */
        (!qp->attr.ud != !(pkt->flags & RING_FLAG_DATAGRAM))) {
        sim_dev_count(dev, DIR_RX_DROPS, 1);
        *status = sim_answer(&dev->knobs, SIM_ANSWER_DEAD,
                             EFA_STATUS_REMOTE_QPN);
        return 0;
    }

    if (qp->qkey != pkt->qkey) {
        sim_dev_count(dev, DIR_RX_DROPS, 1);
        *status = dev->knobs.qkey_status;
        return dev->knobs.qkey_status == 0;
    }

    if ((dev->knobs.srd_loss > 0) && !qp->attr.ud &&
        (++qp->srd_received % dev->knobs.srd_loss == 0)) {
        sim_dev_count(dev, DIR_LOST, 1);
        *status = EFA_STATUS_OK;
        return 0;
    }

    *status = (pkt->type == RING_PKT_WRITE) ? rx_write(qp, pkt) :
                                              rx_deliver(qp, pkt);
    return 0;
}

/* In place of a status: the packet is not answered, but the sender may use its
 * ring entry again. */
#define RX_SILENCE 0xffu

/* A receiver that a knob makes slow takes a packet each receive_us. */
static int rx_is_ready(const struct sim_dev *dev)
{
    return (dev->knobs.receive_us == 0) || (dev->now >= dev->rx_next);
}

static unsigned rx_packets(struct sim_dev *dev, struct sim_peer *peer)
{
    unsigned done = 0;
    struct ring_pkt *pkt;
    uint8_t status;
    int broken = 0;

    while ((done < SIM_RX_BURST) && rx_is_ready(dev) &&
           ((pkt = ring_peek(&peer->rx, &broken)) != NULL)) {
        if (rx_packet(dev, pkt, &status) != 0) {
            status = RX_SILENCE;
        }
        sim_log_trace(dev, "rx qp=%u from=%u.%u.%u len=%u status=%u",
                      pkt->dst_qpn, dir_nic_host(pkt->src_nic),
                      dir_nic_device(pkt->src_nic), pkt->src_qpn, pkt->length,
                      status);
        if (!(pkt->flags & RING_FLAG_DATAGRAM) &&
            (ring_answer(&peer->rx, pkt->token, status) != 0)) {
            broken = 1;
            break;
        }
        ring_consume(&peer->rx);
        dev->rx_next = dev->now + dev->knobs.receive_us * 1000;
        ++done;
    }

    if (broken) {
        peer->rx_broken = 1;
        sim_log(dev, "the packet ring from slot %u is damaged: nothing "
                "more is taken from it. Is a program writing into the "
                "fabric's memory?", peer->slot);
    } else if ((done == SIM_RX_BURST) || !rx_is_ready(dev)) {
        dev->rx_more[peer->slot / 64] |= 1ull << (peer->slot % 64);
    }
    if (done > 0) {
        ring_publish(&peer->rx);
    }

    return done;
}

static void rx_answer(struct sim_op *op, uint8_t status)
{
    struct sim_dev *dev = op->qp->dev;

    if (status != EFA_STATUS_REMOTE_NOT_READY) {
        sim_complete_answered(op, status);
    } else if (op->rnr_left == 0) {
        sim_complete_answered(op, sim_answer(&dev->knobs, SIM_ANSWER_RNR,
                                             EFA_STATUS_REMOTE_NOT_READY));
    } else {
        op->rnr_left       -= (op->rnr_left != SIM_RNR_ENDLESS);
        op->peer->rnr_qpn   = op->wqe.meta.dest_qpn;
        op->peer->rnr_until = dev->now + (dev->knobs.rnr_us + /* there, back */
                                          2 * dev->knobs.latency_us) * 1000;
        sim_op_wait(op, SIM_OP_RNR, op->peer->rnr_until);
    }
}

unsigned sim_rx_answers(struct sim_dev *dev, struct sim_peer *peer)
{
    unsigned done = 0;
    struct ring_ack ack;
    struct sim_op *op;

    if (peer->tx.ring == NULL) {
        return 0;
    }

    while ((peer->unanswered > 0) && ring_answer_take(&peer->tx, &ack)) {
        ++done;
        --peer->unanswered;
        if (ack.status == RX_SILENCE) {
            continue;
        }

        peer->has_answered = 1;
        op          = sim_op_find(dev, ack.token);
        if ((op != NULL) && (op->peer == peer) &&
            (op->state == SIM_OP_INFLIGHT)) {
            rx_answer(op, ack.status);
        }
    }

    sim_send_unblock(peer);
    return done;
}

/* Use the ring of the process that holds the slot now. Packets that an ended
 * process left in its ring are still taken. */
static void rx_follow(struct sim_dev *dev, struct sim_peer *peer)
{
    uint32_t owner = atomic_load(&dev->dir->slot[peer->slot].owner);
    struct ring *ring;

    if ((owner == peer->rx_owner) && (peer->rx.ring != NULL)) {
        return;
    }

    if (peer->rx.ring != NULL) {
        while (!peer->rx_broken && (rx_packets(dev, peer) == SIM_RX_BURST)) {
        }
        dev->ops->ring_unmap(dev->env, peer->rx.ring);
        peer->rx.ring = NULL;
    }

    ring = owner ? dev->ops->ring_map_rx(dev->env, owner) : NULL;
    if (ring != NULL) {
        ring_rx_open(&peer->rx, ring);
    }
    peer->rx_owner  = owner;
    peer->rx_broken = 0;
}

unsigned sim_rx_packets(struct sim_dev *dev, struct sim_peer *peer)
{
    rx_follow(dev, peer);
    return ((peer->rx.ring != NULL) && !peer->rx_broken) ?
           rx_packets(dev, peer) : 0;
}
