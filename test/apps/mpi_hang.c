/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI program of up to 8 ranks that hangs: they exchange again and again, until
 *   stop, cut   somebody else stops a rank, or the network is cut as each has sent
 *               some messages to itself: between two rounds, at which all wait for
 *               the file that HANG_UNTIL names
 *   loop        the last rank computes on, without MPI
 *   sleep       it sleeps
 *   buffers     it computes; rank 0 then sends it many messages
 *   send        rank 0 sends what the last rank never receives, as that waits for
 *               a message that nobody sends
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HANG_ROUNDS = 1, HANG_BYTES = 1000, HANG_LARGE = 1 << 20,
       HANG_TO_ITSELF = 2000, HANG_RANKS = 8 };

static volatile int hang_forever = 1;

/* All at once, where MPI_Alltoall has steps, of which the first may hang. */
static void hang_exchange(int ranks, char *bytes, char *more)
{
    MPI_Request requests[2 * HANG_RANKS];
    int         i;

    for (i = 0; i < ranks; ++i) {
        MPI_Irecv(&more[i * HANG_BYTES], HANG_BYTES, MPI_CHAR, i, 1,
                  MPI_COMM_WORLD, &requests[2 * i]);
        MPI_Isend(&bytes[i * HANG_BYTES], HANG_BYTES, MPI_CHAR, i, 1,
                  MPI_COMM_WORLD, &requests[(2 * i) + 1]);
    }
    MPI_Waitall(2 * ranks, requests, MPI_STATUSES_IGNORE);
}

static void hang_send(int rank, int last, const char *how, char *bytes)
{
    if ((rank == 0) && !strcmp(how, "buffers")) {
        for (;;) {
            MPI_Send(bytes, HANG_BYTES, MPI_CHAR, last, 1, MPI_COMM_WORLD);
        }
    }
    if ((rank == 0) && !strcmp(how, "send")) {
        MPI_Send(bytes, HANG_LARGE, MPI_CHAR, last, 1, MPI_COMM_WORLD);
    }
    if ((rank == last) && !strcmp(how, "send")) {
        MPI_Recv(bytes, HANG_BYTES, MPI_CHAR, 0, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
    if ((rank == last) && !strcmp(how, "sleep")) {
        pause();
    }
    while ((rank == last) && strcmp(how, "stop") && strcmp(how, "cut") &&
           hang_forever) {
    }
}

/* Says that this rank is here, and goes on as soon as all are. With `itself`, the
 * device has counted that many messages by then. */
static void hang_pause(int rank, int itself, char *bytes, char *more)
{
    const char *until = getenv("HANG_UNTIL");
    int         i;

    for (i = 0; i < itself; ++i) {
        MPI_Sendrecv(bytes, HANG_BYTES, MPI_CHAR, rank, 1, more, HANG_BYTES,
                     MPI_CHAR, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    fprintf(stderr, "hangs\n");
    while ((until == NULL) || access(until, F_OK)) {
        usleep(10000);
    }
}

int main(int argc, char **argv)
{
    char *bytes = calloc(1, HANG_LARGE), *more = calloc(1, HANG_LARGE);
    int rank, ranks, round;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (round = 0; (argc == 2) && (ranks <= HANG_RANKS) && (bytes != NULL) &&
                    (more != NULL); ++round) {
        hang_exchange(ranks, bytes, more);
        if (round == HANG_ROUNDS) {
            hang_pause(rank, strcmp(argv[1], "cut") ? 0 : HANG_TO_ITSELF, bytes,
                       more);
            hang_send(rank, ranks - 1, argv[1], bytes);
        }
    }
    MPI_Finalize();
    return 1;
}
