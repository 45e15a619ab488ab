/* SPDX-License-Identifier: BSD-3-Clause */
/* A replay in Chrome's trace format, which Perfetto shows: a row for each
 * sending flow with its stalls, one of control packets, windows as counters. */
#ifndef REPLAY_CHROME_H_
#define REPLAY_CHROME_H_

#include "watch.h"

typedef struct chrome {
    json_t   json; /* open with --trace */
    unsigned pid;
} chrome_t;

/* 0; or -1 after a line on standard error. */
int chrome_open(chrome_t *chrome, const char *path,
                const record_names_t *names);

/* To be told of each call before `watch` is. */
void chrome_call(chrome_t *chrome, const run_t *run, watch_t *watch,
                 const record_call_t *call, const uint8_t *packet);

/* 0; or -1 after a line: not all could be written. */
int chrome_close(chrome_t *chrome, const watch_t *watch, const char *path);

#endif
