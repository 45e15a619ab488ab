/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes of the limits that the device reports: is it so? */
#include "pair.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether a queue pair can be made with so much of one thing, the parameter at
 * that offset: 0 or an errno. */
static int limit_try(st_t *st, size_t at, unsigned value)
{
    st_qp_params_t params = {0};
    st_qp_t qp;
    int err;

    memcpy((char*)&params + at, &value, sizeof(value));
    err = st_qp_open(&qp, st->device, st->pd, &params);
    if (err == 0) {
        st_qp_close(&qp);
    }
    return err;
}

/* The most that is taken, up to the reported limit. */
static void limit_probe(st_t *st, st_result_t *result, size_t at,
                        unsigned reported)
{
    unsigned good = 0, bad = reported, middle;
    int err       = limit_try(st, at, reported);

    if (err == 0) {
        st_result_same(result, "it says %u, and takes %u", reported, reported);
        return;
    }
    while (bad - good > 1) {
        middle = good + (bad - good) / 2;
        if (limit_try(st, at, middle) == 0) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    st_result_differs(result, "it says %u, and takes %u (%s)", reported, good,
                      strerror(err));
}

#define LIMIT_PROBE(_param, _reported) \
    static void limit_##_param(st_t *st, st_result_t *result) \
    { \
        limit_probe(st, result, offsetof(st_qp_params_t, _param), \
                    st->device->_reported); \
    }

LIMIT_PROBE(sends, max_sq_wr)
LIMIT_PROBE(receives, max_rq_wr)
LIMIT_PROBE(send_sge, max_sq_sge)
LIMIT_PROBE(receive_sge, max_rq_sge)
LIMIT_PROBE(inline_bytes, inline_size_wide)

/* EFA's first generation has no RDMA; what the others have is not public. */
static void limit_capabilities(st_t *st, st_result_t *result)
{
    const efa_device_t *device = st->device;
    unsigned caps              = device->caps;

    st_result_decide(result, (device->part == 0xefa0) ||
                     (caps & EFA_DEVICE_CAP_RDMA_READ),
                     "part %#x:%s%s%s%s (bits %#x)", device->part,
                     (caps & EFA_DEVICE_CAP_RDMA_READ) ? " RDMA read," : "",
                     (caps & EFA_DEVICE_CAP_RDMA_WRITE) ? " RDMA write," : "",
                     (caps & EFA_DEVICE_CAP_RNR_RETRY) ? " RNR retry," : "",
                     " messages", caps);
}

/* A handle each for made-up hosts; none is sent to. */
static void limit_handles(st_t *st, st_result_t *result)
{
    uint8_t gid[16] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0x5e, 0x1f};
    unsigned wanted = st->device->max_ah, count = 0, i;
    struct ibv_ah **list = calloc(wanted + 1, sizeof(*list));

    for (; (list != NULL) && (count < wanted); ++count) {
        gid[14] = count >> 8;
        gid[15] = count;
        gid[13] = 1;
        list[count] = efa_ah_make(st->device, st->pd, gid);
        if (list[count] == NULL) {
            break;
        }
    }
    st_result_decide(result, count + 8 >= wanted, "it says %u, and gives %u%s",
                     wanted, count,
                     (count < wanted) ? " (others have some)" : "");
    for (i = 0; i < count; ++i) {
        st->verbs->destroy_ah(list[i]);
    }
    free(list);
}

