/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The emulated device's own cost per packet, to be subtracted from measurements
 * that are made on it: the engine alone, sender and receiver in one process,
 * without libefa. One line per case:
 *
 *     engine SIZE bytes: NS ns, INSTRUCTIONS instructions per message
 *
 * both for the sender's and the receiver's device together, from the doorbell
 * to both completions. Instructions are user-space ones, 0 where the machine
 * does not count them. For RDMA also the cost of a plain copy of the same
 * bytes.
 *
 * With arguments, SIZE BURSTS, it only sends that many bursts of 32 messages:
 * for callgrind, which counts the same every time (bench/efasim.sh takes the
 * difference of two runs).
 */
#include "gtest/efasim/engine_rig.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    COST_BURST = 32,
    COST_BYTES = 1 << 20,
};

struct cost {
    struct rig *rig;
    int         tx, rx;
    uint16_t    ah;
    uint8_t    *src, *dst;
    uint32_t    src_key, dst_key;
    int         counter; /* of instructions; -1: none */
};

static uint64_t cost_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static uint64_t cost_instructions(const struct cost *cost)
{
    uint64_t count = 0;

    return ((cost->counter >= 0) &&
            (read(cost->counter, &count, sizeof(count)) == sizeof(count))) ?
           count : 0;
}

static void cost_open(struct cost *cost)
{
    static const unsigned hosts[] = { 0, 1 };
    struct perf_event_attr event  = {
        .type           = PERF_TYPE_HARDWARE,
        .size           = sizeof(event),
        .config         = PERF_COUNT_HW_INSTRUCTIONS,
        .exclude_kernel = 1,
    };
    struct rig_qp_conf conf = { .sq = 64, .rq = 64, .cq = 256, .rnr_retry = 7 };
    uint16_t back;

    cost->counter = syscall(SYS_perf_event_open, &event, 0, -1, -1, 0);
    cost->rig     = rig_open(2, hosts);
    cost->tx      = rig_qp(cost->rig, &conf);
    conf.proc     = 1;
    cost->rx      = rig_qp(cost->rig, &conf);
    cost->src     = aligned_alloc(4096, COST_BYTES);
    cost->dst     = aligned_alloc(4096, COST_BYTES);
    memset(cost->src, 1, COST_BYTES);
    memset(cost->dst, 2, COST_BYTES);
    rig_ah(cost->rig, 0, 0, 1, &cost->ah);
    rig_ah(cost->rig, 1, 0, 0, &back);
    rig_mr(cost->rig, 0, 0, cost->src, COST_BYTES, RIG_LOCAL | RIG_READ,
           &cost->src_key);
    rig_mr(cost->rig, 1, 0, cost->dst, COST_BYTES, RIG_LOCAL | RIG_READ,
           &cost->dst_key);
}

static struct io_tx_wqe cost_request(const struct cost *cost, enum io_tx_op op)
{
    return (struct io_tx_wqe){
        .meta = {
            .ctrl1    = op,
            .ah       = cost->ah,
            .dest_qpn = rig_qpn(cost->rig, cost->rx),
            .qkey     = RIG_QKEY,
            .length   = 1,
        },
    };
}

/* A burst of messages, and all their completions. Returns 0, or -1. */
static int cost_burst(const struct cost *cost, uint32_t length)
{
    struct io_tx_wqe wqe = cost_request(cost, IO_OP_SEND);
    void *buf     = cost->dst;
    uint32_t room = 8928;
    unsigned i, sent = 0, received = 0;
    struct io_cqe cqe;

    if (length <= IO_TX_INLINE_SMALL) {
        wqe.meta.ctrl1 |= IO_TX_INLINE;
        wqe.meta.length = length;
        memcpy(wqe.inl, cost->src, length);
    } else {
        rig_buf(&wqe.sgl[0], cost->src, length, cost->src_key);
    }
    for (i = 0; i < COST_BURST; ++i) {
        rig_post_recv(cost->rig, cost->rx, i, 1, &buf, &room, cost->dst_key);
        wqe.meta.req_id = i;
        rig_post(cost->rig, cost->tx, &wqe);
    }
    for (i = 0; (i < 100) && (sent + received < 2 * COST_BURST); ++i) {
        rig_progress(cost->rig, 0);
        rig_progress(cost->rig, 1);
        while (rig_poll_recv(cost->rig, cost->rx, &cqe)) {
            received += (cqe.status == 0);
        }
        while (rig_poll_send(cost->rig, cost->tx, &cqe)) {
            sent += (cqe.status == 0);
        }
    }

    return (sent == COST_BURST) && (received == COST_BURST) ? 0 : -1;
}

