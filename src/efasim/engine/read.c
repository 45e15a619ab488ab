/*
 * RDMA READ. The responder's device decides: QPN, QKEY, an address handle for
 * the requester, the remote key. All of that stands in the directory, so the
 * responder's CPU has no part in it, and neither has it in the copy, which
 * goes in chunks, in turn over all reads under way.
 */
#include "engine.h"

#include <errno.h>

/* The responder's judgement: a status. On OK *addr is in the target's memory
 * and *owner names the target. */
static uint8_t read_resolve(struct sim_op *op, uint32_t *owner,
                            uint64_t *addr)
{
    const struct io_remote *remote = &op->wqe.rdma.remote;
    struct sim_dev *dev            = op->qp->dev;
    struct dir *dir                = dev->dir;
    struct sim_mr_range range;
    struct dir_qp *qp;
    uint32_t pd, state;

    if (op->wqe.meta.dest_qpn >= SIM_MAX_QP) {
        return SIM_ST_BAD_DEST_QPN;
    }

    qp     = &dir->node[op->node].qp[op->wqe.meta.dest_qpn];
    *owner = atomic_load(&qp->owner);
    state  = atomic_load(&qp->state);
    pd     = atomic_load(&qp->pd);
    if ((*owner == 0) || (state < SIM_QPS_RTR) || (state == SIM_QPS_ERR)) {
        return SIM_ST_BAD_DEST_QPN;
    }
    if (atomic_load(&qp->qkey) != op->wqe.meta.qkey) {
        return dev->knobs.qkey_status ? dev->knobs.qkey_status :
                                        SIM_ST_UNREACHABLE;
    }
    if (!(atomic_load(&dir->slot[dir_owner_slot(*owner) % SIM_SLOTS]
                               .ah[pd % SIM_MAX_PD]) &
          (1u << dev->node))) {
        return SIM_ST_UNKNOWN_PEER;
    }

    if (op->length == 0) {
        return SIM_ST_OK;
    }

    range.key    = remote->rkey;
    range.iova   = io_addr(remote->addr_lo, remote->addr_hi);
    range.length = op->length;
    range.access = SIM_ACCESS_REMOTE_READ;
    return sim_mr_remote(dev, op->node, *owner, pd, &range, addr) ?
           SIM_ST_REMOTE_ADDRESS : SIM_ST_OK;
}

static void read_fail(struct sim_op *op, uint8_t status)
{
    if (status == SIM_ST_UNREACHABLE) {
        op->status = status;
        sim_op_deadline(op);
        sim_op_wait(op, SIM_OP_LOST, op->due);
    } else {
        sim_op_complete(op, status);
    }
}

void sim_read_start(struct sim_op *op)
{
    struct sim_dev *dev = op->qp->dev;

    if ((op->node < 0) || !atomic_load(&dev->dir->node[op->node].up)) {
        read_fail(op, SIM_ST_UNREACHABLE);
        return;
    }

    list_del(&op->link);
    op->state = SIM_OP_READING;
    list_add_tail(&dev->reading, &op->link);
}

static uint8_t read_error(struct sim_dev *dev, uint32_t owner, int err)
{
    switch (err) {
    case -ESRCH:
        dev->ops->is_alive(dev->env, owner); /* takes back what it held */
        return SIM_ST_UNRESPONSIVE;
    case -EFAULT:
        return SIM_ST_REMOTE_ADDRESS;
    default:
        sim_dev_log(dev, "RDMA READ refused by the kernel (error %d): "
                    "processes may not read each other's memory here. Run "
                    "them as one user, and allow ptrace "
                    "(kernel.yama.ptrace_scope, container seccomp)", -err);
        return SIM_ST_REMOTE_STATUS;
    }
}

static void read_count(struct sim_op *op)
{
    struct sim_dev *dev = op->qp->dev;
    struct dir *dir     = dev->dir;

    dir_count(dir, dev->node, DIR_RDMA_READ_WRS, 1);
    dir_count(dir, dev->node, DIR_RDMA_READ_BYTES, op->length);
    dir_count(dir, op->node, DIR_RDMA_READ_RESP_BYTES, op->length);
    atomic_fetch_add_explicit(&dir->node[op->node].pair_bytes[dev->node],
                              op->length, memory_order_relaxed);
}

/* Copy one chunk; returns its length. */
static uint32_t read_chunk(struct sim_op *op)
{
    struct sim_mr_range range = sim_mr_range(&op->wqe.rdma.local,
                                             SIM_ACCESS_LOCAL_WRITE);
    struct sim_dev *dev = op->qp->dev;
    uint64_t local = 0, remote = 0;
    uint32_t owner, chunk;
    uint8_t status;
    int err;

    status = read_resolve(op, &owner, &remote);
    if ((status == SIM_ST_OK) && (op->length > 0) &&
        (sim_mr_local(dev, op->qp->attr.pd, &range, &local) != 0)) {
        status = SIM_ST_BAD_LKEY;
    }
    if (status != SIM_ST_OK) {
        read_fail(op, status);
        return 0;
    }

    chunk = op->length - op->done;
    chunk = (chunk < SIM_READ_CHUNK) ? chunk : SIM_READ_CHUNK;
    err   = chunk ? dev->ops->read_remote(dev->env, owner,
                                          (void*)(uintptr_t)(local + op->done),
                                          remote + op->done, chunk) : 0;
    if (err != 0) {
        read_fail(op, read_error(dev, owner, err));
        return 0;
    }

    op->done += chunk;
    if (op->done == op->length) {
        read_count(op);
        sim_op_complete(op, SIM_ST_OK);
    } else {
        list_del(&op->link);
        list_add_tail(&dev->reading, &op->link);
    }

    return chunk;
}

unsigned sim_read_step(struct sim_dev *dev)
{
    uint32_t bytes = 0;
    unsigned done  = 0;

    while (!list_is_empty(&dev->reading) && (bytes < SIM_READ_CHUNK) &&
           (done < SIM_TX_BURST)) {
        bytes += read_chunk(list_entry(dev->reading.next, struct sim_op,
                                       link));
        ++done;
    }

    return done;
}
