/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_INSTR_MEMORY_H_
#define BENCH_INSTR_MEMORY_H_

#include "instr_phase.h"

/* Operations on registered memory (instr_memory.c): `rounds` batches of
 * each. */
void bench_memory_path(bench_side_t *a, bench_side_t *b, unsigned long rounds);

#endif
