/* SPDX-License-Identifier: BSD-3-Clause */
/* One recorded call is made again. */
#ifndef REPLAY_RUN_CALL_H_
#define REPLAY_RUN_CALL_H_

#include "run.h"

/*
 * Makes the call; what it answers is in run->record. NULL; or what of it no
 * interface does (or "out of memory"): then it was not made, as the core need
 * not bear that.
 */
const char *run_call(run_t *run, const record_call_t *call);

#endif
