/* SPDX-License-Identifier: BSD-3-Clause */
/* Latency, message rate and bandwidth of tagged messages between two processes,
 * the same program whatever library is under it (pair.h).
 *
 * usage: pair-LIBRARY PORT [127.0.0.1] -- CASE...
 *   lat:SIZE                half the time of a round trip
 *   bw:SIZE:WINDOW          one way, so many sends in flight
 * The client (with the server's address, this host's) prints a line for each case:
 * CASE, then median and mean in microseconds (lat), or messages and megabytes a
 * second; then the share of a core that the sides got, the lesser of the two (they
 * never sleep, so less than 1 means a busy machine). At last what all cases sent,
 * in bytes. A case takes about PAIR_MS milliseconds. */
#define _GNU_SOURCE
#include "pair.h"

#include "apps/oob.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    PAIR_OOB      = 30,   /* seconds until the other side has come */
    PAIR_TAG      = 1,
    PAIR_TAG_ACK  = 3,
    PAIR_SAMPLES  = 20000,
    PAIR_LARGEST  = 64 << 20
};

typedef struct pair_case {
    const char   *text;
    char          kind[8];
    unsigned long size, window;
} pair_case_t;

static int                is_client;
static char              *tx_data, *rx_data;
static unsigned long long payload;
static float              samples[PAIR_SAMPLES];
static double             case_seconds = 0.1;
static int                pair_socket;

void pair_fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
    exit(1);
}

static void pair_oob_send(const void *data, size_t length)
{
    if (oob_send(pair_socket, data, length) != 0) {
        pair_fail("the other side", "it is gone");
    }
}

/* The library goes on meanwhile: what the peer waits for may be in its hands. */
static void pair_oob_recv(void *data, size_t length)
{
    size_t  got = 0;
    ssize_t count;

    while (got < length) {
        count = recv(pair_socket, (char*)data + got, length - got,
                     MSG_DONTWAIT);
        if (count == 0) {
            pair_fail("the other side", "it is gone");
        }
        got += (count > 0) ? count : 0;
        pair_progress();
    }
}

void pair_oob_barrier(void)
{
    char byte = 0;

    pair_oob_send(&byte, 1);
    pair_oob_recv(&byte, 1);
}

static double pair_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static double pair_now(void)
{
    return pair_clock(CLOCK_MONOTONIC);
}

static void pair_wait(pair_side_t side, unsigned slot)
{
    while (!pair_done(side, slot)) {
        pair_progress();
    }
}

static int pair_compare(const void *a, const void *b)
{
    float x = *(const float*)a, y = *(const float*)b;

    return (x > y) - (x < y);
}

/* One round trip; the receive for it is posted already, that for the next one is
 * posted before the answer leaves. */
static void pair_trip(size_t size, int last)
{
    if (is_client) {
        pair_send(0, tx_data, size, PAIR_TAG);
        pair_wait(PAIR_RECV, 0);
    } else {
        pair_wait(PAIR_RECV, 0);
    }
    if (!last) {
        pair_recv(0, rx_data, size, PAIR_TAG);
    }
    if (!is_client) {
        pair_send(0, tx_data, size, PAIR_TAG);
    }
    pair_wait(PAIR_SEND, 0);
}

static double pair_trips(size_t size, unsigned long count)
{
    double        start, before, now;
    unsigned long i;

    pair_recv(0, rx_data, size, PAIR_TAG);
    pair_oob_barrier();
    start = before = pair_now();
    for (i = 0; i < count; ++i) {
        pair_trip(size, i + 1 == count);
        now = pair_now();
        if (i < PAIR_SAMPLES) {
            samples[i] = (now - before) * 1e6 / 2;
        }
        before = now;
    }
    payload += 2ull * count * size;
    return before - start;
}

/* One way. Ends when the last message was received and the server said so. */
static double pair_stream(size_t size, unsigned window, unsigned long count)
{
    unsigned      slots = (count < window) ? count : window;
    pair_side_t   side  = is_client ? PAIR_SEND : PAIR_RECV;
    unsigned long i;
    double        start;

    for (i = 0; (i < slots) && !is_client; ++i) {
        pair_recv(i, rx_data, size, PAIR_TAG);
    }
    pair_oob_barrier();
    start = pair_now();
    for (i = 0; i < count + slots; ++i) { /* at last none is under way */
        if (i >= slots) {
            pair_wait(side, i % slots);
        }
        if (is_client && (i < count)) {
            pair_send(i % slots, tx_data, size, PAIR_TAG);
        } else if (!is_client && (i >= slots) && (i < count)) {
            pair_recv(i % slots, rx_data, size, PAIR_TAG);
        }
    }
    if (is_client) {
        pair_recv(0, rx_data, 1, PAIR_TAG_ACK);
        pair_wait(PAIR_RECV, 0);
    } else {
        pair_send(0, tx_data, 1, PAIR_TAG_ACK);
        pair_wait(PAIR_SEND, 0);
    }
    payload += (unsigned long long)count * size;
    return pair_now() - start;
}

