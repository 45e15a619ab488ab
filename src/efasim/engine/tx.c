/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The send side: take work requests from the ring that the host wrote, check
 * them as the device would, send the packet.
 */
#include "tx.h"
#include "dev.h"
#include "fault.h"
#include "inject.h"
#include "mr.h"
#include "op.h"
#include "peer.h"
#include "qp.h"
#include "rdma.h"
#include "timer.h"

#include <string.h>

/* Is the operation one that this QP has? */
static int tx_op_is_supported(const struct sim_qp *qp, unsigned op)
{
    uint32_t caps = sim_dev_caps(qp->dev);

    switch (op) {
    case IO_OP_SEND:
        return 1;
    case IO_OP_READ:
        return (caps & SIM_CAP_RDMA_READ) && !qp->attr.ud;
    case IO_OP_WRITE:
        return (caps & SIM_CAP_RDMA_WRITE) && !qp->attr.ud;
    default:
        return 0;
    }
}

/* Are these 6 bytes zero? */
static int tx_is_zero(const void *bytes)
{
    uint32_t low;
    uint16_t high;

    memcpy(&low, bytes, sizeof(low));
    memcpy(&high, (const uint8_t*)bytes + sizeof(low), sizeof(high));
    return (low | high) == 0;
}

/* The knob share-ah: without it a handle is its first user's alone. */
static int tx_ah_is_others(const struct sim_qp *qp, struct sim_ah *ah)
{
    if (qp->dev->knobs.share_ah) {
        return 0;
    }
    if (ah->user == 0) {
        ah->user = qp->qpn;
    }
    return ah->user != qp->qpn;
}

/* What is wrong with a work request in itself: a status, or OK. */
static uint8_t tx_check_meta(const struct sim_qp *qp,
                             const struct io_tx_meta *meta)
{
    if (!(meta->ctrl1 & IO_TX_META) || (meta->ctrl1 & IO_TX_META_EXT) ||
        ((meta->ctrl2 & IO_TX_CTRL2_MUST) != IO_TX_CTRL2_MUST) ||
        (meta->ctrl2 & IO_TX_CTRL2_MBZ) || (meta->ctrl3 & ~3) ||
        (meta->reserved != 0) ||
        !tx_is_zero(meta->reserved2) ||
        (!qp->attr.req_id_64 && !tx_is_zero(meta->req_id_ex)) ||
        ((meta->ctrl2 & IO_TX_PHASE) != qp->sq.phase)) {
        return SIM_ST_QP_INTERNAL;
    }

    if (!tx_op_is_supported(qp, IO_TX_OP(meta))) {
        return SIM_ST_UNSUPPORTED_OP;
    }

    if ((meta->ah >= qp->dev->knobs.max_ah) ||
        (qp->dev->ah[meta->ah].pd != qp->attr.pd) ||
        tx_ah_is_others(qp, &qp->dev->ah[meta->ah])) {
        return sim_answer(&qp->dev->knobs, SIM_ANSWER_HANDLE, SIM_ST_BAD_AH);
    }

    return SIM_ST_OK;
}

uint8_t sim_tx_check_buf(const struct sim_qp *qp, const struct io_buf *buf,
                         uint32_t access)
{
    struct sim_mr_range range = sim_mr_range(buf, access);
    uint64_t addr;

    if (buf->lkey & ~IO_LKEY_MASK) {
        return SIM_ST_QP_INTERNAL;
    }
    if (buf->length == 0) {
        return SIM_ST_OK;
    }

    return sim_mr_local(qp->dev, qp->attr.pd, &range, &addr) ?
           SIM_ST_BAD_LKEY : SIM_ST_OK;
}

static uint32_t tx_inline_room(const struct sim_qp *qp)
{
    return (qp->sq.stride == IO_TX_WQE_LARGE) ? IO_TX_INLINE_LARGE :
                                                IO_TX_INLINE_SMALL;
}

