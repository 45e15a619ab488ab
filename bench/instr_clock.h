/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock that the module reads in bench/instr (instr_clock.c). */
#ifndef BENCH_INSTR_CLOCK_H_
#define BENCH_INSTR_CLOCK_H_

/* From now on the module has it. Call it when the module is loaded. */
void bench_clock_init(void);

/* Time passes for the module. */
void bench_clock_advance(unsigned nanoseconds);

#endif
