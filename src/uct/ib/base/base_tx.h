/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_TX_H_
#define BASE_TX_H_

#include "base_types.h"

/* One completion of a work request, just polled, or kept (base_polled.c). */
void
base_tx_completion(base_iface_t *iface, base_op_t *op, unsigned vendor_err);

#endif
