/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI, whatever it runs over; rank 0 is the server. */
#include "pair.h"

#include <mpi.h>

static int         peer;
static MPI_Request requests[2][PAIR_ALL];

static void pair_mpi_open(void)
{
    unsigned i;
    int      rank;

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = !rank;
    for (i = 0; i < PAIR_ALL; ++i) {
        requests[PAIR_SEND][i] = requests[PAIR_RECV][i] = MPI_REQUEST_NULL;
    }
}

static void pair_mpi_send(unsigned slot, const void *data, size_t length,
                          uint32_t tag)
{
    MPI_Isend(data, (int)length, MPI_BYTE, peer, (int)tag, MPI_COMM_WORLD,
              &requests[PAIR_SEND][slot]);
}

static void pair_mpi_recv(unsigned slot, void *data, size_t length,
                          uint32_t tag)
{
    MPI_Irecv(data, (int)length, MPI_BYTE, peer, (int)tag, MPI_COMM_WORLD,
              &requests[PAIR_RECV][slot]);
}

/* (The test makes progress, too.) */
static int pair_mpi_done(pair_side_t side, unsigned slot)
{
    int done = 0;

    MPI_Test(&requests[side][slot], &done, MPI_STATUS_IGNORE);
    return done;
}

static void pair_mpi_progress(void)
{
}

static void pair_mpi_close(void)
{
    MPI_Finalize();
}

const pair_ops_t pair_ops = {
    .name     = "mpi",
    .open     = pair_mpi_open,
    .send     = pair_mpi_send,
    .recv     = pair_mpi_recv,
    .done     = pair_mpi_done,
    .progress = pair_mpi_progress,
    .close    = pair_mpi_close
};
