/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi_gpu: two ranks of an MPI hand device memory to MPI_Sendrecv, to each
 * other's and to host memory, and compare every byte. The MPI need know nothing
 * of CUDA: contiguous bytes go to UCX as they are, which knows what they are.
 */
#include "device.h"
#include "test/apps/fill.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int mpi_sizes[] = {1, 1000, 4097, 65536, 1000001, 4194304};

static int mpi_gpu_round(int rank, int size, int to_host)
{
    uint8_t *host = malloc(size), *out = gpu_malloc(size);
    uint8_t *in   = to_host ? malloc(size) : gpu_malloc(size);
    ptrdiff_t at;

    if ((host == NULL) || (out == NULL) || (in == NULL)) {
        return -1;
    }
    fill_bytes(host, size, fill_key(1, size, rank), 0);
    if (gpu_memcpy(out, host, size)) {
        return -1;
    }
    MPI_Sendrecv(out, size, MPI_BYTE, !rank, 7, in, size, MPI_BYTE, !rank, 7,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (to_host) {
        memcpy(host, in, size);
    } else if (gpu_memcpy(host, in, size)) {
        return -1;
    }
    at = fill_diff(host, size, fill_key(1, size, !rank), 0);
    if (at >= 0) {
        fprintf(stderr, "FAIL: %d bytes into %s memory: wrong at %td\n", size,
                to_host ? "host" : "device", at);
        return -1;
    }
    free(host);
    if (to_host) {
        free(in);
    }
    return (gpu_free(out) || (!to_host && gpu_free(in))) ? -1 : 0;
}

int main(int argc, char **argv)
{
    unsigned i, count = sizeof(mpi_sizes) / sizeof(mpi_sizes[0]);
    unsigned long long bytes = 0;
    int rank, ranks, to_host;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if ((ranks != 2) || gpu_open(0)) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (to_host = 0; to_host < 2; ++to_host) {
        for (i = 0; i < count; ++i) {
            if (mpi_gpu_round(rank, mpi_sizes[i], to_host)) {
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
            bytes += mpi_sizes[i];
        }
    }
    printf("ok %u messages %llu bytes\n", 2 * count, bytes);
    MPI_Finalize();
    return 0;
}
