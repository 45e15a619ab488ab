/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces, endpoints and memory of bench/instr (instr_side.c), and steps that
 * its measured functions share. */
#ifndef BENCH_INSTR_H_
#define BENCH_INSTR_H_

#include "clock.h"

#include <uct/api/uct.h>

#include <stdint.h>

enum {
    BENCH_AM    = 3,
    BENCH_BATCH = 16, /* messages in a poll */
    BENCH_BCOPY = 1024,
    BENCH_LIST  = 64   /* pieces of a list */
};

/* One interface, and an endpoint to the other one. */
typedef struct bench_side {
    uct_worker_h  worker;
    uct_iface_h   iface;
    uct_ep_h      ep;
    unsigned char dev_addr[64], iface_addr[64];
} bench_side_t;

/* A page of registered memory, with its remote key. */
typedef struct bench_memory {
    void             *address;
    uct_mem_h         memh;
    uct_rkey_bundle_t rkey;
} bench_memory_t;

/* Ends the program unless something that has to repeat exactly did. */
void bench_expect(unsigned long got, unsigned long expected, const char *what);

/* Opens the memory domain efa; once, and before everything else. From then on the
 * module has its clock from here. */
void bench_md_open(void);

void bench_side_open(bench_side_t *side);
void bench_side_close(bench_side_t *side);

void bench_memory_open(bench_memory_t *memory);

/* An endpoint to what the two addresses name. */
uct_ep_h bench_side_connect(bench_side_t *side, const void *dev_addr,
                            const void *iface_addr);

/* Operations on registered memory (instr_memory.c): `rounds` batches of
 * each. */
void bench_memory_path(bench_side_t *a, bench_side_t *b, unsigned long rounds);

/* Operations that find the send queue full. */
void bench_memory_full(bench_side_t *a, bench_side_t *b, unsigned long rounds);

#define BENCH_PHASE __attribute__((noinline))

/* Not by a jump, as callgrind would count that to the caller. */
static inline unsigned bench_progress(bench_side_t *side)
{
    unsigned count;

    bench_device_works();
    count = uct_iface_progress(side->iface);
    __asm__ volatile("" : "+r"(count));
    return count;
}

typedef void (*bench_post_t)(bench_side_t *side, uct_completion_t *comp);
typedef unsigned (*bench_poll_t)(bench_side_t *side);

/* Until nothing is under way (instr.c). */
void bench_settle(bench_side_t *a, bench_side_t *b);

/* A post and a poll that callgrind can tell by name. */
#define BENCH_POST(_name, _status, ...) \
    BENCH_PHASE void _name(bench_side_t *side, uct_completion_t *comp) \
    { \
        (void)comp; \
        bench_expect(__VA_ARGS__, _status, #_name); \
        bench_device_works(); \
    }

#define BENCH_POLL(_name) \
    BENCH_PHASE unsigned _name(bench_side_t *side) \
    { \
        return bench_progress(side); \
    }

#endif
