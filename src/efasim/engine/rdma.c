/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA READ and WRITE. The responder's device decides: QPN, QKEY, an address
 * handle for the requester, the remote key. All of that stands in the
 * directory, so the responder's CPU has no part in it, and neither has it in
 * the copy, which goes in chunks, in turn over all operations under way. A
 * write with immediate then sends a packet without payload, which takes a
 * receive there, or none if both QPs were created for unsolicited ones.
 */
#include "steps.h"
#include "dev.h"
#include "log.h"
#include "mr.h"
#include "op.h"
#include "qp.h"

#include <errno.h>

/* The answer of the responder's device: a status. On OK *addr is in the
 * target's memory and *owner names the target. */
static uint8_t rdma_resolve(struct sim_op *op, uint32_t *owner,
                            uint64_t *addr)
{
    const struct io_remote *remote = &op->wqe.rdma.remote;
    struct sim_dev *dev            = op->qp->dev;
    struct dir *dir                = dev->dir;
    struct sim_mr_range range;
    struct dir_qp *qp;
    uint32_t pd, state;
    uint8_t status;

    if (op->wqe.meta.dest_qpn >= SIM_MAX_QP) {
        return sim_answer(&dev->knobs, SIM_ANSWER_DEAD, EFA_STATUS_REMOTE_QPN);
    }

    qp     = &dir->nic[op->nic].qp[op->wqe.meta.dest_qpn];
    *owner = atomic_load(&qp->owner);
    state  = atomic_load(&qp->state);
    pd     = atomic_load(&qp->pd);
    if (*owner == 0) {
        return sim_fail_no_qp(op);
    }
    if ((state < SIM_QPS_RTR) || (state == SIM_QPS_ERR)) {
        return EFA_STATUS_REMOTE_QPN;
    }
    if (atomic_load(&qp->qkey) != op->wqe.meta.qkey) {
        return dev->knobs.qkey_status ? dev->knobs.qkey_status :
                                        EFA_STATUS_REMOTE_UNREACHED;
    }
    if (!(atomic_load(dir_ah_word(dir, dir_owner_slot(*owner) % SIM_SLOTS,
                                  pd % SIM_MAX_PD, dev->nic)) &
          dir_ah_bit(dev->nic))) {
        status = sim_answer(&dev->knobs, SIM_ANSWER_UNKNOWN,
                            EFA_STATUS_REMOTE_REFUSED);
        if (status != EFA_STATUS_OK) {
            return status;
        }
    }

    if (op->length == 0) {
        return EFA_STATUS_OK;
    }

    range.key    = remote->rkey;
    range.iova   = io_addr(remote->addr_lo, remote->addr_hi);
    range.length = op->length;
    range.access = sim_opcode(op)->remote_access;
    return sim_mr_remote(dev, op->nic, *owner, pd, &range, addr) ?
           sim_answer(&dev->knobs, SIM_ANSWER_KEY, EFA_STATUS_REMOTE_ACCESS) :
           EFA_STATUS_OK;
}

/* The copy failed. */
static void rdma_failed(struct sim_op *op, uint32_t owner, int err)
{
    struct sim_dev *dev = op->qp->dev;

    switch (err) {
    case -ESRCH:
        dev->ops->is_alive(dev->env, owner); /* takes back what it held */
        sim_fail_peer_died(op);
        break;
    case -EFAULT:
        sim_log(dev, "RDMA failed: registered memory was unmapped, or is "
                "shared and was made read-only, while a device may still use "
                "it: hardware has its pages, efasim has not");
        sim_fail_reject(op, EFA_STATUS_REMOTE_ACCESS);
        break;
    case -EXDEV:
        sim_log(dev, "RDMA refused: the other process is in another PID "
                "namespace, or /proc does not show which. Start both in one "
                "(docker run --pid, unshare without -p), with /proc mounted");
        sim_fail_reject(op, EFA_STATUS_BAD_ANSWER);
        break;
    default:
        sim_log(dev, "RDMA refused by the kernel (error %d): "
                "processes may not access each other's memory here. Run "
                "them as one user, and allow ptrace "
                "(kernel.yama.ptrace_scope, container seccomp)", -err);
        sim_fail_reject(op, EFA_STATUS_BAD_ANSWER);
        break;
    }
}

static void rdma_count(struct sim_op *op)
{
    struct sim_dev *dev           = op->qp->dev;
    struct dir *dir               = dev->dir;
    const struct sim_opcode *code = sim_opcode(op);

    sim_dev_count(dev, code->requests, 1);
    sim_dev_count(dev, code->bytes, op->length);
    dir_count(dir, op->nic, code->peer_bytes, op->length);
    if (sim_opcode_of(op) == IO_OP_WRITE) {
        atomic_fetch_add_explicit(&dir->nic[dev->nic].pair_bytes[op->nic],
                                  op->length, memory_order_relaxed);
    } else {
        dir_own_count(&dev->own->bytes_from[op->nic], op->length);
    }
}

