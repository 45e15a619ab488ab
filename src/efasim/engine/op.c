/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests: from a pool of the device, found again by a token that packets
 * carry (index and generation).
 */
#include "op.h"
#include "pages.h"

#define OP_CHUNK       256u
#define OP_INDEX_BITS  20
#define OP_INDEX_MASK  ((1u << OP_INDEX_BITS) - 1)
#define OP_CHUNKS_MAX  (OP_INDEX_MASK / OP_CHUNK)

/*
 * Reordering: a held request lets up to reorder_reach later ones pass, a
 * held completion as many later completions. When no more come it goes after
 * SIM_QUIET calls, or OP_HOLD_NS for a program that does not call.
 */
#define OP_HOLD_NS       1000000

static int op_grow(struct sim_dev *dev)
{
    struct sim_op *chunk;
    unsigned i;

    if (dev->op_chunk == NULL) {
        dev->op_chunk = sim_pages_alloc(OP_CHUNKS_MAX * sizeof(*dev->op_chunk));
    }
    if ((dev->op_chunk == NULL) || (dev->op_chunks == OP_CHUNKS_MAX)) {
        return -1;
    }

    chunk = sim_pages_alloc(OP_CHUNK * sizeof(*chunk));
    if (chunk == NULL) {
        return -1;
    }

    for (i = 0; i < OP_CHUNK; ++i) {
        chunk[i].token = dev->op_chunks * OP_CHUNK + i;
        list_init(&chunk[i].link);
        list_init(&chunk[i].qp_link);
        list_init(&chunk[i].ah_link);
        list_add_tail(&dev->op_free, &chunk[i].link);
    }
    dev->op_chunk[dev->op_chunks++] = chunk;
    return 0;
}

void sim_op_cleanup(struct sim_dev *dev)
{
    sim_heap_cleanup(dev);
    while (dev->op_chunks > 0) {
        sim_pages_free(dev->op_chunk[--dev->op_chunks],
                       OP_CHUNK * sizeof(struct sim_op));
    }
    sim_pages_free(dev->op_chunk, OP_CHUNKS_MAX * sizeof(*dev->op_chunk));
}

/* Tries at a receiver that is not ready */
static uint8_t op_rnr_tries(const struct sim_qp *qp)
{
    uint64_t endless = qp->dev->knobs.rnr_endless;

    return ((qp->rnr_retry == SIM_RNR_ENDLESS) && (endless != 0)) ?
           endless : qp->rnr_retry;
}

struct sim_op *sim_op_alloc(struct sim_qp *qp)
{
    struct sim_dev *dev = qp->dev;
    struct sim_op *op;

    if (list_is_empty(&dev->op_free) && (op_grow(dev) != 0)) {
        return NULL;
    }

    op = list_entry(dev->op_free.next, struct sim_op, link);
    list_del(&op->link);
    list_add_tail(&qp->ops, &op->qp_link);
    op->nic      = -1;
    op->qp       = qp;
    op->peer     = NULL;
    op->done     = 0;
    op->placed   = 0;
    op->length   = 0;
    op->overtake = 0;
    op->tries    = 0;
    op->due      = 0;
    op->state    = SIM_OP_DELAYED;
    op->status   = EFA_STATUS_OK;
    op->rnr_left = op_rnr_tries(qp);
    op->number   = ++dev->requests;
    dev->quiet   = 0;
    ++dev->outstanding;
    ++qp->under_way;
    return op;
}

void sim_op_free(struct sim_op *op)
{
    struct sim_dev *dev = op->qp->dev;

    if (op->overtake != 0) {
        op->overtake = 0;
        --dev->overtaking;
    }
    list_del(&op->link);
    list_del(&op->qp_link);
    list_del(&op->ah_link);
    --op->qp->under_way;
    op->wait   = 0;
    op->state  = SIM_OP_FREE;
    op->token += 1u << OP_INDEX_BITS;
    op->peer   = NULL;
    list_add_tail(&dev->op_free, &op->link);
    --dev->outstanding;
}

struct sim_op *sim_op_find(struct sim_dev *dev, uint32_t token)
{
    uint32_t index = token & OP_INDEX_MASK;
    struct sim_op *op;

    if (index >= dev->op_chunks * OP_CHUNK) {
        return NULL;
    }

    op = &dev->op_chunk[index / OP_CHUNK][index % OP_CHUNK];
    return ((op->token == token) && (op->state != SIM_OP_FREE)) ? op : NULL;
}

void sim_op_wait(struct sim_op *op, enum sim_op_state state, uint64_t due)
{
    struct sim_dev *dev = op->qp->dev;

    list_del(&op->link);
    op->state = state;
    op->due   = due;
    op->wait  = 0;
    if ((op->overtake != 0) || (sim_heap_add(op) != 0)) {
        list_add_tail(&dev->held, &op->link);
    }
}

void sim_op_deadline(struct sim_op *op)
{
    struct sim_dev *dev = op->qp->dev;
    uint64_t check      = dev->now + SIM_CHECK_NS;

    op->due = dev->now + dev->knobs.timeout_ms * 1000000ull;
    if (check > op->due) {
        check = op->due;
    }
    if ((dev->check_next == 0) || (dev->check_next > check)) {
        dev->check_next = check;
    }
}

struct sim_rng sim_op_rng(const struct sim_op *op, enum sim_stream stream)
{
    struct sim_rng rng = { op->qp->dev->rng.state +
                           op->number * SIM_STREAMS + stream };

    rng.state = rng_next(&rng);
    return rng;
}

unsigned sim_op_reorder(const struct sim_op *op, enum sim_stream stream)
{
    struct sim_dev *dev = op->qp->dev;
    struct sim_rng rng  = sim_op_rng(op, stream);

    return rng_chance(&rng, dev->knobs.reorder) ?
           rng_range(&rng, 1, dev->knobs.reorder_reach) : 0;
}

void sim_op_hold(struct sim_op *op, enum sim_op_state state, uint64_t until)
{
    struct sim_dev *dev = op->qp->dev;

    op->overtake = until;
    ++dev->overtaking;
    sim_op_wait(op, state, dev->now + OP_HOLD_NS);
}
