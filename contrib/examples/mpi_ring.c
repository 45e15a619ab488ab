/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI over SRD: each rank sends to the next one, every byte is compared.
 *
 *     mpicc contrib/examples/mpi_ring.c -o mpi_ring
 *     mpirun -np 2 -x UCX_TLS=srd,sm,self srdrun ./mpi_ring
 *
 * -x UCX_LOG_LEVEL=info ends each rank with the number of messages
 * that went over srd.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LARGEST = 4 << 20, /* bytes */
    ROUNDS  = 20       /* of each size */
};

static unsigned char out[LARGEST], in[LARGEST];

/* The byte at @at of what @rank sends in a round. */
static unsigned char byte_of(int rank, int round, int at)
{
    return (unsigned char)(rank * 31 + round * 7 + at);
}

/* One message to the next rank, one from the previous one. */
static void turn(int rank, int ranks, int round, int size)
{
    int previous = (rank + ranks - 1) % ranks;
    int at;

    for (at = 0; at < size; ++at) {
        out[at] = byte_of(rank, round, at);
        in[at]  = 0;
    }
    MPI_Sendrecv(out, size, MPI_BYTE, (rank + 1) % ranks, 0, in, size, MPI_BYTE,
                 previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (at = 0; at < size; ++at) {
        if (in[at] != byte_of(previous, round, at)) {
            fprintf(stderr, "rank %d: byte %d of %d is wrong\n", rank, at, size);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

int main(int argc, char **argv)
{
    int rank, ranks, size, round;
    long bytes = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (size = 8; size <= LARGEST; size *= 8) {
        for (round = 0; round < ROUNDS; ++round) {
            turn(rank, ranks, round, size);
            bytes += size;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d ranks, %ld bytes compared on each\n", ranks, bytes);
    }
    MPI_Finalize();
    return 0;
}
