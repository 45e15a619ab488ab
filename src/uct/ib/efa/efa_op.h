/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_OP_H_
#define EFA_OP_H_

#include "efa_chunk.h"

#include <flow/flow.h>

/*
 * What an endpoint has outstanding: one queue per endpoint in the order of
 * posting, of operations and of the markers of flushes. Completions take
 * operations out anywhere; a marker is done when it has come to the front.
 */
typedef enum efa_out_kind {
    EFA_OUT_AM,        /* active message, bytes in op->buf or op->bounce */
    EFA_OUT_AM_ZCOPY,  /* header as above, payload in user memory */
    EFA_OUT_GET_BCOPY, /* from here on RDMA */
    EFA_OUT_GET_ZCOPY, /* also get_short: into op->buf */
    EFA_OUT_PUT,       /* from op->buf, op->bounce or user memory */
    EFA_OUT_CTL,       /* control packet of the protocol core: in no queue */
    EFA_OUT_FLUSH      /* marker */
} efa_out_kind_t;

typedef struct efa_out efa_out_t;

struct efa_out {
    efa_out_t        *prev, *next;
    uct_completion_t *comp; /* or NULL */
    uint8_t           kind; /* efa_out_kind_t */
};

struct efa_ep;

/* Whether an operation of a user is RDMA; the rest are active messages. */
static inline int efa_out_is_rma(uint8_t kind)
{
    return kind >= EFA_OUT_GET_BCOPY;
}

/* Pieces of local memory of one work request. */
#define EFA_OP_SGE 2

/* Bytes in an operation itself: a message this short needs no bounce buffer. */
#define EFA_OP_BUF 128

/* A bounce buffer: one packet. */
typedef struct efa_bounce efa_bounce_t;

struct efa_bounce {
    efa_bounce_t *next; /* while free */
    uint32_t      lkey;
    uint32_t      reserved;
    uint8_t       data[];
};

/* One work request, from post to completion (through reposts, too). */
typedef struct efa_op efa_op_t;

struct efa_op {
    efa_out_t       out; /* first: operations and markers share the queue */
    flow_op_t       flow;
    struct efa_ep  *ep;
    efa_bounce_t   *bounce; /* or NULL */
    struct ibv_sge  sge[EFA_OP_SGE];
    uint8_t         num_sge;
    uint8_t         inlined;
    uint32_t        lkey; /* of buf */
    union {
        struct {
            uct_unpack_callback_t func;
            void                 *arg;
        } unpack;            /* EFA_OUT_GET_BCOPY */
        struct {
            uint64_t      cookie;
            struct efa_ah *ah;
        } ctl; /* EFA_OUT_CTL */
    };
    efa_op_t *stash_next; /* completed, and progress will see to it */
    uint32_t  vendor_err; /* then: status of the device, 0 is success */
    uint8_t   buf[EFA_OP_BUF];
};

/*
 * The pools of an interface. Operations are made once, as many as the send
 * queue takes, so that a post cannot find it full; some of them are kept for
 * control packets. Bounce buffers grow in chunks, up to one for an operation.
 */
typedef struct efa_op_pool {
    efa_md_t     *md;
    efa_op_t     *free;     /* linked by out.next, as all free lists here */
    efa_op_t     *fenced;   /* where they lie while the interface is fenced */
    efa_op_t    **sink;     /* free or fenced: where completed ones go */
    efa_op_t     *free_ctl; /* the reserve */
    efa_bounce_t *free_bounce;
    efa_out_t    *free_markers;
    efa_chunk_t  *chunks;
    void         *marker_blocks; /* linked by their first word */
    unsigned      count, count_ctl;
    unsigned      bounce_count, bounce_max;
    size_t        bounce_size; /* bytes of data[] */
} efa_op_pool_t;

/* `count` operations and `count_ctl` for control; packets of at most
 * `packet_size` bytes. UCS_OK, UCS_ERR_NO_MEMORY. */
ucs_status_t efa_op_pool_init(efa_op_pool_t *pool, efa_md_t *md,
                              unsigned count, unsigned count_ctl,
                              size_t packet_size);

void efa_op_pool_cleanup(efa_op_pool_t *pool);

/* Out of line part of efa_bounce_get: adds a chunk; NULL at the limit. */
efa_bounce_t *efa_bounce_grow(efa_op_pool_t *pool);

static inline efa_bounce_t *efa_bounce_get(efa_op_pool_t *pool)
{
    efa_bounce_t *bounce = pool->free_bounce;

    if (__builtin_expect(bounce == NULL, 0)) {
        return efa_bounce_grow(pool);
    }
    pool->free_bounce = bounce->next;
    return bounce;
}

static inline void efa_bounce_put(efa_op_pool_t *pool, efa_bounce_t *bounce)
{
    bounce->next      = pool->free_bounce;
    pool->free_bounce = bounce;
}

/* Takes the operation the caller saw at pool->free (not NULL). */
static inline efa_op_t *efa_op_take(efa_op_pool_t *pool)
{
    efa_op_t *op = pool->free;

    pool->free = (efa_op_t*)op->out.next;
    return op;
}

static inline void efa_op_give(efa_op_pool_t *pool, efa_op_t *op)
{
    if (op->bounce != NULL) {
        efa_bounce_put(pool, op->bounce);
        op->bounce = NULL;
    }
    op->out.next = (efa_out_t*)*pool->sink;
    *pool->sink  = op;
}

/* While fenced the pool looks empty: the posting path needs no test for it. */
static inline void efa_op_pool_fence(efa_op_pool_t *pool)
{
    if (pool->sink == &pool->free) {
        pool->fenced = pool->free;
        pool->free   = NULL;
        pool->sink   = &pool->fenced;
    }
}

static inline void efa_op_pool_unfence(efa_op_pool_t *pool)
{
    if (pool->sink == &pool->fenced) {
        pool->free   = pool->fenced;
        pool->fenced = NULL;
        pool->sink   = &pool->free;
    }
}

/* A flush marker, NULL when out of memory. */
efa_out_t *efa_marker_get(efa_op_pool_t *pool);

static inline void efa_marker_put(efa_op_pool_t *pool, efa_out_t *marker)
{
    marker->next       = pool->free_markers;
    pool->free_markers = marker;
}

#endif
