/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress: polls both queues, then sees to due work and to requests that
 * wait. */
#include "base_progress.h"
#include "base_retry.h"
#include "base_probe.h"
#include "base_flow.h"
#include "base_ctl.h"
#include "base_complete.h"
#include "base_core_events.h"
#include "base_device_lost.h"
#include "base_fail.h"
#include "base_pending.h"
#include "base_rx.h"
#include "base_polled.h"
#include "base_tx.h"

#define BASE_QUIET_POLLS 16 /* batches at a time */

/* Completions other than those of messages that nobody waits for. Returns the
 * last one that was dealt with. */
static __attribute__((noinline)) const efa_wc_t *
base_tx_other(base_iface_t *iface, const efa_wc_t *wc, const efa_wc_t *end)
{
    base_op_t *op = efa_wc_user(wc);

    if (efa_wc_is_ok(wc) && (op->out.kind == BASE_OUT_CTL)) { /* none runs */
        base_ctl_finish(iface, op, FLOW_SEND_OK);
        return wc;
    }
    return base_polled_batch(iface, wc, end);
}

/* Many are out, and a whole batch of them had completed: more will have. Else
 * an operation comes back when no cache has it, and a program that posts as
 * many in each progress runs out of them. */
static inline void base_tx_more(base_iface_t *iface)
{
    if (iface->ops_posted - iface->ops_done >= BASE_TX_MANY) {
        iface->todo |= BASE_TODO_DRAIN;
    }
}

/* As base_rx_batch: 29 instructions (bench_complete, libefa). */
static __attribute__((noinline)) unsigned
base_tx_batch(base_iface_t *iface, const efa_wc_t *wc, int count)
{
    const efa_wc_t *end = wc + count;
    base_op_t      *op;

    if (__builtin_expect(count < 0, 0)) {
        base_fail_iface(iface, "polling for completions", -count);
        return 0;
    }
    do {
        op = efa_wc_user(wc);
        if (__builtin_expect(!efa_wc_is_ok(wc) ||
                                     (op->out.kind != BASE_OUT_AM) ||
                                     op->ep->is_flushed,
                             0)) {
            wc = base_tx_other(iface, wc, end);
        } else {
            base_complete_am(iface, op);
        }
    } while (++wc < end);
    if (count == BASE_POLL_BATCH) {
        base_tx_more(iface);
    }
    return count;
}

unsigned base_progress_poll_tx(base_iface_t *iface)
{
    efa_wc_t wc[BASE_POLL_BATCH];
    int      polled = efa_poll_tx(&iface->qp, BASE_POLL_BATCH, wc);

    return (polled != 0) ? base_tx_batch(iface, wc, polled) : 0;
}

/* Tells the device of the last `read` completions that were read through
 * `copy`; `done` of them were messages, whose operations lead the list
 * `free`. */
static inline void
base_tx_told(base_iface_t *iface, const efa_direct_cq_t *copy,
             base_op_t *free, unsigned done, unsigned read)
{
    *iface->ops.sink = free;
    iface->ops_done += done;
    efa_direct_went(&iface->qp.direct.tx, copy);
    efa_direct_taken(&iface->qp.direct.tx, read);
}

/*
 * The same by the direct path, up to the first completion that is no success of
 * a message. Queue and list of free operations are in registers meanwhile.
 * *is_other: something else is there. (BASE_OUT_AM is 0.)
 * 33 instructions (bench_complete, direct).
 */
static inline __attribute__((always_inline)) unsigned
base_tx_direct(base_iface_t *iface, int *is_other)
{
    efa_direct_cq_t copy  = iface->qp.direct.tx;
    base_op_t      *free  = *iface->ops.sink, *op;
    unsigned        left  = BASE_POLL_BATCH, told = BASE_POLL_BATCH;
    uint32_t        id;

    do {
        id = efa_direct_next(&copy);
        if (!efa_direct_is_usual(&copy, id)) {
            *is_other |= !(id & EFA_IO_CQE_PHASE);
            break;
        }
        op = efa_direct_user(&copy, id);
        (void)efa_direct_take(&copy);
        if (__builtin_expect((op->out.kind | op->ep->is_flushed) == BASE_OUT_AM,
                             1)) {
            base_complete_am_end(iface, op);
            op->out.next = (base_out_t*)free;
            free         = op;
        } else { /* a callback may post: there must be room for the ends */
            base_tx_told(iface, &copy, free, told - left, told - left + 1);
            told = left - 1;
            base_tx_completion(iface, op, 0);
            copy = iface->qp.direct.tx;
            free = *iface->ops.sink;
        }
    } while (--left > 0);

    if (told > left) {
        base_tx_told(iface, &copy, free, told - left, told - left);
        if (left == 0) {
            base_tx_more(iface);
        }
    }
    return BASE_POLL_BATCH - left;
}

/* All operations are out, or a window, or many: some have completed, and nobody
 * took their completions. */
