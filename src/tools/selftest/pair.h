/* SPDX-License-Identifier: BSD-3-Clause */
/* A queue pair here and one on the far side, for a probe. */
#ifndef SRD_SELFTEST_PAIR_H_
#define SRD_SELFTEST_PAIR_H_

#include "selftest.h"

typedef struct st_pair {
    st_t     *st;
    st_qp_t   qp;   /* near */
    st_dest_t dest; /* far */
    uint64_t  addr; /* far memory, ST_MEM_BYTES */
    uint32_t  rkey;
} st_pair_t;

typedef struct st_pair_params {
    unsigned depth, receives; /* far; 0: 64, and as many */
    unsigned bytes;           /* of a receive; 0: 64 */
    int      none;            /* no receive is posted */
    unsigned rnr_retry;
    int      unknown;         /* the far side gets no handle for us */
} st_pair_params_t;

/* 0; or -1, and the probe was not asked. */
int  st_pair_open(st_pair_t *pair, st_t *st, st_result_t *result,
                  const st_pair_params_t *params);
void st_pair_close(st_pair_t *pair);

/* The status of the next completion of a send here; -1: none in so many
 * seconds. */
int st_pair_wait(st_pair_t *pair, double seconds);

/* The same of any completion queue, with or without a far side. *bytes, unless
 * NULL: how many arrived. */
int st_pair_wait_cq(st_t *st, struct ibv_cq *cq, double seconds, size_t *bytes);

/* Sends message `number` of so many bytes: 0, or an errno. */
int st_pair_send(st_pair_t *pair, unsigned number, size_t bytes);

/* The device's status of one message of 16 bytes; -1: none in so many seconds.
 * *took is how long it took, in seconds. */
int st_pair_status(st_pair_t *pair, double seconds, double *took);

/* The same of a queue pair that talks to itself; addr and rkey are 0. */
int st_self_open(st_pair_t *self, st_t *st, st_result_t *result,
                 const st_qp_params_t *params);

#endif
