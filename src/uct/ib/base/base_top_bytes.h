/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_TOP_BYTES_H_
#define BASE_TOP_BYTES_H_

#include "base_types.h"

/*
 * Bytes of a peer, which nobody counts: an operation keeps the lengths of its
 * last use, thus the operations at a look say how long messages are, and how
 * RDMA is spread over the endpoints. An estimate, better the more alike they
 * are. Tried and rejected: to count them where they are posted, which costs
 * each message an instruction.
 */

#define BASE_TOP_BUCKETS 1024

typedef struct base_top_bytes {
    uint16_t  head[BASE_TOP_BUCKETS]; /* operations by endpoint, from 1 */
    uint16_t *next;
    unsigned  count;
    unsigned  rma; /* operations that are out */
} base_top_bytes_t;

/* 0: out of memory. */
int  base_top_bytes_open(base_top_bytes_t *bytes, const base_op_pool_t *pool);
void base_top_bytes_close(base_top_bytes_t *bytes);

/* Sorts all operations by their endpoints, which need not be there any more. */
void base_top_bytes_sort(base_top_bytes_t *bytes, const base_op_pool_t *pool);

typedef struct base_top_sum {
    uint64_t messages, message_bytes; /* of those among the last `sent` */
    uint64_t rma, rma_bytes;          /* that are out */
} base_top_sum_t;

/* The sum of this endpoint, whose next number is `psn`. */
void base_top_bytes_sum(const base_top_bytes_t *bytes,
                        const base_op_pool_t *pool, const base_ep_t *ep,
                        flow_psn_t psn, unsigned sent, base_top_sum_t *sum);

#endif
