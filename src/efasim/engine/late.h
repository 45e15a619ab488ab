/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The knob late: a completion that comes before its data. The last byte of the
 * completed data waits here; a program that takes the completion for proof
 * reads the old one.
 */
#ifndef EFASIM_ENGINE_LATE_H
#define EFASIM_ENGINE_LATE_H

#include "objects.h"

/* Whether the last byte of such an operation is to come late. */
static inline int sim_late_is_on(const struct sim_dev *dev,
                                 enum sim_late_op op)
{
    return __builtin_expect(dev->knobs.late[op] != 0, 0) &&
           (dev->late_num < SIM_LATE_MAX);
}

/* Keeps it; sim_late_is_on() said yes. */
void sim_late_add(struct sim_dev *dev, enum sim_late_op op,
                  const struct sim_late *late);

/* Places the bytes that are due. Returns their number. */
unsigned sim_late_run(struct sim_dev *dev);

/* Places all, as their memory goes. */
void sim_late_flush(struct sim_dev *dev);

#endif
