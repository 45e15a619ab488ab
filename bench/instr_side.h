/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces and endpoints of bench/instr, and the memory that they take. */
#ifndef BENCH_INSTR_SIDE_H_
#define BENCH_INSTR_SIDE_H_

#include <uct/api/uct.h>

#include <stdint.h>

enum { BENCH_AM = 3 };

/* One interface, and an endpoint to the other one. */
typedef struct bench_side {
    uct_worker_h  worker;
    uct_iface_h   iface;
    uct_ep_h      ep;
    unsigned long received;
    unsigned char dev_addr[64], iface_addr[64];
} bench_side_t;

/* Registered memory, with its remote key. */
typedef struct bench_memory {
    void             *address;
    uct_mem_h         memh;
    uct_rkey_bundle_t rkey;
} bench_memory_t;

/* Ends the program with a message unless `status` is UCS_OK. */
void bench_check(ucs_status_t status, const char *what);

/* Ends the program unless something that has to repeat exactly did. */
void bench_expect(unsigned long got, unsigned long expected, const char *what);

/* Opens the memory domain efa; once, and before everything else. */
void bench_md_open(void);
void bench_md_close(void);

/* An interface whose messages of id BENCH_AM are counted in `received`. */
void bench_side_open(bench_side_t *side);
void bench_side_close(bench_side_t *side);

/* A page of memory. */
void bench_memory_open(bench_memory_t *memory);
void bench_memory_close(bench_memory_t *memory);

/* A list of puts or gets: 16 bytes each, all between the same places. */
enum { BENCH_LIST = 64 };

typedef struct bench_list {
    void      *buffers[BENCH_LIST];
    size_t     lengths[BENCH_LIST];
    uct_mem_h  memhs[BENCH_LIST];
    uint64_t   remote_addrs[BENCH_LIST];
    uct_rkey_t rkeys[BENCH_LIST];
} bench_list_t;

void bench_list_fill(bench_list_t *list, const bench_memory_t *local,
                     const bench_memory_t *remote);

/* Posts it, as UCX 1.22 and 1.23 do. 0: this device has no such operation. */
typedef int (*bench_list_post_t)(bench_side_t *side, const bench_list_t *list,
                                 uct_completion_t *comp);
int bench_list_put(bench_side_t *side, const bench_list_t *list,
                   uct_completion_t *comp);
int bench_list_get(bench_side_t *side, const bench_list_t *list,
                   uct_completion_t *comp);

/* An endpoint to what the two addresses name. */
uct_ep_h bench_side_connect(bench_side_t *side, const void *dev_addr,
                            const void *iface_addr);

/* Bytes that the module has asked of malloc and its like so far; what it gave
 * back is not taken off. */
unsigned long bench_heap(void);

#endif
