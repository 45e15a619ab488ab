/* SPDX-License-Identifier: BSD-3-Clause */
/* One recorded call is made again, in the surroundings of a replayed core: its
 * memory, and operations. */
#ifndef REPLAY_RUN_CALL_H_
#define REPLAY_RUN_CALL_H_

#include "run.h"

/* Memory that is freed at the end, zeroed, aligned to FLOW_ALIGN; or NULL. */
void *run_memory_get(run_t *run, size_t size);

/* The operation of this name, made if there is none. NULL: out of memory. */
run_op_t *run_memory_op(run_t *run, uint64_t id);

/* Frees what a run took. */
void run_memory_free(run_t *run);

/*
 * Makes the call; what it answers is in run->record. NULL; or what of it no
 * interface does (or "out of memory"): then it was not made, as the core need
 * not bear that.
 */
const char *run_call(run_t *run, const record_call_t *call);

#endif