static __attribute__((noinline)) unsigned
base_progress_drain_tx(base_iface_t *iface)
{
    unsigned left = BASE_TX_BATCHES, count = 0, polled;
    int      is_other;

    do {
        is_other = !iface->qp.is_direct;
        polled   = is_other ? 0 : base_tx_direct(iface, &is_other);
        polled  += is_other ? base_progress_poll_tx(iface) : 0;
        count   += polled;
    } while ((polled >= BASE_POLL_BATCH) && (--left > 0));
    if (left != 0) { /* the end was seen */
        iface->todo &= ~BASE_TODO_DRAIN;
    }
    return count;
}

/* RDMA that is short, as long as nothing else comes. */
static __attribute__((noinline)) unsigned
base_tx_direct_rma(base_iface_t *iface)
{
    efa_direct_cq_t   copy  = iface->qp.direct.tx;
    base_op_t        *free  = *iface->ops.sink, *op;
    unsigned          count = 0, told = 0;
    uct_completion_t *comp;
    uint32_t          id;

    for (; count < BASE_POLL_BATCH; ++count) {
        id = efa_direct_next(&copy) & ~EFA_IO_CQE_OPERATION;
        if (!efa_direct_is_usual(&copy, id)) {
            break;
        }
        op = efa_direct_user(&copy, id);
        if (!base_complete_rma_is_short(iface, op)) {
            if (op->out.kind != BASE_OUT_GET_BCOPY) {
                break;
            }
            (void)efa_direct_take(&copy); /* callbacks run, as below */
            base_tx_told(iface, &copy, free, count - told, count + 1 - told);
            told = count + 1;
            base_polled_rma(iface, op);
            copy = iface->qp.direct.tx;
            free = *iface->ops.sink;
            continue;
        }
        (void)efa_direct_take(&copy);
        comp         = base_complete_rma(iface, op);
        op->out.next = (base_out_t*)free;
        free         = op;
        if (comp != NULL) { /* as in base_tx_direct: it may post */
            base_tx_told(iface, &copy, free, count + 1 - told,
                         count + 1 - told);
            told = count + 1;
            comp->func(comp);
            copy = iface->qp.direct.tx;
            free = *iface->ops.sink;
        }
    }
    if (count > told) {
        base_tx_told(iface, &copy, free, count - told, count - told);
    }
    return count;
}

/* The rest that the direct path left, if any. */
static __attribute__((noinline)) unsigned
base_direct_rest(base_iface_t *iface)
{
    unsigned count = base_rx_poll(iface);

    return count + base_progress_poll_tx(iface);
}

/* Polls both queues. */
static inline unsigned base_progress_poll_direct(base_iface_t *iface)
{
    int      is_other = 0;
    unsigned count    = base_rx_direct(iface), rma;

    if ((count == 0) && (iface->qp.direct.emulator != NULL)) {
        efa_direct_wake(&iface->qp);
        count = base_rx_direct(iface);
    }
    if (base_iface_is_sending(iface)) {
        count += base_tx_direct(iface, &is_other);
    }
    if (is_other) {
        rma      = base_tx_direct_rma(iface);
        count   += rma;
        is_other = (rma < BASE_POLL_BATCH) &&
                   efa_direct_is_other(&iface->qp.direct.tx);
    }
    if (__builtin_expect(efa_direct_is_other(&iface->qp.direct.rx) || is_other,
                         0)) {
        count += base_direct_rest(iface);
    }
    return count;
}

/* Is work due, after so many completions? Where only the hand's tick may be,
 * the clock is asked after some calls or completions, as that costs as much as
 * a message. */
static inline int base_is_due(base_iface_t *iface, unsigned count)
{
    return flow_is_due(iface->core) &&
           (!flow_is_lax(iface->core) ||
            ((iface->lax_calls += 1 + count) >= BASE_LAX_CALLS));
}

/* The work after the polls, from which `count` completions came. */
static inline unsigned
base_progress_follow_up(base_iface_t *iface, unsigned count)
{
    if (__builtin_expect(base_is_due(iface, count), 0)) {
        count += base_core_events_run(iface, count);
    }
    if (__builtin_expect(iface->waiting != 0, 0)) {
        if ((count > 0) || iface->dispatch.cut) {
            count += base_pending_dispatch(iface, count > 0);
        } else {
            base_pending_wait(iface);
        }
    }
    return count;
}

/* A round of base_fail_count_rounds. The last one is no call from a request's
 * callback, as that dispatches nothing. */
static unsigned base_progress_round(base_iface_t *iface)
{
    ++iface->rounds;
    if ((int32_t)(iface->rounds - iface->rounds_end) < 0) {
        return 1;
    }
    if (iface->serving != NULL) {
        return 0;
    }
    iface->todo &= ~BASE_TODO_TOLD;
    return 1;
}

