/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_RXQ_H_
#define BASE_RXQ_H_

#include <uct/ib/efa/efa_chunk.h>
#include <uct/ib/efa/efa_queue.h>

#include <flow/wire.h>

#include <stdlib.h>

/*
 * Receive queue: buffers that are posted, held by the protocol core (early
 * packets), kept by UCP (descriptors of unexpected messages), or free.
 *
 * posted + held stays at `target`, whatever UCP keeps: a buffer that UCP takes
 * is replaced from the free list, which grows in chunks up to `max` buffers.
 * Close to that cap base_rxq_may_keep says no, UCP copies, and the buffer is
 * back at once. Nor may early packets use the queue up, since the packets that
 * they wait for have to get in: posted stays at `floor`, and where no buffer is
 * left for that, early packets are copied out (base_rxq_detach). The queue
 * therefore never runs empty because a peer is late or a user does not consume
 * (decision 4).
 */

#define BASE_RXQ_BATCH 16 /* receives posted with one doorbell */

/* Buffers that no window may count on: two batches between delivery and
 * reposting, and control packets. The protocol core is told so, and wants early
 * packets copied out when no more than these are posted (flow/rx.h). */
#define BASE_RXQ_RESERVE (4 * BASE_RXQ_BATCH)

typedef struct base_rxq base_rxq_t;

/* Bookkeeping of a buffer; headroom and packet lie behind it. It begins a cache
 * line, the only one that most packets need: buffers are used in turn, and no
 * cache has them when their turn comes. */
typedef struct base_rxbuf {
    efa_recv_wr_t      wr;       /* ready to be posted; a link while free */
    uct_recv_desc_t    desc;     /* what UCP calls to release a kept buffer */
    base_rxq_t        *rxq;
    uint8_t           *packet;
    struct base_rxbuf *wait_next; /* and src: of a packet that waits until there
                                     is memory for it */
    uint32_t           src;
    uint32_t           length;   /* of a packet that is held */
    uint8_t            detached; /* a copy from malloc: never posted */
} base_rxbuf_t;

/* Contents of a receive buffer, and their places. */
typedef struct base_rxq_layout {
    size_t packet_size;  /* of the longest one */
    size_t prefix;       /* bytes that the device puts ahead of each */
    size_t headroom;     /* bytes that UCP wants before the payload */
    size_t align;        /* power of 2: the payload's byte align_offset is a */
    size_t align_offset; /* multiple of it, behind a short header */
    /* base_rxq_release, or a function that calls it under a lock: UCP does
     * whenever it likes */
    void (*release)(uct_recv_desc_t *self, void *desc);
} base_rxq_layout_t;

#define BASE_RXQ_CHUNK 64 /* buffers that are added at a time */

/* Where a process has more devices than these, most serve nobody: a queue opens
 * with a few buffers, and has all of them from its first endpoint or packet on;
 * operations but for control packets there are from its first endpoint on. (Not
 * everywhere: who computes before its first poll takes the first packets of all
 * its peers in the buffers that it opened with.) */
#define BASE_RXQ_DEVICES 4
#define BASE_RXQ_FIRST   32

/* Whether interfaces of a process with so many devices get memory late. */
static inline int base_rxq_is_late(unsigned devices)
{
    return devices > BASE_RXQ_DEVICES;
}

/* Buffers at open, of `target`. */
static inline unsigned base_rxq_first(unsigned target, unsigned devices)
{
    return base_rxq_is_late(devices) ? BASE_RXQ_FIRST : target;
}

/* Buffers that are added next, to a queue that opens with `first`. */
static inline unsigned
base_rxq_next_chunk(unsigned total, unsigned first, unsigned max)
{
    unsigned count = (total < first) ? first - total : BASE_RXQ_CHUNK;

    return efa_at_most(efa_at_most(count, BASE_RXQ_CHUNK), max - total);
}

/* Bytes before the packet: bookkeeping, UCT's word, headroom, the device's. */
static inline size_t base_rxq_room(const base_rxq_layout_t *layout)
{
    return (sizeof(base_rxbuf_t) + sizeof(void*) + layout->headroom +
            layout->prefix + 15) & ~(size_t)15;
}

