/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of a peer: memory, connecting, closing. Two interfaces of one
 * process, with NUMBER endpoints from the one to the other, each of which
 * sends.
 *
 * usage: efasim run -- srdrun peers NUMBER...
 * Prints: number, bytes for each (both sides together), microseconds to create
 * each, to create it and bring its first message over, and to close it. */
#define _GNU_SOURCE
#include "instr_side.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PEERS_IDLE = 1000, PEERS_STEP = 64 };

static double peers_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static unsigned peers_progress(bench_side_t *a, bench_side_t *b)
{
    return uct_iface_progress(a->iface) + uct_iface_progress(b->iface);
}

static void peers_settle(bench_side_t *a, bench_side_t *b)
{
    unsigned idle = 0;

    while (idle < PEERS_IDLE) {
        idle = (peers_progress(a, b) == 0) ? idle + 1 : 0;
    }
}

/* Bytes that malloc has out and has mapped: pools of the module are mapped, but
 * packets in them are not a peer's. */
static size_t peers_memory(void)
{
    return mallinfo2().uordblks + mallinfo2().hblkhd;
}

static void peers_send(bench_side_t *a, bench_side_t *b, uct_ep_h ep)
{
    ucs_status_t status;

    while ((status = uct_ep_am_short(ep, BENCH_AM, 1, NULL, 0)) ==
           UCS_ERR_NO_RESOURCE) {
        peers_progress(a, b);
    }
    bench_check(status, "send");
}

static void peers_measure(unsigned long number)
{
    uct_ep_h     *eps = calloc(number, sizeof(*eps));
    bench_side_t  a, b;
    double        start, created, connected, closed;
    unsigned long i;
    size_t        memory;

    bench_side_open(&a);
    bench_side_open(&b);
    a.ep = bench_side_connect(&a, b.dev_addr, b.iface_addr);
    peers_send(&a, &b, a.ep); /* first: what an interface grows for itself */
    peers_settle(&a, &b);
    memory = peers_memory();

    start = peers_now();
    for (i = 0; i < number; ++i) {
        eps[i] = bench_side_connect(&a, b.dev_addr, b.iface_addr);
    }
    created = peers_now();
    for (i = 0; i < number; ++i) {
        peers_send(&a, &b, eps[i]);
        if (i % PEERS_STEP == 0) {
            peers_progress(&a, &b);
        }
    }
    while (b.received < number + 1) {
        peers_progress(&a, &b);
    }
    connected = peers_now();
    peers_settle(&a, &b);
    memory = peers_memory() - memory;

    closed = peers_now();
    for (i = 0; i < number; ++i) {
        uct_ep_destroy(eps[i]);
        peers_progress(&a, &b);
    }
    closed = peers_now() - closed;
    printf("%lu %.1f %.3f %.3f %.3f\n", number, (double)memory / number,
           (created - start) * 1e6 / number,
           (connected - start) * 1e6 / number, closed * 1e6 / number);
    fflush(stdout);
    peers_settle(&a, &b);
    free(eps);
    bench_side_close(&a);
    bench_side_close(&b);
}

int main(int argc, char **argv)
{
    int i;

    bench_md_open();
    for (i = 1; i < argc; ++i) {
        peers_measure(strtoul(argv[i], NULL, 10));
    }
    bench_md_close();
    return 0;
}
