/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_rxq.h"

#include <flow/flow.h>

#include <limits.h>
#include <string.h>

#define EFA_RXQ_CHUNK 64 /* buffers that are added at a time */

static void efa_rxbuf_release(uct_recv_desc_t *self, void *desc)
{
    efa_rxbuf_t *rxbuf = (efa_rxbuf_t*)((char*)self -
                                        offsetof(efa_rxbuf_t, desc));

    (void)desc;
    --rxbuf->rxq->kept;
    efa_rxq_put(rxbuf->rxq, rxbuf);
}

/* Bytes before the packet: bookkeeping, UCT's word, headroom. */
static size_t efa_rxq_room(const efa_rxq_t *rxq)
{
    return (sizeof(efa_rxbuf_t) + sizeof(void*) + rxq->layout.headroom + 15) &
           ~(size_t)15;
}

/* Where the packet begins: on a multiple of 16, or as UCP wants its payload. */
static uint8_t *efa_rxq_packet(const efa_rxq_t *rxq, efa_rxbuf_t *rxbuf)
{
    uint8_t  *first = (uint8_t*)rxbuf + efa_rxq_room(rxq);
    uintptr_t point = (uintptr_t)first + FLOW_SHORT_HDR +
                      rxq->layout.align_offset;

    return first + (-point & (rxq->layout.align - 1));
}

/* total, target or max changed. */
static void efa_rxq_set_keep(efa_rxq_t *rxq)
{
    unsigned needed = rxq->target + EFA_RXQ_BATCH;

    if (rxq->total + EFA_RXQ_BATCH < rxq->max) {
        rxq->keep_max = UINT_MAX;
    } else {
        rxq->keep_max = (rxq->total > needed) ? rxq->total - needed : 0;
    }
}

static ucs_status_t efa_rxq_add_chunk(efa_rxq_t *rxq)
{
    unsigned     count = EFA_RXQ_CHUNK;
    efa_rxbuf_t *rxbuf;
    ucs_status_t status;
    unsigned     i;

    if (count > rxq->max - rxq->total) {
        count = rxq->max - rxq->total;
    }
    if (count == 0) {
        return UCS_ERR_NO_MEMORY;
    }
    status = efa_chunk_add(rxq->md, &rxq->chunks, count * rxq->stride);
    if (status != UCS_OK) {
        rxq->max = rxq->total; /* said once; not tried again */
        efa_rxq_set_keep(rxq);
        return status;
    }

    for (i = 0; i < count; ++i) {
        rxbuf = (efa_rxbuf_t*)((char*)rxq->chunks->memory + (i * rxq->stride));
        rxbuf->desc.cb = efa_rxbuf_release;
        rxbuf->rxq     = rxq;
        rxbuf->packet  = efa_rxq_packet(rxq, rxbuf);
        rxbuf->word    = &uct_recv_desc(rxbuf->packet + FLOW_SHORT_HDR -
                                        rxq->layout.headroom);
        rxbuf->sge.addr   = (uintptr_t)rxbuf->packet;
        rxbuf->sge.length = rxq->layout.packet_size;
        rxbuf->sge.lkey   = rxq->chunks->mr->lkey;
        rxbuf->wr.wr_id   = (uintptr_t)rxbuf;
        rxbuf->wr.sg_list = &rxbuf->sge;
        rxbuf->wr.num_sge = 1;
        efa_rxq_put(rxq, rxbuf);
    }
    rxq->total += count;
    efa_rxq_set_keep(rxq);
    return UCS_OK;
}

ucs_status_t efa_rxq_init(efa_rxq_t *rxq, efa_md_t *md, unsigned target,
                          unsigned max, const efa_rxq_layout_t *layout)
{
    memset(rxq, 0, sizeof(*rxq));
    rxq->md     = md;
    rxq->target = target;
    rxq->base   = target;
    rxq->max    = max;
    rxq->layout = *layout;
    rxq->floor  = target / 2;
    rxq->stride = (efa_rxq_room(rxq) + layout->align - 1 +
                   layout->packet_size + 63) & ~(size_t)63;

    while (rxq->total < target) {
        if (efa_rxq_add_chunk(rxq) != UCS_OK) {
            efa_chunk_list_free(md, &rxq->chunks);
            return UCS_ERR_NO_MEMORY;
        }
    }
    return UCS_OK;
}

