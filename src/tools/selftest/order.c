/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes of arriving data: all of it, once, in what order, and whether it is in
 * memory when a completion says so. */
#include "pair.h"

#include <flow/limits.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Seconds without an arrival after which missing messages count as lost */
#define ORDER_QUIET_S 0.3
#define ORDER_WRITES  20
#define ORDER_AGAIN_S 0.01 /* in which a write comes once more, if it does */

enum {
    ORDER_MESSAGES = 2000, /* each has a receive there from the start */
    ORDER_RECEIVES = 2048,
    ORDER_BYTES    = 64,
    ORDER_FLIGHT   = 256, /* at most under way */
    ORDER_REACH    = FLOW_WINDOW_MAX, /* messages that may overtake one */
    ORDER_ROUNDS   = 64,
    ORDER_RDMA     = 65536,
    ORDER_KILLED_S = 90
};

typedef struct order_counts {
    unsigned count, twice, bad, most;
    char     buckets[200]; /* as the far side wrote them */
} order_counts_t;

static int order_counts_get(st_t *st, order_counts_t *counts)
{
    char answer[ST_LINE_MAX];

    return ((st_link_ask(st->link, answer, sizeof(answer), "arrived") == 0) &&
            (sscanf(answer, "%u %u %u %u %199[0-9 ]", &counts->count,
                    &counts->twice, &counts->bad, &counts->most,
                    counts->buckets) == 5)) ? 0 : -1;
}

/* Sends them all; returns how many ended well. */
static unsigned order_send(st_pair_t *pair)
{
    unsigned sent = 0, done = 0, good = 0;
    int status;

    while (done < ORDER_MESSAGES) {
        while ((sent < ORDER_MESSAGES) && (sent - done < ORDER_FLIGHT) &&
               (st_pair_send(pair, sent, ORDER_BYTES) == 0)) {
            ++sent;
        }
        status = st_pair_wait(pair, ST_WAIT_S);
        if (status < 0) {
            break;
        }
        ++done;
        good += (status == 0);
    }
    return good;
}

/* 0; or -1, and the probe was not asked. */
static int order_run(st_t *st, st_result_t *result, unsigned *good,
                     order_counts_t *counts)
{
    unsigned arrived = 0;
    double until;
    int err;

    *good = order_send(st->pair);
    until = probe_seconds() + ORDER_QUIET_S;
    do { /* a completion says that it arrived, not that it was polled there */
        st_link_progress(st->link);
        err = order_counts_get(st, counts);
        if ((err == 0) && (counts->count != arrived)) {
            arrived = counts->count;
            until   = probe_seconds() + ORDER_QUIET_S;
        }
    } while ((err == 0) && (counts->count < *good) &&
             (probe_seconds() < until));
    st_link_progress(st->link);
    err = order_counts_get(st, counts);
    if (err != 0) {
        st_result_not_asked(result, "%s", st->link->why);
    }
    return err;
}

static void order_delivery(st_t *st, st_result_t *result)
{
    order_counts_t counts;
    unsigned good;

    if (order_run(st, result, &good, &counts) == 0) {
        st_result_decide(
            result,
            (good == ORDER_MESSAGES) && (counts.count == good) &&
                (counts.twice == 0),
            "of %d messages %u ended well, %u arrived, %u of them twice",
            ORDER_MESSAGES, good, counts.count, counts.twice);
    }
}

static void order_placed(st_t *st, st_result_t *result)
{
    order_counts_t counts;
    unsigned good;

    if (order_run(st, result, &good, &counts) == 0) {
        st_result_decide(result, counts.bad == 0,
                         "%u of %u messages were not whole "
                         "when their completion came",
                         counts.bad, counts.count);
    }
}

/* "in order 3900, overtaken by 1: 20, 2-3: 10" */
static void order_histogram(const char *buckets, char *text, size_t size)
{
    unsigned i, low, count;
    char *end;

    text[0] = '\0';
    for (i = 0; i < ST_BUCKETS; ++i, buckets = end) {
        count = strtoul(buckets, &end, 10);
        low   = (i > 0) ? 1u << (i - 1) : 0;
        if (count == 0) {
            continue;
        }
        if (i == 0) {
            snprintf(text, size, "in order: %u", count);
        } else {
            snprintf(text + strlen(text), size - strlen(text),
                     "%sby %u to %u: %u", text[0] ? ", " : "", low,
                     2 * low - 1, count);
        }
    }
}

