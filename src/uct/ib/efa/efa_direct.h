/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_DIRECT_H_
#define EFA_DIRECT_H_

#include "efa_io.h"

#include <stddef.h>

/*
 * The direct data path: queues that the module writes and reads by itself,
 * where libefa tells where they are (efadv_query_qp_wqs(3), efadv_query_cq(3);
 * rdma-core 60). Half of the instructions of a message are libefa's otherwise.
 *
 * From then on libefa's counters are stale, so nothing else may post, poll or
 * arm. efa_direct_post.h writes requests, efa_direct_poll.h reads completions,
 * efa_direct_test.h tries both once for each device.
 *
 * A request id is 16 bits: the number of its owner in a table that the owner
 * gives (efa_direct_users_t). Completions come in any order, so a place in the
 * ring names no request.
 */

struct efa_qp;
struct efa_device;

/* Posters by request id; the table is its owner's. */
typedef struct efa_direct_users {
    void   **table;
    unsigned count; /* at most 65536 */
} efa_direct_users_t;

typedef struct efa_direct_sq {
    uint8_t           *slot;     /* the next request is written there */
    volatile uint32_t *doorbell;
    uint64_t           must;     /* EFA_IO_WR_MUST, and the next one's phase */
    uint16_t           written;  /* requests, ever */
    uint16_t           wide;     /* they have 128 bytes */
    uint8_t           *turn;     /* efa_direct_sq_turn when `slot` is there */
    uint8_t           *ring, *end;
    uint32_t           batch;    /* requests between two turns at most */
    uint32_t           most;     /* that one doorbell may announce */
    uint32_t           silent;   /* of a list, written without one yet */
} efa_direct_sq_t;

typedef struct efa_direct_rq {
    efa_io_recv_t     *slot;
    volatile uint32_t *doorbell;
    efa_io_recv_t     *ring, *end;
    uint16_t           written; /* with a doorbell, ever */
    efa_io_recv_t      nowhere; /* all of it, after efa_direct_stop */
} efa_direct_rq_t;

typedef struct efa_direct_cq {
    const uint8_t     *next;   /* the next completion is read there */
    uint32_t           expect; /* a success's first word, but for its id */
    uintptr_t          size;   /* bytes of a completion */
    efa_direct_users_t users;
    uint16_t           taken;  /* completions, ever */
    uint16_t           events; /* that came, ever */
    volatile uint32_t *doorbell; /* NULL: none is needed */
    const uint8_t     *ring, *end;
} efa_direct_cq_t;

typedef struct efa_direct {
    efa_direct_sq_t sq;
    efa_direct_rq_t rq;
    efa_direct_cq_t tx, rx;
    int (*emulator)(void); /* the emulated device works when it is called;
                              NULL: it is hardware */
    int in_place; /* it is direct, with requests of 64 bytes */
} efa_direct_t;

/* Why nothing needs to be tried with this device and library; NULL: it may
 * work. */
const char *efa_direct_unfit(const struct efa_device *device);

/*
 * Finds the queues of a new queue pair, on which nothing was posted. Returns
 * NULL, and qp->is_direct is set; or why not, a text for users, and libefa
 * serves it.
 */
const char *efa_direct_open(struct efa_qp *qp);

/*
 * The queue pair is gone: its receive queue takes what is still written, by a
 * caller in whose callback that happened, and its completion queues are empty.
 */
void efa_direct_stop(struct efa_qp *qp);

/* Behind the last request of the ring, or of a batch: the next begins. Returns
 * 0 (so that it can be the last call of a function that posts). */
int efa_direct_sq_turn(struct efa_qp *qp);

/* Announces `count` requests of a list that were written through a copy of the
 * queue, whose `slot` and `must` these are, and the device may work on them. */
void efa_direct_list_ring(struct efa_qp *qp, uint8_t *slot, uint64_t must,
                          unsigned count);

/* The list is at its end: announces requests that were not announced yet, and
 * single ones may follow. */
void efa_direct_list_end(struct efa_qp *qp);

/* Asks for an event at the next completion. */
void efa_direct_arm(efa_direct_cq_t *cq);

#endif
