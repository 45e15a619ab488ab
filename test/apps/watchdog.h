/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends a test program that makes no progress, with a line that says where it
 * was. Works inside library calls too: it is an alarm, not a polled clock.
 */
#ifndef TEST_APPS_WATCHDOG_H
#define TEST_APPS_WATCHDOG_H

#include <stdint.h>

/* Exit status of a program that the watchdog ended. */
#define WATCHDOG_STATUS 9

/* The contents of the line; written by the test, read by the alarm handler. */
typedef struct watchdog_state {
    char              place[128]; /* test, size, step */
    volatile uint64_t posted;
    volatile uint64_t completed;
} watchdog_state_t;

extern watchdog_state_t watchdog;

/* Set the limit, in seconds, between two kicks. */
void watchdog_init(int seconds);

/* There was progress: start the time again. @fmt names the place. */
void watchdog_kick(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
