/* SPDX-License-Identifier: BSD-3-Clause */
/* Transports of our names that other components of a UCX have: UCX's own srd,
 * or a second copy of this module. */
#ifndef UCX_EFA_COLLISION_H
#define UCX_EFA_COLLISION_H

#include "host.h"

typedef struct ucx_collision {
    const char *name; /* of the transport, ours too; NULL: there is none */
    int        is_copy; /* of this module */
    const void *code; /* a function of the copy, else NULL */
} ucx_collision_t;

/* The first one of this UCX; name NULL: there is none, or it is UCX's own and
 * set aside (UCX_EFA_CLAIM). */
ucx_collision_t ucx_collision_find(const ucx_host_t *host);

/* The name of that. */
const char *ucx_collision_name(const ucx_host_t *host);

#endif
