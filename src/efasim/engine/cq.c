/*
 * Completion queues.
 *
 * What real hardware does when a completion finds its queue full is not
 * public. Here nothing is lost: the completion waits in a spill list, it is
 * counted (cq_overruns), and the first one is reported in a line, because on
 * hardware it would be a bug of the program.
 *
 * How far the program has read is known from the doorbell, which lags: libefa
 * does not write it after an extended poll that ended with an empty queue. So
 * the caller also says when a poll found nothing (sim_cq_drained). A program
 * that reads the ring by itself must write the doorbell. Without a doorbell
 * mapping there is no check.
 */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The phase bit in the first word of a completion */
#define CQ_PHASE  (1u << (8 * offsetof(struct io_cqe, flags)))

int sim_cq_create(struct sim_dev *dev, uint32_t depth, uint16_t cqe_size,
                  uint8_t *buf, _Atomic uint32_t *db, struct sim_cq **cq_p)
{
    struct sim_cq *cq;
    unsigned i;

    if ((depth == 0) || (depth > SIM_MAX_CQE) || (depth & (depth - 1)) ||
        ((cqe_size != IO_CQE_SMALL) && (cqe_size != IO_CQE_LARGE))) {
        return -EINVAL;
    }

    for (i = 0; (i < SIM_MAX_CQ) && (dev->cq[i] != NULL); ++i) {
    }
    cq = (i < SIM_MAX_CQ) ? calloc(1, sizeof(*cq)) : NULL;
    if (cq == NULL) {
        return -ENOMEM;
    }

    cq->dev      = dev;
    cq->index    = i;
    cq->depth    = depth;
    cq->cqe_size = cqe_size;
    cq->subs     = dev->profile->sub_cqs;
    cq->buf      = buf;
    cq->db       = db;
    dev->cq[i]   = cq;
    *cq_p        = cq;
    return 0;
}

int sim_cq_destroy(struct sim_cq *cq)
{
    if (cq->refs != 0) {
        return -EBUSY;
    }

    cq->dev->spilled       -= cq->spill_num;
    cq->dev->cq[cq->index]  = NULL;
    free(cq->spill);
    free(cq);
    return 0;
}

/* Completions not yet read, at most. Doorbell and counts are those of all
 * sub-CQs together. */
static uint32_t cq_pending(const struct sim_cq *cq)
{
    uint32_t db      = atomic_load_explicit(cq->db, memory_order_acquire);
    uint32_t by_db   = (sim_cq_produced(cq) - (db & IO_CQ_DB_CONSUMER)) &
                       0xffff;
    uint32_t by_poll = sim_cq_produced(cq) - atomic_load(&cq->drained);

    return (by_db < by_poll) ? by_db : by_poll;
}

static int cq_is_full(const struct sim_cq *cq)
{
    return (cq->db != NULL) && (cq_pending(cq) >= cq->depth);
}

static void cq_event(struct sim_cq *cq)
{
    if (cq->armed) {
        cq->armed = 0;
        cq->dev->ops->event(cq->dev->env, cq);
    }
}

/* All but the word with the phase bit first, then that word. */
static void cq_write(struct sim_cq *cq, const struct io_cqe *cqe)
{
    unsigned sub    = ((cqe->flags >> 1) & 3) == IO_Q_SEND ? 0 : cq->subs - 1;
    uint32_t count  = atomic_load_explicit(&cq->produced[sub],
                                           memory_order_relaxed);
    uint32_t entry  = count & (cq->depth - 1);
    uint8_t phase   = !(count & cq->depth); /* counts rounds */
    uint8_t *target = cq->buf +
                      ((size_t)sub * cq->depth + entry) * cq->cqe_size;
    uint32_t first;

    memcpy(&first, cqe, sizeof(first));
    first = (first & ~CQ_PHASE) | (phase * CQ_PHASE);
    if (cq->cqe_size == IO_CQE_SMALL) { /* sizes that the compiler knows */
        memcpy(target + sizeof(first), (const uint8_t*)cqe + sizeof(first),
               IO_CQE_SMALL - sizeof(first));
    } else {
        memcpy(target + sizeof(first), (const uint8_t*)cqe + sizeof(first),
               IO_CQE_LARGE - sizeof(first));
    }
    atomic_store_explicit((_Atomic uint32_t*)target, first,
                          memory_order_release);
    atomic_store_explicit(&cq->produced[sub], count + 1,
                          memory_order_relaxed);
}

static void cq_spill(struct sim_cq *cq, const struct io_cqe *cqe)
{
    struct sim_dev *dev = cq->dev;
    struct io_cqe *spill;
    uint32_t cap;

    if (cq->spill_num == cq->spill_cap) {
        cap   = cq->spill_cap ? 2 * cq->spill_cap : 64;
        spill = realloc(cq->spill, cap * sizeof(*spill));
        if (spill == NULL) {
            sim_dev_log(dev, "out of memory: a completion of CQ %u is lost",
                        cq->index);
            return;
        }
        cq->spill     = spill;
        cq->spill_cap = cap;
    }

    if ((cq->spill_num == 0) && (cq->subs == 1)) {
        sim_dev_log(dev, "CQ %u overrun: %u completions unread and one more "
                    "arrived; real hardware would lose it. Create the CQ as "
                    "deep as the queues that feed it", cq->index, cq->depth);
    }
    cq->spill[cq->spill_num++] = *cqe;
    ++dev->spilled;
    if (cq->subs == 1) { /* else one ring may be full and the other not */
        sim_count(dev, DIR_CQ_OVERRUNS, 1);
    }
}

void sim_cq_push(struct sim_cq *cq, const struct io_cqe *cqe)
{
    if ((cq->spill_num > 0) || cq_is_full(cq)) {
        cq_spill(cq, cqe);
        return;
    }

    cq_write(cq, cqe);
    cq_event(cq);
}

unsigned sim_cq_unspill(struct sim_cq *cq)
{
    unsigned done = 0;

    while ((done < cq->spill_num) && !cq_is_full(cq)) {
        cq_write(cq, &cq->spill[done++]);
    }

    if (done > 0) {
        cq->spill_num    -= done;
        cq->dev->spilled -= done;
        memmove(cq->spill, cq->spill + done,
                cq->spill_num * sizeof(*cq->spill));
        cq_event(cq);
    }

    return done;
}

void sim_cq_arm(struct sim_cq *cq)
{
    cq->armed = 1;
    if ((cq->db != NULL) && (cq_pending(cq) > 0)) {
        cq_event(cq);
    }
}
