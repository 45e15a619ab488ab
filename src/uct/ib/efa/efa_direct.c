/* SPDX-License-Identifier: BSD-3-Clause */
#include "efa_direct.h"
#include "efa_direct_poll.h"
#include "efa_direct_post.h"

#include <dlfcn.h>
#include <errno.h>

#define EFA_DIRECT_TWO_RINGS      0xefa0 /* see efa_direct_unfit */

static int efa_direct_is_power(uint32_t number)
{
    return (number != 0) && ((number & (number - 1)) == 0);
}

static unsigned efa_direct_size(const efa_direct_sq_t *sq)
{
    return sq->wide ? EFA_IO_WR_SIZE_WIDE : EFA_IO_WR_SIZE;
}

/* The next turn: behind a batch, at the latest at the end of the ring. */
static void efa_direct_sq_aim(efa_direct_sq_t *sq)
{
    size_t size = (size_t)sq->batch * efa_direct_size(sq);

    sq->turn = (size < (size_t)(sq->end - sq->slot)) ? sq->slot + size :
                                                       sq->end;
}

static const char *efa_direct_open_sq(efa_qp_t *qp, const efa_adv_wq_t *wq)
{
    efa_direct_sq_t *sq = &qp->direct.sq;

    if ((wq->buffer == NULL) || (wq->doorbell == NULL) ||
        ((wq->entry_size != EFA_IO_WR_SIZE) &&
         (wq->entry_size != EFA_IO_WR_SIZE_WIDE)) ||
        !efa_direct_is_power(wq->num_entries) ||
        (wq->num_entries < qp->tx_depth)) {
        return "its send queue is of an unknown kind";
    }
    sq->ring     = wq->buffer;
    sq->end      = wq->buffer + (size_t)wq->num_entries * wq->entry_size;
    sq->wide     = wq->entry_size == EFA_IO_WR_SIZE_WIDE;
    sq->doorbell = wq->doorbell;
    sq->batch    = (qp->direct.emulator != NULL) ? 1 : wq->num_entries;
    sq->most     = (wq->max_batch > 0) ?
                           efa_at_most(wq->max_batch, wq->num_entries) :
                           wq->num_entries;
    sq->slot     = sq->ring;
    sq->must     = EFA_IO_WR_MUST;
    efa_direct_sq_aim(sq);
    return NULL;
}

static const char *efa_direct_open_rq(efa_qp_t *qp, const efa_adv_wq_t *wq)
{
    efa_direct_rq_t *rq = &qp->direct.rq;

    if ((wq->buffer == NULL) || (wq->doorbell == NULL) ||
        (wq->entry_size != sizeof(*rq->ring)) ||
        !efa_direct_is_power(wq->num_entries) ||
        (wq->num_entries < qp->rx_depth)) {
        return "its receive queue is of an unknown kind";
    }
    rq->ring     = (efa_io_recv_t*)wq->buffer;
    rq->end      = rq->ring + wq->num_entries;
    rq->slot     = rq->ring;
    rq->doorbell = wq->doorbell;
    return NULL;
}

static const char *
efa_direct_open_cq(efa_qp_t *qp, efa_direct_cq_t *cq, struct ibv_cq *ibcq,
                   unsigned depth, uint32_t queue)
{
    static uint32_t untouched;
    efa_adv_cq_t    attr = {.doorbell = &untouched};

    if (qp->md->device->verbs->efa_query_cq(ibcq, &attr, sizeof(attr)) != 0) {
        return "libefa does not tell where its completion queue is";
    }
    if (attr.doorbell == &untouched) {
        return "libefa tells no doorbell of completion queues: rdma-core is "
               "older than 60";
    }
    if ((attr.buffer == NULL) || (attr.entry_size < sizeof(efa_io_cqe_t)) ||
        (attr.entry_size % sizeof(efa_io_cqe_t) != 0) ||
        !efa_direct_is_power(attr.num_entries) || (attr.num_entries < depth) ||
        ((attr.doorbell == NULL) && (qp->channel != NULL))) {
        return "its completion queue is of an unknown kind";
    }
    cq->ring     = attr.buffer;
    cq->end      = attr.buffer + (size_t)attr.num_entries * attr.entry_size;
    cq->size     = attr.entry_size;
    cq->next     = cq->ring;
    cq->expect   = EFA_IO_CQE_PHASE | queue;
    cq->doorbell = attr.doorbell;
    return NULL;
}

/*
 * A device whose completion queues are two rings each (PCI device 0xefa0) is
 * left to libefa: it does not say so, nor which ring is which queue's.
 */
const char *efa_direct_unfit(const efa_device_t *device)
{
    if ((device->verbs->efa_query_qp_wqs == NULL) ||
        (device->verbs->efa_query_cq == NULL)) {
        return "libefa does not tell where its queues are: rdma-core is older "
               "than 60";
    }
    return (device->part == EFA_DIRECT_TWO_RINGS) ?
                   "its completion queues are two rings each" :
                   NULL;
}

