/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes of queues: how long a message is, what a queue holds, whose numbers
 * and handles are shared. A queue pair that talks to itself does. */
#include "pair.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    QUEUE_CQ      = 64,
    QUEUE_BATCH   = 512,
    QUEUE_RECV_AT = ST_MEM_BYTES / 2, /* of the near memory: what arrives */
    QUEUE_PREFIX  = 40,
    QUEUE_PAUSE   = 10000 /* us */
};

/* One message of so many bytes to itself: its status, -1: none, and how many
 * bytes arrived. A datagram that does not fit is lost. */
static int queue_message(st_pair_t *self, size_t bytes, size_t *arrived)
{
    st_piece_t out = {&self->st->mem, 0, bytes};
    st_piece_t in  = {&self->st->mem, QUEUE_RECV_AT, 65536 / 2};
    size_t length;
    int status;

    *arrived = 0;
    st_serve_message(self->st->mem.base, bytes, 5);
    if ((st_qp_recv(&self->qp, &in, 1) != 0) ||
        (st_qp_send(&self->qp, &self->dest, &out, 0, 0) != 0)) {
        return -1;
    }
    status = st_pair_wait(self, 2);
    if ((status == 0) && (st_pair_wait_cq(self->st, self->qp.recv_cq, 0.2,
                                          &length) == 0)) {
        *arrived = length;
    }
    return status;
}

/* The longest one that arrives, by halving the range. */
static size_t queue_longest(st_pair_t *self, size_t most, size_t extra)
{
    size_t good = 0, bad = most + 1, size = most, arrived;

    while (bad - good > 1) {
        (void)queue_message(self, size, &arrived);
        if (arrived == size + extra) {
            good = size;
        } else {
            bad = size;
        }
        size = good + (bad - good) / 2;
    }
    return good;
}

static void queue_srd_size(st_t *st, st_result_t *result)
{
    size_t most = st->device->max_msg, longest;

    longest = queue_longest(st->pair, most, 0);
    st_result_decide(result, longest == most, "it says %zu B, and carries %zu",
                     most, longest);
}

static void queue_ud_size(st_t *st, st_result_t *result)
{
    size_t room = 0, sizes[] = {4096, 1024, 256}, i;

    /* where the payload lies is another probe's question */
    for (i = 0; (i < 3) && (room == 0); ++i) {
        (void)queue_message(st->pair, sizes[i], &room);
        room = (room > sizes[i]) ? room - sizes[i] : 0;
    }
    i = queue_longest(st->pair, st->device->max_msg, room);
    st_result_decide(result, i == st->device->max_msg,
                     "a datagram has up to %zu B, an SRD message %zu", i,
                     st->device->max_msg);
}

static void queue_ud_prefix(st_t *st, st_result_t *result)
{
    uint8_t *in = st->mem.base + QUEUE_RECV_AT;
    size_t arrived, at = 0, touched = 0, i;

    memset(in, 0xee, 1024);
    if ((queue_message(st->pair, 256, &arrived) != 0) || (arrived < 256)) {
        st_result_not_asked(result, "no datagram arrived");
    } else {
        usleep(QUEUE_PAUSE); /* whether it is placed is another's question */
        at = arrived - 256;
        for (i = 0; (i < at) && (i < 64); ++i) {
            touched += (in[i] != 0xee);
        }
        st_result_decide(
            result, (at == QUEUE_PREFIX) && !memcmp(in + at, st->mem.base, 256),
            "the payload lies behind %zu B, of which %zu are written; "
            "the length counts them",
            at, touched);
    }
}

/* Completions of so many messages that wait unread. */
static void queue_cq(st_t *st, st_result_t *result)
{
    st_piece_t in  = {&st->mem, QUEUE_RECV_AT, 64};
    st_piece_t out = {&st->mem, 0, 64};
    unsigned i, sent = 0, read = 0;

    for (i = 0; i < QUEUE_CQ; ++i) {
        (void)st_qp_recv(&st->pair->qp, &in, i);
        (void)st_qp_send(&st->pair->qp, &st->pair->dest, &out, i, 0);
        sent += st_pair_wait(st->pair, 1) >= 0;
    }
    while ((read < sent) &&
           (st_pair_wait_cq(st, st->pair->qp.recv_cq, 0.1, NULL) >= 0)) {
        ++read;
    }
    st_result_decide(result, (read == QUEUE_CQ) && (sent == QUEUE_CQ),
                     "one of %u entries held %u unread completions", QUEUE_CQ,
                     read);
}