static void order_order(st_t *st, st_result_t *result)
{
    order_counts_t counts;
    char text[200];
    unsigned good;

    if (order_run(st, result, &good, &counts) == 0) {
        order_histogram(counts.buckets, text, sizeof(text));
        st_result_decide(result, counts.most < ORDER_REACH,
                         "overtaken by later ones, %u at most (%s)",
                         counts.most, text);
    }
}

/* Reads a pattern, and looks for the last byte at once when it is complete. */
static void order_read(st_t *st, st_result_t *result)
{
    volatile uint8_t *last = st->mem.base + ORDER_RDMA - 1;
    st_piece_t piece       = {&st->mem, 0, ORDER_RDMA};
    unsigned i, late = 0, done = 0;
    st_pair_t *pair = st->pair;

    for (i = 0; i < ORDER_ROUNDS; ++i) {
        *last = 0;
        if ((st_link_ask(st->link, NULL, 0, "fill %u %u", i + 1, ORDER_RDMA) !=
             0) ||
            (st_qp_rdma(&pair->qp, &pair->dest, &piece, 0, pair->addr,
                        pair->rkey) != 0) ||
            (st_pair_wait(pair, ST_WAIT_S) != 0)) {
            break;
        }
        late += (*last != i + 1);
        ++done;
    }
    st_result_decide(result, (late == 0) && (done == ORDER_ROUNDS),
                     "%u of %u reads "
                     "were not in memory when their completion came",
                     late, done);
}

/* How many of the bytes there are others; *last: whether the last is. 0, or
 * -1. */
static int order_look(st_t *st, unsigned byte, unsigned *wrong, unsigned *last)
{
    char answer[ST_LINE_MAX];

    return ((st_link_ask(st->link, answer, sizeof(answer), "look %u %u", byte,
                         ORDER_RDMA) == 0) &&
            (sscanf(answer, "%u %u", wrong, last) == 2)) ? 0 : -1;
}

/* Writes ORDER_RDMA times the byte. 0, or -1. */
static int order_write_one(st_pair_t *pair, st_t *st, unsigned byte)
{
    st_piece_t piece = {&st->mem, 0, ORDER_RDMA};

    memset(st->mem.base, byte, ORDER_RDMA);
    return ((st_qp_rdma(&pair->qp, &pair->dest, &piece, 1, pair->addr,
                        pair->rkey) == 0) &&
            (st_pair_wait(pair, ST_WAIT_S) == 0)) ? 0 : -1;
}

static void order_write(st_t *st, st_result_t *result)
{
    unsigned i, wrong, last, late = 0, done = 0;
    st_pair_t *pair = st->pair;

    for (i = 0; i < ORDER_ROUNDS; ++i) {
        if ((order_write_one(pair, st, i + 1) != 0) ||
            (order_look(st, i + 1, &wrong, &last) != 0)) {
            break;
        }
        late += last;
        ++done;
    }
    st_result_decide(result, (late == 0) && (done == ORDER_ROUNDS),
                     "%u of %u writes "
                     "were not in memory when their completion came",
                     late, done);
}

/* The far side puts there what no write of order_again does. 0, or -1. */
static int order_fill(st_t *st)
{
    return st_link_ask(st->link, NULL, 0, "fill %u %u", ORDER_WRITES + 1,
                       ORDER_RDMA);
}

/* The far side puts something else where a write is: whether it stays there. 1,
 * 0, or -1. */
static int order_stays(st_t *st, st_pair_t *pair, unsigned byte)
{
    double end = probe_seconds() + ST_WAIT_S;
    unsigned wrong, last;

    do {
        if (order_look(st, byte, &wrong, &last) != 0) {
            return -1;
        }
        (void)st_pair_wait(pair, 0); /* the emulated device goes on */
    } while (last && (probe_seconds() < end));
    if (order_fill(st) != 0) {
        return -1;
    }
    (void)st_pair_wait(pair, ORDER_AGAIN_S);
    return (order_look(st, ORDER_WRITES + 1, &wrong, &last) == 0) ?
           (wrong == 0) : -1;
}

