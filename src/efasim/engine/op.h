/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that are under way. */
#ifndef EFASIM_ENGINE_OP_H
#define EFASIM_ENGINE_OP_H

#include "objects.h"

/* A request of this QP, or NULL: out of memory. */
struct sim_op *sim_op_alloc(struct sim_qp *qp);

/* End it without a completion. */
void sim_op_free(struct sim_op *op);

/* Free the memory of all requests, when the device is closed. */
void sim_op_cleanup(struct sim_dev *dev);

/* The request with this token, or NULL: it has ended. */
struct sim_op *sim_op_find(struct sim_dev *dev, uint32_t token);

/* To the timed list: it waits in this state until `due`. */
void sim_op_wait(struct sim_op *op, enum sim_op_state state, uint64_t due);

/* Set `due` to the time-out, counted from now. */
void sim_op_deadline(struct sim_op *op);

/* The random numbers of this request for this purpose. */
struct sim_rng sim_op_rng(const struct sim_op *op, enum sim_stream stream);

/* Whether the knob `reorder`, which is set, holds it back here, and how many
 * pass it; 0: no. */
unsigned sim_op_reorder(const struct sim_op *op, enum sim_stream stream);

/* The same whatever the knob says. */
static inline unsigned sim_op_overtake(const struct sim_op *op,
                                       enum sim_stream stream)
{
    return (op->qp->dev->knobs.reorder == 0) ? 0 : sim_op_reorder(op, stream);
}

/* Hold it in this state until the device has counted `until` departures or
 * (SIM_OP_DONE) completions, or for some time. */
void sim_op_hold(struct sim_op *op, enum sim_op_state state, uint64_t until);

/* Add a request, which waits until op->due. 0, or -1: out of memory, and it was
 * not added. */
int sim_heap_add(struct sim_op *op);

/* Remove and return a request that is due at dev->now; NULL: there is none. */
struct sim_op *sim_heap_take(struct sim_dev *dev);

/* Free the heap of a device that is being closed. */
void sim_heap_cleanup(struct sim_dev *dev);

/*
 * Operations of work requests. Each has a number (efa_io.h), a line in opcode.c
 * with its differences from the others, and its code (send.c, rdma.c).
 */
struct sim_opcode {
    uint8_t            exists;
    uint8_t            is_rdma;      /* on SRD alone, by sim_rdma_step() */
    uint32_t           caps;         /* that the device must have, SIM_CAP_ */
    uint32_t           local_access; /* to the sender's buffers, SIM_ACCESS_ */
    uint32_t           remote_access;
    enum sim_inject_op inject;
    enum sim_cntr_op   cntr;
    enum sim_late_op   late;
    enum dir_counter   requests, bytes; /* that went well */
    enum dir_counter   errors;          /* requests of RDMA that did not */
    enum dir_counter   peer_bytes;      /* of RDMA, at the responder */
};

/* Indexed by the four bits of a work request; not all of them exist. */
extern const struct sim_opcode sim_opcodes[16];

/* The number of this request's operation. */
static inline enum io_tx_op sim_opcode_of(const struct sim_op *op)
{
    return IO_TX_OP(&op->wqe.meta);
}

/* The line of this request's operation. */
static inline const struct sim_opcode *sim_opcode(const struct sim_op *op)
{
    return &sim_opcodes[sim_opcode_of(op)];
}

#endif
