/* SPDX-License-Identifier: BSD-3-Clause */
/* Work requests as the program wrote them. */
#ifndef EFASIM_ENGINE_CHECK_H
#define EFASIM_ENGINE_CHECK_H

#include "objects.h"

/* What is wrong with this one in itself: a status, or OK; then its length and
 * the NIC that it goes to are set. */
uint8_t sim_check(struct sim_op *op);

#endif
