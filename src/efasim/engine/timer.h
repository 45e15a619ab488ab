/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_ENGINE_TIMER_H
#define EFASIM_ENGINE_TIMER_H

#include "objects.h"

/* Do the work that is due at dev->now. Returns the number of things done. */
unsigned sim_timer_run(struct sim_dev *dev);

/* Let go held requests and completions that enough others have overtaken.
 * Returns how many. */
unsigned sim_timer_overtaken(struct sim_dev *dev);

#endif