static uint8_t tx_check_send(struct sim_op *op)
{
    const struct io_tx_meta *meta = &op->wqe.meta;
    uint64_t length = 0;
    uint8_t status;
    unsigned i;

    if (meta->ctrl1 & IO_TX_INLINE) {
        op->length = meta->length;
        return (meta->length <= tx_inline_room(op->qp)) ?
               SIM_ST_OK : SIM_ST_LOCAL_LENGTH;
    }

    if (meta->length > SIM_MAX_SQ_SGE) {
        return SIM_ST_QP_INTERNAL;
    }
    for (i = 0; i < meta->length; ++i) {
        length += op->wqe.sgl[i].length;
    }
    if ((length > (op->qp->attr.ud ? op->qp->dev->knobs.ud_mtu :
                                     SIM_MAX_MSG)) ||
        (!op->qp->attr.ud &&
         !sim_accepts(&op->qp->dev->knobs, SIM_ACCEPT_MESSAGE, length))) {
        return SIM_ST_LOCAL_LENGTH;
    }
    for (i = 0; i < meta->length; ++i) {
        status = sim_tx_check_buf(op->qp, &op->wqe.sgl[i], 0);
        if (status != SIM_ST_OK) {
            return status;
        }
    }

    op->length = length;
    return SIM_ST_OK;
}

static uint8_t tx_check(struct sim_op *op)
{
    uint8_t status = tx_check_meta(op->qp, &op->wqe.meta);

    if (status != SIM_ST_OK) {
        return status;
    }

    op->nic = op->qp->dev->ah[op->wqe.meta.ah].nic;
    return (IO_TX_OP(&op->wqe.meta) == IO_OP_SEND) ? tx_check_send(op) :
                                                     sim_rdma_check(op);
}

/* Does a program that writes the queue itself announce more than it may? What
 * it announced since the device last read the doorbell is taken for one. */
static int tx_is_too_many(const struct sim_qp *qp, uint16_t announced)
{
    return qp->dev->knobs.strict_batch &&
           (announced * qp->sq.stride >
            SIM_MAX_TX_BATCH * IO_TX_WQE_SMALL) &&
           !atomic_load_explicit(&qp->by_library, memory_order_relaxed);
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

    sq->pc = (uint16_t)db;
    return 0;
}

static enum sim_inject_op tx_inject_op(const struct sim_op *op)
{
    static const uint8_t map[] = {
        [IO_OP_SEND]  = SIM_INJECT_SEND,
        [IO_OP_READ]  = SIM_INJECT_READ,
        [IO_OP_WRITE] = SIM_INJECT_WRITE,
    };

    return map[IO_TX_OP(&op->wqe.meta)];
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

    while ((sq->cc != sq->pc) && (done < SIM_TX_BURST)) {
        op = sim_op_alloc(qp);
        if (op == NULL) {
            break; /* out of memory: the request stays in the queue */
        }

        tx_read(&op->wqe, sq);
        status = tx_check(op);
        sq->phase ^= (((sq->cc + 1) & (sq->depth - 1)) == 0);
        ++sq->cc;
        ++done;

        if (status == SIM_ST_QP_INTERNAL) {
            sim_op_complete(op, status);
            sim_qp_set_error(qp, "malformed work request",
                      op->wqe.meta.ctrl1 << 8 | op->wqe.meta.ctrl2);
            break;
        }
        if ((status == SIM_ST_OK) &&
            !sim_inject_hit(dev, tx_inject_op(op), &status)) {
            sim_op_start(op);
        } else {
            sim_op_complete(op, status);
        }
        if (dev->overtaking > 0) {
            sim_timer_overtaken(dev);
        }
    }

    return done;
}

/* Gather the payload. -1: a buffer was deregistered since it was posted. */
static int tx_copy(struct sim_dev *dev, const struct sim_op *op, uint8_t *dst)
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
static struct dir_qp *tx_dst(const struct sim_op *op)
{
    return &op->qp->dev->dir->nic[op->nic].qp[op->wqe.meta.dest_qpn];
}

enum {
    TX_SENT,
    TX_NO_ROOM,
    TX_BAD_LKEY,
};

