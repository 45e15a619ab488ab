/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending: from the doorbell to the packet. */
#ifndef EFASIM_ENGINE_TX_H
#define EFASIM_ENGINE_TX_H

#include "objects.h"

/* Take the work requests that the doorbell announces. Returns how many. */
unsigned sim_tx_fetch(struct sim_qp *qp);

/* Send, or begin the RDMA operation. A request for which there is no room waits
 * for sim_tx_unblock(). */
void sim_tx_send(struct sim_op *op);

/* Send what waits for room in the ring to this peer, as much as fits. */
void sim_tx_unblock(struct sim_peer *peer);

/* May the device read (or with SIM_ACCESS_LOCAL_WRITE write) this buffer of a
 * work request? A status. */
uint8_t sim_tx_check_buf(const struct sim_qp *qp, const struct io_buf *buf,
                         uint32_t access);

/* No answer came in time. */
void sim_tx_time_out(struct sim_op *op);

/* The receiver's process has died. Its NIC, if it lives, has reset what it was
 * at, and finds no QP for the rest. */
void sim_tx_peer_died(struct sim_op *op);

/* The status for a QPN that nobody has: its NIC tells, unless it went with its
 * last process. */
uint8_t sim_tx_no_qp(const struct sim_op *op);

/* Complete a request that cannot be sent; SIM_ST_UNREACHABLE, which only
 * silence tells, after the time-out. */
void sim_tx_reject(struct sim_op *op, uint8_t status);

#endif
