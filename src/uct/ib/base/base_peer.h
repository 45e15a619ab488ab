/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_PEER_H_
#define BASE_PEER_H_

#include "base_types.h"

/* A peer is known, by its hello or since we opened a flow to it: its requests
 * need our address handle for it, and packets may go to it. `rma`: it asked. */
void base_peer_introduced(base_iface_t *iface, flow_peer_t *peer, int rma);

#endif
