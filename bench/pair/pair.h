/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes that measure one library: what each back end offers. Slots are
 * requests, of which each direction has PAIR_SLOTS. */
#ifndef BENCH_PAIR_H_
#define BENCH_PAIR_H_

#include <stddef.h>

enum {
    PAIR_SLOTS   = 64,     /* the widest window */
    PAIR_ADDRESS = 4096,
    PAIR_LARGEST = 64 << 20,
    PAIR_TAG     = 1       /* of all messages */
};

typedef enum pair_side { PAIR_SEND, PAIR_RECV } pair_side_t;

/* Messages lie at the beginning of these, of PAIR_LARGEST bytes each. */
extern char *pair_data[2];

/* Is the last operation of this slot complete? The back end says so. */
extern volatile int pair_done[2][PAIR_SLOTS];

/* Every function ends the program with a message when its library fails. */
void pair_open(void);

/* Writes this process's address, at most PAIR_ADDRESS bytes. */
void pair_address(void *buffer);
void pair_connect(const void *address);

/* Begins to send or to receive a message. */
void pair_post(pair_side_t side, unsigned slot, size_t length);

void pair_progress(void);
void pair_close(void);

void pair_fail(const char *what, const char *why) __attribute__((noreturn));

/* Until the other side is here, too. */
void pair_oob_barrier(void);

#endif
