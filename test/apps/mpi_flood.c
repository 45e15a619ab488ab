/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FLOOD_MESSAGES 100000
#define FLOOD_BATCH    1000

static int flood_len(int i, int max)
{
    return fill_mix(i) % (max + 1);
}

static void flood_send(int max)
{
    MPI_Request rq[FLOOD_BATCH];
    char *buf = buf_alloc((size_t)FLOOD_BATCH * max);
    char *tx;
    int i, n;

    for (i = 0; i < FLOOD_MESSAGES; ++i) {
        n  = i % FLOOD_BATCH;
        tx = buf + (size_t)n * max;
        fill_bytes(tx, flood_len(i, max), msg_key(rank, 0, i), 0);
        MPI_Isend(tx, flood_len(i, max), MPI_BYTE, 0, i % 8, MPI_COMM_WORLD,
                  &rq[n]);
        if (n == FLOOD_BATCH - 1) {
            MPI_Waitall(FLOOD_BATCH, rq, MPI_STATUSES_IGNORE);
        }
    }
    /* Another tag, so that rank 0 takes it ahead of all the others. */
    MPI_Send(buf, 0, MPI_BYTE, 0, 8, MPI_COMM_WORLD);
    free(buf);
}

/* In the order sent within a tag, the tags one after the other. */
static void flood_recv(int max)
{
    char *rx = buf_alloc(max);
    MPI_Status status;
    int i, tag, got;

    MPI_Recv(rx, 0, MPI_BYTE, 1, 8, MPI_COMM_WORLD, &status);
    for (tag = 7; tag >= 0; --tag) {
        for (i = tag; i < FLOOD_MESSAGES; i += 8) {
            MPI_Recv(rx, max, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_BYTE, &got);
            if (got != flood_len(i, max)) {
                fprintf(stderr, "FAIL flood: message %d has %d B\n", i, got);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
            msg_check(rx, got, 1, i);
        }
    }
    free(rx);
}

void check_flood(int len)
{
    if (rank == 1) {
        flood_send(len);
    } else if (rank == 0) {
        flood_recv(len);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

#define SLEEPER_MESSAGES 1000

void check_sleeper(int len)
{
    const char *until = getenv("SLEEPER_UNTIL");
    const int sleeper = ranks / 2;
    int *seen         = calloc(ranks, sizeof(*seen)); /* of each rank */
    char buf[8];
    MPI_Status status;
    int i;

    (void)len;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != sleeper) {
        for (i = 0; i < SLEEPER_MESSAGES; ++i) {
            fill_bytes(buf, sizeof(buf), msg_key(rank, sleeper, i), 0);
            MPI_Send(buf, sizeof(buf), MPI_BYTE, sleeper, 4, MPI_COMM_WORLD);
        }
    } else {
        while ((until != NULL) && (access(until, F_OK) != 0)) {
            sleep(1);
        }
        for (i = 0; i < SLEEPER_MESSAGES * (ranks - 1); ++i) {
            MPI_Recv(buf, sizeof(buf), MPI_BYTE, MPI_ANY_SOURCE, 4,
                     MPI_COMM_WORLD, &status);
            msg_check(buf, sizeof(buf), status.MPI_SOURCE,
                      seen[status.MPI_SOURCE]++);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(seen);
}
