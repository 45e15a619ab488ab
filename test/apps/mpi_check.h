/* SPDX-License-Identifier: BSD-3-Clause */
/* The common declarations of mpi_check's parts. A failure ends all ranks. */
#ifndef TEST_APPS_MPI_CHECK_H
#define TEST_APPS_MPI_CHECK_H

#include "fill.h"

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#define CHECK_SEED 77

extern int rank, ranks;
extern const char *mode_now;

/* Contents of message @tag from @from to @to. */
uint64_t msg_key(int from, int to, int tag);

/* Compare what came from @from. */
void msg_check(const char *buf, int len, int from, int tag);

/* Poisoned memory; never NULL. */
char *buf_alloc(size_t len);

/* One-sided: put, get, accumulate and fetch-and-op on a window (osc/ucx). */
void check_onesided(int len);

/* Rank 1 sends 100,000 messages before rank 0 posts a receive; @len is the
 * largest. */
void check_flood(int len);

/* The rank in the middle sleeps until there is the file that SLEEPER_UNTIL names,
 * while the others send to it. */
void check_sleeper(int len);

#endif