/* All bytes are placed: done, or a packet with the immediate follows. */
static void rdma_placed(struct sim_op *op)
{
    rdma_count(op);
    op->placed = 1;
    if (op->wqe.meta.ctrl1 & IO_TX_HAS_IMM) {
        sim_send(op);
    } else {
        sim_complete_answered(op, EFA_STATUS_OK);
    }
}

/* Where the local bytes are. The key may have gone since the request was
 * posted. */
static uint8_t rdma_local(struct sim_op *op, struct sim_near *near)
{
    struct sim_mr_range range = sim_mr_range(&op->wqe.rdma.local,
                                             sim_opcode(op)->local_access);

    if (op->length == 0) {
        return EFA_STATUS_OK;
    }
    if (op->wqe.meta.ctrl1 & IO_TX_INLINE) {
        near->bytes = op->wqe.rdma.inl;
        return EFA_STATUS_OK;
    }

    return sim_mr_local(op->qp->dev, op->qp->attr.pd, &range, &near->addr) ?
           EFA_STATUS_LOCAL_LKEY : EFA_STATUS_OK;
}

/* 1: the last byte is placed later, not now. */
static int rdma_is_late(const struct sim_op *op, uint32_t owner,
                        uint64_t local, uint64_t remote)
{
    enum sim_late_op kind = sim_opcode(op)->late;
    struct sim_late late  = { .remote = 1, .op = sim_opcode_of(op),
                              .owner  = owner };

    /* inline bytes are gone when the request is */
    if ((op->length == 0) || (op->wqe.meta.ctrl1 & IO_TX_INLINE) ||
        !sim_late_is_on(op->qp->dev, kind)) {
        return 0;
    }

    late.local = local + op->length - 1;
    late.far   = remote + op->length - 1;
    sim_late_add(op->qp->dev, kind, &late);
    return 1;
}

/* Copy one chunk; returns its length. */
static uint32_t rdma_chunk(struct sim_op *op)
{
    struct sim_dev *dev  = op->qp->dev;
    struct sim_near near = { 0 }, first;
    uint64_t remote      = 0;
    uint32_t owner = 0, chunk;
    uint8_t status, late;
    int err;

    status = rdma_resolve(op, &owner, &remote);
    if (status == EFA_STATUS_OK) {
        status = rdma_local(op, &near);
    }
    if (status != EFA_STATUS_OK) {
        sim_fail_reject(op, status);
        return 0;
    }

    chunk = op->length - op->done;
    chunk = (chunk < SIM_RDMA_CHUNK) ? chunk : SIM_RDMA_CHUNK;
    late  = (op->done + chunk == op->length) &&
            rdma_is_late(op, owner, near.addr, remote);
    first = near;
    near.addr += op->done; /* inline bytes are all in the first chunk */
    err   = (chunk > late) ?
            dev->ops->rdma(dev->env, owner, sim_opcode_of(op), near,
                           remote + op->done, chunk - late) : 0;
    if (err != 0) {
        rdma_failed(op, owner, err);
        return 0;
    }

    op->done += chunk;
    if (op->done == op->length) {
        sim_again_add(op, owner, &first);
        rdma_placed(op);
    } else {
        list_del(&op->link);
        list_add_tail(&dev->copying, &op->link);
    }

    return chunk;
}

/* The other host cannot be reached now, or the request's packets are lost, all:
 * 1, and it waits, or its time is up. */
static int rdma_waits(struct sim_op *op)
{
    struct sim_dev *dev = op->qp->dev;

    if (!op->is_dropped && !sim_path_is_unreachable(dev, op->nic)) {
        return 0;
    }

    sim_path_repeat(op);
    if (op->due <= dev->now) {
        sim_complete(op, EFA_STATUS_REMOTE_STOPPED);
    } else {
        list_del(&op->link);
        list_add_tail(&dev->copying, &op->link);
    }
    return 1;
}

unsigned sim_rdma_step(struct sim_dev *dev)
{
    uint32_t bytes = 0;
    unsigned done  = 0, waiting = 0;
    struct sim_op *op;

    while (!list_is_empty(&dev->copying) && (bytes < SIM_RDMA_CHUNK) &&
           (done + waiting < SIM_TX_BURST)) {
        op = list_entry(dev->copying.next, struct sim_op, link);
        if (rdma_waits(op)) {
            ++waiting;
        } else if (!sim_opcode(op)->is_rdma || op->placed) {
            sim_send(op);
            ++done;
        } else {
            bytes += rdma_chunk(op);
            ++done;
        }
    }

    return done;
}