/* Bytes of a buffer, with all of that. */
static inline size_t base_rxq_stride(const base_rxq_layout_t *layout)
{
    return (base_rxq_room(layout) + layout->align - 1 + layout->packet_size +
            63) & ~(size_t)63;
}

/* The size to which a queue of `base` receives grows next, of `max` buffers: by
 * base_rxq_grow and for base_rxq_cover. */
static inline unsigned base_rxq_next_base(unsigned base, unsigned max)
{
    return (base * 2 > max / 2) ? max / 2 : base * 2;
}

/* Whether a huge page, with room for `count` buffers, comes next: if most of it
 * is for buffers that are wanted. */
static inline int
base_rxq_takes_huge(unsigned total, unsigned target, unsigned max,
                    unsigned count)
{
    return (count > 0) && (total + count * 3 / 4 <= target) &&
           (total + count <= max);
}

static inline unsigned base_rxq_covering(unsigned granted, unsigned max)
{
    unsigned most   = max - (2 * BASE_RXQ_BATCH);
    unsigned target = granted + BASE_RXQ_RESERVE;

    return (target < most) ? target : most;
}

struct base_rxq {
    efa_md_t           *md;
    efa_qp_t           *qp;   /* NULL: nothing is posted */
    efa_recv_wr_t *free; /* a chain as efa_post_recv takes it */
    unsigned            free_count;
    unsigned            kept;     /* buffers that UCP has */
    unsigned            keep_max; /* kept < keep_max: it may keep one more */
    unsigned            first;  /* buffers at open */
    unsigned            total;  /* buffers there are */
    unsigned            posted; /* the device has */
    unsigned            written; /* in its queue, without a doorbell yet: by
                                    the direct path, and in no list */
    uint32_t            ever;   /* were posted; may wrap */
    unsigned            held;   /* the protocol core has, or packets that wait
                                   for memory (base_rx_wait) */
    unsigned            target; /* posted + held are filled up to it */
    unsigned            base;   /* of target: windows are granted from these,
                                   the core's rx_posted */
    unsigned            floor;  /* posted is filled up to it, held or not */
    unsigned            max;    /* total grows up to it */
    unsigned            least;  /* that posted ever was before refilling */
    base_rxq_layout_t   layout;
    unsigned            fit; /* multiples of it are how far off a payload may
                                lie */
    uint8_t             overwrites; /* the device does, the word of a descriptor
                                       behind a short header */
    size_t              stride;
    int                 is_small; /* there are no more huge pages */
    efa_chunk_t        *chunks;
    efa_direct_users_t  users; /* each buffer by its number */
};

/* With `first` buffers of `target`; none is posted before base_rxq_attach.
 * UCS_OK, UCS_ERR_NO_MEMORY. */
ucs_status_t base_rxq_init(base_rxq_t *rxq, efa_md_t *md, unsigned first,
                           unsigned target, unsigned max,
                           const base_rxq_layout_t *layout);

/* Call it when the queue pair is gone and UCP has released all it kept. */
void base_rxq_cleanup(base_rxq_t *rxq);

/* Names the queue pair and posts what there is. UCS_OK, UCS_ERR_IO_ERROR. */
ucs_status_t base_rxq_attach(base_rxq_t *rxq, efa_qp_t *qp);

/*
 * Posts free buffers until posted + held is target. A buffer that cannot be
 * posted stays free until the next call. Without a queue pair (before
 * base_rxq_attach, or when the device failed) nothing is posted.
 * UCS_OK; UCS_ERR_IO_ERROR: the device refuses.
 */
ucs_status_t base_rxq_fill(base_rxq_t *rxq);

/* More receives, in steps: doubles base up to half of max, and target is at
 * least that. Returns 1 if it grew. */
int base_rxq_grow(base_rxq_t *rxq);

/* Sets target to base, or to what covers `granted` messages, which is nearly
 * max at most: silent peers keep a message each that base does not count. Where
 * it was higher, buffers that come back stay free: the fewer are in turn, the
 * sooner each is used again, from the processor's cache. */
void base_rxq_cover(base_rxq_t *rxq, unsigned granted);

/* UCP gives a kept buffer back (uct_recv_desc_t). */
void base_rxq_release(uct_recv_desc_t *self, void *desc);

