/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes that measure one library: what each back end offers. Tags of
 * 32 bits; slots are requests, of which each direction has PAIR_SLOTS. */
#ifndef BENCH_PAIR_H_
#define BENCH_PAIR_H_

#include <stddef.h>
#include <stdint.h>

enum {
    PAIR_SLOTS   = 64,     /* the widest window */
    PAIR_ADDRESS = 4096
};

typedef enum pair_side { PAIR_SEND, PAIR_RECV } pair_side_t;

/* Every function ends the program with a message when its library fails. */
void pair_open(void);

/* Writes this process's address, at most PAIR_ADDRESS bytes. */
void pair_address(void *buffer);
void pair_connect(const void *address);

/* All messages lie in one of two such ranges, first those sent. */
void pair_memory(pair_side_t side, void *data, size_t length);

void pair_send(unsigned slot, const void *data, size_t length, uint32_t tag);
void pair_recv(unsigned slot, void *data, size_t length, uint32_t tag);

/* Is the last operation of this slot complete? */
int pair_done(pair_side_t side, unsigned slot);
void pair_progress(void);
void pair_close(void);

void pair_fail(const char *what, const char *why) __attribute__((noreturn));

/* Until the other side is here, too. */
void pair_oob_barrier(void);

#endif
