/* SPDX-License-Identifier: BSD-3-Clause */
#include "base_rxq.h"

#include <flow/flow.h>

#include <limits.h>
#include <string.h>

void base_rxq_release(uct_recv_desc_t *self, void *desc)
{
    base_rxbuf_t *rxbuf = (base_rxbuf_t*)((char*)self -
                                          offsetof(base_rxbuf_t, desc));

    (void)desc;
    --rxbuf->rxq->kept;
    base_rxq_put(rxbuf->rxq, rxbuf);
}

/* Where the packet begins: on a multiple of 16, or as UCP wants its payload. */
static uint8_t *base_rxq_packet(const base_rxq_t *rxq, base_rxbuf_t *rxbuf)
{
    uint8_t  *first = (uint8_t*)rxbuf + base_rxq_room(&rxq->layout);
    uintptr_t point = (uintptr_t)first + FLOW_SHORT_HDR +
                      rxq->layout.align_offset;

    return first + (-point & (rxq->layout.align - 1));
}

/* total, target or max changed. */
static void base_rxq_set_keep(base_rxq_t *rxq)
{
    unsigned needed = rxq->target + BASE_RXQ_BATCH;

    if (rxq->total + BASE_RXQ_BATCH < rxq->max) {
        rxq->keep_max = UINT_MAX;
    } else {
        rxq->keep_max = (rxq->total > needed) ? rxq->total - needed : 0;
    }
}

/* A huge page, where one is due. Returns how many buffers it has room for; 0:
 * none is due, or there is none, and no other is tried. */
static unsigned base_rxq_add_huge(base_rxq_t *rxq)
{
    unsigned count = EFA_HUGE_PAGE / rxq->stride;
    int      few   = (rxq->total == 0) && (rxq->first < rxq->target);

    if (rxq->is_small || few ||
        !base_rxq_takes_huge(rxq->total, rxq->target, rxq->max, count)) {
        return 0;
    }
    rxq->is_small = efa_chunk_add_huge(rxq->md, &rxq->chunks) != UCS_OK;
    return rxq->is_small ? 0 : count;
}

/* Memory for more buffers; returns of how many, 0: there is no more. */
static unsigned base_rxq_add_memory(base_rxq_t *rxq)
{
    unsigned count = base_rxq_next_chunk(rxq->total, rxq->first, rxq->max);
    unsigned huge  = base_rxq_add_huge(rxq);

    if ((huge > 0) || (count == 0)) {
        return huge;
    }
    if (efa_chunk_add(rxq->md, &rxq->chunks, count * rxq->stride) != UCS_OK) {
        rxq->max = rxq->total; /* said once; not tried again */
        base_rxq_set_keep(rxq);
        return 0;
    }
    return count;
}

static ucs_status_t base_rxq_add_chunk(base_rxq_t *rxq)
{
    unsigned      count = base_rxq_add_memory(rxq);
    base_rxbuf_t *rxbuf;
    unsigned      i;

    if (count == 0) {
        return UCS_ERR_NO_MEMORY;
    }
    for (i = 0; i < count; ++i) {
        rxbuf = (base_rxbuf_t*)((char*)rxq->chunks->memory + (i * rxq->stride));
        rxbuf->desc.cb = rxq->layout.release;
        rxbuf->rxq     = rxq;
        rxbuf->packet  = base_rxq_packet(rxq, rxbuf);
        rxbuf->wr.sge.addr   = (uintptr_t)rxbuf->packet - rxq->layout.prefix;
        rxbuf->wr.sge.length = rxq->layout.prefix + rxq->layout.packet_size;
        rxbuf->wr.sge.lkey   = rxq->chunks->mr->lkey;
        efa_recv_wr_init(&rxbuf->wr, rxbuf, rxq->total + i);
        base_rxq_make_desc(rxq, rxbuf, FLOW_SHORT_HDR);
        rxq->users.table[rxq->total + i] = rxbuf;
        base_rxq_put(rxq, rxbuf);
    }
    rxq->total      += count;
    rxq->users.count = rxq->total;
    if (rxq->qp != NULL) {
        efa_queue_more_users(rxq->qp, rxq->total);
    }
    base_rxq_set_keep(rxq);
    return UCS_OK;
}

static ucs_status_t base_rxq_reach(base_rxq_t *rxq, unsigned target)
{
    ucs_status_t status = UCS_OK;

    while ((rxq->total < target) && (status == UCS_OK)) {
        status = base_rxq_add_chunk(rxq);
    }
    return status;
}

/* No buffer was ever posted: it has none again. */
static void base_rxq_empty(base_rxq_t *rxq)
{
    efa_chunk_list_free(rxq->md, &rxq->chunks);
    rxq->free        = NULL;
    rxq->free_count  = 0;
    rxq->total       = 0;
    rxq->users.count = 0;
}