static int cost_read(const struct cost *cost, uint32_t length)
{
    struct io_tx_wqe wqe = cost_request(cost, IO_OP_READ);
    uint64_t remote      = (uintptr_t)cost->dst;
    struct io_cqe cqe;
    unsigned i;

    rig_buf(&wqe.rdma.local, cost->src, length, cost->src_key);
    wqe.rdma.remote = (struct io_remote){ length, cost->dst_key, (uint32_t)remote,
                                          remote >> 32 };
    rig_post(cost->rig, cost->tx, &wqe);
    for (i = 0; i < 100; ++i) {
        rig_progress(cost->rig, 0);
        if (rig_poll_send(cost->rig, cost->tx, &cqe)) {
            return cqe.status ? -1 : 0;
        }
    }
    return -1;
}

static int cost_messages(const struct cost *cost, uint32_t length,
                         unsigned bursts)
{
    uint64_t start, instructions;
    unsigned i, n = bursts * COST_BURST;

    for (i = 0; i < bursts / 10; ++i) { /* warm */
        cost_burst(cost, length);
    }
    instructions = cost_instructions(cost);
    start        = cost_now();
    for (i = 0; i < bursts; ++i) {
        if (cost_burst(cost, length) != 0) {
            fprintf(stderr, "efasim_cost: a message of %u bytes failed\n",
                    length);
            return 1;
        }
    }
    printf("engine %u bytes: %.0f ns, %.0f instructions per message\n", length,
           (double)(cost_now() - start) / n,
           (double)(cost_instructions(cost) - instructions) / n);
    return 0;
}

static int cost_reads(const struct cost *cost, unsigned times)
{
    uint64_t start, copied, done;
    unsigned i;

    start = cost_now();
    for (i = 0; i < times; ++i) {
        memcpy(cost->src, cost->dst, COST_BYTES);
        __asm__ volatile("" ::: "memory");
    }
    copied = cost_now() - start;

    start = cost_now();
    for (i = 0; i < times; ++i) {
        if (cost_read(cost, COST_BYTES) != 0) {
            fprintf(stderr, "efasim_cost: a read failed\n");
            return 1;
        }
    }
    done = cost_now() - start;
    printf("engine read of 1 MB: %.0f us; a plain copy: %.0f us; ratio %.2f\n",
           done / 1e3 / times, copied / 1e3 / times, (double)copied / done);
    return 0;
}

/* 0, or 1 when a message failed. */
static int cost_bursts(const struct cost *cost, uint32_t length,
                       unsigned bursts)
{
    unsigned failed = 0;
    unsigned i;

    for (i = 0; i < bursts; ++i) {
        failed += (cost_burst(cost, length) != 0);
    }
    return failed != 0;
}

int main(int argc, char **argv)
{
    struct cost cost;
    int ret;

    cost_open(&cost);
    if (argc == 3) {
        ret = cost_bursts(&cost, atoi(argv[1]), atoi(argv[2]));
        rig_close(cost.rig);
        return ret;
    }

    ret = cost_messages(&cost, 16, 20000) | cost_messages(&cost, 1024, 20000) |
          cost_messages(&cost, 8928, 5000) | cost_reads(&cost, 1000);
    rig_close(cost.rig);
    return ret;
}
