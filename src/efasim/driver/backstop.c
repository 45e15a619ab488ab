/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The backstop: a thread that advances the device when the program does not
 * call into it. While the program polls, the thread only looks now and then; a
 * device with the knob eager is the thread's work at any time. While nothing at
 * all goes on it sleeps in the kernel until another process sends something
 * (the `sleeping` flag tells it to wake us) or this one posts. While the
 * program waits for an event, senders wake it from short naps, too. It does not
 * sleep while a device is eager or its program rings doorbells without a call,
 * as nothing tells of the next one.
 */
#include "backstop.h"
#include "lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    TICK_EAGER_US = 100,
    EAGER_ROUNDS  = 64,    /* of progress of an eager device, in a row */
    TICK_BUSY_US  = 200,   /* work is under way, nobody calls */
    TICK_CALLS_US = 1000,  /* the program calls: it does the work itself */
    TICK_STUCK_US = 2000,  /* work waits for others, for a while already */
    TICK_MORE_US  = 10,    /* there was work, for which the program waits */
    CALLS_FEW     = 64,    /* between two looks, of a program that waits */
    WAITS_US      = 20000, /* after it armed a CQ a program counts as waiting */
    IDLE_US       = 20000, /* of quiet, then sleep in the kernel */
    STUCK_US      = 50000,
    SLEEP_US      = 2000000, /* then look again, against a lost wake-up */
    UNKNOWN_US    = 20000, /* while nobody knows who rings a QP's doorbell */
};

_Atomic int drv_backstop_thread;

/* An eager device does all that there is to do, as hardware would have. */
static unsigned backstop_run(struct sim_dev *sim)
{
    unsigned rounds = sim->knobs.eager ? EAGER_ROUNDS : 1;
    unsigned done, all = 0;

    do {
        done = sim_dev_progress(sim);
        all += done;
    } while ((done > 0) && (--rounds > 0));

    return all;
}

/* The result of a look at all devices. */
struct backstop_look {
    unsigned usec; /* until the next */
    int idle;      /* there is nothing to do */
    int polls;     /* the program does the work */
    int waits;     /* it waits for an event, or did just now */
    unsigned done; /* by this look */
    int unknown;   /* a QP may send that nobody has posted to yet */
    int locked;    /* one lock for all devices that have nothing to do */
};

static void backstop_hold(struct backstop_look *look)
{
    if (!look->locked) {
        drv_lock();
        look->locked = 1;
    }
}

static void backstop_let_go(struct backstop_look *look)
{
    if (look->locked) {
        drv_unlock();
        look->locked = 0;
    }
}

static void backstop_next(struct backstop_look *look, unsigned usec)
{
    look->usec = (usec < look->usec) ? usec : look->usec;
}

/* The program polls. */
static void backstop_leave(struct drv_dev *dev, struct backstop_look *look)
{
    unsigned usec = (dev->waits_us > 0) ? TICK_BUSY_US : TICK_CALLS_US;

    dev->stuck_us  = 0;
    dev->waits_us -= (dev->waits_us > usec) ? usec : dev->waits_us;
    look->idle     = 0;
    look->polls    = 1;
    backstop_next(look, usec);
}

/* With the lock held */
static void backstop_work(struct drv_dev *dev, struct backstop_look *look,
                          int has_called)
{
    struct sim_dev *sim = dev->sim;
    int armed           = sim_cq_any_is_armed(sim); /* what runs may disarm */
    unsigned done       = backstop_run(sim);
    int rung            = atomic_load(&sim->self_rung);
    int busy            = sim_dev_is_busy(sim) || rung;
    unsigned usec;

    dev->stuck_us  = done ? 0 : dev->stuck_us;
    usec           = sim->knobs.eager ? TICK_EAGER_US :
                     ((dev->stuck_us > STUCK_US) && !rung) ? TICK_STUCK_US :
                     (has_called && !busy) ? TICK_CALLS_US : TICK_BUSY_US;
    dev->stuck_us += (busy || has_called) ? usec : 0;
    dev->waits_us  = (armed || sim_cq_any_is_armed(sim)) ? WAITS_US :
                     (dev->waits_us > usec) ? dev->waits_us - usec : 0;

    backstop_next(look, usec);
    look->idle  &= !busy && !has_called && !done && !sim->knobs.eager;
    look->unknown |= look->idle && sim_qp_any_is_unused(sim);
    look->waits |= (dev->waits_us > 0) && !sim->knobs.eager;
    look->done  += done;
}

/* With the lock held. Nonzero if `calls` since the last look mean that the
 * program polls. A few calls for each event that it waits for do not. */
static int backstop_is_polled(const struct drv_dev *dev, uint32_t calls)
{
    return (calls > 0) && (dev->waits_us == 0) &&
           !sim_cq_any_is_armed(dev->sim);
}

/* After work the program has its chance to take the lock. */
static void backstop_look_at(struct drv_dev *dev, const struct sim_dev *sim,
                             struct backstop_look *look)
{
    uint32_t calls = atomic_load(&dev->calls) - dev->seen;
    unsigned done  = look->done;

    dev->seen += calls;
    if (!sim->knobs.eager && (calls > CALLS_FEW)) {
        backstop_leave(dev, look);
        return;
    }

    backstop_hold(look);
    if (dev->sim == NULL) {
        return;
    }
    if (!sim->knobs.eager && backstop_is_polled(dev, calls)) {
        backstop_leave(dev, look);
        return;
    }
    backstop_work(dev, look, calls != 0);
    if (look->done != done) {
        backstop_let_go(look);
    }
}

