/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lock of the process. Commands take it; the data path (hooks.c) only
 * tries, and when it is taken leaves the work to the holder or to the backstop
 * thread.
 */
#ifndef EFASIM_DRIVER_LOCK_H
#define EFASIM_DRIVER_LOCK_H

/* Whether this thread is inside the device and holds the lock: then what it
 * opens and closes is the device's own, not the program's. */
enum {
    DRV_LOCK_OUTSIDE,
    DRV_LOCK_COMMAND, /* signals are blocked */
    DRV_LOCK_DATA,    /* a signal handler may interrupt, and find this */
};
extern __thread int drv_lock_inside;

void drv_lock(void);
int drv_trylock(void);   /* 1: taken */
void drv_unlock(void);

/* This thread is the device's own and was made with all signals blocked: its
 * drv_lock() need not block them. While somebody else has the lock it calls
 * `wait` again and again; NULL: it sleeps. */
void drv_lock_without_signals(void (*wait)(void));

/* In a forked child, whose only thread holds the lock: a fresh one, free. */
void drv_lock_after_fork(void);

/*
 * For a program under ThreadSanitizer, which sees neither doorbells nor
 * completions: accesses of a thread before its post happen before the device's
 * work, and that work before accesses of a thread after its poll. No effect in
 * other programs.
 */
void drv_lock_order_before(void); /* a post, the end of the device's work */
void drv_lock_order_after(void);  /* a completion, the begin of its work */

/* 1: we are in a signal handler that interrupted its own thread in the data
 * path, so drv_lock() would wait for ever. The first time a line says so, and
 * names `what` the handler wanted. */
int drv_lock_is_interrupted(const char *what);

#endif
