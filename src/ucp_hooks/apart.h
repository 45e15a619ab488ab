/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two sides without a transport in common: srd here and ud there, or tcp alone.
 * UCX compares names before it asks any transport, and says "Destination is
 * unreachable" or "not available". A log handler of ours sees that line, and
 * says before it, once in a process, which transports either side has and what
 * both need.
 */
#ifndef UCX_EFA_APART_H
#define UCX_EFA_APART_H

#include "host.h"

/* Watches the lines of this UCX from now on. Harmless where it has no log
 * handlers. */
void apart_attach(const ucx_host_t *host);

#endif
