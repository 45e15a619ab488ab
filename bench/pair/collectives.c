/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations of MPI, and a halo exchange with both neighbours of a ring.
 *
 * usage: mpirun ... collectives DILATION CASE...
 * A case is allreduce, alltoall or halo, a colon, and the bytes (of an alltoall to
 * each rank). The first rank prints a line for each: CASE, and microseconds of one on
 * the rank that took longest, divided by DILATION; at last the bytes that went to
 * other hosts, where each has two ranks, without those of allreduce. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLLECTIVES_LARGEST = 1 << 20,
    COLLECTIVES_ROUNDS  = 5
};

static int   rank, ranks;
static char *from, *to;

static void collectives_halo(int length)
{
    int         left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    MPI_Request requests[4];

    MPI_Irecv(to, length, MPI_CHAR, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(to + length, length, MPI_CHAR, right, 1, MPI_COMM_WORLD,
              &requests[1]);
    MPI_Isend(from, length, MPI_CHAR, right, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(from + length, length, MPI_CHAR, left, 1, MPI_COMM_WORLD,
              &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static unsigned long long collectives_once(const char *name, int length)
{
    if (!strncmp(name, "allreduce", 9)) {
        MPI_Allreduce(from, to, length / (int)sizeof(double), MPI_DOUBLE,
                      MPI_SUM, MPI_COMM_WORLD);
        return 0;
    }
    if (!strncmp(name, "alltoall", 8)) {
        MPI_Alltoall(from, length, MPI_CHAR, to, length, MPI_CHAR,
                     MPI_COMM_WORLD);
        return (unsigned long long)length * ranks * (ranks - 2);
    }
    collectives_halo(length);
    return (unsigned long long)length * ranks;
}

int main(int argc, char **argv)
{
    unsigned long long payload = 0;
    double             start, took, longest;
    int                i, round, length;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    from = calloc(ranks, COLLECTIVES_LARGEST);
    to   = calloc(ranks, COLLECTIVES_LARGEST);
    for (i = 2; i < argc; ++i) {
        length   = atoi(strchr(argv[i], ':') + 1);
        payload += collectives_once(argv[i], length);
        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        for (round = 0; round < COLLECTIVES_ROUNDS; ++round) {
            payload += collectives_once(argv[i], length);
        }
        took = (MPI_Wtime() - start) * 1e6 / COLLECTIVES_ROUNDS;
        MPI_Reduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            printf("%s %.1f\n", argv[i], longest / atof(argv[1]));
        }
    }
    if (rank == 0) {
        printf("payload %llu\n", payload);
    }
    return MPI_Finalize();
}
