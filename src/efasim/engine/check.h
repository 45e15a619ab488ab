/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of work requests as the program wrote them. */
#ifndef EFASIM_ENGINE_CHECK_H
#define EFASIM_ENGINE_CHECK_H

#include "objects.h"

/* Check a request that was just taken from the queue. EFA_STATUS_OK, and
 * op->length and op->nic are set; or the status that it completes with. */
uint8_t sim_check(struct sim_op *op);

#endif