ucs_status_t base_rxq_init(base_rxq_t *rxq, efa_md_t *md, unsigned first,
                           unsigned target, unsigned max,
                           const base_rxq_layout_t *layout)
{
    ucs_status_t status;

    memset(rxq, 0, sizeof(*rxq));
    rxq->md     = md;
    rxq->first  = efa_at_most(first, target);
    rxq->target = target;
    rxq->base   = target;
    rxq->max    = max;
    rxq->layout = *layout;
    rxq->floor  = target / 2;
    rxq->fit    = (layout->align > 8) ? layout->align : 8;
    rxq->overwrites = layout->headroom < layout->prefix + sizeof(void*);
    rxq->stride = base_rxq_stride(layout);
    rxq->users.table = calloc(max, sizeof(void*));
    if (rxq->users.table == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    status = base_rxq_reach(rxq, rxq->first);
    if ((status != UCS_OK) && !rxq->is_small) {
        /* a huge page may be more than is wanted, and the rest too much */
        base_rxq_empty(rxq);
        rxq->is_small = 1;
        rxq->max      = max;
        status        = base_rxq_reach(rxq, rxq->first);
    }
    if (status != UCS_OK) {
        base_rxq_cleanup(rxq);
    }
    return status;
}

void base_rxq_cleanup(base_rxq_t *rxq)
{
    free(rxq->users.table);
    rxq->users.table = NULL;
    efa_chunk_list_free(rxq->md, &rxq->chunks);
}

/* Takes `count` free buffers, of which there are as many, off the list. */
static efa_recv_wr_t *base_rxq_take(base_rxq_t *rxq, unsigned count)
{
    efa_recv_wr_t *first = rxq->free, *last = first;
    unsigned       i;

    if (__builtin_expect(count == rxq->free_count, 1)) {
        rxq->free = NULL; /* the chain ends as it should */
    } else {
        for (i = 1; i < count; ++i) {
            last = efa_recv_wr_next(last);
        }
        rxq->free = efa_recv_wr_next(last);
        efa_recv_wr_link(last, NULL);
    }
    rxq->free_count -= count;
    return first;
}

/* Posts `count` free buffers with one call. Those the device did not take go
 * back to the free list. */
static ucs_status_t base_rxq_post(base_rxq_t *rxq, unsigned count)
{
    efa_recv_wr_t *first = base_rxq_take(rxq, count), *bad, *next;

    rxq->posted += count;
    rxq->ever   += count;
    if (efa_post_recv(rxq->qp, first, &bad) == 0) {
        return UCS_OK;
    }

    for (bad = (bad == NULL) ? first : bad; bad != NULL; bad = next) {
        next = efa_recv_wr_next(bad);
        base_rxq_put(rxq, efa_recv_wr_user(bad));
        --rxq->posted;
        --rxq->ever;
    }
    return UCS_ERR_IO_ERROR;
}

ucs_status_t base_rxq_attach(base_rxq_t *rxq, efa_qp_t *qp)
{
    ucs_status_t status = UCS_OK;
    unsigned     count;

    rxq->qp = qp;
    while ((rxq->posted < rxq->first) && (status == UCS_OK)) {
        count  = efa_at_most(rxq->first - rxq->posted, BASE_RXQ_BATCH);
        status = base_rxq_post(rxq, count);
    }
    rxq->least = rxq->posted;
    return status;
}

/* The doorbell of the written entries. */
static inline void base_rxq_ring(base_rxq_t *rxq)
{
    if (rxq->written > 0) {
        efa_direct_recv_ring(&rxq->qp->direct.rq, rxq->written);
        rxq->posted += rxq->written;
        rxq->ever   += rxq->written;
        rxq->written = 0;
    }
}

ucs_status_t base_rxq_fill(base_rxq_t *rxq)
{
    unsigned     missing, count;
    ucs_status_t status;

    if (rxq->qp == NULL) {
        return UCS_OK;
    }
    base_rxq_ring(rxq);
    if (rxq->posted < rxq->least) {
        rxq->least = rxq->posted;
    }
    while ((rxq->posted + rxq->held < rxq->target) ||
           (rxq->posted < rxq->floor)) {
        if ((rxq->free == NULL) && (base_rxq_add_chunk(rxq) != UCS_OK)) {
            return UCS_OK; /* UCP's or the core's buffers will come back */
        }
        missing = (rxq->posted + rxq->held < rxq->target) ?
                          rxq->target - rxq->posted - rxq->held :
                          rxq->floor - rxq->posted;
        count  = (missing < BASE_RXQ_BATCH) ? missing : BASE_RXQ_BATCH;
        count  = (count < rxq->free_count) ? count : rxq->free_count;
        status = base_rxq_post(rxq, count);
        if (status != UCS_OK) {
            return status;
        }
    }
    return UCS_OK;
}

int base_rxq_grow(base_rxq_t *rxq)
{
    unsigned base = base_rxq_next_base(rxq->base, rxq->max);

    if (base <= rxq->base) {
        return 0;
    }
    rxq->base  = base;
    rxq->floor = base / 2;
    if (rxq->target < base) {
        rxq->target = base;
    }
    base_rxq_set_keep(rxq);
    return 1;
}

void base_rxq_cover(base_rxq_t *rxq, unsigned granted)
{
    unsigned target = base_rxq_covering(granted, rxq->max);

    target = (target > rxq->base) ? target : rxq->base;
    if (target != rxq->target) {
        rxq->target = target;
        base_rxq_set_keep(rxq);
    }
}

base_rxbuf_t *base_rxq_detach(base_rxq_t *rxq, base_rxbuf_t *rxbuf)
{
    size_t        room = base_rxq_room(&rxq->layout);
    base_rxbuf_t *copy = malloc(room + rxbuf->length);

    if (copy == NULL) {
        return rxbuf;
    }
    copy->desc     = rxbuf->desc;
    copy->rxq      = rxq;
    copy->packet   = (uint8_t*)copy + room;
    copy->length   = rxbuf->length;
    copy->detached = 1;
    memcpy(copy->packet, rxbuf->packet, rxbuf->length);
    base_rxq_put(rxq, rxbuf);
    return copy;
}
