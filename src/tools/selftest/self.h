/* SPDX-License-Identifier: BSD-3-Clause */
/* A queue pair that talks to itself, for a probe. */
#ifndef SRD_SELFTEST_SELF_H_
#define SRD_SELFTEST_SELF_H_

#include "selftest.h"

typedef struct st_self {
    st_t     *st;
    st_qp_t   qp;
    st_dest_t dest;
} st_self_t;

/* 0; or -1, and the probe was not asked. */
int  st_self_open(st_self_t *self, st_t *st, st_result_t *result,
                  const st_qp_params_t *params);
void st_self_close(st_self_t *self);

#endif
