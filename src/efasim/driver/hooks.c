/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the data path enters the device. libefa writes queues and doorbells
 * without a system call, so nothing tells the device. A thread that watches
 * memory loses whole time slices to programs that poll; so the calls themselves
 * advance the device: we stand before libefa's poll, post and arm functions,
 * which sit in public fields of the program's own structures. The backstop
 * thread serves programs that do not call.
 */
#include "hooks.h"
#include "backstop.h"
#include "lock.h"
#include "efasim/fabric/clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <string.h>

/*
 * The functions of libefa that were hooked last, for a forked child that goes
 * on using what its parent opened: its tables are empty, and it must not crash.
 */
static struct drv_cq hook_cq_seen;
static struct drv_qp hook_qp_seen;

#define HOOK_NEXT(_table, _handle, _max, _function, _seen) \
    (((_handle) < (_max)) && ((_table)[_handle]._function != NULL) ? \
     (_table)[_handle]._function : (_seen)._function)
#define HOOK_CQ(_cq, _function) \
    HOOK_NEXT(drv.cq, (_cq)->handle, DRV_CQS, _function, hook_cq_seen)
#define HOOK_QP(_qp, _function) \
    HOOK_NEXT(drv.qp, (_qp)->handle, DRV_QPS, _function, hook_qp_seen)

enum {
    HOOK_SPINS_MAX = 250,  /* calls in a row that found nothing: yield */
    HOOK_SPINS_GAP = 32,   /* such calls between two yields */
    HOOK_BUSY_MAX  = 256,  /* things done for several peers: yield, too */
    HOOK_RAN_NS    = 200 * 1000, /* of a yield in which somebody ran */
    HOOK_OWN_MAX   = 4,  /* yields in a row in which our own threads ran, */
    HOOK_OWN_ALL   = 16, /* or so many in all: */
    HOOK_PAUSE_NS  = 100 * 1000 * 1000, /* none for so long */
};

/* The success of a thread's yields. */
struct hook_yields {
    unsigned own;       /* in a row that only let our own threads run */
    unsigned all_own;   /* such yields since something was done, or the pause */
    uint64_t pause_end; /* none before */
};

/*
 * A thread that polls may hold a lock for which another thread of its program
 * spins, as UCX's of a worker. That thread would get the CPU and burn it until
 * its time slice ends; and as each yield is inside the lock, it might never
 * find that free. Therefore, when several yields let threads of this process
 * run, there or on another CPU, and nothing came of it, there is none for a
 * while: then the kernel changes threads at any place. A yield that comes back
 * at once says nothing; one in which another process ran was of use, but does
 * not help a thread that spins.
 */
static void hook_yield(struct hook_yields *yields)
{
    uint64_t cpu_time, start = fabric_clock(), end;

    if ((yields->own >= HOOK_OWN_MAX) && (start < yields->pause_end)) {
        return;
    }

    cpu_time = fabric_clock_of(CLOCK_PROCESS_CPUTIME_ID);
    sched_yield();
    cpu_time = fabric_clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_time;
    end      = fabric_clock();
    if (cpu_time <= HOOK_RAN_NS) {
        yields->own = (end - start > HOOK_RAN_NS) ? 0 : yields->own;
    } else if ((++yields->own >= HOOK_OWN_MAX) ||
               (++yields->all_own >= HOOK_OWN_ALL)) {
        yields->own       = HOOK_OWN_MAX;
        yields->all_own   = 0;
        yields->pause_end = end + HOOK_PAUSE_NS;
    }
}

/*
 * Programs poll without a pause, and there may be more of them than cores: one
 * that has found nothing for a long while lets the others run, as it may wait
 * for the device in its peer. A program that several others send to lets those
 * go on that share its core: else the sender on another core, which never
 * stops, would be served almost alone.
 */
static void hook_spin(const struct sim_dev *sim, unsigned done)
{
    static __thread unsigned spins, busy
            __attribute__((tls_model("initial-exec")));
    static __thread struct hook_yields yields
            __attribute__((tls_model("initial-exec")));

    if (done != 0) {
        spins          = 0;
        yields.own     = 0;
        yields.all_own = 0;
        busy          += done;
        if ((busy >= HOOK_BUSY_MAX) && (sim->rx_hot_num > 1)) {
            busy = 0;
            hook_yield(&yields);
        }
    } else if (++spins >= HOOK_SPINS_MAX) {
        spins = HOOK_SPINS_MAX - HOOK_SPINS_GAP;
        hook_yield(&yields);
    }
}

