/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads of the CPU that are the blocks of a kernel, and what they share with
 * their host's thread.
 *
 * Each block owns a part of the peer's memory, of so many slots. In a round it
 * fills the next slot by some puts and increments a counter behind them; the
 * peer, which sees the counter, finds every byte of the round there, and says
 * so by incrementing a counter of the block's: without that the block does not
 * use the slot again.
 */
#ifndef TEST_GPU_DEVICE_BLOCKS_H
#define TEST_GPU_DEVICE_BLOCKS_H

#include "device_list.h"

#include <pthread.h>

#define BLOCKS_MAX 32
#define EPISODE_EPS 6 /* at most */
#define NOISE_SIZE 4096 /* bytes of a block's */

typedef struct shared { /* one buffer, for the peer's writes or our own reads */
    region_t region;
    uint8_t *data;
    size_t   size;
    int      is_device;
} shared_t;

/* Device memory for what may come or not. */
typedef struct noise {
    uint8_t  sent[BLOCKS_MAX][NOISE_SIZE], got[BLOCKS_MAX][NOISE_SIZE];
    uint64_t count;
} noise_t;

/* An endpoint. Its host closes it when no block's rounds need it; the first one
 * stays. */
typedef struct ep {
    device_ep_t device;
    ucp_ep_h    ucp;
    uint64_t    dead;  /* the id of a closed one, if has_dead: it is of no use */
    int         has_dead;
    _Atomic int users; /* blocks */
    _Atomic int closing;
} ep_t;

typedef struct block {
    struct gpu *gpu;
    unsigned    id;
    pthread_t   thread;
    uint64_t    rounds;  /* that the block has begun */
    _Atomic uint64_t checked; /* rounds of the peer's block that we found right */
    uint64_t    full;    /* how often its ring was */
    ep_t       *ep;      /* of this round */
    device_ep_t noise_ep; /* of its noise, if any; it may be closed */
    int         is_noisy;
} block_t;

typedef struct gpu {
    node_t            node;
    const char       *memory;
    unsigned          blocks, slots, device, puts;
    size_t            slot;
    uint64_t          rounds, seed;
    int               killed; /* the peer will be */
    int               die;    /* so will this one, by itself */
    int               hostile; /* kernels write nonsense, too */
    int               idle;  /* for a second, first */
    int               still; /* no progress while blocks run */
    shared_t          source, target, counters; /* of data, of acks */
    device_key_t      source_key, target_key, counters_key;
    void             *address, *rkey; /* of the peer, and of its target */
    ep_t             *eps;   /* all to the same peer */
    unsigned          ep_count, eps_open;
    block_t           block[BLOCKS_MAX];
    _Atomic int       failed, broken; /* the test; the endpoint */
    _Atomic unsigned  running; /* blocks */

    uint64_t          full, all_rounds; /* of all blocks */

    uint64_t          episodes; /* 0: none, it is one alone */
    uint64_t          closed;   /* endpoints */
    unsigned          churns; /* endpoints to be closed while blocks run */
    int               is_noisy; /* blocks use them, too, and do not care */
    uint64_t          ids[256]; /* that were used, + 1, by their lower half */
    shared_t          noise;  /* a noise_t */
    device_key_t      noise_lkey, noise_rkey;
    _Atomic uint64_t  noises; /* increments */
} gpu_t;

/* Ends the test, after a line. @return -1 */
int gpu_fails(gpu_t *gpu, const char *what);

/* Is one, with the block_t as `arg`: all its rounds. */
void *block_main(void *arg);

#endif
