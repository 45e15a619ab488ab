/* SPDX-License-Identifier: BSD-3-Clause */
/* The invariants of a core. */
#ifndef FLOW_CHECK_H_
#define FLOW_CHECK_H_

#include "flow/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Check every invariant of every flow, list and pool; NULL, or the expression
 * that is false. For tests and post-mortems: cost grows with flows.
 */
const char *flow_check(flow_core_t *core);

#ifdef __cplusplus
}
#endif

#endif
