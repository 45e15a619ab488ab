/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The requests that wait for a time, in a binary heap with the earliest on top.
 * A request that ends before its time leaves a stale entry behind. A full heap
 * is first cleared of stale entries; it grows only if at least half of its
 * entries remain.
 */
#ifndef EFASIM_ENGINE_HEAP_H
#define EFASIM_ENGINE_HEAP_H

#include "objects.h"

/* Add a request, which waits until op->due. 0, or -1: out of memory, and it was
 * not added. */
int sim_heap_add(struct sim_op *op);

/* Remove and return a request that is due at dev->now; NULL: there is none. */
struct sim_op *sim_heap_take(struct sim_dev *dev);

/* Free the heap of a device that is being closed. */
void sim_heap_cleanup(struct sim_dev *dev);

#endif
