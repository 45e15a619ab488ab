/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_FABRIC_HOST_H
#define EFASIM_FABRIC_HOST_H

#include "fabric.h"

#include <stddef.h>

/*
 * Make this process part of a host: an IPC namespace of its own, shared
 * by the processes of that host, so that shared-memory transports see other
 * hosts as other hosts. Needs root or user namespaces; call while single-
 * threaded. Returns 0; or -1 with one line in `err`: then the process stays
 * where it was.
 */
int fabric_host_enter(struct fabric *fabric, unsigned host, char *err,
                      size_t err_size);

#endif
