/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_FLOW_H_
#define BASE_FLOW_H_

#include "base_types.h"

/* Memory, time and parameters of the protocol core, which has none itself. */

/* Hands the core the memory that it asks for. UCS_OK, UCS_ERR_NO_MEMORY. */
ucs_status_t base_flow_grow(base_iface_t *iface);

/* Makes and frees the core.
 * UCS_OK, UCS_ERR_NO_MEMORY, UCS_ERR_IO_ERROR, UCS_ERR_INVALID_PARAM. */
ucs_status_t base_flow_open(base_iface_t *iface, const base_config_t *config);
void         base_flow_close(base_iface_t *iface);

/* Monotonic clock of the core. */
flow_time_t base_flow_clock(base_iface_t *iface);

#endif