static int tx_write(struct sim_op *op, struct sim_peer *peer)
{
    struct sim_dev *dev = op->qp->dev;
    uint32_t length     = op->placed ? 0 : op->length;
    struct ring_pkt *pkt;

    if (peer->unanswered >= SIM_RING_ACKS) {
        return TX_NO_ROOM;
    }
    pkt = ring_reserve(&peer->tx, length);
    if (pkt == NULL) {
        return TX_NO_ROOM;
    }
    if (!op->placed && (tx_copy(dev, op, (uint8_t*)(pkt + 1)) != 0)) {
        return TX_BAD_LKEY;
    }

    pkt->type     = op->placed ? RING_PKT_WRITE : RING_PKT_SEND;
    pkt->flags    = (op->wqe.meta.ctrl1 & IO_TX_HAS_IMM) ? RING_FLAG_IMM : 0;
    pkt->flags   |= op->qp->attr.unsolicited ? RING_FLAG_UNSOLICITED : 0;
    pkt->flags   |= op->qp->attr.ud ? RING_FLAG_DATAGRAM : 0;
    pkt->src_qpn  = op->qp->qpn;
    pkt->dst_qpn  = op->wqe.meta.dest_qpn;
    pkt->src_nic  = dev->nic;
    pkt->dst_gen  = tx_dst(op)->gen;
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
    sim_dev_trace(dev, "tx qp=%u to=%u.%u.%u id=%u len=%u flags=%u",
                  op->qp->qpn, dir_nic_host(op->nic), dir_nic_device(op->nic),
                  op->wqe.meta.dest_qpn, op->wqe.meta.req_id, length,
                  pkt->flags);
    sim_peer_signal(dev, peer->slot);
    return TX_SENT;
}

/* A datagram is complete when it has left. */
static void tx_datagram_sent(struct sim_op *op, struct sim_peer *peer)
{
    struct sim_dev *dev = op->qp->dev;
    struct sim_rng rng  = sim_op_rng(op, SIM_STREAM_DUPLICATED);

    if (rng_chance(&rng, dev->knobs.duplicate) &&
        (tx_write(op, peer) == TX_SENT)) {
        sim_dev_count(dev, DIR_DUPLICATED, 1);
    }
    sim_op_complete(op, SIM_ST_OK);
}

static void tx_datagram_lost(struct sim_op *op)
{
    sim_dev_trace(op->qp->dev, "lost qp=%u id=%u", op->qp->qpn,
                  op->wqe.meta.req_id);
    sim_dev_count(op->qp->dev, DIR_LOST, 1);
    sim_op_complete(op, SIM_ST_OK);
}

void sim_tx_time_out(struct sim_op *op)
{
    if (op->qp->attr.ud) {
        tx_datagram_lost(op);
    } else {
        sim_op_complete(op, op->peer->has_answered ? SIM_ST_UNRESPONSIVE :
                                                     SIM_ST_UNREACHABLE);
    }
}

void sim_tx_peer_died(struct sim_op *op)
{
    uint64_t status = op->qp->dev->knobs.killed_status;
    int host_gone   = (status == SIM_ST_UNRESPONSIVE);

    if (op->qp->attr.ud || (host_gone && (op->peer != NULL))) {
        sim_tx_time_out(op);
    } else {
        sim_op_complete(op, ((op->done > 0) && !host_gone) ?
                            SIM_ST_REMOTE_ABORT : status);
    }
}

uint8_t sim_tx_no_qp(const struct sim_op *op)
{
    const struct sim_dev *dev = op->qp->dev;
    const struct dir_slot *slot;

    if (dev->knobs.killed_status != SIM_ST_UNRESPONSIVE) {
        return sim_answer(&dev->knobs, SIM_ANSWER_DEAD, SIM_ST_BAD_DEST_QPN);
    }
    for (slot = dev->dir->slot; slot < dev->dir->slot + SIM_SLOTS; ++slot) {
        if ((atomic_load(&slot->owner) != 0) && slot->is_device &&
            (slot->nic == (uint32_t)op->nic)) {
            return SIM_ST_BAD_DEST_QPN;
        }
    }

    return SIM_ST_UNREACHABLE;
}