static void order_again(st_t *st, st_result_t *result)
{
    unsigned i, again = 0, done = 0;
    st_pair_t *pair = st->pair;
    int stays;

    (void)st_pair_wait(pair, ORDER_AGAIN_S); /* of probes before */
    stays = order_fill(st);
    for (i = 0; (stays >= 0) && (i < ORDER_WRITES); ++i) {
        if (order_write_one(pair, st, i + 1) != 0) {
            break;
        }
        stays = order_stays(st, pair, i + 1);
        if (stays < 0) {
            break;
        }
        again += !stays;
        ++done;
    }
    st_result_decide(result, (again == 0) && (done == ORDER_WRITES),
                     "%u of %u writes came once more over what was put there "
                     "since", again, done);
}

/* Kills the far process, which must be a child. */
static void order_killed(st_t *st, st_result_t *result)
{
    char text[32], time[32];
    st_pair_t *pair = st->pair;
    double took;
    int status;

    if (st->link->child <= 0) {
        st_result_not_asked(result,
                            "the far side is not a child of this process");
        return;
    }
    (void)st_pair_send(pair, 1, 16); /* under way: no receive takes it */
    if (st_pair_wait(pair, 0.05) >= 0) {
        st_result_not_asked(result,
                            "a message that no receive takes is not under "
                            "way for long: see retry-endless");
        return;
    }
    st->link->is_killed = 1;
    (void)st_link_ask(st->link, NULL, 0, "die");
    (void)waitpid(st->link->child, NULL, 0);
    st->link->child = 0;
    took                = probe_seconds();
    status              = st_pair_wait(pair, ORDER_KILLED_S);
    took                = probe_seconds() - took;
    st_result_decide(result, (status == 8) || (status == 9),
                     "%s %s after its end", st_text_status(status, text),
                     st_text_time(took, time));
}

static const st_pair_params_t order_messages = {
    .depth = ORDER_RECEIVES, .bytes = ORDER_BYTES, .rnr_retry = 7
};

const st_probe_t st_order[] = {
    {"delivery", "a message whose send ended well has arrived, once",
     "SRD's messages are neither sent again nor told apart",
     "please report this", order_delivery,
     .pair = &order_messages},
    {"order", "a message is overtaken by fewer others than a window has",
     "early messages wait in receive buffers, as many as a window has",
     "nothing to do; UCX_SRD_WINDOW smaller, if buffers run short",
     order_order,
     .pair = &order_messages},
    {"message-placed", "a message is in memory when its completion comes",
     "it is delivered then", "please report this", order_placed,
     .pair = &order_messages},
    {"read-placed", "what was read is in memory when the completion comes",
     "rendezvous ends then", "please report this", order_read,
     .needs = EFA_DEVICE_CAP_RDMA_READ,
     .pair = &(const st_pair_params_t){0}},
    {"write-placed", "what was written is in memory there then",
     "puts and their flush end then", "please report this", order_write,
     .needs = EFA_DEVICE_CAP_RDMA_WRITE,
     .pair = &(const st_pair_params_t){0}},
    {"written-once", "what was written is not written once more, later",
     "memory into which a peer put may be used for something else at once",
     "UCX_RNDV_SCHEME=get_zcopy; put only to memory that is left alone for a "
     "while", order_again,
     .needs = EFA_DEVICE_CAP_RDMA_WRITE,
     .pair = &(const st_pair_params_t){0}},
    {.name = NULL}
};

const st_probe_t st_order_process[] = {
    {"killed-process", "what is under way to a killed process: status 8 or 9",
     "its peers learn at once that it is gone",
     "keep-alive of UCP must do (UCX_KEEPALIVE_INTERVAL); please report this",
     order_killed,
     .pair = &(const st_pair_params_t){.none = 1, .rnr_retry = 7}},
    {.name = NULL}
};
