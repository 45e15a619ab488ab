/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending: from the doorbell to the packet. */
#ifndef EFASIM_ENGINE_TX_H
#define EFASIM_ENGINE_TX_H

#include "objects.h"

/* Take the work requests that the doorbell announces. Returns how many. */
unsigned sim_tx_fetch(struct sim_qp *qp);

#endif
