/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lock of the process. Commands take it; the data path (hooks.c) only
 * tries, and when it is taken leaves the work to the holder or to the backstop
 * thread.
 */
#ifndef EFASIM_DRIVER_LOCK_H
#define EFASIM_DRIVER_LOCK_H

/* This thread is inside the device and holds the lock: what it opens and
 * closes is its own, not the program's. */
enum {
    DRV_LOCK_OUTSIDE,
    DRV_LOCK_COMMAND, /* signals are held off */
    DRV_LOCK_DATA,    /* a signal handler may interrupt, and find this */
};
extern __thread int drv_lock_inside;

void drv_lock(void);
int drv_trylock(void);   /* 1: taken */
void drv_unlock(void);

/* In a forked child, whose only thread holds the lock: a fresh one, free. */
void drv_lock_after_fork(void);

/*
 * For a program under ThreadSanitizer, which sees neither doorbells nor
 * completions: what a thread did before it posted is seen by the device, and
 * what the device did by the thread that polled. Nothing in other programs.
 */
void drv_lock_order_before(void); /* a post, the end of the device's work */
void drv_lock_order_after(void);  /* a completion, the begin of its work */

/* 1, the first time after a line that names `what`: we are in a signal handler
 * that found its own thread in the data path, and drv_lock() would wait for
 * ever. */
int drv_lock_is_interrupted(const char *what);

#endif
