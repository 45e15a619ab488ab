/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults that a knob orders by count or by chance. */
#ifndef EFASIM_ENGINE_INJECT_H
#define EFASIM_ENGINE_INJECT_H

#include "objects.h"

/* The errno that the command `name` (of sim_command_names) is to fail with; 0:
 * it goes on. Counts it. */
int sim_inject_command(struct sim_dev *dev, const char *name);

/* Is this request to fail? 1, with the status; 0: it goes on. Counts it. */
int sim_inject_hit(struct sim_dev *dev, enum sim_inject_op op,
                   uint8_t *status);

#endif