static unsigned hook_run(struct drv_dev *dev)
{
    unsigned done = 0;

    if (dev != NULL) {
        return (dev->sim != NULL) ? sim_dev_progress(dev->sim) : 0;
    }

    drv_for_each_device(dev) {
        if (dev->sim != NULL) {
            done += sim_dev_progress(dev->sim);
        }
    }

    return done;
}

unsigned drv_hook_progress(struct drv_dev *dev)
{
    unsigned done = 0;

    for (;;) {
        if (!drv_trylock()) {
            atomic_store(&drv.again, 1);
            return done;
        }
        done += hook_run(dev);
        drv_unlock();
        if (!atomic_load_explicit(&drv.again, memory_order_relaxed) ||
            !atomic_exchange(&drv.again, 0)) {
            return done;
        }
        dev = NULL; /* somebody found the lock taken: run all devices */
    }
}

/* For a caller outside: a lock that waits takes system calls. */
static void hook_lock(void)
{
    if (!drv_trylock()) {
        drv_lock();
    }
}

static void hook_count_call(struct drv_dev *dev)
{
    atomic_store_explicit(&dev->calls,
                          atomic_load_explicit(&dev->calls,
                                               memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/* Progress for a program that polls or posts. */
static void hook_entered(struct drv_dev *dev)
{
    const struct sim_dev *sim = (dev != NULL) ? dev->sim : NULL;

    if (sim == NULL) {
        return;
    }

    hook_count_call(dev);
    hook_spin(sim, drv_hook_progress(dev));
}

/* The device's side of a program's CQ (plain or extended); NULL: unknown. */
#define hook_cq_sim(_cq) \
    (((_cq)->handle < DRV_CQS) ? drv.cq[(_cq)->handle].cq : NULL)

/* The device of a program's CQ or QP; NULL: unknown. */
#define hook_dev(_table, _object, _max) \
    ((((_object)->handle < (_max)) && \
      ((_table)[(_object)->handle].ctx != NULL)) ? \
     (_table)[(_object)->handle].ctx->dev : NULL)

static void hook_cq_empty(struct sim_cq *cq, uint32_t produced)
{
    if (cq != NULL) {
        sim_cq_drained(cq, produced);
    }
}

static uint32_t hook_cq_produced(const struct sim_cq *cq)
{
    return (cq != NULL) ? sim_cq_produced(cq) : 0;
}

/* An eager device has worked until now, whatever the program did. */
static void hook_eager(struct drv_dev *dev)
{
    if ((dev != NULL) && (dev->sim != NULL) && dev->sim->knobs.eager) {
        drv_hook_progress(dev);
    }
}

/* One poll of a program. */
struct hook_poll {
    struct drv_dev *dev;
    struct sim_cq  *cq;
    uint32_t        produced; /* before it */
};

#define hook_poll_begin(_cq) \
    hook_poll_start(hook_dev(drv.cq, _cq, DRV_CQS), hook_cq_sim(_cq))

static struct hook_poll hook_poll_start(struct drv_dev *dev, struct sim_cq *cq)
{
    struct hook_poll poll = { dev, cq, 0 };

    hook_eager(dev);
    poll.produced = hook_cq_produced(cq);
    return poll;
}

/* It found nothing: the device works, then the caller polls again. */
static void hook_poll_empty(const struct hook_poll *poll)
{
    hook_cq_empty(poll->cq, poll->produced);
    hook_entered(poll->dev);
}

/* The device works only when the CQ is empty: so it delivers no faster than the
 * program polls, unless it is eager. */
static int hook_poll_cq(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
    struct hook_poll poll = hook_poll_begin(cq);
    int ret               = HOOK_CQ(cq, poll_cq)(cq, num, wc);

    if (ret == 0) {
        hook_poll_empty(&poll);
        ret = HOOK_CQ(cq, poll_cq)(cq, num, wc);
    }
    drv_lock_order_after();
    return ret;
}

static int hook_start_poll(struct ibv_cq_ex *cq,
                           struct ibv_poll_cq_attr *attr)
{
    struct hook_poll poll = hook_poll_begin(cq);
    int ret               = HOOK_CQ(cq, start_poll)(cq, attr);

    if (ret == ENOENT) {
        hook_poll_empty(&poll);
        ret = HOOK_CQ(cq, start_poll)(cq, attr);
    }
    drv_lock_order_after();
    return ret;
}

/* libefa writes no doorbell when next_poll() found the CQ empty: the engine is
 * told here. */
static int hook_next_poll(struct ibv_cq_ex *cq)
{
    struct sim_cq *sim = hook_cq_sim(cq);
    uint32_t produced  = hook_cq_produced(sim);
    int ret            = HOOK_CQ(cq, next_poll)(cq);

    if (ret == ENOENT) {
        hook_cq_empty(sim, produced);
    }
    return ret;
}

/* The errno that a post is to fail with, 0: none. Whether there is any
 * injection is read without the lock: it costs every post. */
static int hook_post_error(struct drv_dev *dev)
{
    uint8_t status = 0;

    if ((dev == NULL) || (dev->sim == NULL) || drv_lock_inside ||
        (dev->sim->knobs.inject_num == 0)) {
        return 0;
    }

    drv_lock();
    if ((dev->sim == NULL) ||
        !sim_inject_hit(dev->sim, SIM_INJECT_POST, &status)) {
        status = 0;
    }
    drv_unlock();
    return status;
}

/* The program's CPU is this slow: while it posts the device does nothing. */
static void hook_burn(uint64_t ns)
{
    uint64_t end = fabric_clock_of(CLOCK_THREAD_CPUTIME_ID) + ns;

    while (fabric_clock_of(CLOCK_THREAD_CPUTIME_ID) < end) {
    }
}

static void hook_posted(struct drv_dev *dev)
{
    if ((dev != NULL) && (dev->knobs.post_us != 0)) {
        hook_burn(dev->knobs.post_us * 1000);
    }
    hook_entered(dev);
    drv_backstop_kick(dev);
}

int drv_hook_is_eager(void)
{
    const struct drv_dev *dev;
    int eager = 0;

    drv_for_each_device(dev) {
        if (dev->sim != NULL) {
            if (!dev->sim->knobs.eager) {
                return 0;
            }
            eager = 1;
        }
    }
    return eager;
}

unsigned drv_hook_called(void)
{
    struct drv_dev *dev, *first = NULL;
    unsigned done;

    if (drv_lock_inside) {
        return 0;
    }
    hook_lock();
    drv_for_each_device(dev) {
        first = ((first == NULL) && (dev->sim != NULL)) ? dev : first;
        hook_count_call(dev);
    }
    done = hook_run(NULL);
    drv_unlock();
    if (first != NULL) {
        hook_spin(first->sim, done);
        drv_backstop_kick(first);
    }
    return done;
}

/* ENOMEM for a list longer than the knob accept=batch says; else 0. */
static int hook_batch_error(const struct drv_dev *dev,
                            const struct ibv_send_wr *wr)
{
    uint64_t count = 0;

    if ((dev == NULL) || (dev->sim == NULL) ||
        (dev->sim->knobs.accept[SIM_ACCEPT_BATCH] == 0)) {
        return 0;
    }
    for (; wr != NULL; wr = wr->next) {
        ++count;
    }
    return sim_accepts(&dev->sim->knobs, SIM_ACCEPT_BATCH, count) ? 0 : ENOMEM;
}

/* Before the first doorbell of a post */
static void hook_posting(const struct ibv_qp *qp)
{
    struct sim_qp *sim = (qp->handle < DRV_QPS) ? drv.qp[qp->handle].qp : NULL;

    if (sim != NULL) {
        sim_qp_by_library(sim);
    }
    drv_lock_order_before();
}

static int hook_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
                          struct ibv_send_wr **bad)
{
    struct drv_dev *dev = hook_dev(drv.qp, qp, DRV_QPS);
    int ret             = hook_post_error(dev);

    ret = (ret != 0) ? ret : hook_batch_error(dev, wr);
    if (ret != 0) {
        *bad = wr;
        return ret;
    }

    hook_posting(qp);
    ret = HOOK_QP(qp, post_send)(qp, wr, bad);
    hook_posted(dev);
    return ret;
}

/* The device looks for receives when it needs one: nothing to do but to order
 * what was written before. */
static int hook_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
                          struct ibv_recv_wr **bad)
{
    drv_lock_order_before();
    return HOOK_QP(qp, post_recv)(qp, wr, bad);
}

static int hook_wr_complete(struct ibv_qp_ex *qp)
{
    struct drv_dev *dev = hook_dev(drv.qp, &qp->qp_base, DRV_QPS);
    int ret             = hook_post_error(dev);

    if (ret != 0) {
        ibv_wr_abort(qp);
        return ret;
    }

    hook_posting(&qp->qp_base);
    ret = HOOK_QP(&qp->qp_base, wr_complete)(qp);
    hook_posted(dev);
    return ret;
}

/* libefa writes the doorbell, but its next poll clears the arm bit in the
 * same word: the device must be told here. */
static int hook_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
    struct drv_dev *dev = hook_dev(drv.cq, cq, DRV_CQS);
    int ret;

    if (drv_lock_is_interrupted("arming a completion queue")) {
        return EBUSY;
    }

    ret = HOOK_CQ(cq, req_notify_cq)(cq, solicited_only);
    if ((ret == 0) && (dev != NULL)) {
        hook_lock();
        if ((dev->sim != NULL) && (hook_cq_sim(cq) != NULL)) {
            sim_cq_arm(hook_cq_sim(cq));
        }
        drv_unlock();
        hook_posted(dev);
    }
    return ret;
}

