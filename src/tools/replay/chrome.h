/* SPDX-License-Identifier: BSD-3-Clause */
/* A replay in Chrome's trace format, which Perfetto shows: a row for each
 * sending flow with its stalls, one of control packets, windows as counters. */
#ifndef REPLAY_CHROME_H_
#define REPLAY_CHROME_H_

#include "run.h"

#include <stdio.h>

typedef struct chrome {
    FILE     *out; /* NULL: nothing is written */
    uint64_t  written;
    uint64_t  time;    /* ns, of the last call that has one */
    uint64_t *stalled; /* since when, of each flow; FLOW_INDEX_MAX */
    uint8_t  *named;   /* its row has a name, of each flow */
    unsigned  pid;
} chrome_t;

/* first_time: run_first_time. 0; or -1 after a line on standard error. */
int chrome_open(chrome_t *chrome, const char *path,
                const record_head_t *head, uint64_t first_time);

void chrome_call(chrome_t *chrome, const run_t *run,
                 const record_call_t *call, const uint8_t *packet);

/* 0; or -1 after a line: not all could be written. */
int chrome_close(chrome_t *chrome, const char *path);

#endif