/* A list of requests in one call, which libefa announces in as many doorbells
 * as the device wants. */
static void queue_batch(st_t *st, st_result_t *result)
{
    static struct ibv_send_wr wrs[QUEUE_BATCH], *bad;
    st_piece_t in      = {&st->mem, QUEUE_RECV_AT, 64};
    struct ibv_sge sge = {(uintptr_t)st->mem.base, 64, st->mem.mr->lkey};
    unsigned i, done = 0;
    int err, status;

    memset(wrs, 0, sizeof(wrs));
    for (i = 0; i < QUEUE_BATCH; ++i) {
        wrs[i].next              = (i + 1 < QUEUE_BATCH) ? &wrs[i + 1] : NULL;
        wrs[i].wr_id             = i;
        wrs[i].sg_list           = &sge;
        wrs[i].num_sge           = 1;
        wrs[i].opcode            = IBV_WR_SEND;
        wrs[i].send_flags        = IBV_SEND_SIGNALED;
        wrs[i].wr.ud.ah          = st->pair->dest.ah;
        wrs[i].wr.ud.remote_qpn  = st->pair->dest.qpn;
        wrs[i].wr.ud.remote_qkey = st->pair->dest.qkey;
        (void)st_qp_recv(&st->pair->qp, &in, i);
    }
    err = st->device->context->ops.post_send(st->pair->qp.qp, wrs, &bad);
    while ((err == 0) && (done < QUEUE_BATCH) &&
           ((status = st_pair_wait(st->pair, 2)) >= 0)) {
        done += (status == 0);
    }
    st_result_decide(result, (err == 0) && (done == QUEUE_BATCH),
                     "a list of %u requests: %u arrived%s%s", QUEUE_BATCH, done,
                     err ? ", " : "", err ? strerror(err) : "");
}

static void queue_number(st_t *st, st_result_t *result)
{
    st_qp_params_t params = {0};
    unsigned first = 0, number, i;
    st_qp_t qp;

    for (i = 0; i <= 8; ++i) {
        if (st_qp_open(&qp, st->device, st->pd, &params) != 0) {
            st_result_not_asked(result, "no %squeue pair", i ? "second " : "");
            return;
        }
        number = qp.qp->qp_num;
        st_qp_close(&qp);
        if ((i > 0) && (number == first)) {
            st_result_same(result, "a number is back after %u", i);
            return;
        }
        first = (i == 0) ? number : first;
    }
    st_result_differs(result, "a number is not back after 8 others");
}

/* Two queue pairs over one handle: all of both arrives. */
static void queue_workers(st_t *st, st_result_t *result)
{
    st_qp_params_t params = {0};
    st_piece_t in         = {&st->mem, QUEUE_RECV_AT, 64};
    st_piece_t out        = {&st->mem, 0, 64};
    unsigned i, done = 0;
    st_qp_t *first = &st->pair->qp, other;

    if (st_qp_open(&other, st->device, st->pd, &params) != 0) {
        st_result_not_asked(result, "no second queue pair");
        return;
    }
    for (i = 0; i < 64; ++i) {
        (void)st_qp_recv(first, &in, i);
        (void)st_qp_send((i & 1) ? first : &other, &st->pair->dest, &out, i, 0);
    }
    for (i = 0; i < 64; ++i) {
        done += st_pair_wait_cq(st, (i & 1) ? first->send_cq : other.send_cq,
                                1, NULL) == 0;
    }
    st_result_decide(result, done == 64,
                     "two queue pairs over one handle: %u of 64 "
                     "arrived",
                     done);
    st_qp_close(&other);
}

/* One handle for each protection domain and host: a post with the second one
 * after the first was destroyed. */
static void queue_handle(st_t *st, st_result_t *result)
{
    st_piece_t piece = {&st->mem, 0, 64};
    struct ibv_ah *again;
    int status = -1;
    char text[32];

    again = efa_ah_make(st->device, st->pd, st->device->gid.raw);
    if (again == NULL) {
        st_result_differs(result, "a second handle for a host is refused: %s",
                          strerror(errno));
    } else {
        st->verbs->destroy_ah(again);
        (void)st_qp_recv(&st->pair->qp, &piece, 0);
        if (st_qp_send(&st->pair->qp, &st->pair->dest, &piece, 0, 0) == 0) {
            status = st_pair_wait(st->pair, ST_WAIT_S);
        }
        st_result_decide(result, status == 4, "a send with the other: %s",
                         st_text_status(status, text));
    }
}