/* Whether UCP may keep a buffer: without it enough are left to post, or more
 * can be made. (Free ones alone do not tell: they may be missing in the queue.)
 */
static inline int base_rxq_may_keep(const base_rxq_t *rxq)
{
    return rxq->kept < rxq->keep_max;
}

/* UCP keeps a buffer; base_rxq_release gets it back. */
static inline void base_rxq_keep(base_rxq_t *rxq)
{
    ++rxq->kept;
}

/* A received buffer, no copy, is nobody's any more. */
static inline void base_rxq_put_own(base_rxq_t *rxq, base_rxbuf_t *rxbuf)
{
    efa_recv_wr_link(&rxbuf->wr, rxq->free);
    rxq->free = &rxbuf->wr;
    ++rxq->free_count;
}

/* The same on the direct path: it goes back to the device with the next call
 * of base_rxq_fill. */
static inline void
base_rxq_write(base_rxq_t *rxq, efa_qp_t *qp, const base_rxbuf_t *rxbuf)
{
    efa_direct_recv(&qp->direct.rq, &rxbuf->wr.desc);
    ++rxq->written;
}

/* A received buffer is nobody's any more. */
static inline void base_rxq_put(base_rxq_t *rxq, base_rxbuf_t *rxbuf)
{
    if (__builtin_expect(rxbuf->detached, 0)) {
        free(rxbuf);
    } else {
        base_rxq_put_own(rxq, rxbuf);
    }
}

/* The protocol core keeps a buffer, and gives it back. */
static inline void base_rxq_hold(base_rxq_t *rxq, const base_rxbuf_t *rxbuf)
{
    rxq->held += !rxbuf->detached;
}

static inline void base_rxq_unhold(base_rxq_t *rxq, const base_rxbuf_t *rxbuf)
{
    rxq->held -= !rxbuf->detached;
}

/* Whether it has no more yet than it opened with. */
static inline int base_rxq_is_early(const base_rxq_t *rxq)
{
    return rxq->total < rxq->target;
}

/* Whether a batch is worth a doorbell. */
static inline int base_rxq_is_low(const base_rxq_t *rxq)
{
    return (rxq->posted + rxq->held + BASE_RXQ_BATCH <= rxq->target) ||
           (rxq->posted + BASE_RXQ_BATCH <= rxq->floor);
}

/* Whether no more are posted than must be. */
static inline int base_rxq_is_short(const base_rxq_t *rxq)
{
    return rxq->posted <= BASE_RXQ_RESERVE;
}

/* Whether a received packet has to leave its buffer in case it is early. */
static inline int base_rxq_is_scarce(const base_rxq_t *rxq)
{
    return base_rxq_is_short(rxq) && (rxq->free == NULL) &&
           (rxq->total >= rxq->max);
}

/* Copies a received packet out and frees its buffer. Returns the copy, or
 * `rxbuf` itself when out of memory. */
base_rxbuf_t *base_rxq_detach(base_rxq_t *rxq, base_rxbuf_t *rxbuf);

/* Whether UCP may keep a packet with a header of `offset` bytes where it lies:
 * the payload has to be aligned as UCP wishes. */
static inline int base_rxq_fits(const base_rxq_t *rxq, unsigned offset)
{
    return (offset == FLOW_SHORT_HDR) ||
           (((offset - FLOW_SHORT_HDR) & (rxq->fit - 1)) == 0);
}

/* Where the device puts a packet, with what it puts ahead. */
static inline uint8_t *base_rxbuf_memory(const base_rxbuf_t *rxbuf)
{
    return (uint8_t*)(uintptr_t)rxbuf->wr.sge.addr;
}

/* Readies the word that UCT wants 8 bytes before the descriptor, for a payload
 * behind a header of `offset` bytes. It may overwrite bytes of that header:
 * call it last. Behind a short header it was readied with the buffer, and stays
 * so: no other descriptor reaches it. */
static inline void
base_rxq_make_desc(const base_rxq_t *rxq, base_rxbuf_t *rxbuf, unsigned offset)
{
    uct_recv_desc_t *desc = &rxbuf->desc;

    memcpy(&uct_recv_desc(rxbuf->packet + offset - rxq->layout.headroom), &desc,
           sizeof(desc));
}

#endif
