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

#endif
