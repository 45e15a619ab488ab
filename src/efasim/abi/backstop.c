/*
 * The backstop: a thread that advances the device when the program does not
 * call into it. While the program polls, the thread only looks now and then.
 * While nothing at all goes on it sleeps in the kernel until another process
 * sends something (the `sleeping` mark tells it to wake us) or this one posts.
 */
#include "abi.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
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

/* One look. Returns the time until the next in *usec; 1 when idle. */
static int backstop_look(uint32_t *entries, unsigned *stuck_us,
                         unsigned *usec)
{
    uint32_t now = atomic_load(&abi.entries);
    unsigned done;
    int busy;

    if (now != *entries) {
        *entries  = now;
        *stuck_us = 0;
        *usec     = TICK_CALLS_US;
        return 0;
    }

    abi_lock();
    if (abi.dev == NULL) {
        abi_unlock();
        *usec = TICK_CALLS_US;
        return 1;
    }
    done = sim_dev_progress(abi.dev);
    busy = sim_dev_is_busy(abi.dev);
    abi_unlock();

    *stuck_us = done ? 0 : *stuck_us;
    *usec     = (*stuck_us > STUCK_US) ? TICK_STUCK_US : TICK_BUSY_US;
    *stuck_us += busy ? *usec : 0;
    return !busy && !done;
}

/* Sleep until somebody wakes us: 1; or for SLEEP_MS: 0. The mark first, then
 * the last look. */
static int backstop_sleep(void)
{
    struct timespec time = { SLEEP_MS / 1000, 0 };
    struct dir_slot *slot;
    uint32_t wake;
    int busy = 1;

    abi_lock();
    if (abi.dev == NULL) {
        abi_unlock();
        backstop_nap(IDLE_US);
        return 0;
    }

    slot = &abi.dev->dir->slot[abi.dev->slot];
    wake = atomic_load(&slot->wake);
    atomic_store(&slot->sleeping, 1);
    atomic_thread_fence(memory_order_seq_cst);
    busy = sim_dev_is_busy(abi.dev);
    abi_unlock();

    if (!busy) {
        busy = (syscall(SYS_futex, &slot->wake, FUTEX_WAIT, wake, &time, NULL,
                        0) == 0) || (errno != ETIMEDOUT);
    }
    atomic_store(&slot->sleeping, 0);
    return busy;
}

static void *backstop_main(void *arg)
{
    uint32_t entries  = 0;
    unsigned idle_us  = 0;
    unsigned stuck_us = 0;
    unsigned usec;

    (void)arg;
    for (;;) {
        if (!backstop_look(&entries, &stuck_us, &usec)) {
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

void abi_backstop_kick(void)
{
    struct dir_slot *slot;

    if (abi.dev == NULL) {
        return;
    }

    slot = &abi.dev->dir->slot[abi.dev->slot];
    if (atomic_load_explicit(&slot->sleeping, memory_order_relaxed)) {
        fabric_env_ops.wake(&abi.env, abi.dev->slot);
    }
}

void abi_backstop_start(void)
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
        abi_log("no backstop thread: messages move only while the program "
                "polls or posts");
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}
