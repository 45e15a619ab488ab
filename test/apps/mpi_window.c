/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A window: a slot of @len bytes for each rank that puts, then one that all
 * read, then words to count in. */
typedef struct window {
    MPI_Win win;
    char    *base;
    int     len;
    int     words; /* of 8 B, behind the slots */
} window_t;

static MPI_Aint window_slot(const window_t *w, int slot)
{
    return (MPI_Aint)slot * w->len;
}

static MPI_Aint window_word(const window_t *w, int word)
{
    return ((MPI_Aint)(ranks + 1) * w->len + 7) / 8 * 8 + 8 * (MPI_Aint)word;
}

static void window_open(window_t *w, int len)
{
    w->len   = len;
    w->words = ranks;
    MPI_Win_allocate(window_word(w, w->words), 1, MPI_INFO_NULL,
                     MPI_COMM_WORLD, &w->base, &w->win);
    memset(w->base, 0, window_word(w, w->words));
    fill_bytes(w->base + window_slot(w, ranks), len, msg_key(rank, rank, 9),
               0);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Everyone puts into everyone, between two fences. */
static void window_puts(window_t *w)
{
    char *tx = buf_alloc((size_t)w->len * ranks);
    int r;

    for (r = 0; r < ranks; ++r) {
        fill_bytes(tx + window_slot(w, r), w->len, msg_key(rank, r, w->len),
                   0);
    }
    MPI_Win_fence(0, w->win);
    for (r = 0; r < ranks; ++r) {
        MPI_Put(tx + window_slot(w, r), w->len, MPI_BYTE, r,
                window_slot(w, rank), w->len, MPI_BYTE, w->win);
    }
    MPI_Win_fence(0, w->win);
    for (r = 0; r < ranks; ++r) {
        msg_check(w->base + window_slot(w, r), w->len, r, w->len);
    }
    free(tx);
}

static void wrong(const char *what, int target, long long got, long long want)
{
    fprintf(stderr, "FAIL rank %d %s: %s at rank %d: %lld, expected %lld\n",
            rank, mode_now, what, target, got, want);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Gets under a shared lock; puts that a flush makes visible to a get. */
static void window_gets(window_t *w)
{
    char *rx = buf_alloc(w->len);
    ptrdiff_t at;
    int r;

    MPI_Win_lock_all(0, w->win);
    for (r = 0; r < ranks; ++r) {
        memset(rx, 0xa5, w->len);
        MPI_Get(rx, w->len, MPI_BYTE, r, window_slot(w, ranks), w->len,
                MPI_BYTE, w->win);
        MPI_Win_flush(r, w->win);
        at = fill_diff(rx, w->len, msg_key(r, r, 9), 0);
        if (at >= 0) {
            wrong("byte of a get", r, at, -1);
        }
        fill_bytes(rx, w->len, msg_key(rank, r, w->len + 1), 0);
        MPI_Put(rx, w->len, MPI_BYTE, r, window_slot(w, rank), w->len,
                MPI_BYTE, w->win);
        MPI_Win_flush(r, w->win);
        memset(rx, 0xa5, w->len);
        MPI_Get(rx, w->len, MPI_BYTE, r, window_slot(w, rank), w->len,
                MPI_BYTE, w->win);
        MPI_Win_flush(r, w->win);
        at = fill_diff(rx, w->len, msg_key(rank, r, w->len + 1), 0);
        if (at >= 0) {
            wrong("byte put, flushed and got", r, at, -1);
        }
    }
    MPI_Win_unlock_all(w->win);
    free(rx);
}

/* All ranks count in the same word of each, and add to sums of their own. */
static void window_atomics(window_t *w)
{
    const int rounds = 5;
    int64_t one = 1, mine = rank + 1, before, sum;
    int r, i;

    MPI_Win_lock_all(0, w->win);
    for (r = 0; r < ranks; ++r) {
        for (i = 0; i < rounds; ++i) {
            MPI_Fetch_and_op(&one, &before, MPI_INT64_T, r, window_word(w, 0),
                             MPI_SUM, w->win);
            MPI_Win_flush(r, w->win);
            if (before < 0 || before >= (int64_t)rounds * ranks) {
                wrong("counter fetched", r, before, rounds * ranks);
            }
            MPI_Accumulate(&mine, 1, MPI_INT64_T, r, window_word(w, 1), 1,
                           MPI_INT64_T, MPI_SUM, w->win);
        }
    }
    MPI_Win_unlock_all(w->win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w->win);
    memcpy(&before, w->base + window_word(w, 0), sizeof(before));
    memcpy(&sum, w->base + window_word(w, 1), sizeof(sum));
    MPI_Win_unlock(rank, w->win);
    if (before != (int64_t)rounds * ranks) {
        wrong("counter", rank, before, rounds * ranks);
    }
    if (sum != (int64_t)rounds * ranks * (ranks + 1) / 2) {
        wrong("sum", rank, sum, rounds * ranks * (ranks + 1) / 2);
    }
}

void check_onesided(int len)
{
    window_t w;

    if ((len & (len - 1)) != 0) {
        return; /* opening a window is slow: powers of two only */
    }
    window_open(&w, len);
    window_puts(&w);
    MPI_Barrier(MPI_COMM_WORLD);
    window_gets(&w);
    MPI_Barrier(MPI_COMM_WORLD);
    if (ranks > 1) {
        window_atomics(&w);
    }
    MPI_Win_free(&w.win);
}
