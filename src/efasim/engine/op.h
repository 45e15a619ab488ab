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

#endif
