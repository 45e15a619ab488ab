/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ucp_bytes: every byte of every message is checked. Both sides derive the
 * same list of message sizes from the seed, send it to each other at the same
 * time, batch by batch, and compare what came with what must have come.
 */
#ifndef TEST_APPS_BYTES_H
#define TEST_APPS_BYTES_H

#include "fill.h"
#include "node.h"

#define BYTES_WINDOW_MAX 256
#define BYTES_SIZE_MAX   (64u << 20)

/* Bytes around each receive buffer that must stay as they were. */
#define BYTES_GUARD 64

typedef struct bytes_opts {
    uint64_t    seed;
    unsigned    iters;        /* random sizes after the fixed list */
    unsigned    dense;        /* step of the sizes below 9000 */
    unsigned    window;       /* messages in flight per direction */
    unsigned    hold;         /* instead of tests: unexpected messages */
    unsigned    hold_seconds; /* their receiver's sleep without progress */
    size_t      min;
    size_t      max;
    const char  *tests;       /* comma-separated; NULL: all */
} bytes_opts_t;

/* One message of a batch, on its sending or its receiving side. */
typedef struct msg {
    uint8_t  *base;  /* allocation: guard, buffer, guard */
    uint8_t  *buf;   /* at a random alignment */
    size_t   len;
    uint64_t index;  /* of the message in its test and direction */
    uint64_t key;    /* of its contents */
    op_t     op;
} msg_t;

typedef struct batch {
    unsigned count;
    msg_t    tx[BYTES_WINDOW_MAX];
    msg_t    rx[BYTES_WINDOW_MAX];
} batch_t;

typedef struct bytes {
    node_t       node;
    bytes_opts_t opts;
    const char   *test;    /* name of the running test */
    uint32_t     arg;      /* of the running test */
    uint64_t     stream;   /* of the running test, for keys */
    uint64_t     index;    /* messages so far in this test */
    uint64_t     rand;     /* same sequence on both sides */
    uint64_t     rand_own; /* differs: order of posting, alignment */
    uint64_t     messages; /* received and checked, all tests */
    uint64_t     bytes;
} bytes_t;

typedef int (*bytes_batch_fn_t)(bytes_t *bt, batch_t *batch);

/* A test is a sweep of @batch over all sizes, or does it all in @run. */
typedef struct bytes_test {
    const char       *name;
    bytes_batch_fn_t batch;
    int              (*run)(bytes_t *bt);
    uint32_t         arg; /* bt->arg while it runs */
} bytes_test_t;

/*
 * Run @fn over all sizes of the options. The batch comes with tx filled and rx
 * poisoned; @fn moves the data, the sweep compares and frees.
 * @return 0, or -1 after a line that names test, size, offset and both bytes.
 */
int bytes_sweep(bytes_t *bt, bytes_batch_fn_t fn);

/* Key of message @index that the client (@from_client) or the server sends. */
uint64_t bytes_key(const bytes_t *bt, int from_client, uint64_t index);

/* Random permutation of 0..n-1 from @state. */
void bytes_shuffle(unsigned *order, unsigned n, uint64_t *state);

/*
 * Compare @len received bytes with message @index from the peer, from byte
 * @offset of it on. @return 0, or -1 after the mismatch line.
 */
int bytes_compare(bytes_t *bt, const void *buf, size_t len, uint64_t index,
                  size_t offset);

/* Allocate the two sides of a message. @return 0, -1 without memory. */
int  msg_open_tx(bytes_t *bt, msg_t *msg, size_t len, uint64_t index);
int  msg_open_rx(bytes_t *bt, msg_t *msg, size_t len, uint64_t index);
void msg_close(msg_t *msg);

/* Wait for one operation. @return 0, or -1 after a line on a bad status. */
int msg_wait(bytes_t *bt, msg_t *msg, const char *what);

/* Wait for what a batch sends (as @what), or for both directions. */
int batch_wait_tx(bytes_t *bt, batch_t *batch, const char *what);
int batch_wait(bytes_t *bt, batch_t *batch);

/* A line about a failure: test, message, size and @fmt. @return -1. */
int bytes_fail(const bytes_t *bt, uint64_t index, size_t len, const char *fmt,
               ...) __attribute__((format(printf, 4, 5)));

/* The tests, one table per file; each ends with a NULL name. */
extern const bytes_test_t bytes_tag_tests[];
extern const bytes_test_t bytes_am_tests[];
extern const bytes_test_t bytes_stream_tests[];
extern const bytes_test_t bytes_rma_tests[];

/* Messages that nobody receives at first. */
int bytes_hold(bytes_t *bt);

#endif
