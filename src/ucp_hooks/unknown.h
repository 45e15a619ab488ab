/* SPDX-License-Identifier: BSD-3-Clause */
/* Variables of the environment that a user meant for us, and that are none. */
#ifndef UCX_EFA_UNKNOWN_H
#define UCX_EFA_UNKNOWN_H

#include "host.h"

/* Warns of each UCX_SRD_* and UCX_EFA_* that nobody reads, with the name that
 * is near; where EFAs are the only RDMA devices (@is_alone) also of those of
 * InfiniBand that have another name here. */
void unknown_variables(ucx_host_t *host, int is_alone);

#endif
