/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes of how requests end that cannot be served, and after what time. */
#include "pair.h"

#include <util/efa_status.h>

#include <stdio.h>
#include <string.h>

enum {
    STATUS_DEAD    = EFA_STATUS_REMOTE_QPN,
    STATUS_RNR     = EFA_STATUS_REMOTE_NOT_READY,
    STATUS_LONG    = EFA_STATUS_REMOTE_LENGTH,
    STATUS_ABSENT  = EFA_STATUS_REMOTE_UNREACHED,
    STATUS_UNKNOWN = EFA_STATUS_REMOTE_REFUSED,
    STATUS_KEY     = EFA_STATUS_REMOTE_ACCESS,
    STATUS_TRIES   = 6,
    STATUS_SAMPLES = 8,
    STATUS_BYTES   = 4096 /* of an RDMA */
};

#define STATUS_WAIT_S 90 /* for an absent peer */
#define STATUS_SOON_S   0.15 /* an absent host is told of no sooner */
#define STATUS_LATE_S   60  /* and no later */
#define STATUS_RETRY_S  0.01 /* between two tries, at most */

/* The usual form: one message, and how it ended. */
static void status_tell(st_result_t *result, st_pair_t *pair, int expected,
                        double seconds)
{
    char text[32], time[32];
    double took;
    int status = st_pair_status(pair, seconds, &took);

    st_result_decide(result, status == expected, "%s after %s",
                     st_text_status(status, text), st_text_time(took, time));
}

static void status_qkey(st_t *st, st_result_t *result)
{
    ++st->pair->dest.qkey;
    status_tell(result, st->pair, STATUS_DEAD, STATUS_WAIT_S);
}

static void status_dead(st_t *st, st_result_t *result)
{
    if (st_link_ask(st->link, NULL, 0, "close") != 0) {
        st_result_not_asked(result, "%s", st->link->why);
    } else {
        status_tell(result, st->pair, STATUS_DEAD, STATUS_WAIT_S);
    }
}

/* A host that nobody has: a made-up address of the same kind. */
static void status_absent(st_t *st, st_result_t *result)
{
    st_dest_t *dest     = &st->pair->dest;
    struct ibv_ah *real = dest->ah;
    uint8_t gid[16];
    char text[32], time[32];
    double took;
    int status;

    memcpy(gid, st->device->gid.raw, sizeof(gid));
    memcpy(gid + 9, "\x1f\x5e\x00\xfe\xdc\xba\x98", 7);
    dest->ah = efa_ah_make(st->device, st->pd, gid);
    if (dest->ah == NULL) {
        st_result_not_asked(result, "no handle for a made-up host");
    } else {
        status = st_pair_status(st->pair, STATUS_WAIT_S, &took);
        st_result_decide(result, (status == STATUS_ABSENT) &&
                         (took >= STATUS_SOON_S) && (took <= STATUS_LATE_S),
                         "%s after %s", st_text_status(status, text),
                         st_text_time(took, time));
        st->verbs->destroy_ah(dest->ah);
    }
    dest->ah = real;
}

/* How a message ends that no receive waits for. Seconds, < 0: not asked. */
static double status_rnr_time(st_t *st, st_result_t *result, unsigned retry,
                              int *status)
{
    st_pair_params_t params = {.none = 1, .rnr_retry = retry};
    st_pair_t pair;
    double took;

    if (st_pair_open(&pair, st, result, &params) != 0) {
        return -1;
    }
    *status = st_pair_status(&pair, STATUS_WAIT_S, &took);
    st_pair_close(&pair);
    return took;
}

static void status_not_ready(st_t *st, st_result_t *result)
{
    char text[ST_TEXT_MAX] = "", word[32], time[32];
    int status = 0, wrong = 0;
    unsigned retry;
    double took;

    for (retry = 0; retry <= STATUS_TRIES; ++retry) {
        took = status_rnr_time(st, result, retry, &status);
        if (took < 0) {
            return;
        }
        wrong += (status != STATUS_RNR);
        snprintf(text + strlen(text), sizeof(text) - strlen(text),
                 "%s%u tries: %s after %s", retry ? ", " : "", retry,
                 st_text_status(status, word), st_text_time(took, time));
    }
    st_result_decide(result, wrong == 0, "%s", text);
}

/* The least of some, as this host may be busy with other things. */
static void status_interval(st_t *st, st_result_t *result)
{
    double none, all, between, least = STATUS_WAIT_S;
    unsigned n;
    int status;
    char time[32];

    for (n = 0; (n < STATUS_SAMPLES) && (least > STATUS_RETRY_S); ++n) {
        none = status_rnr_time(st, result, 0, &status);
        all  = (none < 0) ? -1 :
                            status_rnr_time(st, result, STATUS_TRIES, &status);
        if (all < 0) {
            return;
        }
        between = (all > none) ? (all - none) / STATUS_TRIES : 0;
        least   = (between < least) ? between : least;
    }
    st_result_decide(result, least <= STATUS_RETRY_S, "%s between two tries",
                     st_text_time(least, time));
}

