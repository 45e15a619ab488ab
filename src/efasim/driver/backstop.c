/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The backstop: a thread that advances the device when the program does not
 * call into it. While the program polls, the thread only looks now and then;
 * an eager device is its work, whatever the program does.
 * While nothing at all goes on it sleeps in the kernel until another process
 * sends something (the `sleeping` flag tells it to wake us) or this one posts.
 * It does not sleep where a device is eager: nothing tells of a program that
 * writes the queues itself.
 */
#include "backstop.h"
#include "lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    TICK_EAGER_US = 100,
    EAGER_ROUNDS  = 64,    /* of progress at once, of an eager device */
    TICK_BUSY_US  = 200,   /* work is under way, nobody calls */
    TICK_CALLS_US = 1000,  /* the program calls: it does the work itself */
    TICK_STUCK_US = 2000,  /* work waits for others, for a while already */
    IDLE_US       = 20000, /* quiet for so long: sleep in the kernel */
    STUCK_US      = 50000,
    SLEEP_MS      = 2000,  /* then look again, against a lost wake-up */
};

static void backstop_nap(unsigned usec)
{
    struct timespec time = { 0, usec * 1000l };

    nanosleep(&time, NULL);
}

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

/* One look at one device. Returns the time until the next; *idle is cleared
 * unless it has nothing to do. */
static unsigned backstop_look_at(struct drv_dev *dev, int *idle)
{
    uint32_t calls = atomic_load(&dev->calls);
    unsigned usec  = TICK_CALLS_US;
    int eager      = (dev->sim != NULL) && dev->sim->knobs.eager;
    unsigned done;
    int busy;

    if ((calls != dev->seen) && !eager) {
        dev->seen     = calls;
        dev->stuck_us = 0;
        *idle         = 0;
        return usec;
    }

    drv_lock();
    if (dev->sim != NULL) {
        done = backstop_run(dev->sim);
        busy = sim_dev_is_busy(dev->sim) || (calls != dev->seen);

        dev->seen      = calls;
        dev->stuck_us  = done ? 0 : dev->stuck_us;
        usec           = eager ? TICK_EAGER_US :
                         (dev->stuck_us > STUCK_US) ? TICK_STUCK_US :
                                                      TICK_BUSY_US;
        dev->stuck_us += busy ? usec : 0;
        *idle         &= !busy && !done && !eager;
    }
    drv_unlock();
    return usec;
}

/* A look at all devices. Returns 1 when all are idle. */
static int backstop_look(unsigned *usec)
{
    struct drv_dev *dev;
    unsigned next;
    int idle = 1;

    *usec = TICK_STUCK_US;
    drv_for_each_device(dev) {
        if (dev->sim != NULL) {
            next  = backstop_look_at(dev, &idle);
            *usec = (next < *usec) ? next : *usec;
        }
    }

    return idle;
}

/* With the lock held: say of all devices that their process sleeps, or not.
 * Returns the slot that it sleeps at; NULL: no device is open. */
static struct dir_slot *backstop_set_sleeping(int sleeping)
{
    struct dir_slot *slot = NULL;
    const struct drv_dev *dev;
    struct dir *dir;

    drv_for_each_device(dev) {
        if (dev->sim != NULL) {
            dir  = dev->sim->dir;
            slot = &dir->slot[dir->slot[dev->sim->slot].home % SIM_SLOTS];
            atomic_store(&dir->slot[dev->sim->slot].sleeping, sleeping);
        }
    }

    return slot;
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

/* Sleep until somebody wakes us: 1; or for SLEEP_MS: 0. First the flag is set,
 * then the queues are read once more: who sent before it saw the flag is not
 * missed. */
static int backstop_sleep(void)
{
    struct timespec time = { SLEEP_MS / 1000, 0 };
    struct dir_slot *slot;
    uint32_t wake = 0;
    int busy;

    drv_lock();
    slot = backstop_set_sleeping(1);
    if (slot == NULL) {
        drv_unlock();
        backstop_nap(IDLE_US);
        return 0;
    }

    wake = atomic_load(&slot->wake);
    atomic_thread_fence(memory_order_seq_cst);
    busy = backstop_is_busy();
    drv_unlock();

    if (!busy) {
        busy = (syscall(SYS_futex, &slot->wake, FUTEX_WAIT, wake, &time, NULL,
                        0) == 0) || (errno != ETIMEDOUT);
    }

    drv_lock();
    backstop_set_sleeping(0);
    drv_unlock();
    return busy;
}

static void *backstop_main(void *arg)
{
    unsigned idle_us = 0;
    unsigned usec;

    (void)arg;
    for (;;) {
        if (!backstop_look(&usec)) {
            idle_us = 0;
        } else {
            idle_us += usec;
        }

        if (idle_us > IDLE_US) {
            idle_us = backstop_sleep() ? 0 : IDLE_US;
        } else {
            backstop_nap(usec);
        }
    }

    return NULL;
}

void drv_backstop_kick(struct drv_dev *dev)
{
    struct dir_slot *slot;

    if ((dev == NULL) || (dev->sim == NULL)) {
        return;
    }

    slot = &dev->sim->dir->slot[dev->sim->slot];
    if (atomic_load_explicit(&slot->sleeping, memory_order_relaxed)) {
        fabric_env_ops.wake(&dev->env, dev->sim->slot);
    }
}

void drv_backstop_start(void)
{
    static _Atomic int started_pid;
    sigset_t all, old;
    pthread_t thread;
    int pid = getpid();

    if (atomic_exchange(&started_pid, pid) == pid) {
        return;
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
}
