/* SPDX-License-Identifier: BSD-3-Clause */
/* Latency, rate and bandwidth by size, of verbs alone. */
#include "pair.h"

#include <tools/info.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPEED_FLIGHT = 64, /* requests under way */
    SPEED_ROUNDS = 500,
    SPEED_TRIES  = 20  /* until the bound of a stream is known */
};

#define SPEED_SECONDS  0.05  /* of each point */
#define SPEED_LATENCY  100e-6 /* seconds that a small message may take */
#define SPEED_BANDWIDTH 125e6 /* bytes/s that a device must have */

/* A stream of requests, and whether the device bounds it. */
typedef struct speed_flow {
    unsigned long done, bad;
    double        seconds;
    double        busy; /* of them, at least: the device had work all along */
} speed_flow_t;

static int speed_compare(const void *a, const void *b)
{
    double left = *(const double*)a, right = *(const double*)b;

    return (left > right) - (left < right);
}

/* One way, of messages there and back: median and 99 %. 0, or -1. */
static int speed_latency(st_t *st, st_result_t *result, size_t bytes,
                         double *median, double *worst)
{
    st_pair_params_t params = {.bytes = bytes, .rnr_retry = 7};
    static double times[SPEED_ROUNDS];
    double until = probe_seconds() + SPEED_SECONDS, start;
    st_piece_t in = {&st->mem, ST_MEM_BYTES / 2, 65536};
    char gid[33];
    st_pair_t pair;
    unsigned count = 0;
    int err;

    if (st_pair_open(&pair, st, result, &params) != 0) {
        return -1;
    }
    st_serve_gid_print(st->device->gid.raw, gid);
    err = st_link_ask(st->link, NULL, 0, "echo %s %u %u", gid,
                      pair.qp.qp->qp_num, ST_QKEY);
    while ((err == 0) && (count < SPEED_ROUNDS) &&
           ((probe_seconds() < until) || (count < 20))) {
        start = probe_seconds();
        err = (st_qp_recv(&pair.qp, &in, 0) != 0) ||
              (st_pair_send(&pair, count, bytes) != 0) ||
              (st_pair_wait_cq(st, pair.qp.recv_cq, ST_WAIT_S, NULL) < 0) ||
              (st_pair_wait(&pair, ST_WAIT_S) < 0);
        times[count++] = (probe_seconds() - start) / 2;
    }
    st_pair_close(&pair);
    if (err != 0) {
        st_result_not_asked(result, "no answer came");
        return -1;
    }
    qsort(times, count, sizeof(times[0]), speed_compare);
    *median = times[count / 2];
    *worst  = times[count * 99 / 100];
    return 0;
}

/* One post of a stream: a send, or an RDMA read. */
static int speed_post(st_pair_t *pair, size_t bytes, int read)
{
    st_piece_t piece = {&pair->st->mem, 0, bytes};

    return read ? st_qp_rdma(&pair->qp, &pair->dest, &piece, 0, pair->addr,
                             pair->rkey) :
                  st_qp_send(&pair->qp, &pair->dest, &piece, 0, 0);
}

/* Posts as many as there is room for, takes all that are done. Nonzero: the
 * device had work ever since the round before, as not all that it had then is
 * done. */
static int speed_round(st_pair_t *pair, size_t bytes, int read,
                       speed_flow_t *flow, unsigned *flight)
{
    unsigned before = *flight, done = 0;
    struct ibv_wc wc[16];
    int n, i;

    while ((*flight < SPEED_FLIGHT) && (speed_post(pair, bytes, read) == 0)) {
        ++*flight;
    }
    do {
        n = pair->qp.qp->context->ops.poll_cq(pair->qp.send_cq, 16, wc);
        for (i = 0; i < n; ++i, ++done) {
            flow->bad += (wc[i].status != IBV_WC_SUCCESS);
        }
    } while (n == 16);
    *flight    -= done;
    flow->done += done;
    st_link_progress(pair->st->link);
    return done < before;
}

