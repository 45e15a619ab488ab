/* SPDX-License-Identifier: BSD-3-Clause */
/* The terminal of srd_info --top: its keys, and its size. */
#ifndef TOP_KEYS_H_
#define TOP_KEYS_H_

#include "view.h"

#include <termios.h>

typedef struct keys {
    int            is_live; /* a terminal is read and drawn upon */
    struct termios before;
    view_order_t   order;
    int            quit;
} keys_t;

/* is_wanted, and standard input and output are a terminal: keys are read until
 * keys_close, or a signal that ends the program. */
void keys_open(keys_t *keys, int is_wanted);
void keys_close(keys_t *keys);

/* Waits so long for a key that means something. */
void keys_wait(keys_t *keys, int ms);

/* A page begins: on a terminal, in place of the one before. */
void keys_page(const keys_t *keys);

/* Lines that a page has; 0: any number. */
unsigned keys_lines(const keys_t *keys);

#endif
