/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data path of one process with two interfaces, in functions that callgrind
 * can tell apart by name: bench/instr.sh runs it and divides. A function does
 * what its name says and nothing else, or the program ends: 16 messages come in
 * one poll and complete in one poll, and the polls in which a limit packet is
 * sent or taken have functions of their own.
 *
 * usage: instr ROUNDS            the data path
 *        instr ROUNDS ENDPOINTS  as many endpoints, each to a GID of its own
 *        instr ROUNDS full       a queue of 16 that is full
 */
#define _GNU_SOURCE
#include "instr.h"

#include <uct/ib/base/base_types.h>

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    BENCH_TURNS = 64, /* rounds in which each of 16 flows gets limits */
    BENCH_IDLE  = 100, /* polls after which nothing is under way any more */
    BENCH_GID   = 4    /* where it lies in a device address (base_address.h) */
};

static size_t bench_pack(void *dest, void *arg)
{
    return BENCH_BCOPY; /* the packing itself is the user's, not ours */
}

static const uint64_t  bench_words[2] = {1, 1};
static const uct_iov_t bench_iov[2]   = {
    {.buffer = (void*)&bench_words[0], .length = 8, .count = 1},
    {.buffer = (void*)&bench_words[1], .length = 8, .count = 1}
};

BENCH_POST(bench_post_short, UCS_OK,
           uct_ep_am_short(side->ep, BENCH_AM, 1, NULL, 0))
BENCH_POST(bench_post_payload, UCS_OK,
           uct_ep_am_short(side->ep, BENCH_AM, 1, bench_words, 8))
BENCH_POST(bench_post_bcopy, BENCH_BCOPY,
           uct_ep_am_bcopy(side->ep, BENCH_AM, bench_pack, NULL, 0))
BENCH_POST(bench_post_iov, UCS_OK,
           uct_ep_am_short_iov(side->ep, BENCH_AM, bench_iov, 1))
BENCH_POST(bench_post_iov_two, UCS_OK,
           uct_ep_am_short_iov(side->ep, BENCH_AM, bench_iov, 2))

BENCH_POLL(bench_receive)
BENCH_POLL(bench_receive_limit)
BENCH_POLL(bench_receive_alone)
BENCH_POLL(bench_complete)
BENCH_POLL(bench_complete_limit)
BENCH_POLL(bench_complete_alone)
BENCH_POLL(bench_limit_done) /* only the completion of a limit packet is there */
BENCH_POLL(bench_empty)
BENCH_POLL(bench_turn_one) /* limits that are due are sent in it */
BENCH_POLL(bench_turn_sixteen)

/* As if the device had written its next 16 completions in the opposite order;
 * each place keeps its phase. A ring begins on a page and is the program's to
 * read only. */
static void bench_reverse_ring(efa_direct_cq_t *cq)
{
    size_t   size = cq->size, count = (cq->end - cq->ring) / size, at, i;
    uint8_t  swap[64], *left, *right;
    uint32_t first[2], phase;

    bench_expect(mprotect((void*)cq->ring, count * size,
                          PROT_READ | PROT_WRITE), 0, "a ring to write to");
    at = (cq->next - cq->ring) / size;
    for (i = 0; i < BENCH_BATCH / 2; ++i) {
        left  = (uint8_t*)cq->ring + (at + i) % count * size;
        right = (uint8_t*)cq->ring + (at + BENCH_BATCH - 1 - i) % count * size;
        memcpy(swap, left, size);
        memcpy(left, right, size);
        memcpy(right, swap, size);
        memcpy(&first[0], left, sizeof(first[0]));
        memcpy(&first[1], right, sizeof(first[1]));
        phase     = (first[0] ^ first[1]) & EFA_IO_CQE_PHASE;
        first[0] ^= phase;
        first[1] ^= phase;
        memcpy(left, &first[0], sizeof(first[0]));
        memcpy(right, &first[1], sizeof(first[1]));
    }
}

BENCH_PHASE unsigned bench_receive_reversed(bench_side_t *side)
{
    base_iface_t *iface = (base_iface_t*)side->iface;

    if (iface->qp.is_direct) {
        bench_device_works();
        bench_reverse_ring(&iface->qp.direct.rx);
    }
    return bench_progress(side);
}

BENCH_PHASE ucs_status_t bench_flush(bench_side_t *side)
{
    ucs_status_t status = uct_iface_flush(side->iface, 0, NULL);

    __asm__ volatile("" : "+r"(status));
    return status;
}

BENCH_PHASE uct_ep_h bench_create(bench_side_t *side, const void *dev_addr,
                                  const void *iface_addr)
{
    return bench_side_connect(side, dev_addr, iface_addr);
}