/* A stream of `count` pairs together, on as many devices. 0, or -1. */
static int speed_stream(st_pair_t *pairs, unsigned count, size_t bytes,
                        int read, speed_flow_t *flow)
{
    unsigned flight[ST_DEVICES_MAX] = {0}, i;
    double start = probe_seconds(), last = 0, is_busy;

    memset(flow, 0, sizeof(*flow));
    do {
        for (i = 0, is_busy = 1; i < count; ++i) {
            is_busy *= speed_round(&pairs[i], bytes, read, flow, &flight[i]);
        }
        flow->seconds  = probe_seconds() - start;
        flow->busy    += is_busy * (flow->seconds - last);
        last           = flow->seconds;
    } while ((flow->seconds < SPEED_SECONDS) ||
             ((flow->done < 16) && (flow->seconds < ST_WAIT_S)));
    for (i = 0; i < count; ++i) { /* requests under way end here */
        while ((flight[i] > 0) && (st_pair_wait(&pairs[i], ST_WAIT_S) >= 0)) {
            --flight[i];
        }
    }
    return ((flow->done > 0) && (flow->bad == 0)) ? 0 : -1;
}

static double speed_rate(const speed_flow_t *flow)
{
    return flow->done / flow->seconds;
}

static const st_pair_params_t *speed_params(size_t bytes, int read,
                                            st_pair_params_t *params)
{
    memset(params, 0, sizeof(*params));
    params->depth     = read ? 16 : 256;
    params->bytes     = read ? 64 : bytes;
    params->rnr_retry = 7;
    return params;
}

/* The same on one device, whose pair it makes. */
static int speed_one(st_t *st, st_result_t *result, size_t bytes, int read,
                     speed_flow_t *flow)
{
    st_pair_params_t params;
    st_pair_t pair;
    int err;

    if (st_pair_open(&pair, st, result, speed_params(bytes, read, &params)) !=
        0) {
        return -1;
    }
    err = speed_stream(&pair, 1, bytes, read, flow);
    st_pair_close(&pair);
    return err;
}

static void speed_note(st_t *st, const char *between, const char *what,
                       const char *unit, size_t bytes, double value)
{
    st_result_point(st, &(st_point_t){.between = between,
                                      .what    = what,
                                      .unit    = unit,
                                      .devices = 1,
                                      .bytes   = bytes,
                                      .value   = value});
}

void st_speed_measure(st_t *st, const char *between)
{
    static const size_t sizes[] = {8, 64, 512, 4096, 0};
    static const size_t reads[] = {4096, 65536, 1 << 20};
    st_result_t unused;
    speed_flow_t flow;
    double value, worst;
    size_t bytes;
    unsigned i;

    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
        bytes = sizes[i] ? sizes[i] : st->device->max_msg;
        if (speed_latency(st, &unused, bytes, &value, &worst) == 0) {
            st_result_point(st,
                            &(st_point_t){between, "latency of a send", "us", 1,
                                          bytes, value * 1e6, worst * 1e6});
        }
        if (speed_one(st, &unused, bytes, 0, &flow) == 0) {
            value = speed_rate(&flow);
            speed_note(st, between, "sends", "1000/s", bytes, value * 1e-3);
            speed_note(st, between, "bandwidth of sends", "MB/s", bytes,
                       value * bytes * 1e-6);
        }
    }
    for (i = 0; (st->device->caps & EFA_DEVICE_CAP_RDMA_READ) &&
                (i < sizeof(reads) / sizeof(reads[0])); ++i) {
        if (speed_one(st, &unused, reads[i], 1, &flow) == 0) {
            speed_note(st, between, "bandwidth of reads", "MB/s", reads[i],
                       speed_rate(&flow) * reads[i] * 1e-6);
        }
    }
}

/* A device, its memory and its far side: for the streams of several devices. */
typedef struct speed_rail {
    st_t      st;
    st_link_t link;
    st_pair_t pair;
} speed_rail_t;

static void speed_rail_close(speed_rail_t *rail)
{
    if (rail->pair.st != NULL) {
        st_pair_close(&rail->pair);
    }
    if (rail->link.between != NULL) {
        st_link_close(&rail->link);
    }
    if (rail->st.device != NULL) {
        st_qp_mem_close(&rail->st.mem, rail->st.device);
        efa_device_close(rail->st.device);
    }
}

