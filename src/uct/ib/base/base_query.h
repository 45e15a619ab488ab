/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_QUERY_H_
#define BASE_QUERY_H_

#include "base_types.h"

/* What UCT asks of every transport here: UCX's own part, addresses, active
 * messages, events, the device's bandwidth. The rest is the transport's:
 * overhead, latency, priority, RMA. */
void base_iface_query(base_iface_t *iface, uct_iface_attr_t *attr);

/* What UCP aligns buffers to. */
#define BASE_QUERY_ALIGN 64

#endif