/* Something came before this progress. Returns whether it was the end. */
static __attribute__((noinline)) int
base_progress_todo(base_iface_t *iface, unsigned *count_p)
{
    iface->todo &= ~(uintptr_t)BASE_TODO_LOOKED;
    if (iface->todo & BASE_TODO_REPLAY) {
        iface->todo &= ~BASE_TODO_REPLAY;
        ++iface->replays;
    }
    *count_p = base_polled_take(iface);
    if (iface->todo & BASE_TODO_LATER) {
        *count_p += base_rx_take_later(iface);
    }
    if (iface->todo & BASE_TODO_MEMORY) {
        *count_p += base_rx_retry(iface);
    }
    if (iface->todo & BASE_TODO_RETRY) {
        *count_p += base_retry_run(iface);
    }
    if (iface->todo & BASE_TODO_PROBE) {
        *count_p += base_probe_run(iface);
    }
    if (iface->todo & BASE_TODO_TOLD) {
        *count_p += base_progress_round(iface);
    }
    if ((iface->todo & (BASE_TODO_DRAIN | BASE_TODO_BROKEN)) ==
        BASE_TODO_DRAIN) {
        *count_p += base_progress_drain_tx(iface);
    }
    if (!(iface->todo & BASE_TODO_BROKEN)) {
        return 0;
    }
    *count_p += base_polled_take_tx(iface); /* all: the rest is cancelled */
    *count_p += base_device_lost(iface);
    return 1;
}

/* by_verbs: the queue pair is not direct, which is known where it is called. */
static inline __attribute__((always_inline)) unsigned
base_progress_iface(base_iface_t *iface, int by_verbs)
{
    efa_wc_t wc[BASE_POLL_BATCH];
    unsigned count = 0;
    int      polled;

    if (__builtin_expect(iface->todo, 0) &&
        base_progress_todo(iface, &count)) {
        return base_progress_follow_up(iface, count);
    }
    polled = by_verbs ? efa_poll_rx_verbs(&iface->qp, BASE_POLL_BATCH, wc) :
                        efa_poll_rx(&iface->qp, BASE_POLL_BATCH, wc);
    if (polled != 0) {
        count += base_rx_batch(iface, wc, polled);
    }
    if (base_iface_is_sending(iface)) {
        polled = by_verbs ? efa_poll_tx_verbs(&iface->qp, BASE_POLL_BATCH, wc) :
                            efa_poll_tx(&iface->qp, BASE_POLL_BATCH, wc);
        if (polled != 0) {
            count += base_tx_batch(iface, wc, polled);
        }
    }
    return base_progress_follow_up(iface, count);
}

unsigned base_progress_run(uct_iface_h tl_iface)
{
    return base_progress_iface((base_iface_t*)tl_iface, 1);
}

unsigned base_progress_any(uct_iface_h tl_iface)
{
    return base_progress_iface((base_iface_t*)tl_iface, 0);
}

static __attribute__((noinline)) unsigned
base_progress_busy(base_iface_t *iface)
{
    unsigned count = 0;

    if (__builtin_expect(iface->todo, 0) &&
        base_progress_todo(iface, &count)) {
        return base_progress_follow_up(iface, count);
    }
    return base_progress_follow_up(iface,
                                   count + base_progress_poll_direct(iface));
}

/* Most calls of a program that waits find nothing to do, by
 * 20 instructions (bench_empty, direct), 26 while something is sent. */
static inline int base_progress_is_idle(base_iface_t *iface)
{
    return ((iface->todo | iface->waiting) == 0) &&
           !efa_direct_is_there(&iface->qp.direct.rx) &&
           (!base_iface_is_sending(iface) ||
            !efa_direct_is_there(&iface->qp.direct.tx)) &&
           !base_is_due(iface, 0);
}

unsigned base_progress_emulated(uct_iface_h tl_iface)
{
    return base_progress_busy((base_iface_t*)tl_iface);
}

unsigned base_progress_direct(uct_iface_h tl_iface)
{
    base_iface_t *iface = (base_iface_t*)tl_iface;

    return base_progress_is_idle(iface) ? 0 : base_progress_busy(iface);
}

/* As far as there is room for packets that cannot be delivered yet. */
static void base_quiet_poll_rx(base_iface_t *iface)
{
    unsigned polls;

    for (polls = 0; (polls < BASE_QUIET_POLLS) && base_rx_has_room(iface);
         ++polls) {
        if (base_rx_poll(iface) == 0) {
            return;
        }
    }
}

static void base_quiet_poll_tx(base_iface_t *iface)
{
    efa_wc_t wc[BASE_POLL_BATCH];
    unsigned polls;
    int      polled, i;

    for (polls = 0; polls < BASE_QUIET_POLLS; ++polls) {
        polled = efa_poll_tx(&iface->qp, BASE_POLL_BATCH, wc);
        if (polled < 0) {
            base_fail_iface(iface, "polling for completions", -polled);
        }
        if (polled <= 0) {
            return;
        }
        for (i = 0; i < polled; ++i) {
            base_tx_completion(iface, efa_wc_user(&wc[i]),
                               efa_wc_status(&wc[i]));
        }
    }
}

void base_progress_quiet(base_iface_t *iface)
{
    if (iface->broken || (iface->qp.qp == NULL)) {
        return; /* progress ends it, or has */
    }
    base_flow_clock(iface);
    iface->is_quiet = 1;
    base_quiet_poll_rx(iface);
    base_quiet_poll_tx(iface);
    base_core_events_quiet(iface);
    iface->is_quiet = 0;
}
