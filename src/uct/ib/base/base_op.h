/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_OP_H_
#define BASE_OP_H_

#include <uct/ib/efa/efa_chunk.h>
#include <uct/ib/efa/efa_queue.h>

#include <flow/reserve.h>
#include <record/record_call.h>

#define BASE_CTL_OPS   256 /* send slots that only control packets may use */
#define BASE_CTL_FIRST 32  /* of them, of an interface that gets memory late */

/*
 * Outstanding work of an endpoint: one queue per endpoint, in the order of
 * posting, of operations and of the markers of flushes. Completions take
 * operations out anywhere; a marker is done when it has come to the front.
 *
 * Active messages that nobody waits for, nearly all there are, are in no queue:
 * their flow knows which numbers are not done, and a marker has the number that
 * it stands before.
 */
typedef enum base_out_kind {
    BASE_OUT_AM,        /* active message, bytes in op->buf or op->bounce; no
                          comp, in no queue; 0 (base_progress.c) */
    BASE_OUT_AM_OTHER,  /* the same with more to be done at its end: it was
                           acknowledged, is recorded, or its operation is of
                           the reserve */
    BASE_OUT_CTL,       /* control packet of the protocol core: in no queue */
    BASE_OUT_FLUSH,     /* marker; from here on in the queue */
    BASE_OUT_AM_ZCOPY,  /* header as above, payload in user memory */
    BASE_OUT_GET_BCOPY, /* from here on RDMA */
    BASE_OUT_GET_TAKEN, /* the same, and its user takes the bytes: the device
                           does not have it any more; as the next ones */
    BASE_OUT_GET_ZCOPY, /* also get_short: into op->buf; from here on nothing is
                           done at the end but to tell the user, and several
                           may end as one (base_complete_rma_is_short) */
    BASE_OUT_PUT        /* from op->buf, op->bounce or user memory */
} base_out_kind_t;

typedef struct base_outstanding base_out_t;

struct base_outstanding {
    base_out_t       *prev, *next;
    uct_completion_t *comp; /* or NULL */
    uint8_t           kind; /* base_out_kind_t */
    flow_psn_t        psn;  /* FLUSH: of the first message behind it */
};

struct base_ep;

/* Nonzero for an operation of RDMA. */
static inline int base_op_is_rma(uint8_t kind)
{
    return kind >= BASE_OUT_GET_BCOPY;
}

/* The device's verb for such an operation; none for another kind. */
static inline efa_rdma_t base_op_rdma(base_out_kind_t kind)
{
    switch (kind) {
    case BASE_OUT_GET_BCOPY:
    case BASE_OUT_GET_TAKEN:
    case BASE_OUT_GET_ZCOPY:
        return EFA_RDMA_READ;
    case BASE_OUT_PUT:
        return EFA_RDMA_WRITE;
    case BASE_OUT_AM:
    case BASE_OUT_AM_OTHER:
    case BASE_OUT_CTL:
    case BASE_OUT_FLUSH:
    case BASE_OUT_AM_ZCOPY:
        break;
    }
    __builtin_unreachable();
}

/* Pieces of local memory of one work request. */
#define BASE_OP_SGE 2

/* Bytes in an operation itself: a message this short needs no bounce buffer. */
#define BASE_OP_BUF 128

/* A bounce buffer: one packet. */
typedef struct base_bounce base_bounce_t;

struct base_bounce {
    base_bounce_t *next; /* while no operation has it */
    void          *reserved; /* data is aligned to 16 */
    efa_sge_t sge;  /* data; its length is the packet's */
    uint8_t        data[];
};

#define BASE_BOUNCE_CHUNK 32 /* buffers that are added at a time */

/* Bytes of data for packets of such a size, and of a buffer with as much. */
static inline size_t base_op_bounce_bytes(size_t packet_size)
{
    return (packet_size + 63) & ~(size_t)63;
}

static inline size_t base_op_bounce_stride(size_t bytes)
{
    return sizeof(base_bounce_t) + bytes;
}

/* One work request, from post to completion (through reposts, too). */
typedef struct base_op base_op_t;

