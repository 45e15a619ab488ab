/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI program that hangs: an all-to-all again and again, until
 *   stop, cut   somebody else stops a rank, or cuts the network
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

enum { HANG_ROUNDS = 1, HANG_BYTES = 1000, HANG_LARGE = 1 << 20 };

static volatile int hang_forever = 1;

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

int main(int argc, char **argv)
{
    char *bytes = calloc(1, HANG_LARGE), *more = calloc(1, HANG_LARGE);
    int rank, ranks, round;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (round = 0; (argc == 2) && (bytes != NULL) && (more != NULL);
         ++round) {
        MPI_Alltoall(bytes, HANG_BYTES, MPI_CHAR, more, HANG_BYTES, MPI_CHAR,
                     MPI_COMM_WORLD);
        if (round == HANG_ROUNDS) {
            if (rank == 0) {
                fprintf(stderr, "hangs\n");
            }
            hang_send(rank, ranks - 1, argv[1], bytes);
        }
    }
    MPI_Finalize();
    return 1;
}