static double pair_once(const pair_case_t *item, unsigned long count)
{
    return !strcmp(item->kind, "bw") ?
                   pair_stream(item->size, item->window, count) :
                   pair_trips(item->size, count);
}

/* How many make a case last: the client measures a few, more and more of them,
 * and tells. */
static unsigned long pair_calibrate(const pair_case_t *item)
{
    unsigned long count = 4;
    double        took;
    int           more = 1;

    while (more) {
        took = pair_once(item, count);
        if (is_client) {
            more = (took < case_seconds / 8) && (count < 1ul << 22);
            count = more ? count * 4 : count * case_seconds / took;
            count = (count < 4) ? 4 : count;
            pair_oob_send(&more, sizeof(more));
            pair_oob_send(&count, sizeof(count));
        } else {
            pair_oob_recv(&more, sizeof(more));
            pair_oob_recv(&count, sizeof(count));
        }
    }
    return count;
}

/* The share of a core since then. The client prints the lesser of both sides. */
static void pair_print_share(double wall, double cpu)
{
    double mine = (pair_clock(CLOCK_THREAD_CPUTIME_ID) - cpu) /
                  (pair_now() - wall);
    double theirs;

    if (is_client) {
        pair_oob_recv(&theirs, sizeof(theirs));
        printf(" %.2f\n", (mine < theirs) ? mine : theirs);
        fflush(stdout);
    } else {
        pair_oob_send(&mine, sizeof(mine));
    }
}

static void pair_measure(const pair_case_t *item)
{
    unsigned long count = pair_calibrate(item), kept;
    double        wall  = pair_now();
    double        cpu   = pair_clock(CLOCK_THREAD_CPUTIME_ID);
    double        took  = pair_once(item, count);

    if (is_client && !strcmp(item->kind, "bw")) {
        printf("%s %.1f %.3f", item->text, count / took,
               count / took * item->size / 1e6);
    } else if (is_client) {
        kept = (count < PAIR_SAMPLES) ? count : PAIR_SAMPLES;
        qsort(samples, kept, sizeof(samples[0]), pair_compare);
        printf("%s %.3f %.3f", item->text, samples[kept / 2],
               took / count * 1e6 / 2);
    }
    pair_print_share(wall, cpu);
}

static void pair_run(const char *text)
{
    pair_case_t item = {.text = text, .window = 1};

    if ((sscanf(text, "%7[a-z]:%lu:%lu", item.kind, &item.size,
                &item.window) < 2) || (item.size > PAIR_LARGEST)) {
        pair_fail(text, "no such case");
    }
    if ((strcmp(item.kind, "lat") && strcmp(item.kind, "bw")) ||
        (item.window < 1) || (item.window > PAIR_SLOTS)) {
        pair_fail(text, "out of range");
    }
    pair_measure(&item);
}

static void pair_join(unsigned port)
{
    static char mine[PAIR_ADDRESS], theirs[PAIR_ADDRESS];

    pair_socket = is_client ? oob_connect(port, PAIR_OOB) :
                              oob_accept(port, PAIR_OOB);
    if (pair_socket < 0) {
        pair_fail("connect", "nobody is there");
    }
    pair_address(mine);
    pair_oob_send(mine, sizeof(mine));
    pair_oob_recv(theirs, sizeof(theirs));
    pair_connect(theirs);
}

int main(int argc, char **argv)
{
    const char *seconds = getenv("PAIR_MS");
    int         i       = 2;

    if ((argc < 4) || ((strcmp(argv[2], "--") != 0) &&
                       (strcmp(argv[3], "--") != 0))) {
        fprintf(stderr, "usage: %s PORT [SERVER] -- CASE...\n",
                program_invocation_short_name);
        return 2;
    }
    if (seconds != NULL) {
        case_seconds = atof(seconds) / 1000;
    }
    is_client = strcmp(argv[2], "--") != 0;
    i         = is_client ? 4 : 3;
    if (posix_memalign((void**)&tx_data, 4096, PAIR_LARGEST) ||
        posix_memalign((void**)&rx_data, 4096, PAIR_LARGEST)) {
        pair_fail("memory", "none");
    }
    memset(tx_data, 1, PAIR_LARGEST);
    memset(rx_data, 2, PAIR_LARGEST);
    pair_open();
    pair_memory(PAIR_SEND, tx_data, PAIR_LARGEST);
    pair_memory(PAIR_RECV, rx_data, PAIR_LARGEST);
    pair_join(atoi(argv[1]));
    pair_once(&(pair_case_t){.kind = "lat", .size = 8}, 1000);
    for (; i < argc; ++i) {
        pair_run(argv[i]);
    }
    pair_oob_barrier();
    if (is_client) {
        printf("payload %llu\n", payload);
    }
    pair_close();
    close(pair_socket);
    return 0;
}
