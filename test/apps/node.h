/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One process of a two-process UCP test: a context, a worker, one endpoint to
 * the other process, and an out-of-band socket. Public UCP calls only.
 *
 * A failing step prints one line on stderr and returns -1; the caller gives up.
 */
#ifndef TEST_APPS_NODE_H
#define TEST_APPS_NODE_H

#include "op.h"

#include <stdint.h>

typedef struct node_params {
    uint16_t port;     /* of the out-of-band socket */
    int      client;   /* 1: connects, 0: listens */
    int      peer_err; /* endpoints in error mode PEER */
    int      sockaddr; /* connect by socket address; as with peer_err */
    int      wakeup;   /* sleep on the worker's descriptor instead of polling */
    uint64_t features; /* of UCP, beside those that every test has */
    ucp_context_h ctx; /* NULL: one of its own, which has the features */
    void     (*err_cb)(void *arg, ucp_ep_h ep, ucs_status_t status);
    void     *err_arg; /* for err_cb; NULL err_cb: an error fails the test */
} node_params_t;

typedef struct node {
    ucp_context_h ctx;
    int           owns_ctx;
    ucp_worker_h  worker;
    ucp_ep_h      ep;
    int           fd;        /* out-of-band socket */
    int           client;
    int           sockaddr;
    int           wakeup_fd; /* -1 when polling */
    int           closing;   /* a peer that leaves is no failure any more */
    int           alone_ends; /* nobody else tells of a peer that leaves */
    unsigned      idle;      /* rounds of progress in which nothing came */
    int           lost;      /* sleeps that ended by time with work waiting */
    ucs_status_t  ep_status; /* set by the default error callback */
} node_t;

/* Open everything and connect to the peer. */
int node_open(node_t *node, const node_params_t *params);

/* Flush, meet the peer, close everything. */
int node_close(node_t *node);

/* Close the endpoint with ucp_ep_close_nbx @flags and wait for it. */
ucs_status_t node_ep_close(node_t *node, uint32_t flags);

/* One round of progress; sleeps a little when node->wakeup_fd is in use. Where the
 * endpoint has no error handling a peer that left ends this process with a line:
 * it may wait for what will not come. */
void node_progress(node_t *node);

/* Progress until the peer comes to its same call. @return 0, -1: peer gone. */
int node_barrier(node_t *node);

/* Swap blobs with the peer without progress (set-up only). */
int node_swap(node_t *node, const void *mine, size_t len, void **theirs,
              size_t *theirs_len);

/*
 * Memory that each opens to the other: @len bytes at @base, of which @data is
 * what the peer gets as region->remote. Both call it at the same time.
 */
typedef struct region {
    ucp_mem_h  memh;
    ucp_rkey_h rkey;   /* of the peer's */
    uint64_t   remote;
} region_t;

int node_region_open(node_t *node, void *base, size_t len, const void *data,
                     region_t *region);
int node_region_close(node_t *node, region_t *region);

/* Seconds of a clock that does not jump. */
double node_seconds(void);

/* Flush the worker. */
ucs_status_t node_flush(node_t *node);

/* Progress until @op is done; frees its request. @return its status. */
ucs_status_t op_wait(node_t *node, op_t *op);

#endif
