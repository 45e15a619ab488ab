/* SPDX-License-Identifier: BSD-3-Clause */
/* image_check.c, for image.c alone. */
#ifndef FLOW_IMAGE_PRIV_H_
#define FLOW_IMAGE_PRIV_H_

#include "flow/state_priv.h"

/* Has the ring operations, not packets? A ring that goes round keeps the number
 * of the flow that it was of. */
static inline int
flow_image_sends(const flow_core_t *core, const flow_ring_t *ring)
{
    uint32_t tx = ring->unacked.tx;

    return (tx != 0) && (tx < core->tx_count) &&
           (flow_core_tx(core, tx)->ring == ring->index);
}

/* The fault of the core itself, before its chunks are there, and of all of it;
 * NULL: none. */
const char *flow_image_core_error(const flow_core_t *core);
const char *flow_image_error(const flow_core_t *core);

#endif
