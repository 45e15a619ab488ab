/* SPDX-License-Identifier: BSD-3-Clause */
/* Departure of a request: after its delay, behind those that overtake it. */
#ifndef EFASIM_ENGINE_DEPART_H
#define EFASIM_ENGINE_DEPART_H

#include "objects.h"

/* It was taken from the queue: let it leave, after its delay. */
void sim_depart_start(struct sim_op *op);

/* Its delay is over: send it, or let others overtake it first. */
void sim_depart(struct sim_op *op);

#endif