/* Some emulated devices work by themselves, too: those answer -1. */
static void efa_direct_find_emulator(efa_qp_t *qp)
{
    *(void**)&qp->direct.emulator = dlsym(RTLD_DEFAULT, "efasim_progress");
    if ((qp->direct.emulator != NULL) && (qp->direct.emulator() < 0)) {
        qp->direct.emulator = NULL;
    }
}

const char *efa_direct_open(efa_qp_t *qp)
{
    const efa_device_t *device = qp->md->device;
    efa_adv_wq_t        sq = {0}, rq = {0};
    const char         *why;

    why = efa_direct_unfit(device);
    if (why != NULL) {
        return why;
    }
    if (device->verbs->efa_query_qp_wqs(qp->qp, &sq, &rq, sizeof(sq)) != 0) {
        return "libefa does not tell where its queues are";
    }
    efa_direct_find_emulator(qp);
    why = efa_direct_open_sq(qp, &sq);
    if (why == NULL) {
        why = efa_direct_open_rq(qp, &rq);
    }
    if (why == NULL) {
        why = efa_direct_open_cq(qp, &qp->direct.tx, qp->tx_cq, qp->tx_depth,
                                 EFA_IO_CQE_SEND);
    }
    if (why == NULL) {
        why = efa_direct_open_cq(qp, &qp->direct.rx, qp->rx_cq, qp->rx_depth,
                                 EFA_IO_CQE_RECV);
    }
    qp->is_direct       = why == NULL;
    qp->direct.in_place = qp->is_direct && !qp->direct.sq.wide;
    return why;
}

static void efa_direct_stop_cq(efa_direct_cq_t *cq)
{
    static const uint32_t untouched; /* of the phase that is not awaited */

    cq->next    = (const uint8_t*)&untouched;
    cq->expect |= EFA_IO_CQE_PHASE;
}

void efa_direct_stop(efa_qp_t *qp)
{
    efa_direct_rq_t *rq = &qp->direct.rq;

    rq->slot = &rq->nowhere;
    rq->ring = &rq->nowhere;
    rq->end  = &rq->nowhere + 1;
    efa_direct_stop_cq(&qp->direct.tx);
    efa_direct_stop_cq(&qp->direct.rx);
}

int efa_direct_sq_turn(efa_qp_t *qp)
{
    efa_direct_sq_t *sq = &qp->direct.sq;

    if (sq->slot == sq->end) {
        sq->slot  = sq->ring;
        sq->must ^= EFA_IO_WR_PHASE;
    }
    efa_direct_sq_aim(sq);
    efa_direct_wake(qp);
    return 0;
}

__attribute__((noinline)) void
efa_direct_list_ring(efa_qp_t *qp, uint8_t *slot, uint64_t must, unsigned count)
{
    efa_direct_sq_t *sq = &qp->direct.sq;

    sq->slot     = slot;
    sq->must     = must;
    sq->written += count;
    sq->silent   = 0;
    efa_barrier_send();
    *sq->doorbell = sq->written;
    efa_direct_wake(qp);
}

void efa_direct_list_end(efa_qp_t *qp)
{
    efa_direct_sq_t *sq = &qp->direct.sq;

    if (sq->silent > 0) {
        efa_direct_list_ring(qp, sq->slot, sq->must, sq->silent);
    }
    efa_direct_sq_aim(sq);
}

void efa_direct_arm(efa_direct_cq_t *cq)
{
    *cq->doorbell = cq->taken | EFA_IO_CQ_ARM |
                    ((uint32_t)(cq->events & 3) << EFA_IO_CQ_EVENTS_SHIFT);
}

/* ---- any request ---- */

/*
 * Write the rest of a request, behind its head: `pieces` words of pieces, and
 * `inside` or NULL. All of the request is written, as libefa does.
 */
static void efa_direct_body(const efa_direct_sq_t *sq, volatile uint64_t *slot,
                            const efa_io_piece_t *pieces, unsigned count,
                            const struct ibv_sge *inside)
{
    uint64_t body[(EFA_IO_WR_SIZE_WIDE - EFA_IO_WR_HEAD) / sizeof(uint64_t)];
    size_t   room = efa_direct_size(sq) - EFA_IO_WR_HEAD;
    size_t   used = count * sizeof(*pieces), i;

    memset(body, 0, sizeof(body));
    memcpy(body, pieces, used);
    if (inside != NULL) {
        memcpy((uint8_t*)body + used, (const void*)(uintptr_t)inside->addr,
               efa_at_most(inside->length, room - used));
    }
    for (i = 0; i < room / sizeof(*slot); ++i) {
        slot[i] = body[i];
    }
}

static efa_io_piece_t efa_direct_local(const struct ibv_sge *piece)
{
    efa_io_piece_t io = {
        .length = piece->length,
        .key    = piece->lkey,
        .addr   = piece->addr
    };

    return io;
}

