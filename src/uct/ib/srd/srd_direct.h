/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SRD_DIRECT_H_
#define SRD_DIRECT_H_

#include "srd.h"

/* The shortest ways on the direct data path instead of those by libefa, where
 * the interface's queue pair allows it (efa_direct.h). */
void srd_direct_ops(const base_iface_t *iface, uct_iface_ops_t *ops);

#endif
