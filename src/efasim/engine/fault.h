/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_ENGINE_FAULT_H
#define EFASIM_ENGINE_FAULT_H

#include "objects.h"

/* Follow a plan, which must outlive the device, from the next progress on.
 * Rules of knobs that hold from the start are the caller's (sim_plan_knobs). */
void sim_fault_plan(struct sim_dev *dev, const struct sim_plan *plan);

/* Engine-internal: the rules whose time has come take effect. */
void sim_fault_run(struct sim_dev *dev);

/* Engine-internal: 1: the plan has rules that wait for a time. */
int sim_fault_pending(const struct sim_dev *dev);

/* Start the random numbers anew from the knob `seed`. */
void sim_control_seed(struct sim_dev *dev);

/* Take over one knob, from the next request on. The injections of the device
 * count down in its own copy, so only `knob` is taken. */
void sim_control(struct sim_dev *dev, const struct sim_knobs *knobs,
                 const struct sim_knob *knob);

/* The errno that the command `name` (of sim_command_names) is to fail with; 0:
 * it goes on. Counts it. */
int sim_inject_command(struct sim_dev *dev, const char *name);

/* Is this request to fail? 1, with the status; 0: it goes on. Counts it. */
int sim_inject_hit(struct sim_dev *dev, enum sim_inject_op op,
                   uint8_t *status);

#endif