void efa_rxq_cleanup(efa_rxq_t *rxq)
{
    efa_chunk_list_free(rxq->md, &rxq->chunks);
}

ucs_status_t efa_rxq_attach(efa_rxq_t *rxq, struct ibv_qp *qp)
{
    ucs_status_t status;

    rxq->qp    = qp;
    status     = efa_rxq_fill(rxq);
    rxq->least = rxq->posted;
    return status;
}

/* Takes `count` free buffers, of which there are as many, off the list. */
static struct ibv_recv_wr *efa_rxq_take(efa_rxq_t *rxq, unsigned count)
{
    struct ibv_recv_wr *first = rxq->free, *last = first;
    unsigned            i;

    if (__builtin_expect(count == rxq->free_count, 1)) {
        rxq->free = NULL; /* the chain ends as it should */
    } else {
        for (i = 1; i < count; ++i) {
            last = last->next;
        }
        rxq->free  = last->next;
        last->next = NULL;
    }
    rxq->free_count -= count;
    return first;
}

/* Posts `count` free buffers with one call. Those the device did not take go
 * back to the free list. */
static ucs_status_t efa_rxq_post(efa_rxq_t *rxq, unsigned count)
{
    struct ibv_recv_wr *first = efa_rxq_take(rxq, count), *bad = NULL, *next;

    rxq->posted += count;
    rxq->ever   += count;
    if (rxq->qp->context->ops.post_recv(rxq->qp, first, &bad) == 0) {
        return UCS_OK;
    }

    for (bad = (bad == NULL) ? first : bad; bad != NULL; bad = next) {
        next = bad->next;
        efa_rxq_put(rxq, (efa_rxbuf_t*)(uintptr_t)bad->wr_id);
        --rxq->posted;
        --rxq->ever;
    }
    return UCS_ERR_IO_ERROR;
}

ucs_status_t efa_rxq_fill(efa_rxq_t *rxq)
{
    unsigned     missing, count;
    ucs_status_t status;

    if (rxq->qp == NULL) {
        return UCS_OK;
    }
    if (rxq->posted < rxq->least) {
        rxq->least = rxq->posted;
    }
    while ((rxq->posted + rxq->held < rxq->target) ||
           (rxq->posted < rxq->floor)) {
        if ((rxq->free == NULL) && (efa_rxq_add_chunk(rxq) != UCS_OK)) {
            return UCS_OK; /* UCP's or the core's buffers will come back */
        }
        missing = (rxq->posted + rxq->held < rxq->target) ?
                          rxq->target - rxq->posted - rxq->held :
                          rxq->floor - rxq->posted;
        count   = (missing < EFA_RXQ_BATCH) ? missing : EFA_RXQ_BATCH;
        count   = (count < rxq->free_count) ? count : rxq->free_count;
        status  = efa_rxq_post(rxq, count);
        if (status != UCS_OK) {
            return status;
        }
    }
    return UCS_OK;
}

int efa_rxq_grow(efa_rxq_t *rxq)
{
    unsigned base = rxq->base * 2;

    if (base > rxq->max / 2) {
        base = rxq->max / 2;
    }
    if (base <= rxq->base) {
        return 0;
    }
    rxq->base  = base;
    rxq->floor = base / 2;
    if (rxq->target < base) {
        rxq->target = base;
    }
    efa_rxq_set_keep(rxq);
    return 1;
}

void efa_rxq_cover(efa_rxq_t *rxq, unsigned granted)
{
    unsigned most   = rxq->max - (2 * EFA_RXQ_BATCH);
    unsigned target = granted + EFA_RXQ_RESERVE;

    target = (target < most) ? target : most;
    if (target > rxq->target) {
        rxq->target = target;
        efa_rxq_set_keep(rxq);
    }
}

efa_rxbuf_t *efa_rxq_detach(efa_rxq_t *rxq, efa_rxbuf_t *rxbuf)
{
    size_t       room = efa_rxq_room(rxq);
    efa_rxbuf_t *copy = malloc(room + rxbuf->length);

    if (copy == NULL) {
        return rxbuf;
    }
    copy->desc     = rxbuf->desc;
    copy->rxq      = rxq;
    copy->packet   = (uint8_t*)copy + room;
    copy->length   = rxbuf->length;
    copy->detached = 1;
    memcpy(copy->packet, rxbuf->packet, rxbuf->length);
    efa_rxq_put(rxq, rxbuf);
    return copy;
}