void bench_settle(bench_side_t *a, bench_side_t *b)
{
    unsigned idle = 0;

    while (idle < BENCH_IDLE) {
        idle = (bench_progress(a) + bench_progress(b) == 0) ? idle + 1 : 0;
    }
    bench_check(uct_iface_flush(a->iface, 0, NULL), "flush");
}

/* The last completion that a poll gave comes first. */
static int (*bench_poll_cq)(struct ibv_cq *cq, int count, struct ibv_wc *wc);

static int bench_poll_reversed(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    int           polled = bench_poll_cq(cq, count, wc);
    struct ibv_wc swap;
    int           i;

    for (i = 0; i < polled / 2; ++i) {
        swap               = wc[i];
        wc[i]              = wc[polled - 1 - i];
        wc[polled - 1 - i] = swap;
    }
    return polled;
}

static void bench_reverse(bench_side_t *side, int reverse)
{
    struct ibv_context *context =
            ((base_iface_t*)side->iface)->qp.rx_cq->context;

    if (bench_poll_cq == NULL) {
        bench_poll_cq = context->ops.poll_cq;
    }
    context->ops.poll_cq = reverse ? bench_poll_reversed : bench_poll_cq;
}

/* The first interface is for the trial that stands before the direct path. */
static void bench_open_sides(bench_side_t *a, bench_side_t *b)
{
    bench_side_t trial;
    int          is_direct;

    bench_side_open(&trial);
    is_direct = ((base_iface_t*)trial.iface)->qp.is_direct;
    if (is_direct) {
        bench_device_is_eager(1);
    }
    bench_side_open(a);
    bench_side_open(b);
    if (is_direct) {
        bench_device_is_eager(0);
    }
    bench_side_close(&trial);
}

/* The functions of a round: those without a limit packet, then those with. */
typedef struct bench_round {
    unsigned     batch;
    bench_post_t post;
    bench_poll_t receive[2], complete[2];
} bench_round_t;

/* Single messages, until one brings the receiver to send a limit packet. From
 * there on the next one is due after half a window. Returns that half. */
static unsigned bench_align(bench_side_t *a, bench_side_t *b)
{
    unsigned messages, times;

    for (times = 0; times < 2; ++times) {
        messages = 0;
        do {
            bench_check(uct_ep_am_short(a->ep, BENCH_AM, 1, NULL, 0), "align");
            bench_device_works();
            ++messages;
            if (messages > 1000) {
                bench_expect(0, 1, "limit packets");
            }
        } while (bench_progress(b) == 1);
        bench_settle(a, b);
    }
    return messages;
}

static void bench_run(bench_side_t *a, bench_side_t *b, unsigned half,
                      unsigned long rounds, const bench_round_t *round)
{
    unsigned      sent = 0, i, limit;
    unsigned long n;

    for (n = 0; n < rounds; ++n) {
        for (i = 0; i < round->batch; ++i) {
            round->post(a, NULL);
        }
        sent  = (sent + round->batch) % half;
        limit = sent == 0;
        bench_expect(round->receive[limit](b), round->batch + limit,
                     "messages in a poll");
        bench_expect(round->complete[limit](a), round->batch + limit,
                     "completions in a poll");
        if (limit) {
            bench_expect(bench_limit_done(b), 1, "completion of a limit");
        }
    }
    bench_expect(sent, 0, "rounds and half a window leave");
}

/* A batch of messages, in turn from the first `flows` endpoints. */
static void bench_turn(bench_side_t *a, bench_side_t *b, uct_ep_h *eps,
                       unsigned flows, bench_poll_t receive)
{
    unsigned i;

    for (i = 0; i < BENCH_BATCH; ++i) {
        bench_check(uct_ep_am_short(eps[i % flows], BENCH_AM, 1, NULL, 0),
                    "turn");
        bench_device_works();
    }
    bench_expect(receive(b) >= BENCH_BATCH, 1, "a batch in a poll");
    bench_settle(a, b);
}

/* One flow, then sixteen, after the receive queue has grown for them. */
static void bench_turns(bench_side_t *a, bench_side_t *b)
{
    uct_ep_h eps[BENCH_BATCH] = {a->ep};
    unsigned n, i;

    for (n = 0; n < BENCH_TURNS; ++n) {
        bench_turn(a, b, eps, 1, bench_turn_one);
    }
    for (i = 1; i < BENCH_BATCH; ++i) {
        eps[i] = bench_side_connect(a, b->dev_addr, b->iface_addr);
        bench_settle(a, b);
    }
    for (n = 0; n < 4 * BENCH_TURNS; ++n) {
        bench_turn(a, b, eps, BENCH_BATCH,
                   (n < 3 * BENCH_TURNS) ? bench_progress :
                                           bench_turn_sixteen);
    }
    for (i = 1; i < BENCH_BATCH; ++i) {
        uct_ep_destroy(eps[i]);
    }
    bench_settle(a, b);
}

