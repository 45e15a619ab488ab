/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SRD_PLAN_H_
#define SRD_PLAN_H_

#include "info.h"

enum {
    PLAN_RANKS_MAX   = 4096,
    PLAN_HOSTS_MAX   = 100000,
    PLAN_DEVICES_MAX = 64
};

/* 0: not told. */
typedef struct plan_args {
    uint64_t ranks, hosts, devices, peers;
    int      table;
} plan_args_t;

/* srd_info --plan: the needs of a job on a host, and whether this one has them.
 * The exit status: 0, 1 if something is short, 2 for a bad number. */
int plan_run(info_t *info, const plan_args_t *args);

#endif