/* The knob srd-duplicate: once more, whose answer comes to nobody. */
static void tx_again(struct sim_op *op, struct sim_peer *peer)
{
    struct sim_dev *dev = op->qp->dev;

    if ((dev->knobs.srd_duplicate != 0) &&
        (++op->qp->srd_sent % dev->knobs.srd_duplicate == 0) &&
        (tx_write(op, peer) == TX_SENT)) {
        sim_dev_count(dev, DIR_DUPLICATED, 1);
    }
}

/* Send now; returns 0 when the ring is full. */
static int tx_try(struct sim_op *op, struct sim_peer *peer)
{
    switch (tx_write(op, peer)) {
    case TX_SENT:
        if (op->qp->attr.ud) {
            tx_datagram_sent(op, peer);
            return 1;
        }
        tx_again(op, peer);
        list_del(&op->link);
        op->state = SIM_OP_INFLIGHT;
        sim_op_deadline(op);
        list_add_tail(&peer->inflight, &op->link);
        return 1;
    case TX_BAD_LKEY:
        sim_op_complete(op, SIM_ST_BAD_LKEY);
        return 1;
    default:
        return 0;
    }
}

void sim_tx_reject(struct sim_op *op, uint8_t status)
{
    if (op->qp->attr.ud) {
        tx_datagram_lost(op);
    } else if (status == SIM_ST_UNREACHABLE) {
        sim_op_deadline(op);
        op->status = sim_answer(&op->qp->dev->knobs, SIM_ANSWER_ABSENT, status);
        sim_op_wait(op, SIM_OP_LOST, op->due);
    } else {
        sim_op_complete(op, status);
    }
}

/*
 * Find the destination of a request. NULL: the request has been dealt with:
 * no such host (silence, then 15), or a host without that QPN (9).
 */
static struct sim_peer *tx_route(struct sim_op *op)
{
    struct sim_dev *dev = op->qp->dev;
    uint32_t qpn        = op->wqe.meta.dest_qpn;
    struct sim_peer *peer;
    uint32_t owner;

    if ((op->nic < 0) || !atomic_load(&dev->dir->nic[op->nic].up)) {
        sim_tx_reject(op, SIM_ST_UNREACHABLE);
        return NULL;
    }

    owner = (qpn < SIM_MAX_QP) ? atomic_load(&tx_dst(op)->owner) : 0;
    if (owner == 0) {
        sim_tx_reject(op, sim_tx_no_qp(op));
        return NULL;
    }

    peer = sim_peer_get(dev, dir_owner_slot(owner) % SIM_SLOTS);
    if ((peer == NULL) || (sim_peer_tx_open(dev, peer, owner) != 0)) {
        sim_tx_reject(op, SIM_ST_QP_INTERNAL);
        return NULL;
    }

    return peer;
}

static int tx_is_lost(const struct sim_op *op)
{
    struct sim_rng rng;

    if (!op->qp->attr.ud) {
        return 0;
    }

    rng = sim_op_rng(op, SIM_STREAM_LOST);
    return rng_chance(&rng, op->qp->dev->knobs.loss) ||
           ((op->nic >= 0) && sim_fault_is_partitioned(op->qp->dev, op->nic));
}

void sim_tx_send(struct sim_op *op)
{
    struct sim_peer *peer;

    if ((IO_TX_OP(&op->wqe.meta) != IO_OP_SEND) && !op->placed) {
        sim_rdma_start(op);
        return;
    }

    if (tx_is_lost(op)) {
        tx_datagram_lost(op);
        return;
    }
    peer = tx_route(op);
    if (peer == NULL) {
        return;
    }

    op->peer = peer;
    if (!op->qp->attr.ud && (peer->rnr_until > op->qp->dev->now) &&
        (peer->rnr_qpn == op->wqe.meta.dest_qpn)) {
        sim_op_wait(op, SIM_OP_RNR, peer->rnr_until); /* spare the try */
        return;
    }
    if (list_is_empty(&peer->blocked) && tx_try(op, peer)) {
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

void sim_tx_unblock(struct sim_peer *peer)
{
    while (!list_is_empty(&peer->blocked) &&
           tx_try(list_entry(peer->blocked.next, struct sim_op, link),
                  peer)) {
    }
}
