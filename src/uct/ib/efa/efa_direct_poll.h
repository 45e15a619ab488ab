/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_DIRECT_POLL_H_
#define EFA_DIRECT_POLL_H_

#include "efa_barrier.h"
#include "efa_qp.h"

/*
 * A completion is there when its phase is that of this round of the ring. The
 * first word of a usual one, a success of the kind that is waited for, is
 * cq->expect and the request's id: one compare tells that it is there, that it
 * is usual, and that its id is in use. A completion that fails the compare is
 * examined closely.
 *
 * for (...) {
 *     id = efa_direct_next(cq);
 *     if (!efa_direct_is_usual(cq, id)) break, or look closer
 *     user = efa_direct_user(cq, id);
 *     cqe  = efa_direct_take(cq);
 * }
 * efa_direct_taken(cq, count);
 */

/* The word that tells whether the next completion is there. */
static inline uint32_t efa_direct_first(const efa_direct_cq_t *cq)
{
    return *(const volatile uint32_t*)cq->next;
}

/* The id of the next completion, if it is a usual one. */
static inline uint32_t efa_direct_next(const efa_direct_cq_t *cq)
{
    return efa_direct_first(cq) ^ cq->expect;
}

static inline int efa_direct_is_usual(const efa_direct_cq_t *cq, uint32_t id)
{
    return __builtin_expect(id < cq->users.count, 1);
}

/* The poster of the request of this id, which is below users.count. */
static inline void *efa_direct_user(const efa_direct_cq_t *cq, uint32_t id)
{
    return cq->users.table[id];
}

/* Is there a completion? */
static inline int efa_direct_is_there(const efa_direct_cq_t *cq)
{
    return !(efa_direct_next(cq) & EFA_IO_CQE_PHASE);
}

/* Is there a completion that is not a usual one? */
static inline int efa_direct_is_other(const efa_direct_cq_t *cq)
{
    uint32_t id = efa_direct_next(cq);

    return !(id & EFA_IO_CQE_PHASE) && (id >= cq->users.count);
}

/* Takes the next completion, which is there, and goes on to the one behind it.
 * The entry that is returned is the device's again after efa_direct_taken. */
static inline const efa_io_cqe_t *efa_direct_take(efa_direct_cq_t *cq)
{
    const uint8_t *cqe = cq->next;

    efa_barrier_completion();
    cq->next = cqe + cq->size;
    if (__builtin_expect(cq->next == cq->end, 0)) {
        cq->next    = cq->ring;
        cq->expect ^= EFA_IO_CQE_PHASE;
    }
    return (const efa_io_cqe_t*)cqe;
}

/*
 * Many may be read through a copy of the queue, which the compiler keeps in
 * registers: then this comes before efa_direct_taken, and before anything else
 * may read the queue.
 */
static inline void
efa_direct_went(efa_direct_cq_t *cq, const efa_direct_cq_t *copy)
{
    cq->next   = copy->next;
    cq->expect = copy->expect;
}

/* Tells the device that `count` more were read. */
static inline void efa_direct_taken(efa_direct_cq_t *cq, unsigned count)
{
    cq->taken += count;
    if (cq->doorbell != NULL) {
        *cq->doorbell = cq->taken | ((uint32_t)(cq->events & 3)
                                     << EFA_IO_CQ_EVENTS_SHIFT);
    }
}

/* The emulated device has no life of its own. */
static inline void efa_direct_wake(const efa_qp_t *qp)
{
    if (__builtin_expect(qp->direct.emulator != NULL, 0)) {
        qp->direct.emulator();
    }
}

/* As ibv_poll_cq: the number of completions, or a negative errno value. */
int efa_direct_poll(const efa_qp_t *qp, efa_direct_cq_t *cq, int max,
                    struct ibv_wc *wc);

#endif
