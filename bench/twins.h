/* SPDX-License-Identifier: BSD-3-Clause */
/* Two workers of one process that talk over the device. Every function ends the
 * program with a message when something fails. */
#ifndef BENCH_TWINS_H_
#define BENCH_TWINS_H_

#include <stddef.h>
#include <stdint.h>
#include <ucp/api/ucp.h>

typedef struct twin {
    ucp_worker_h worker;
    ucp_ep_h     ep;     /* to the other one */
    ucp_rkey_h   rkey;   /* of the other one's memory, for ep */
    ucp_mem_h    memh;
    char        *memory; /* registered, of the length that both have */
} twin_t;

/*
 * Opens, connects and registers both. UCX_EFA_DIRECT=y: the module finds a device
 * that works by itself, as hardware does, so it does as on hardware; from then on
 * the device works when twin_progress() calls it.
 */
void twins_open(uint64_t features, size_t length, twin_t *a, twin_t *b);

/* Polls one of them, after a call of the device where the module makes none. */
unsigned twin_progress(twin_t *twin);

/* Takes what a call returned: NULL is complete, a request calls back. */
void twins_started(void *request, unsigned long *complete, const char *what);

/* A request has ended. */
void twins_done(void *request, ucs_status_t status, unsigned long *complete);

void twins_check(ucs_status_t status, const char *what);

#endif