/* A device may go meanwhile, at the program's end: its memory stays. */
static void backstop_look(struct backstop_look *look)
{
    const struct sim_dev *sim;
    struct drv_dev *dev;

    memset(look, 0, sizeof(*look));
    look->idle = 1;
    look->usec = TICK_STUCK_US;
    drv_for_each_device(dev) {
        sim = __atomic_load_n(&dev->sim, __ATOMIC_RELAXED);
        if (sim != NULL) {
            backstop_look_at(dev, sim, look);
        }
    }
    backstop_let_go(look);
}

/* With the lock held: where this process sleeps. NULL: no device is open. */
static struct dir_slot *backstop_home(void)
{
    const struct drv_dev *dev;
    struct dir *dir;

    drv_for_each_device(dev) {
        if (dev->sim != NULL) {
            dir = dev->sim->dir;
            return &dir->slot[dir->slot[dev->sim->slot].home % SIM_SLOTS];
        }
    }

    return NULL;
}

/* With the lock held: say of all devices how their process sleeps. */
static void backstop_set_sleeping(uint32_t sleeping)
{
    const struct drv_dev *dev;

    drv_for_each_device(dev) {
        if (dev->sim != NULL) {
            atomic_store(&dev->sim->dir->slot[dev->sim->slot].sleeping,
                         sleeping);
        }
    }
}

static int backstop_is_busy(void)
{
    const struct drv_dev *dev;

    drv_for_each_device(dev) {
        if ((dev->sim != NULL) && sim_dev_is_busy(dev->sim)) {
            return 1;
        }
    }

    return 0;
}

/* Sleep until somebody wakes us: 1; or for `usec`: 0. First the flag is set,
 * then the queues are read once more, so a packet is not missed whose sender
 * did not see the flag. A nap, of 1 ms at most, reads no queues, and posts of
 * this process do not end it. */
static int backstop_sleep(unsigned usec, uint32_t how)
{
    struct timespec time = { usec / 1000000, usec % 1000000 * 1000l };
    struct dir_slot *slot;
    uint32_t wake = 0;
    int busy;

    drv_lock();
    slot = backstop_home();
    if (slot == NULL) {
        drv_unlock();
        usleep(IDLE_US);
        return 0;
    }

    wake = atomic_load(&slot->wake); /* a waker sees the flag and counts on */
    backstop_set_sleeping(how);
    atomic_thread_fence(memory_order_seq_cst);
    busy = (how == DIR_ASLEEP) && backstop_is_busy();
    drv_unlock();

    if (!busy) {
        busy = (syscall(SYS_futex, &slot->wake, FUTEX_WAIT, wake, &time, NULL,
                        0) == 0) || (errno != ETIMEDOUT);
    }

    drv_lock();
    backstop_set_sleeping(DIR_AWAKE);
    drv_unlock();
    return busy;
}

unsigned drv_backstop_round(unsigned idle_us)
{
    struct backstop_look look;
    unsigned usec;

    backstop_look(&look);
    idle_us = look.idle ? idle_us + look.usec : 0;

    if (!look.polls && atomic_exchange(&drv.again, 0)) {
        return idle_us; /* a post found the lock taken by us */
    }
    if (idle_us > IDLE_US) {
        usec = look.unknown ? UNKNOWN_US : SLEEP_US;
        return backstop_sleep(usec, DIR_ASLEEP) ? 0 : IDLE_US;
    }

    if (look.polls || !look.waits) {
        usleep(look.usec);
    } else if (look.done > 0) {
        usleep(TICK_MORE_US);
    } else {
        usec = (look.usec < TICK_CALLS_US) ? look.usec : TICK_CALLS_US;
        backstop_sleep(usec, DIR_NAPS);
    }
    return idle_us;
}

static void *backstop_main(void *arg)
{
    unsigned idle_us = 0;

    (void)arg;
    drv_backstop_thread = syscall(SYS_gettid);
    drv_lock_without_signals(NULL);
    for (;;) {
        idle_us = drv_backstop_round(idle_us);
    }

    return NULL;
}

void drv_backstop_wake(void)
{
    const struct sim_dev *sim;
    struct drv_dev *dev;

    drv_for_each_device(dev) {
        sim = __atomic_load_n(&dev->sim, __ATOMIC_RELAXED);
        if (sim != NULL) {
            fabric_env_ops.wake(&dev->env, sim->slot);
        }
    }
}

void drv_backstop_kick(struct drv_dev *dev)
{
    struct dir_slot *slot;

    if ((dev == NULL) || (dev->sim == NULL)) {
        return;
    }

    slot = &dev->sim->dir->slot[dev->sim->slot];
    if (atomic_load_explicit(&slot->sleeping, memory_order_relaxed) ==
        DIR_ASLEEP) {
        fabric_env_ops.wake(&dev->env, dev->sim->slot);
    }
}

int drv_backstop_start(void)
{
    static _Atomic int started_pid;
    sigset_t all, old;
    pthread_t thread;
    int pid = getpid();

    if (atomic_exchange(&started_pid, pid) == pid) {
        return 0;
    }

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    if (pthread_create(&thread, NULL, backstop_main, NULL) == 0) {
        pthread_detach(thread);
    } else {
        drv_log("no backstop thread: messages move only while the program "
                "polls or posts");
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return 1;
}
