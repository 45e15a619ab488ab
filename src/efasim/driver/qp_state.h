/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules of the kernel for a program that changes a queue pair. */
#ifndef EFASIM_DRIVER_QP_STATE_H
#define EFASIM_DRIVER_QP_STATE_H

#include "efasim/engine/qp.h"

/*
 * Checks of uverbs and of the driver, in their order, of a QP that the driver
 * takes to be in `state` (it does not know of the device's own changes).
 * -EINVAL: port other than 1, no such state, not in the state table, a missing
 * or a surplus attribute; -EPERM: a QKEY of the privileged range, of a program
 * that is not `privileged`; -EOPNOTSUPP: an unknown attribute, a pkey index
 * other than 0.
 */
int drv_qp_state_check(const struct sim_qp_mod *mod, uint32_t state, int ud,
                       int privileged);

#endif
