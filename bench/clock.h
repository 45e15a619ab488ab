/* SPDX-License-Identifier: BSD-3-Clause */
/* The module's clock while callgrind counts. There a message takes some fifty times
 * as long as without, so that what the transport does by time (each 50 us a tick,
 * the hand's visits) would happen after a few messages each. The module therefore
 * reads a clock that goes on with what is done, as fast as on a CPU; all others read
 * the real one. */
#ifndef BENCH_CLOCK_H_
#define BENCH_CLOCK_H_

#include <ucs/type/status.h>

/* Ends the program with a message unless `status` is UCS_OK. */
void bench_check(ucs_status_t status, const char *what);

enum { BENCH_STEP = 100 /* ns that a post or a poll takes */ };

/* From now on, once the module is loaded. */
void bench_clock_open(void);

/*
 * Whether the emulated device works by itself. The module is to do as on hardware:
 * so it opens its direct data path on a device that does. From 0 on it works when
 * bench_device_works() calls it, so that counts repeat.
 */
void bench_device_is_eager(int is_eager);

/* Time passes for the module, as much as a post or a poll takes. */
void bench_clock_passes(void);

/* The same, and a device that is not eager works. */
void bench_device_works(void);

#endif
