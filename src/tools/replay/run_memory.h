/* SPDX-License-Identifier: BSD-3-Clause */
/* The surroundings of a replayed core: its memory, and operations. */
#ifndef REPLAY_RUN_MEMORY_H_
#define REPLAY_RUN_MEMORY_H_

#include "run.h"

#include <record/record_call.h>

struct run_op {
    record_replayed_op_t in; /* first */
    run_op_t            *next;
    int                  is_cores; /* the core has it linked, or in a ring */
};

/* Memory that is freed at the end, zeroed, aligned to FLOW_ALIGN; or NULL. */
void *run_memory_get(run_t *run, size_t size);

/* The operation of this name, made if there is none. NULL: out of memory. */
run_op_t *run_memory_op(run_t *run, uint64_t id);

/* Frees what a run took. */
void run_memory_free(run_t *run);

#endif
