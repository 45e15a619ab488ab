/* SPDX-License-Identifier: BSD-3-Clause */
#include "lock.h"
#include "state.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread int drv_lock_inside __attribute__((tls_model("initial-exec")));

/*
 * Commands block signals while they have the lock: a handler never finds
 * its own thread in one, as it never does in a system call. The data path,
 * which only tries, cannot afford that: a handler may interrupt it, and must
 * look at drv_lock_inside before it locks.
 */
static __thread uint64_t lock_signals
        __attribute__((tls_model("initial-exec")));
static __thread int lock_has_none /* no signals come: see lock.h */
        __attribute__((tls_model("initial-exec")));
static __thread void (*lock_wait)(void) /* NULL: as the C library does */
        __attribute__((tls_model("initial-exec")));

static void lock_signals_hold(void)
{
    uint64_t all = ~0ull;

    if (!lock_has_none) {
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &lock_signals,
                sizeof(all));
    }
}

static void lock_signals_restore(void)
{
    uint64_t old = lock_signals;

    if (!lock_has_none) {
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
    }
}

void drv_lock_without_signals(void (*wait)(void))
{
    lock_has_none = 1;
    lock_wait     = wait;
}

/* ThreadSanitizer's run-time library has it, where the program has one */
void __tsan_acquire(void *addr) __attribute__((weak));
void __tsan_release(void *addr) __attribute__((weak));

void drv_lock_order_before(void)
{
    if (__tsan_release != NULL) {
        __tsan_release(&drv);
    }
}

void drv_lock_order_after(void)
{
    if (__tsan_acquire != NULL) {
        __tsan_acquire(&drv);
    }
}

void drv_lock(void)
{
    lock_signals_hold();
    drv_lock_inside = DRV_LOCK_COMMAND;
    if (lock_wait == NULL) {
        pthread_mutex_lock(&drv.lock);
    } else {
        while (pthread_mutex_trylock(&drv.lock) != 0) {
            lock_wait();
        }
    }
    drv_lock_order_after();
}

int drv_trylock(void)
{
    /* a signal handler may interrupt a holder and get here: so
     * drv_lock_inside is set from before the lock is taken until after it is
     * given back */
    if (drv_lock_inside) {
        return 0;
    }

    drv_lock_inside = DRV_LOCK_DATA;
    if (pthread_mutex_trylock(&drv.lock) != 0) {
        drv_lock_inside = DRV_LOCK_OUTSIDE;
        return 0;
    }
    drv_lock_order_after();
    return 1;
}

void drv_unlock(void)
{
    int inside = drv_lock_inside;

    drv_lock_order_before();
    pthread_mutex_unlock(&drv.lock);
    drv_lock_inside = DRV_LOCK_OUTSIDE;
    if (inside == DRV_LOCK_COMMAND) {
        lock_signals_restore();
    }
}

int drv_lock_is_interrupted(const char *what)
{
    static _Atomic int said;

    if (!drv_lock_inside) {
        return 0;
    }

    if (!atomic_exchange(&said, 1)) {
        drv_log("%s in a signal handler that interrupted this thread's poll "
                "or post: refused (EBUSY). Hardware would take it; here block "
                "the signal while you poll, or act on it later (said once)",
                what);
    }
    return 1;
}

void drv_lock_after_fork(void)
{
    int inside = drv_lock_inside;

    pthread_mutex_init(&drv.lock, NULL);
    drv_lock_inside = DRV_LOCK_OUTSIDE;
    if (inside == DRV_LOCK_COMMAND) {
        lock_signals_restore();
    }
}
