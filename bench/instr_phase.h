/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps that the measured functions of bench/instr share. */
#ifndef BENCH_INSTR_PHASE_H_
#define BENCH_INSTR_PHASE_H_

#include "instr_clock.h"
#include "instr_side.h"

enum {
    BENCH_BATCH = 16, /* messages in a poll */
    BENCH_BCOPY = 1024,
    BENCH_STEP  = 100 /* ns that a post or a poll takes */
};

#define BENCH_PHASE __attribute__((noinline))

/* Lets the emulated device work, or NULL (instr.c). */
extern int (*bench_device)(void);

static inline void bench_device_works(void)
{
    bench_clock_advance(BENCH_STEP);
    if (bench_device != NULL) {
        (void)bench_device();
    }
}

/* Not by a jump, as callgrind would count that to the caller. */
static inline unsigned bench_progress(bench_side_t *side)
{
    unsigned count;

    bench_device_works();
    count = uct_iface_progress(side->iface);
    __asm__ volatile("" : "+r"(count));
    return count;
}

/* Until nothing is under way (instr.c). */
void bench_settle(bench_side_t *a, bench_side_t *b);

#endif
