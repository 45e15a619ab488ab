/* SPDX-License-Identifier: BSD-3-Clause */
/* Two workers of one process that talk over the device, and UCP's operations
 * between them. Every function ends the program with a message when something
 * fails. */
#ifndef BENCH_TWINS_H_
#define BENCH_TWINS_H_

#include <stdint.h>
#include <ucp/api/ucp.h>

typedef struct twin {
    ucp_worker_h worker;
    ucp_ep_h    *eps;    /* to the other one */
    ucp_rkey_h   rkey;   /* of the other one's memory, for the first of eps */
    ucp_mem_h    memh;
    char        *memory; /* 32 MB */
} twin_t;

typedef struct twins_case {
    char          operation[4]; /* tag, am, put, get */
    unsigned long size, window, endpoints;
} twins_case_t;

extern twin_t              twins[2];
extern twins_case_t        now; /* what is measured */
extern unsigned long       posted, sent; /* begun; complete at its origin */
extern const ucp_request_param_t twins_param; /* of what counts as sent */

/* Polls one of them, after a call of the device where the module makes none. */
unsigned twin_progress(twin_t *twin);

/* Takes what a call returned: NULL is complete; a request calls back. */
void twins_started(void *request, unsigned long *complete);

/* The next operation, from one side to the other. */
void twins_post(int side);

/* Until so many are complete at both ends. */
void twins_wait(unsigned long target);

/* Makes what is missing of now.endpoints at both ends, and introduces them. */
void twins_connect(void);

void twins_flush(void);

/* Nothing is under way any more, and counting begins anew. */
void twins_settle(void);

/* Phases for callgrind (twins_count.c); kind: blocks, peers, or "". */
void twins_count(unsigned rounds, const char *kind);

#endif
