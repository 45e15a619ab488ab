/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recording is run again: a core is made of what its oldest segment begins
 * with, and gets every call. Each is recorded once more, in memory, and the
 * bytes compared; so are those that each further segment begins with.
 */
#ifndef REPLAY_RUN_H_
#define REPLAY_RUN_H_

#include "file.h"

#include <record/record_call.h>

typedef struct run run_t;

typedef struct run_block run_block_t; /* memory, until the end */

#define RUN_OPS 65536 /* chains */

typedef struct run_op run_op_t;

struct run_op {
    record_replayed_op_t in; /* first */
    run_op_t            *next;
    int                  is_cores; /* the core has it linked, or in a ring */
};

struct run {
    const replay_file_t *file;
    flow_core_t         *core;
    record_t             record;      /* of what is answered now */
    record_base_t        base;        /* of what was */
    uint64_t             call;        /* number of the one that is looked at */
    uint64_t             until;       /* the last one; 0: all */
    int                  goes_on;     /* behind what differs: a fuzzer's way */
    run_block_t         *blocks;
    run_op_t            *ops[RUN_OPS];
    const char          *assertion;   /* of the core, that failed */
    char                 why[1024];   /* it is over: what is different */
    /* Sees each call after it was made; packet: as it was received, with zeros
     * behind, else NULL. */
    void (*seen)(void *arg, const run_t *run, const record_call_t *call,
                 const uint8_t *packet);
    void                *arg;
    uint8_t              again[2 * RECORD_CALL_MAX];
    uint8_t              packet[RECORD_CALL_MAX];
};

typedef enum run_end {
    RUN_SAME,    /* all calls, or all that were wanted */
    RUN_DIFFERS, /* why: the first that does */
    RUN_DAMAGED, /* why: the file says what no interface does */
    RUN_MEMORY   /* there is not enough */
} run_end_t;

/* For flow_assert_failed (flow/assert.h), which returns: what the module writes
 * a line of ends a run. The core is wrong, or the recording was damaged. */
void run_assertion(const char *expression);

/* The fields file, until, goes_on, seen and arg are set, the others zeros.
 * Afterwards the core is as it was behind call number `call`; run_memory_free
 * ends it. */
run_end_t run_file(run_t *run);

/* The time of the first call that has one, ns; 0: none has. */
uint64_t run_first_time(const replay_file_t *file);

#endif
