/* SPDX-License-Identifier: BSD-3-Clause */
/* owner.c, for the core alone: each record and each ring is in one place. */
#ifndef FLOW_OWNER_PRIV_H_
#define FLOW_OWNER_PRIV_H_

#include "flow/state_priv.h"

/*
 * NULL, or the kind of link that is wrong. Each index in the core names a
 * record that exists; whether its lists end is found here. It takes 33 KiB of
 * stack. For images, which are not trusted.
 */
const char *flow_owner_error(flow_core_t *core);

#endif
