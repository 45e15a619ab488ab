/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_TOP_BYTES_H_
#define BASE_TOP_BYTES_H_

#include "base_types.h"

/*
 * An estimate of the bytes sent to each peer, which the data path does not
 * count. Each operation of the pool keeps the lengths of its last use: from
 * these a look learns the length of messages, and how RDMA is spread over the
 * endpoints. The estimate is the better, the more alike messages are. Tried and
 * rejected: counting bytes where they are posted, which costs each message an
 * instruction.
 */

#define BASE_TOP_BUCKETS 1024

typedef struct base_top_bytes {
    uint16_t  head[BASE_TOP_BUCKETS]; /* hash table by endpoint: index of the
                                         first operation, plus 1; 0: none */
    uint16_t *next;  /* of each operation: the next in its bucket */
    unsigned  count; /* operations of the pool */
    unsigned  rma;   /* outstanding RDMA operations */
} base_top_bytes_t;

/* Returns 0 if memory runs out, else nonzero. */
int  base_top_bytes_open(base_top_bytes_t *bytes, const base_op_pool_t *pool);
void base_top_bytes_close(base_top_bytes_t *bytes);

/* Puts all operations into the hash table by their endpoints. Endpoints are not
 * accessed: some may be freed already. */
void base_top_bytes_sort(base_top_bytes_t *bytes, const base_op_pool_t *pool);

typedef struct base_top_sum {
    uint64_t messages, message_bytes; /* of the last `sent` messages, those
                                         whose operation is not reused */
    uint64_t rma, rma_bytes;          /* outstanding */
} base_top_sum_t;

/* Sums up the operations of an endpoint, which has sent `sent` messages since
 * the last look and whose next one has number `psn`. */
void base_top_bytes_sum(const base_top_bytes_t *bytes,
                        const base_op_pool_t *pool, const base_ep_t *ep,
                        flow_psn_t psn, unsigned sent, base_top_sum_t *sum);

#endif
