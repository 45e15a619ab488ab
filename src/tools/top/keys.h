/* SPDX-License-Identifier: BSD-3-Clause */
/* The terminal of srd_info --top: its keys, and its size. */
#ifndef TOP_KEYS_H_
#define TOP_KEYS_H_

#include "view.h"

#include <termios.h>

typedef struct keys {
    int            is_live; /* keys are read, and pages drawn in place */
    struct termios before;
    view_order_t   order;
    int            quit;
} keys_t;

/* Where `is_wanted` is set and standard input and output are a terminal, keys
 * are read until keys_close, or until a signal ends the program. */
void keys_open(keys_t *keys, int is_wanted);
void keys_close(keys_t *keys);

/* Waits for at most `ms` milliseconds, or until a key that has a meaning. */
void keys_wait(keys_t *keys, int ms);

/* Begins a page of output: on a terminal it replaces the last one. */
void keys_page(const keys_t *keys);

/* The number of lines of the terminal; 0: no limit. */
unsigned keys_lines(const keys_t *keys);

#endif
