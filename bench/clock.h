/* SPDX-License-Identifier: BSD-3-Clause */
/* The module's clock while callgrind counts. There a message takes some fifty times
 * as long as without, so that what the transport does by time (each 50 us a tick,
 * the hand's visits) would happen after a few messages each. The module therefore
 * reads a clock that goes on with what is done, as fast as on a CPU; all others read
 * the real one. */
#ifndef BENCH_CLOCK_H_
#define BENCH_CLOCK_H_

enum { BENCH_STEP = 100 /* ns that a post or a poll takes */ };

/* From now on, once the module is loaded. */
void bench_clock_open(void);

/* Time passes for the module. */
void bench_clock_advance(unsigned nanoseconds);

#endif