/* A receive that comes after 100 ms: does the message wait for it? */
static void status_endless(st_t *st, st_result_t *result)
{
    char text[32];
    int status;

    (void)st_pair_send(st->pair, 1, 16);
    status = st_pair_wait(st->pair, 0.1);
    if ((status < 0) && (st_link_ask(st->link, NULL, 0, "post 1") == 0)) {
        status = st_pair_wait(st->pair, STATUS_WAIT_S);
    }
    st_result_decide(result, status == 0,
                     "a message that waited 100 ms for its "
                     "receive: %s",
                     st_text_status(status, text));
}

static void status_long(st_t *st, st_result_t *result)
{
    char text[32];
    int status = (st_pair_send(st->pair, 1, 64) == 0) ?
                 st_pair_wait(st->pair, ST_WAIT_S) : -1;

    st_result_decide(result, status == STATUS_LONG, "64 B into 32: %s",
                     st_text_status(status, text));
}

/* How an RDMA read of the far memory ends. */
static void status_read(st_t *st, st_result_t *result, uint32_t rkey,
                        int expected)
{
    st_pair_t *pair  = st->pair;
    st_piece_t piece = {&st->mem, 0, STATUS_BYTES};
    int status       = -1;
    char text[32];

    if (st_qp_rdma(&pair->qp, &pair->dest, &piece, 0, pair->addr, rkey) == 0) {
        status = st_pair_wait(pair, STATUS_WAIT_S);
    }
    st_result_decide(result, status == expected, "%s",
                     st_text_status(status, text));
}

static void status_unknown(st_t *st, st_result_t *result)
{
    status_read(st, result, st->pair->rkey, STATUS_UNKNOWN);
}

static void status_key(st_t *st, st_result_t *result)
{
    status_read(st, result, st->pair->rkey ^ 0x5a, STATUS_KEY);
}

const st_probe_t st_status[] = {
    {"wrong-qkey", "a message with a wrong QKEY ends with status 9",
     "who sends to a predecessor learns that it is gone",
     "nothing to do where it is 8, 13 or 15; else please report this",
     status_qkey,
     .pair = &(const st_pair_params_t){0}},
    {"dead-number", "a message to a number that no queue pair has: status 9",
     "a peer that ended is told from one that is slow",
     "nothing to do where it is 8; else please report this", status_dead,
     .pair = &(const st_pair_params_t){0}},
    {"absent-host", "a host that is not there: status 15 after 0.15 to 60 s",
     "endpoints fail then, and UCP takes it for a dead peer",
     "sooner: keep-alive of UCP must do (UCX_KEEPALIVE_INTERVAL); "
     "please report status and time", status_absent,
     .pair = &(const st_pair_params_t){0}},
    {"receiver-not-ready", "without a receive: status 10 after 0 to 6 tries",
     "the transport tries again with a growing back-off",
     "UCX_SRD_RNR_RETRY; please report this", status_not_ready,
     .needs = EFA_DEVICE_CAP_RNR_RETRY},
    {"retry-interval", "at most 10 ms between two tries",
     "how long a message waits that met no receive",
     "UCX_SRD_RNR_RETRY=0: only the transport's own back-off",
     status_interval,
     .needs = EFA_DEVICE_CAP_RNR_RETRY},
    {"retry-endless", "7 tries are without end",
     "control packets that must not fail wait for receives",
     "please report this", status_endless,
     .needs = EFA_DEVICE_CAP_RNR_RETRY,
     .pair = &(const st_pair_params_t){.none = 1, .rnr_retry = 7}},
    {"long-message", "a message longer than its receive: status 11",
     "nothing: receives are as long as any message", "nothing to do",
     status_long,
     .pair = &(const st_pair_params_t){.bytes = 32}},
    {"unknown-reader", "RDMA of who has no handle there: status 14",
     "nothing one-sided is posted before the peer said that it knows us",
     "nothing to do where it is served; else please report this",
     status_unknown,
     .needs = EFA_DEVICE_CAP_RDMA_READ,
     .pair = &(const st_pair_params_t){.unknown = 1}},
    {"wrong-key", "RDMA with a wrong key: status 7",
     "an operation on memory that was taken away fails",
     "please report this", status_key,
     .needs = EFA_DEVICE_CAP_RDMA_READ,
     .pair = &(const st_pair_params_t){0}},
    {.name = NULL}
};
