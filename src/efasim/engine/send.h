/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending: from a request to the packet. */
#ifndef EFASIM_ENGINE_SEND_H
#define EFASIM_ENGINE_SEND_H

#include "objects.h"

/* Send, or begin the RDMA operation. A request for which there is no room waits
 * for sim_send_unblock(). */
void sim_send(struct sim_op *op);

/* Send the requests that wait for room in the ring to this peer, as many as
 * fit. */
void sim_send_unblock(struct sim_peer *peer);

#endif
