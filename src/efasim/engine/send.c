/* SPDX-License-Identifier: BSD-3-Clause */
/* From a request to the packet in the ring of its receiver. */
#include "steps.h"
#include "dev.h"
#include "log.h"
#include "mr.h"
#include "op.h"

#include <string.h>

/* Gather the payload. -1: a buffer was deregistered since it was posted. */
static int send_copy(struct sim_dev *dev, const struct sim_op *op, uint8_t *dst)
{
    struct sim_mr_range range;
    uint64_t addr;
    unsigned i;

    if (op->wqe.meta.ctrl1 & IO_TX_INLINE) {
        memcpy(dst, op->wqe.inl, op->length);
        return 0;
    }

    for (i = 0; i < op->wqe.meta.length; ++i) {
        const struct io_buf *buf = &op->wqe.sgl[i];

        if (buf->length == 0) {
            continue;
        }
        range = sim_mr_range(buf, 0);
        if (sim_mr_local(dev, op->qp->attr.pd, &range, &addr) != 0) {
            return -1;
        }
        dev->ops->mem_read(dev->env, dst, addr, buf->length);
        dst += buf->length;
    }

    return 0;
}

/* The directory's entry of the destination, whose QPN is in range */
static struct dir_qp *send_dst(const struct sim_op *op)
{
    return &op->qp->dev->dir->nic[op->nic].qp[op->wqe.meta.dest_qpn];
}

enum {
    SEND_SENT,
    SEND_NO_ROOM,
    SEND_BAD_LKEY,
};

static int send_write(struct sim_op *op, struct sim_peer *peer)
{
    struct sim_dev *dev = op->qp->dev;
    uint32_t length     = op->placed ? 0 : op->length;
    struct ring_pkt *pkt;

    if (peer->unanswered >= SIM_RING_ACKS) {
        return SEND_NO_ROOM;
    }
    pkt = ring_reserve(&peer->tx, length);
    if (pkt == NULL) {
        return SEND_NO_ROOM;
    }
    if (!op->placed && (send_copy(dev, op, (uint8_t*)(pkt + 1)) != 0)) {
        return SEND_BAD_LKEY;
    }

    pkt->type     = op->placed ? RING_PKT_WRITE : RING_PKT_SEND;
    pkt->flags    = (op->wqe.meta.ctrl1 & IO_TX_HAS_IMM) ? RING_FLAG_IMM : 0;
    pkt->flags   |= op->qp->attr.unsolicited ? RING_FLAG_UNSOLICITED : 0;
    pkt->flags   |= op->qp->attr.ud ? RING_FLAG_DATAGRAM : 0;
    pkt->src_qpn  = op->qp->qpn;
    pkt->dst_qpn  = op->wqe.meta.dest_qpn;
    pkt->src_nic  = dev->nic;
    pkt->dst_gen  = send_dst(op)->gen;
    pkt->qkey     = op->wqe.meta.qkey;
    pkt->token    = op->token;
    pkt->imm      = op->wqe.meta.imm;
    pkt->length   = length;
    pkt->written  = op->placed ? op->length : 0;
    ring_commit(&peer->tx, pkt);
    if (!op->qp->attr.ud) {
        ++peer->unanswered;
        sim_peer_await(dev, peer);
    }
    sim_dev_count(dev, DIR_TX_PKTS, 1);
    sim_dev_count(dev, DIR_TX_BYTES, length);
    sim_log_trace(dev, "tx qp=%u to=%u.%u.%u id=%u len=%u flags=%u",
                  op->qp->qpn, dir_nic_host(op->nic), dir_nic_device(op->nic),
                  op->wqe.meta.dest_qpn, op->wqe.meta.req_id, length,
                  pkt->flags);
    sim_peer_signal(dev, peer->slot);
    return SEND_SENT;
}

/* A datagram is complete when it has left. */
static void send_datagram(struct sim_op *op, struct sim_peer *peer)
{
    struct sim_dev *dev = op->qp->dev;
    struct sim_rng rng  = sim_op_rng(op, SIM_STREAM_DUPLICATED);

    if (rng_chance(&rng, dev->knobs.duplicate) &&
        (send_write(op, peer) == SEND_SENT)) {
        sim_dev_count(dev, DIR_DUPLICATED, 1);
    }
    sim_complete(op, EFA_STATUS_OK);
}

/* The knob srd-duplicate: once more, whose answer comes to nobody. */
static void send_again(struct sim_op *op, struct sim_peer *peer)
{
    struct sim_dev *dev = op->qp->dev;

    if ((dev->knobs.srd_duplicate != 0) &&
        (++op->qp->srd_sent % dev->knobs.srd_duplicate == 0) &&
        (send_write(op, peer) == SEND_SENT)) {
        sim_dev_count(dev, DIR_DUPLICATED, 1);
    }
}