/* Is this a function of a provider library? A CQ of an older rdma-core has no
 * extended part, but other data there. */
static int hook_is_code(void *function)
{
    Dl_info info;

    return (function != NULL) && (dladdr(function, &info) != 0) &&
           (info.dli_fname != NULL) && strstr(info.dli_fname, "efa");
}

void drv_hook_cq(struct drv_cq *entry)
{
    struct ibv_cq *cq    = entry->user;
    struct ibv_cq_ex *ex = (struct ibv_cq_ex*)cq;
    struct ibv_context_ops *ops;

    if ((cq == NULL) || (cq->context == NULL)) {
        return;
    }

    /* The context's functions are the same for all of its CQs: ours may be in
     * place already, then another CQ has the original ones. */
    ops = &cq->context->ops;
    if (ops->poll_cq != hook_poll_cq) {
        entry->ctx->poll_cq       = ops->poll_cq;
        entry->ctx->req_notify_cq = ops->req_notify_cq;
        entry->ctx->post_send     = ops->post_send;
        entry->ctx->post_recv     = ops->post_recv;
        ops->poll_cq              = hook_poll_cq;
        ops->req_notify_cq        = hook_req_notify_cq;
        ops->post_send            = hook_post_send;
        ops->post_recv            = hook_post_recv;
    }
    entry->poll_cq       = entry->ctx->poll_cq;
    entry->req_notify_cq = entry->ctx->req_notify_cq;

    if ((entry->start_poll == NULL) && (ex->start_poll != hook_start_poll) &&
        hook_is_code((void*)ex->start_poll)) {
        entry->start_poll = ex->start_poll;
        entry->next_poll  = ex->next_poll;
        ex->start_poll    = hook_start_poll;
        ex->next_poll     = hook_next_poll;
    }
    hook_cq_seen.poll_cq       = entry->poll_cq;
    hook_cq_seen.req_notify_cq = entry->req_notify_cq;
    if (entry->start_poll != NULL) {
        hook_cq_seen.start_poll = entry->start_poll;
        hook_cq_seen.next_poll  = entry->next_poll;
    }
}

void drv_hook_qp(struct drv_qp *entry)
{
    struct ibv_qp *qp    = entry->user;
    struct ibv_qp_ex *ex = (struct ibv_qp_ex*)qp;

    /* the command that creates a QP comes before libefa fills its extended
     * part; a later one that changes the state finds it */
    entry->post_send = entry->ctx->post_send;
    entry->post_recv = entry->ctx->post_recv;
    if (entry->qp->attr.send_cq->user != NULL) {
        drv_hook_cq(entry->qp->attr.send_cq->user);
        drv_hook_cq(entry->qp->attr.recv_cq->user);
    }
    if ((entry->wr_complete == NULL) &&
        hook_is_code((void*)ex->wr_complete)) {
        entry->wr_complete = ex->wr_complete;
        ex->wr_complete    = hook_wr_complete;
    }
    hook_qp_seen.post_send = entry->post_send;
    hook_qp_seen.post_recv = entry->post_recv;
    if (entry->wr_complete != NULL) {
        hook_qp_seen.wr_complete = entry->wr_complete;
    }
}
