/* SPDX-License-Identifier: BSD-3-Clause */
/* Two workers of one process that talk over the device, and UCP's operations
 * between them. Every function ends the program with a message when something
 * fails. */
#ifndef BENCH_TWINS_H_
#define BENCH_TWINS_H_

#include <stdint.h>
#include <ucp/api/ucp.h>

enum { TWINS_EPS = 8192 };

typedef struct twin {
    ucp_worker_h worker;
    ucp_ep_h     eps[TWINS_EPS];   /* to the other one */
    ucp_rkey_h   rkeys[TWINS_EPS]; /* of the other one's memory, for each of eps */
    ucp_mem_h    memh;
    char        *memory;           /* 32 MB */
} twin_t;

typedef struct twins_order {
    const char    *name;
    unsigned long (*next)(unsigned long number, unsigned long drawn);
} twins_order_t;

typedef struct twins_case {
    char                 operation[4]; /* tag, am, rpc, put, get */
    unsigned long        size, window, endpoints;
    const twins_order_t *order; /* of twins_case(), which sets all */
} twins_case_t;

extern twin_t              twins[2];
extern twins_case_t        now; /* what is measured */
extern unsigned long       posted, sent; /* begun; complete at its origin */
extern const ucp_request_param_t twins_param; /* of what counts as sent */

/* Polls one of them, after a call of the device where the module makes none. */
unsigned twin_progress(twin_t *twin);

/* Takes what a call returned: NULL is complete; a request calls back. */
void twins_started(void *request, unsigned long *complete);

/* Until so many are complete at both ends. */
void twins_wait(unsigned long target);

/* Makes what is missing of now.endpoints at both ends, and introduces them. */
void twins_connect(void);

void twins_flush(void);

/* Nothing is under way any more, and counting begins anew. */
void twins_settle(void);

/* From here on it is measured; ends the program unless it is a case. */
void twins_case(const char *line);

/* Seconds of all. A put is at its target when a flush is complete. */
double twins_once(unsigned long count);

/* Phases for callgrind (twins_count.c): so many of each case, or rounds of "blocks". */
void twins_count(unsigned count, char **cases);

#endif