/* Send now; returns 0 when the ring is full. */
static int send_try(struct sim_op *op, struct sim_peer *peer)
{
    switch (send_write(op, peer)) {
    case SEND_SENT:
        if (op->qp->attr.ud) {
            send_datagram(op, peer);
            return 1;
        }
        send_again(op, peer);
        list_del(&op->link);
        op->state = SIM_OP_INFLIGHT;
        sim_op_deadline(op);
        list_add_tail(&peer->inflight, &op->link);
        return 1;
    case SEND_BAD_LKEY:
        sim_complete(op, EFA_STATUS_LOCAL_LKEY);
        return 1;
    default:
        return 0;
    }
}

/* From now on sim_rdma_step() looks after it. */
static void send_await(struct sim_op *op)
{
    sim_op_deadline(op);
    list_del(&op->link);
    op->state = SIM_OP_COPYING;
    list_add_tail(&op->qp->dev->copying, &op->link);
}

/*
 * Find the destination of a request. NULL: the request has been dealt with:
 * no such host (silence, then 15), or a host without that QPN (9), which is
 * told when there is a way to that host.
 */
static struct sim_peer *send_route(struct sim_op *op)
{
    struct sim_dev *dev = op->qp->dev;
    uint32_t qpn        = op->wqe.meta.dest_qpn;
    struct sim_peer *peer;
    uint32_t owner;

    if ((op->nic < 0) || !atomic_load(&dev->dir->nic[op->nic].up)) {
        sim_fail_reject(op, EFA_STATUS_REMOTE_UNREACHED);
        return NULL;
    }

    owner = (qpn < SIM_MAX_QP) ? atomic_load(&send_dst(op)->owner) : 0;
    if ((owner == 0) && !op->qp->attr.ud &&
        sim_path_is_unreachable(dev, op->nic)) {
        send_await(op);
        return NULL;
    }
    if (owner == 0) {
        sim_fail_reject(op, sim_fail_no_qp(op));
        return NULL;
    }

    peer = sim_peer_get(dev, dir_owner_slot(owner) % SIM_SLOTS);
    if ((peer == NULL) || (sim_peer_tx_open(dev, peer, owner) != 0)) {
        sim_fail_reject(op, EFA_STATUS_LOCAL_INTERNAL);
        return NULL;
    }

    return peer;
}

static int send_is_lost(const struct sim_op *op)
{
    struct sim_rng rng;

    if (!op->qp->attr.ud) {
        return 0;
    }

    rng = sim_op_rng(op, SIM_STREAM_LOST);
    return op->is_dropped || rng_chance(&rng, op->qp->dev->knobs.loss) ||
           ((op->nic >= 0) && sim_path_is_partitioned(op->qp->dev, op->nic));
}

static void send_rdma(struct sim_op *op)
{
    struct sim_dev *dev = op->qp->dev;

    if ((op->nic < 0) || !atomic_load(&dev->dir->nic[op->nic].up)) {
        sim_fail_reject(op, EFA_STATUS_REMOTE_UNREACHED);
        return;
    }

    send_await(op);
}

void sim_send(struct sim_op *op)
{
    struct sim_peer *peer;

    if (sim_opcode(op)->is_rdma && !op->placed) {
        send_rdma(op);
        return;
    }

    if (send_is_lost(op)) {
        sim_fail_lost(op);
        return;
    }
    peer = send_route(op);
    if (peer == NULL) {
        return;
    }

    op->peer = peer;
    if (op->is_dropped) {
        send_await(op);
        return;
    }
    if (!op->qp->attr.ud && (peer->rnr_until > op->qp->dev->now) &&
        (peer->rnr_qpn == op->wqe.meta.dest_qpn)) {
        sim_op_wait(op, SIM_OP_RNR, peer->rnr_until); /* spare the try */
        return;
    }
    if (list_is_empty(&peer->blocked) && send_try(op, peer)) {
        return;
    }

    list_del(&op->link);
    op->state = SIM_OP_BLOCKED;
    sim_op_deadline(op);
    if (op->qp->attr.ud) {
        op->due = op->qp->dev->now + SIM_UD_WAIT_NS;
    }
    list_add_tail(&peer->blocked, &op->link);
    sim_peer_await(op->qp->dev, peer);
}

void sim_send_unblock(struct sim_peer *peer)
{
    while (!list_is_empty(&peer->blocked) &&
           send_try(list_entry(peer->blocked.next, struct sim_op, link),
                    peer)) {
    }
}

void sim_send_depart(struct sim_op *op)
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

void sim_send_start(struct sim_op *op)
{
    uint64_t due = sim_path_due(op);

    if (due > op->qp->dev->now) {
        sim_op_wait(op, SIM_OP_DELAYED, due);
    } else {
        sim_send_depart(op);
    }
}