static void limit_queue_pairs(st_t *st, st_result_t *result)
{
    st_qp_params_t params = {.sends = 16, .receives = 16, .entries = 16};
    struct ibv_device_attr attr;
    unsigned count = 0, i, wanted;
    st_qp_t *list;

    memset(&attr, 0, sizeof(attr));
    if ((st->verbs->query_device(st->device->context, &attr) != 0) ||
        (attr.max_qp <= 0) || (attr.max_qp > 65536)) {
        st_result_not_asked(result, "the device does not say how many");
        return;
    }
    wanted = efa_at_most(attr.max_qp, attr.max_cq / 2);
    list   = calloc(wanted, sizeof(*list));
    while ((list != NULL) && (count < wanted) &&
           (st_qp_open(&list[count], st->device, st->pd, &params) == 0)) {
        ++count;
    }
    for (i = 0; i < count; ++i) {
        st_qp_close(&list[i]);
    }
    free(list);
    /* other programs on the device have some */
    st_result_decide(result, 4 * count >= 3 * wanted,
                     "it says %d, and gives %u", attr.max_qp, count);
}

static void limit_event(st_t *st, st_result_t *result, st_pair_t *self,
                        struct ibv_comp_channel *channel)
{
    struct pollfd entry = {channel->fd, POLLIN, 0};
    st_piece_t piece    = {&st->mem, 0, 64};
    struct ibv_cq *cq;
    void *context;
    int ready = 0;

    if ((st_qp_recv(&self->qp, &piece, 0) == 0) &&
        (st->device->context->ops.req_notify_cq(self->qp.recv_cq, 0) == 0) &&
        (st_qp_send(&self->qp, &self->dest, &piece, 0, 0) == 0)) {
        ready = poll(&entry, 1, 1000);
    }
    st_result_decide(result, ready == 1, "a message wakes %s",
                     (ready == 1) ? "who waits for it"
                                  : "nobody within a second");
    if ((ready == 1) &&
        (st->verbs->get_cq_event(channel, &cq, &context) == 0)) {
        st->verbs->ack_cq_events(cq, 1);
    }
}

static void limit_events(st_t *st, st_result_t *result)
{
    st_qp_params_t params = {0};
    st_pair_t self;

    errno          = 0;
    params.channel = st->verbs->create_comp_channel(st->device->context);
    if (params.channel == NULL) {
        st_result_differs(result, "no completion channel: %s", strerror(errno));
        return;
    }
    if (st_self_open(&self, st, result, &params) == 0) {
        limit_event(st, result, &self, params.channel);
        st_pair_close(&self);
    }
    st->verbs->destroy_comp_channel(params.channel);
}

const st_probe_t st_limits[] = {
    {"capabilities", "EFA from its second generation on has RDMA read",
     "messages of UCP's rendezvous are fetched by RDMA read, else they go in "
     "pieces of a message each",
     "nothing: what the device has is taken; please report the part and bits",
     .run = limit_capabilities},
    {"send-queue", "as many sends as reported",
     "operations in flight of an interface",
     "UCX_SRD_TX_QUEUE_LEN: two thirds of what it takes", .run = limit_sends},
    {"receive-queue", "as many receives as reported",
     "receive buffers of an interface",
     "UCX_SRD_RX_BUFFERS_MAX: what it takes", .run = limit_receives},
    {"send-pieces", "as many pieces of a send as reported",
     "zero-copy sends: header and payload",
     "please report this", .run = limit_send_sge},
    {"receive-pieces", "as many pieces of a receive as reported",
     "nothing: receives have one", "nothing to do; please report this",
     .run = limit_receive_sge},
    {"inline", "as many bytes in a request as reported",
     "short messages without a copy by the device",
     "UCX_SRD_TX_INLINE: what it takes", .run = limit_inline_bytes},
    {"handles", "as many address handles as reported",
     "hosts that a process talks to at a time",
     "UCX_SRD_MAX_AH: what it gives", .run = limit_handles},
    {"queue-pairs", "as many queue pairs as reported, of all programs",
     "processes on a host (srd_info --plan)",
     "fewer ranks on a device; please report this", .run = limit_queue_pairs},
    {"events", "a completion wakes who armed its queue",
     "programs that sleep (UCP's wakeup); others poll",
     "nothing: without events programs poll; please report this",
     .run = limit_events},
    {.name = NULL}
};
