/* SPDX-License-Identifier: BSD-3-Clause */
/* end.c, for the core alone: the end of peers. */
#ifndef FLOW_END_PRIV_H_
#define FLOW_END_PRIV_H_

#include "flow/state_priv.h"
#include "flow/tx.h"

/* It has just proved that it lives: any other at its GID and QPN is dead. Where
 * only its device answered (by_device): any other with another QKEY. */
void flow_peer_proved(flow_core_t *core, flow_peer_t *peer, int by_device);

#endif
