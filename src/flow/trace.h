/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash over a core's acts. */
#ifndef FLOW_TRACE_H_
#define FLOW_TRACE_H_

#include "flow/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The same inputs give the same hash (P9): trace.c. */
uint64_t flow_trace_hash(const flow_core_t *core);

/* Nobody asks for it any more: what follows is not traced. */
void flow_trace_end(flow_core_t *core);

#ifdef __cplusplus
}
#endif

#endif