/* How much comes along, in the request's first word. */
static uint64_t
efa_direct_length(const struct ibv_sge *pieces, int count, int inlined)
{
    return inlined ? EFA_IO_WR_INLINE | ((uint64_t)pieces->length
                                         << EFA_IO_WR_LENGTH_SHIFT) :
                     (uint64_t)count << EFA_IO_WR_LENGTH_SHIFT;
}

void efa_direct_send(efa_qp_t *qp, const efa_dest_t *dest, uint16_t id,
                     const struct ibv_sge *pieces, int count, int inlined)
{
    efa_direct_sq_t   *sq = &qp->direct.sq;
    efa_io_piece_t     io[2];
    volatile uint64_t *slot;
    int                i;

    if (!inlined && !sq->wide) {
        if ((count == 1) ? efa_direct_send_piece(sq, dest, id, pieces) :
                           efa_direct_send_pieces(sq, dest, id, pieces)) {
            (void)efa_direct_sq_turn(qp);
        }
        return;
    }
    slot = efa_direct_head(sq, dest,
                           id | efa_direct_length(pieces, count, inlined));
    for (i = 0; !inlined && (i < count); ++i) {
        io[i] = efa_direct_local(&pieces[i]);
    }
    efa_direct_body(sq, slot, io, i, inlined ? pieces : NULL);
    if (efa_direct_ring(sq, efa_direct_size(sq))) {
        (void)efa_direct_sq_turn(qp);
    }
}

void efa_direct_rdma(efa_qp_t *qp, const efa_dest_t *dest, uint16_t id,
                     efa_rdma_t rdma, const efa_io_piece_t *remote,
                     const struct ibv_sge *piece, int inlined)
{
    efa_direct_sq_t   *sq    = &qp->direct.sq;
    efa_io_piece_t     io[2] = {*remote, efa_direct_local(piece)};
    volatile uint64_t *slot;

    slot = efa_direct_head(sq, dest,
                           id | efa_direct_length(piece, 1, inlined) |
                                   efa_direct_rdma_bits(rdma));
    efa_direct_body(sq, slot, io, inlined ? 1 : 2, inlined ? piece : NULL);
    if (efa_direct_ring(sq, efa_direct_size(sq))) {
        (void)efa_direct_sq_turn(qp);
    }
}

void efa_direct_list_add(efa_qp_t *qp, const efa_dest_t *dest,
                         uint16_t id, efa_rdma_t rdma,
                         const efa_io_piece_t *remote,
                         const struct ibv_sge *piece)
{
    efa_direct_sq_t   *sq    = &qp->direct.sq;
    efa_io_piece_t     io[2] = {*remote, efa_direct_local(piece)};
    volatile uint64_t *slot;

    slot = efa_direct_head(sq, dest,
                           id | efa_direct_length(piece, 1, 0) |
                                   efa_direct_rdma_bits(rdma));
    efa_direct_body(sq, slot, io, 2, NULL);
    efa_direct_list_step(sq, efa_direct_size(sq));
    if (++sq->silent == sq->most) {
        efa_direct_list_ring(qp, sq->slot, sq->must, sq->silent);
    }
}

/* ---- completions, any of them ---- */

static void efa_direct_fill(struct ibv_wc *wc, const efa_io_cqe_t *cqe,
                            uint32_t first, int is_usual)
{
    wc->vendor_err = EFA_IO_CQE_STATUS(first);
    wc->status     = (wc->vendor_err == 0) ? IBV_WC_SUCCESS :
                                             IBV_WC_GENERAL_ERR;
    wc->wc_flags   = (first & EFA_IO_CQE_IMMEDIATE) ? IBV_WC_WITH_IMM : 0;
    /* as much as is in the buffer: of nothing else */
    wc->byte_len   = is_usual ? cqe->length : 0;
    wc->src_qp     = cqe->src >> 16;
    wc->slid       = (uint16_t)cqe->src;
}

static int efa_direct_read(efa_direct_cq_t *cq, int max, struct ibv_wc *wc)
{
    uint32_t first, id;
    int      count, is_usual;

    for (count = 0; count < max; ++count, ++wc) {
        first = efa_direct_first(cq);
        id    = EFA_IO_CQE_ID(first);
        if ((first ^ cq->expect) & EFA_IO_CQE_PHASE) {
            break;
        }
        if ((id >= cq->users.count) || (first & EFA_IO_CQE_NO_REQUEST)) {
            if (count == 0) {
                return -EIO;
            }
            break; /* it stays there */
        }
        is_usual  = efa_direct_is_usual(cq, first ^ cq->expect);
        wc->wr_id = (uintptr_t)efa_direct_user(cq, id);
        efa_direct_fill(wc, efa_direct_take(cq), first, is_usual);
    }
    if (count > 0) {
        efa_direct_taken(cq, count);
    }
    return count;
}

int efa_direct_poll(const efa_qp_t *qp, efa_direct_cq_t *cq, int max,
                    struct ibv_wc *wc)
{
    int count = efa_direct_read(cq, max, wc);

    if ((count == 0) && (qp->direct.emulator != NULL)) {
        efa_direct_wake(qp);
        count = efa_direct_read(cq, max, wc);
    }
    return count;
}
