/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recordings that lose their file: somebody cuts it off, or its disk fails. A
 * store into a page that is no more raises SIGBUS, which would end the program
 * that is recorded. Here the signal is taken: the store goes to memory that
 * nobody reads, and the recording ends. All other SIGBUS are passed on. A child
 * after fork(2) has no recording of its own, and loses its parent's likewise.
 */
#ifndef RECORD_GUARD_H_
#define RECORD_GUARD_H_

#include "record_file.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct record_guard record_guard_t;

/* Guards record->map until record_guard_remove. When it is lost, record->end
 * is set to its begin: the next call begins a segment. NULL: out of memory. */
record_guard_t *record_guard_add(record_t *record);

/* To be called before record->map is unmapped. */
void record_guard_remove(record_guard_t *guard);

/* Why the map is not that of the file any more; NULL: it is. */
const char *record_guard_lost(const record_guard_t *guard);

#ifdef __cplusplus
}
#endif

#endif
