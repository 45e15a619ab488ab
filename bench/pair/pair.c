/* SPDX-License-Identifier: BSD-3-Clause */
/* Latency, message rate and bandwidth of tagged messages between two processes,
 * the same program whatever library is under it (pair.h).
 *
 * usage: pair-LIBRARY CASE,... PORT [ADDRESS]
 *   lat:SIZE                half the time of a round trip
 *   bw:SIZE:WINDOW          one way, so many sends in flight
 * The client (with the server's address, 127.0.0.1) prints a line for each case:
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
#include <time.h>
#include <unistd.h>

enum {
    PAIR_SAMPLES = 20000
};

typedef struct pair_case {
    const char   *text;
    char          kind[8];
    unsigned long size, window;
} pair_case_t;

static int                is_client;
static unsigned long long payload;
static float              samples[PAIR_SAMPLES];
static double             case_seconds = 0.1;
static int                pair_socket;

char        *pair_data[2];
volatile int pair_done[2][PAIR_SLOTS];

void pair_fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
    exit(1);
}

static void pair_oob_send(const void *message, size_t length)
{
    if (oob_send(pair_socket, message, length) != 0) {
        pair_fail("the other side", "it is gone");
    }
}

/* The library goes on meanwhile: what the peer waits for may be in its hands. */
static void pair_oob_recv(void *message, size_t length)
{
    int got;

    while ((got = oob_try_byte(pair_socket, message)) == 0) {
        pair_progress();
    }
    if ((got < 0) || oob_recv(pair_socket, (char*)message + 1, length - 1)) {
        pair_fail("the other side", "it is gone");
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
    while (!pair_done[side][slot]) {
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
        pair_post(PAIR_SEND, 0, size);
    }
    pair_wait(PAIR_RECV, 0);
    if (!last) {
        pair_post(PAIR_RECV, 0, size);
    }
    if (!is_client) {
        pair_post(PAIR_SEND, 0, size);
    }
    pair_wait(PAIR_SEND, 0);
}

static double pair_trips(size_t size, unsigned long count)
{
    double        start, before, now;
    unsigned long i;

    pair_post(PAIR_RECV, 0, size);
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
    pair_side_t   back  = is_client ? PAIR_RECV : PAIR_SEND;
    unsigned long i;
    double        start;

    for (i = 0; (i < slots) && !is_client; ++i) {
        pair_post(PAIR_RECV, i, size);
    }
    pair_oob_barrier();
    start = pair_now();
    for (i = 0; i < count + slots; ++i) { /* at last none is under way */
        if (i >= slots) {
            pair_wait(side, i % slots);
        }
        if ((i < count) && (is_client || (i >= slots))) {
            pair_post(side, i % slots, size);
        }
    }
    pair_post(back, 0, 1);
    pair_wait(back, 0);
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

    pair_socket = is_client ? oob_connect(port) : oob_accept(port);
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
    pair_side_t side;
    char       *text;

    if ((argc != 3) && (argc != 4)) {
        fprintf(stderr, "usage: %s CASE,... PORT [ADDRESS]\n",
                program_invocation_short_name);
        return 2;
    }
    if (seconds != NULL) {
        case_seconds = atof(seconds) / 1000;
    }
    is_client = argc == 4;
    for (side = PAIR_SEND; side <= PAIR_RECV; ++side) {
        if (posix_memalign((void**)&pair_data[side], 4096, PAIR_LARGEST)) {
            pair_fail("memory", "none");
        }
        memset(pair_data[side], side + 1, PAIR_LARGEST);
    }
    pair_open();
    pair_join(atoi(argv[2]));
    pair_once(&(pair_case_t){.kind = "lat", .size = 8}, 1000);
    for (text = strtok(argv[1], ","); text != NULL; text = strtok(NULL, ",")) {
        pair_run(text);
    }
    pair_oob_barrier();
    if (is_client) {
        printf("payload %llu\n", payload);
    }
    pair_close();
    close(pair_socket);
    return 0;
}