static unsigned long bench_heap(void)
{
    return mallinfo2().uordblks + mallinfo2().hblkhd;
}

/* Memory for packets and operations comes by mmap. */
static unsigned long bench_chunks(const efa_chunk_t *chunk)
{
    unsigned long bytes = 0;

    for (; chunk != NULL; chunk = chunk->next) {
        bytes += chunk->size;
    }
    return bytes;
}

/* Two that know each other. */
static void bench_open_introduced(bench_side_t *a, bench_side_t *b)
{
    unsigned i;

    bench_open_sides(a, b);
    a->ep = bench_side_connect(a, b->dev_addr, b->iface_addr);
    for (i = 0; i < 1000; ++i) { /* introductions */
        uct_ep_am_short(a->ep, BENCH_AM, 0, NULL, 0);
        bench_progress(a);
        bench_progress(b);
    }
    bench_settle(a, b);
}

static void bench_data_path(unsigned long rounds)
{
    static const bench_round_t round[] = {
        {BENCH_BATCH, bench_post_short, {bench_receive, bench_receive_limit},
         {bench_complete, bench_complete_limit}},
        {BENCH_BATCH, bench_post_payload, {bench_receive, bench_receive_limit},
         {bench_complete, bench_complete_limit}},
        {BENCH_BATCH, bench_post_bcopy, {bench_receive, bench_receive_limit},
         {bench_complete, bench_complete_limit}},
        {1, bench_post_short, {bench_receive_alone, bench_progress},
         {bench_complete_alone, bench_progress}},
        {BENCH_BATCH, bench_post_iov, {bench_progress, bench_progress},
         {bench_progress, bench_progress}},
        {BENCH_BATCH, bench_post_iov_two, {bench_progress, bench_progress},
         {bench_progress, bench_progress}},
        {BENCH_BATCH, bench_post_short, {bench_receive_reversed, bench_progress},
         {bench_progress, bench_progress}}
    };
    const unsigned last = sizeof(round) / sizeof(round[0]) - 1;
    bench_side_t  a, b;
    unsigned long i;
    unsigned      half;

    bench_open_introduced(&a, &b);
    half = bench_align(&a, &b);
    for (i = 0; i <= last; ++i) {
        bench_reverse(&b, i == last);
        bench_run(&a, &b, half, rounds * BENCH_BATCH / round[i].batch,
                  &round[i]);
        bench_reverse(&b, 0);
        bench_settle(&a, &b);
    }
    for (i = 0; i < rounds; ++i) {
        bench_expect(bench_empty(&b), 0, "empty progress");
    }
    bench_turns(&a, &b);
    bench_memory_path(&a, &b, rounds);
}

static void bench_endpoints(unsigned long rounds, unsigned long endpoints)
{
    bench_side_t  a;
    unsigned char dev_addr[64], iface_addr[64];
    unsigned long i, heap;
    uint32_t      host;

    heap = bench_heap();
    bench_side_open(&a);
    printf("memory of an interface at open: %lu bytes\n",
           bench_heap() - heap +
                   bench_chunks(((base_iface_t*)a.iface)->rxq.chunks) +
                   bench_chunks(((base_iface_t*)a.iface)->ops.chunks));
    memcpy(dev_addr, a.dev_addr, sizeof(dev_addr));
    memcpy(iface_addr, a.iface_addr, sizeof(iface_addr));
    for (i = 1; i <= endpoints; ++i) {
        host = i;
        memcpy(dev_addr + BENCH_GID + 12, &host, sizeof(host));
        memcpy(iface_addr + 8, &host, sizeof(host)); /* incarnation */
        bench_create(&a, dev_addr, iface_addr);
    }
    for (i = 0; i < rounds; ++i) {
        bench_check(bench_flush(&a), "flush");
    }
}

int main(int argc, char **argv)
{
    unsigned long rounds = (argc > 1) ? strtoul(argv[1], NULL, 10) : 100;
    bench_side_t  a, b;

    bench_md_open();
    if ((argc > 2) && (strcmp(argv[2], "full") == 0)) {
        bench_open_introduced(&a, &b);
        bench_memory_full(&a, &b, rounds);
    } else if (argc > 2) {
        bench_endpoints(rounds, strtoul(argv[2], NULL, 10));
    } else {
        bench_data_path(rounds);
    }
    fflush(stdout);
    _Exit(0); /* nobody answers a goodbye */
}