struct base_op { /* begins a cache line */
    base_out_t         out; /* first: operations and markers share the queue */
    flow_op_t          flow;
    struct base_ep    *ep;     /* control packets: a dummy endpoint, not NULL */
    base_bounce_t     *bounce; /* or NULL; once it has one it keeps it */
    efa_send_wr_t wr;  /* filled but for the changing members: pieces, flags,
                               destination; RDMA takes pieces and flags */
    efa_sge_t     buf_sge;          /* buf; its length is the packet's */
    uint8_t       buf[BASE_OP_BUF]; /* 32 bytes of it are in that line, too */
    flow_share_t      *share; /* of the reserve, while taken from there */
    base_op_t         *polled_next; /* completed, progress sees to it; or RDMA
                                     that waits to be posted again */
    uint32_t           vendor_err; /* then: its efa_status_t */
    int                user_is_host; /* AM_ZCOPY: the CPU can read the memory */
    _Alignas(64)                     /* what RDMA needs besides */
    efa_sge_t     sge[BASE_OP_SGE];  /* pieces of user memory */
    union {
        struct {
            uct_unpack_callback_t func;
            void                 *arg;
        } unpack;            /* BASE_OUT_GET_BCOPY */
        struct {
            uint64_t        cookie;
            struct base_ah *ah;
        } ctl; /* BASE_OUT_CTL */
    };
    uint64_t           remote_addr; /* RDMA */
    uint32_t           rkey;
    uint8_t            reserved;   /* it belongs to the reserve */
};

/*
 * The pools of an interface. Operations are made once, as many as the send
 * queue takes, so that a post cannot find it full; some of them are kept for
 * control packets, some as a reserve. Bounce buffers grow in chunks, up to one
 * for an operation, and stay with the operation that took one, also for its
 * next uses.
 */
typedef struct base_op_pool {
    efa_md_t      *md;
    base_op_t     *free;     /* linked by out.next, as all free lists here */
    base_op_t     *fenced;   /* where they lie while the interface is fenced */
    base_op_t    **sink;     /* free or fenced: where completed ones go */
    base_op_t     *free_ctl; /* for control packets */
    base_op_t     *free_reserve; /* when there is no other (flow/reserve.h) */
    flow_reserve_t reserve;
    base_op_t     *ops;      /* all `count`, not those for control packets;
                                NULL: there are none yet */
    efa_direct_users_t users; /* each by its number */
    base_bounce_t *free_bounce;
    base_out_t    *free_markers;
    efa_chunk_t   *chunks;
    void          *marker_blocks; /* linked by their first word */
    unsigned       count, count_ctl; /* those of the reserve are in `count` */
    unsigned       ctl_made; /* of count_ctl, so far */
    unsigned       common; /* of `count`: anybody's */
    unsigned       bounce_count, bounce_max;
    size_t         bounce_size; /* bytes of data[] */
} base_op_pool_t;

/* Operations for anybody, of the reserve, for control. */
typedef struct base_op_counts {
    unsigned common, reserve, ctl;
} base_op_counts_t;
/* For a user who wants `common` in flight, and the send queue for all. */
static inline base_op_counts_t base_op_counts(unsigned common)
{
    base_op_counts_t counts = {common, common / 2, BASE_CTL_OPS};

    return counts;
}

/* Operations for control packets that an interface opens with. */
static inline unsigned base_op_ctl_first(int is_late)
{
    return is_late ? BASE_CTL_FIRST : BASE_CTL_OPS;
}

static inline unsigned base_op_count(const base_op_counts_t *counts)
{
    return counts->common + counts->reserve + counts->ctl;
}

/* A pool with operations for control packets alone, the `first` ones; others
 * will send packets of at most `packet_size` bytes. UCS_OK, UCS_ERR_NO_MEMORY:
 * nothing to be cleaned up. */
ucs_status_t base_op_pool_init(base_op_pool_t *pool, efa_md_t *md,
                               const base_op_counts_t *counts, unsigned first,
                               size_t packet_size);

/* Registers memory for all other operations, and the first bounce buffers, if
 * that was not done. UCS_OK, UCS_ERR_NO_MEMORY: it has none still. */
ucs_status_t base_op_pool_fill(base_op_pool_t *pool);

/* Whether it has those. */
static inline int base_op_pool_is_full(const base_op_pool_t *pool)
{
    return pool->ops != NULL;
}

