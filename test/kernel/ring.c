/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring of MPI ranks: what goes round grows by one at each and is checked. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { RING_ROUNDS = 20, RING_BYTES = 20000 };

int main(int argc, char **argv)
{
    static unsigned char out[RING_BYTES], in[RING_BYTES];
    int rank, size, round, i, wrong = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (round = 0; round < RING_ROUNDS; ++round) {
        memset(out, rank + round, sizeof(out));
        MPI_Sendrecv(out, RING_BYTES, MPI_BYTE, (rank + 1) % size, round, in,
                     RING_BYTES, MPI_BYTE, (rank + size - 1) % size, round,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (i = 0; i < RING_BYTES; ++i) {
            wrong += in[i] != (unsigned char)((rank + size - 1) % size +
                                              round);
        }
    }
    printf("rank %d: %d bytes wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong != 0;
}