/* One message to itself, whose receive completion nobody reads: 1 if it ended
 * well here. */
static unsigned queue_unread(st_pair_t *self, unsigned number)
{
    st_piece_t in  = {&self->st->mem, QUEUE_RECV_AT, 64};
    st_piece_t out = {&self->st->mem, 0, 64};

    return (st_qp_recv(&self->qp, &in, number) == 0) &&
           (st_qp_send(&self->qp, &self->dest, &out, number, 0) == 0) &&
           (st_pair_wait(self, 1) == 0);
}

static unsigned queue_read(st_pair_t *self)
{
    unsigned count = 0;

    while (st_pair_wait_cq(self->st, self->qp.recv_cq, 0.05, NULL) >= 0) {
        ++count;
    }
    return count;
}

static const st_qp_params_t queue_few = {
    .sends = QUEUE_CQ, .receives = 4 * QUEUE_CQ, .entries = QUEUE_CQ
};

/* Half as many completions again as a queue holds: what do receiver, sender and
 * another queue pair learn? */
static void queue_overrun(st_t *st, st_result_t *result)
{
    unsigned i, depth, good = 0, later = 0, told, after;
    size_t arrived = 0;
    st_pair_t other;

    depth = st->pair->qp.recv_cq->cqe;
    if (depth > 2 * QUEUE_CQ) {
        st_result_not_asked(result, "a queue for %u has %u entries", QUEUE_CQ,
                            depth);
        return;
    }
    for (i = 0; i < depth + depth / 2; ++i) {
        good += queue_unread(st->pair, i);
    }
    told = queue_read(st->pair);
    for (i = 0; i < depth; ++i) {
        later += queue_unread(st->pair, i);
    }
    after = queue_read(st->pair);
    if (st_self_open(&other, st, result, &queue_few) == 0) {
        (void)queue_message(&other, 64, &arrived);
        st_pair_close(&other);
    }
    st_result_decide(
        result,
        (good == depth + depth / 2) && (later == depth) && (arrived == 64),
        "a queue of %u entries: %u of %u messages ended "
        "well at the sender, %u were told of; then %u of %u, and %u; "
        "another queue pair %s",
        depth, good, depth + depth / 2, told, later, depth, after,
        (arrived == 64) ? "works" : "does not work");
}

const st_probe_t st_queues[] = {
    {"message", "a message of SRD is as long as the port reports",
     "messages are cut into packets of that length",
     "please report this: there is no variable for it", queue_srd_size,
     .self = &(const st_qp_params_t){.receives = 256}},
    {"datagram", "a datagram of UD is as long as a message of SRD",
     "the ud transport tries it when it opens",
     "UCX_EFA_UD_MTU, if ud did not find it; nothing else to do",
     queue_ud_size,
     .self = &(const st_qp_params_t){.ud = 1, .receives = 256}},
    {"datagram-prefix", "a datagram's payload lies 40 bytes into the receive",
     "the ud transport reads its packets there", "please report this",
     queue_ud_prefix,
     .self = &(const st_qp_params_t){.ud = 1}},
    {"completion-queue", "a completion queue holds as many as it was made for",
     "completions are lost otherwise: requests never end",
     "please report this", queue_cq,
     .self = &(const st_qp_params_t){.sends = QUEUE_CQ, .receives = QUEUE_CQ,
                                     .entries = QUEUE_CQ}},
    {"doorbell-batch", "libefa posts a list of any length in one call",
     "sends and receives are posted in batches",
     "please report this", queue_batch,
     .self = &(const st_qp_params_t){.sends = QUEUE_BATCH,
                                     .receives = QUEUE_BATCH}},
    {"number-reuse", "the number of a queue pair is used again at once",
     "nothing: packets of a predecessor are told by QKEY and incarnation",
     "nothing to do", .run = queue_number},
    {"shared-workers", "queue pairs may share an address handle",
     "workers of a process share one for each host", "please report this",
     queue_workers,
     .self = &(const st_qp_params_t){.receives = 256}},
    {"shared-handle", "the first who destroys a handle ends it for all (4)",
     "nothing: the module counts who uses one", "nothing to do",
     queue_handle,
     .self = &(const st_qp_params_t){0}},
    {.name = NULL}
};

const st_probe_t st_queues_harmful[] = {
    {"overrun", "a queue that overruns loses completions, and nobody else's",
     "nothing: each queue is as deep as what feeds it",
     "nothing to do; please report this", queue_overrun,
     .self = &queue_few},
    {.name = NULL}
};