/* Behind the last of `ops`. */
static inline base_op_t *base_op_pool_end(const base_op_pool_t *pool)
{
    return base_op_pool_is_full(pool) ? pool->ops + pool->count : NULL;
}

void base_op_pool_cleanup(base_op_pool_t *pool);

/* Out of line part of base_op_bounce: a buffer that no operation has, a new
 * one, or, out of memory, that of another free operation. */
base_bounce_t *base_op_bounce_get(base_op_pool_t *pool, base_op_t *op);

/* The bounce buffer of an operation that is free (not yet taken); NULL when out
 * of memory and all are in use. */
static inline base_bounce_t *base_op_bounce(base_op_pool_t *pool, base_op_t *op)
{
    if (__builtin_expect(op->bounce == NULL, 0)) {
        return base_op_bounce_get(pool, op);
    }
    return op->bounce;
}

/* The payload of op->wr: pieces of memory, or the bytes themselves. */
static inline void
base_op_set_pieces(base_op_t *op, efa_sge_t *sge, int count, int inlined)
{
    efa_send_wr_set(&op->wr, sge, count, inlined);
}

/* Piece `number` of op->sge, which are for the user's memory. */
static inline void base_op_set_piece(base_op_t *op, int number, void *address,
                                     size_t length, uint32_t lkey)
{
    op->sge[number].addr   = (uintptr_t)address;
    op->sge[number].length = length;
    op->sge[number].lkey   = lkey;
}

/* The first `length` bytes of op->buf, inside the work request where it takes
 * so many. */
static inline void
base_op_set_buf(base_op_t *op, unsigned length, unsigned inline_size)
{
    op->buf_sge.length = length;
    base_op_set_pieces(op, &op->buf_sge, 1, length <= inline_size);
}

/* Those of op->bounce, which is not NULL. */
static inline void base_op_set_bounce(base_op_t *op, size_t length)
{
    op->bounce->sge.length = length;
    base_op_set_pieces(op, &op->bounce->sge, 1, 0);
}

/* Takes the operation that the caller saw at pool->free. */
static inline void base_op_take(base_op_pool_t *pool, const base_op_t *op)
{
    pool->free = (base_op_t*)op->out.next;
}

static inline void base_op_give(base_op_pool_t *pool, base_op_t *op)
{
    op->out.next = (base_out_t*)*pool->sink;
    *pool->sink  = op;
}

/* The same for any operation, of the reserve too. */
static inline void base_op_take_any(base_op_pool_t *pool, base_op_t *op,
                                    flow_share_t *share)
{
    if (__builtin_expect(op->reserved, 0)) {
        pool->free_reserve = (base_op_t*)op->out.next;
        op->share          = share;
        flow_reserve_take(&pool->reserve, share);
    } else {
        base_op_take(pool, op);
    }
}

static inline void base_op_give_any(base_op_pool_t *pool, base_op_t *op, int ok)
{
    if (__builtin_expect(op->reserved, 0)) {
        flow_reserve_give(&pool->reserve, op->share, ok);
        op->out.next       = (base_out_t*)pool->free_reserve;
        pool->free_reserve = op;
    } else {
        base_op_give(pool, op);
    }
}

/* May some operation be left for some endpoint? */
static inline int base_op_is_left(const base_op_pool_t *pool)
{
    return (pool->free != NULL) ||
           ((pool->sink == &pool->free) && (pool->free_reserve != NULL));
}

/* While fenced the pool looks empty: the posting path needs no test for it. */
static inline void base_op_pool_fence(base_op_pool_t *pool)
{
    if (pool->sink == &pool->free) {
        pool->fenced = pool->free;
        pool->free   = NULL;
        pool->sink   = &pool->fenced;
    }
}

static inline void base_op_pool_unfence(base_op_pool_t *pool)
{
    if (pool->sink == &pool->fenced) {
        pool->free   = pool->fenced;
        pool->fenced = NULL;
        pool->sink   = &pool->free;
    }
}

/* A flush marker, NULL when out of memory. */
base_out_t *base_op_marker_get(base_op_pool_t *pool);

static inline void base_op_marker_put(base_op_pool_t *pool, base_out_t *marker)
{
    marker->next       = pool->free_markers;
    pool->free_markers = marker;
}

#endif
