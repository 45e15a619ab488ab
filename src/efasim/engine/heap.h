/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waits of a guest's device in a binary heap, the earliest on top: a guest may
 * have as many as SIM_GUEST_OPS. A request that goes before its time leaves its
 * entry behind; entries that are stale are swept when they are the most.
 */
#ifndef EFASIM_ENGINE_HEAP_H
#define EFASIM_ENGINE_HEAP_H

#include "objects.h"

/* The request waits until op->due. 0; -1: out of memory, it is not in there. */
int sim_heap_add(struct sim_op *op);

/* A request whose wait is over at dev->now, which is taken out; NULL: none. */
struct sim_op *sim_heap_take(struct sim_dev *dev);

/* Free the heap, when the device is closed. */
void sim_heap_cleanup(struct sim_dev *dev);

#endif
