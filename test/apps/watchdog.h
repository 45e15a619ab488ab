/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a test program is, which it says as it is told to end (SIGTERM): by the
 * limit of its check, which alone knows how busy the machine is. Works inside
 * library calls too.
 */
#ifndef TEST_APPS_WATCHDOG_H
#define TEST_APPS_WATCHDOG_H

#include <stdint.h>

/* The contents of the line; written by the test, read by the handler. */
typedef struct watchdog_state {
    char              place[128]; /* test, size, step */
    volatile uint64_t posted;
    volatile uint64_t completed;
} watchdog_state_t;

extern watchdog_state_t watchdog;

void watchdog_init(void);

/* There was progress. @fmt names the place. */
void watchdog_kick(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
