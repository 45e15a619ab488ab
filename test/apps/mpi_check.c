/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI program that checks every byte: ring, all-to-all, pairs of ranks,
 * wildcard and unexpected receives, reductions, one-sided. Sizes 1 B to --max.
 */
#include "mpi_check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int rank, ranks;
const char *mode_now = "start";

static int size_max = 4 << 20;
static volatile int size_now;

uint64_t msg_key(int from, int to, int tag)
{
    return fill_key(CHECK_SEED, from * 4096 + to, tag);
}

void msg_check(const char *buf, int len, int from, int tag)
{
    uint64_t key = msg_key(from, rank, tag);
    ptrdiff_t at = fill_diff(buf, len, key, 0);

    if (at >= 0) {
        fprintf(stderr, "FAIL rank %d %s: from rank %d tag %d size %d: offset "
                "%td: expected 0x%02x, got 0x%02x\n", rank, mode_now, from,
                tag, len, at, fill_byte(key, at), (unsigned char)buf[at]);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* By the limit of its check, or by mpirun as another rank has failed. */
static void on_end(int sig)
{
    char line[160];
    int len;

    len = snprintf(line, sizeof(line), "told to end: rank %d in %s at size "
                   "%d\n", rank, mode_now, size_now);
    if (write(STDERR_FILENO, line, len) < 0) {
        _exit(1);
    }
    _exit(128 + sig);
}

/* 1, 2, 3, 4, 5, 7, 8, 9, … around each power of two, up to size_max. */
static int size_next(int size)
{
    int power = 1;

    while (power < size + 1) {
        power *= 2;
    }
    if (size < power - 1) {
        return power - 1;
    }
    return (size == power - 1) ? power : size + 1;
}

char *buf_alloc(size_t len)
{
    char *buf = malloc(len ? len : 1);

    if (buf == NULL) {
        fprintf(stderr, "FAIL rank %d: out of memory\n", rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(buf, 0xa5, len);
    return buf;
}

/* Each rank sends to the next and receives from the one before. */
static void check_ring(int len)
{
    int next   = (rank + 1) % ranks;
    int before = (rank + ranks - 1) % ranks;
    char *tx   = buf_alloc(len);
    char *rx   = buf_alloc(len);
    MPI_Status status;
    int got;

    fill_bytes(tx, len, msg_key(rank, next, len), 0);
    MPI_Sendrecv(tx, len, MPI_BYTE, next, 1, rx, len, MPI_BYTE, before, 1,
                 MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &got);
    if (got != len) {
        fprintf(stderr, "FAIL rank %d ring: %d of %d B\n", rank, got, len);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    msg_check(rx, len, before, len);
    free(tx);
    free(rx);
}

static void check_alltoall(int len)
{
    char *tx = buf_alloc((size_t)len * ranks);
    char *rx = buf_alloc((size_t)len * ranks);
    int r;

    for (r = 0; r < ranks; ++r) {
        fill_bytes(tx + (size_t)r * len, len, msg_key(rank, r, len), 0);
    }
    MPI_Alltoall(tx, len, MPI_BYTE, rx, len, MPI_BYTE, MPI_COMM_WORLD);
    for (r = 0; r < ranks; ++r) {
        msg_check(rx + (size_t)r * len, len, r, len);
    }
    free(tx);
    free(rx);
}

/* Several messages in flight between every two ranks, received late and in
 * another order than they were sent. */
static void check_pt2pt(int len)
{
    enum { DEPTH = 4 };
    int n           = ranks * DEPTH;
    char *tx        = buf_alloc((size_t)len * n);
    char *rx        = buf_alloc((size_t)len * n);
    MPI_Request *rq = malloc(2 * n * sizeof(*rq));
    int i, peer, tag;

    for (i = 0; i < n; ++i) {
        peer = i / DEPTH;
        tag  = i % DEPTH;
        fill_bytes(tx + (size_t)i * len, len, msg_key(rank, peer, tag), 0);
        if (tag == 3) {
            MPI_Issend(tx + (size_t)i * len, len, MPI_BYTE, peer, tag,
                       MPI_COMM_WORLD, &rq[i]);
        } else {
            MPI_Isend(tx + (size_t)i * len, len, MPI_BYTE, peer, tag,
                      MPI_COMM_WORLD, &rq[i]);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (i = n; i-- > 0;) {
        MPI_Irecv(rx + (size_t)i * len, len, MPI_BYTE, i / DEPTH, i % DEPTH,
                  MPI_COMM_WORLD, &rq[n + i]);
    }
    MPI_Waitall(2 * n, rq, MPI_STATUSES_IGNORE);
    for (i = 0; i < n; ++i) {
        msg_check(rx + (size_t)i * len, len, i / DEPTH, i % DEPTH);
    }
    free(rq);
    free(tx);
    free(rx);
}

/* Everyone sends to rank 0, which takes what comes. */
static void check_anysource(int len)
{
    char *buf  = buf_alloc(len);
    char *seen = calloc(ranks, 1);
    MPI_Status status;
    int r;

    if (rank != 0) {
        fill_bytes(buf, len, msg_key(rank, 0, 5), 0);
        MPI_Send(buf, len, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
    } else {
        for (r = 1; r < ranks; ++r) {
            MPI_Recv(buf, len, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
                     MPI_COMM_WORLD, &status);
            msg_check(buf, len, status.MPI_SOURCE, status.MPI_TAG);
            if (seen[status.MPI_SOURCE]++ != 0) {
                fprintf(stderr, "FAIL anysource: two of %d\n",
                        status.MPI_SOURCE);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(seen);
    free(buf);
}

static void check_allreduce(int len)
{
    int n         = (len + 7) / 8;
    uint64_t *tx  = (uint64_t*)buf_alloc(8 * (size_t)n);
    uint64_t *rx  = (uint64_t*)buf_alloc(8 * (size_t)n);
    uint64_t want;
    int i, r;

    for (i = 0; i < n; ++i) {
        tx[i] = fill_key(CHECK_SEED, rank, i);
    }
    MPI_Allreduce(tx, rx, n, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (i = 0; i < n; ++i) {
        for (r = 0, want = 0; r < ranks; ++r) {
            want += fill_key(CHECK_SEED, r, i);
        }
        if (rx[i] != want) {
            fprintf(stderr, "FAIL rank %d allreduce: word %d of %d\n", rank,
                    i, n);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    free(tx);
    free(rx);
}

/* A mode that is not part of "all" runs at the largest size only. */
static const struct {
    const char *name;
    void       (*check)(int len);
    int        in_all;
} modes[] = {
    {"ring", check_ring, 1},           {"alltoall", check_alltoall, 1},
    {"pt2pt", check_pt2pt, 1},         {"anysource", check_anysource, 1},
    {"allreduce", check_allreduce, 1}, {"onesided", check_onesided, 1},
    {"flood", check_flood, 0},         {"sleeper", check_sleeper, 0}
};

static int mode_wanted(const char *mode, unsigned i)
{
    size_t length = strcspn(mode, ",");

    return ((length == strlen(modes[i].name)) &&
            !strncmp(mode, modes[i].name, length)) ||
           ((length == 3) && !strncmp(mode, "all", 3) && modes[i].in_all) ||
           ((mode[length] == ',') && mode_wanted(mode + length + 1, i));
}

static void usage(void)
{
    if (rank == 0) {
        fprintf(stderr, "usage: mpi_check [MODE] [MAX_BYTES]\n"
                "MODE, or several with commas: all (default), ring, alltoall, "
                "pt2pt, anysource, allreduce, onesided, flood, sleeper\n");
    }
    MPI_Finalize();
    exit(2);
}

int main(int argc, char **argv)
{
    const char *mode = (argc > 1) ? argv[1] : "all";
    unsigned i, ran  = 0;
    int len;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    size_max = (argc > 2) ? atoi(argv[2]) : size_max;
    signal(SIGTERM, on_end);

    for (i = 0; i < sizeof(modes) / sizeof(modes[0]); ++i) {
        if (!mode_wanted(mode, i)) {
            continue;
        }
        mode_now = modes[i].name;
        len = modes[i].in_all ? 1 : size_max;
        for (; len <= size_max; len = size_next(len)) {
            size_now = len;
            modes[i].check(len);
        }
        ++ran;
    }
    mode_now = "end";
    if (ran == 0 || size_max < 1) {
        usage();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("ok %d ranks, %s, 1 to %d B\n", ranks, mode, size_max);
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