/* 0, or -1; close it in either case. */
static int speed_rail_open(speed_rail_t *rail, const char *name, size_t bytes)
{
    st_pair_params_t params;
    st_result_t unused;
    ucx_host_t host;

    memset(rail, 0, sizeof(*rail));
    host_stub_init(&host);
    if (efa_device_open(&host, name, &rail->st.device) != UCS_OK) {
        return -1;
    }
    rail->st.verbs = rail->st.device->verbs;
    if (st_qp_mem_open(&rail->st.mem, rail->st.device, ST_MEM_BYTES) != 0) {
        return -1;
    }
    rail->st.pd   = rail->st.mem.pd;
    rail->st.link = &rail->link;
    return ((st_link_local(&rail->link, rail->st.device) != 0) ||
            (st_pair_open(&rail->pair, &rail->st, &unused,
                          speed_params(bytes, 0, &params)) != 0)) ? -1 : 0;
}

void st_speed_devices(st_t *st, char (*names)[EFA_DEVICE_NAME_MAX],
                      unsigned count)
{
    size_t bytes        = st->device->max_msg;
    speed_rail_t *rails = calloc(ST_DEVICES_MAX, sizeof(*rails));
    st_pair_t pairs[ST_DEVICES_MAX];
    speed_flow_t flow;
    unsigned open;
    double rate;

    if (rails == NULL) {
        return;
    }
    for (open = 0; (open < count) && (open < ST_DEVICES_MAX) &&
                   (speed_rail_open(&rails[open], names[open], bytes) == 0);
         ++open) {
        pairs[open] = rails[open].pair;
        if ((open > 0) &&
            (speed_stream(pairs, open + 1, bytes, 0, &flow) == 0)) {
            rate = speed_rate(&flow) * bytes;
            st_result_point(
                st, &(st_point_t){"queue pairs", "bandwidth of sends", "MB/s",
                                  open + 1, bytes, rate * 1e-6, 0});
        }
    }
    for (count = 0; count < ST_DEVICES_MAX; ++count) {
        speed_rail_close(&rails[count]);
    }
    free(rails);
}

static void speed_latency_probe(st_t *st, st_result_t *result)
{
    double median, worst;
    char one[32], two[32];

    if (speed_latency(st, result, 8, &median, &worst) == 0) {
        st_result_decide(result, median < SPEED_LATENCY,
                         "%s, 99 %% of them within %s",
                         st_text_time(median, one), st_text_time(worst, two));
    }
}

/* A device is slow if that is all it does while it has work. One that is out of
 * work at times shows how slow this CPU is, or how busy with other things. */
static void speed_bandwidth_probe(st_t *st, st_result_t *result)
{
    size_t bytes = efa_at_most(st->device->max_msg, 4096);
    double best = 0, busy = 0, rate;
    int is_slow = 0;
    speed_flow_t flow;
    unsigned i;

    for (i = 0; (i < SPEED_TRIES) && (best < SPEED_BANDWIDTH) && !is_slow;
         ++i) {
        if (speed_one(st, result, bytes, 0, &flow) != 0) {
            st_result_not_asked(result, "messages of %zu B did not arrive",
                                bytes);
            return;
        }
        rate     = speed_rate(&flow) * bytes;
        best     = (rate > best) ? rate : best;
        busy     = (flow.busy > busy * flow.seconds) ?
                   flow.busy / flow.seconds : busy;
        is_slow  = (flow.done * bytes < SPEED_BANDWIDTH * flow.busy);
    }
    if ((best < SPEED_BANDWIDTH) && !is_slow) {
        st_result_not_asked(result, "this CPU is the bound, slow or busy with "
                            "other things: %.2f Gbit/s in messages of %zu B, "
                            "and the device has work for %.0f %% of the time; "
                            "ask on a quiet machine", best * 8e-9, bytes,
                            busy * 100);
        return;
    }
    st_result_decide(result, best >= SPEED_BANDWIDTH,
                     "%.2f Gbit/s in messages of %zu B; the port says %.0f",
                     best * 8e-9, bytes, st->device->bandwidth * 8e-9);
}

const st_probe_t st_speed[] = {
    {"latency", "a small message takes 8 us, 100 at most",
     "what UCP is told of it (8 us), and so which transport it takes",
     "please report this", .run = speed_latency_probe},
    {"bandwidth", "a device has the port's rate, 1 Gbit/s at the very least",
     "what UCP is told of it, and how it divides long messages",
     "UCX_MAX_RNDV_RAILS, UCX_NET_DEVICES; please report this",
     .run = speed_bandwidth_probe},
    {.name = NULL}
};
