/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that do not arrive. */
#ifndef EFASIM_ENGINE_FAIL_H
#define EFASIM_ENGINE_FAIL_H

#include "objects.h"

/* A datagram is lost, and its sender is not told: it completes with success. */
void sim_fail_lost(struct sim_op *op);

/* No answer came in time. */
void sim_fail_time_out(struct sim_op *op);

/* The receiver's process has died. Its NIC, if it lives, has aborted the
 * operation that it had begun, and finds no QP for the others. */
void sim_fail_peer_died(struct sim_op *op);

/* The status for a QPN that nobody has: its NIC tells, unless it went with its
 * last process. */
uint8_t sim_fail_no_qp(const struct sim_op *op);

/* Complete a request that cannot be sent; EFA_STATUS_REMOTE_UNREACHED, which
 * only silence tells, after the time-out. */
void sim_fail_reject(struct sim_op *op, uint8_t status);

#endif
