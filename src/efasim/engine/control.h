/* SPDX-License-Identifier: BSD-3-Clause */
/* Knobs of a device that is running. */
#ifndef EFASIM_ENGINE_CONTROL_H
#define EFASIM_ENGINE_CONTROL_H

#include "objects.h"

/* Start the random numbers anew from the knob `seed`. */
void sim_control_seed(struct sim_dev *dev);

/* Take over one knob, from the next request on. The injections of the device
 * count down in its own copy, so only `knob` is taken. */
void sim_control(struct sim_dev *dev, const struct sim_knobs *knobs,
                 const struct sim_knob *knob);

#endif
