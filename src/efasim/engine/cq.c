/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queues.
 *
 * A completion that finds its queue full is written all the same, over one that
 * was not read. The maker says no more than that completions are then dropped;
 * this is what the interface leaves to a device: entries tell old from new by a
 * phase bit, nothing says how far the program has read (the doorbell came with
 * notifications, and libefa does not always write it), and the driver knows no
 * event for it. The program misses the overwritten entry and finds its place
 * taken by one of the wrong phase: the queue seems empty until the device has
 * gone round once more.
 *
 * For the counter (cq_overruns) and a line we do ask how far the program has
 * read: the doorbell tells, and the caller, when a poll found nothing
 * (sim_cq_drained). A program that reads the ring by itself writes the doorbell
 * as rarely as it likes, so of one there is no count, but where it calls the
 * emulator, and so writes the doorbell as that asks.
 */
#include "cq.h"
#include "dev.h"
#include "log.h"

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
    cq->subs     = sim_profile_sub_cqs(dev);
    cq->buf      = buf;
    cq->db       = db;
    dev->cq[i]   = cq;
    dev->cq_end  = (i < dev->cq_end) ? dev->cq_end : i + 1;
    *cq_p        = cq;
    return 0;
}

int sim_cq_destroy(struct sim_cq *cq)
{
    if (cq->refs != 0) {
        return -EBUSY;
    }

    cq->dev->cq[cq->index] = NULL;
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

    return (cq->blind || (by_db < by_poll)) ? by_db : by_poll;
}

/* Does the next completion surely take the place of an unread one? cq->room
 * counts the entries that were free when the doorbell was last read: the
 * program reads on, so there are never fewer, and the doorbell is read again
 * when they are used up. One of two rings may be full and the other not. */
static int cq_is_full(struct sim_cq *cq)
{
    uint32_t pending;

    if ((cq->room > 0) || (cq->db == NULL) || cq->blind ||
        atomic_load_explicit(&cq->dev->self_rung, memory_order_relaxed)) {
        return 0;
    }

    pending  = cq_pending(cq);
    cq->room = (pending < cq->depth) ? cq->depth - pending : 0;
    return pending >= cq->depth * cq->subs;
}

/* Armed by a call; or by a doorbell, whose number of events must be the present
 * one, as an old value stays there. */
static int cq_is_armed(const struct sim_cq *cq)
{
    uint32_t db;

    if (cq->armed || (cq->db == NULL)) {
        return cq->armed;
    }
    db = atomic_load_explicit(cq->db, memory_order_acquire);
    return (db & IO_CQ_DB_ARM) && (IO_CQ_DB_EVENTS(db) == (cq->events & 3));
}

static void cq_event(struct sim_cq *cq)
{
    if (cq_is_armed(cq)) {
        cq->armed = 0;
        ++cq->events;
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
    cq->room -= (cq->room > 0);
}

static void cq_overrun(struct sim_cq *cq)
{
    sim_dev_count(cq->dev, DIR_CQ_OVERRUNS, 1);
    if (!cq->overrun) {
        cq->overrun = 1;
        sim_log(cq->dev, "CQ %u overrun: %u completions unread and one "
                "more arrived: unread ones are lost. Create the CQ as deep "
                "as the queues that feed it", cq->index,
                cq->depth * cq->subs);
    }
}

void sim_cq_push(struct sim_cq *cq, const struct io_cqe *cqe)
{
    if (cq_is_full(cq)) {
        cq_overrun(cq);
    }

    cq_write(cq, cqe);
    cq_event(cq);
}

void sim_cq_arm(struct sim_cq *cq)
{
    cq->armed = 1;
    if ((cq->db != NULL) && (cq_pending(cq) > 0)) {
        cq_event(cq);
    }
}

void sim_cq_doorbell(struct sim_cq *cq, uint32_t value)
{
    atomic_store_explicit(cq->db, value, memory_order_release);
    if (cq_is_armed(cq) && (cq_pending(cq) > 0)) {
        cq_event(cq);
    }
}

int sim_cq_any_is_armed(const struct sim_dev *dev)
{
    unsigned i;

    for (i = 0; i < dev->cq_end; ++i) {
        if ((dev->cq[i] != NULL) && cq_is_armed(dev->cq[i])) {
            return 1;
        }
    }
    return 0;
}
