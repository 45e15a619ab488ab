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

/* It was taken from the queue: let it leave, after its delay. */
void sim_op_start(struct sim_op *op);

/* Its delay is over: send it, or let others overtake it first. */
void sim_op_depart(struct sim_op *op);

/* To the timed list: it waits in this state until `due`. */
void sim_op_wait(struct sim_op *op, enum sim_op_state state, uint64_t due);

/* Set `due` to the time-out, counted from now. */
void sim_op_deadline(struct sim_op *op);

/* Complete it with this status, now or after others. */
void sim_op_complete(struct sim_op *op, uint8_t status);

/* Complete it with op->status, now. */
void sim_op_finish(struct sim_op *op);

/* The random numbers of this request for this purpose. */
struct sim_rng sim_op_rng(const struct sim_op *op, enum sim_stream stream);

#endif
