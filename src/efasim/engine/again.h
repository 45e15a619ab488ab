/* SPDX-License-Identifier: BSD-3-Clause */
/* The knob write-again-us: the first bytes of a write come once more, over what
 * the target has put there since. */
#ifndef EFASIM_ENGINE_AGAIN_H
#define EFASIM_ENGINE_AGAIN_H

#include "objects.h"

/* The write, whose bytes are at `near`, was placed in the owner's memory. */
void sim_again_add(const struct sim_op *op, uint32_t owner,
                   const struct sim_near *near);

/* Places those that are due. Returns their number. */
unsigned sim_again_run(struct sim_dev *dev);

#endif
