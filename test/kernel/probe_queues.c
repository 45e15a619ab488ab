/* SPDX-License-Identifier: BSD-3-Clause */
/* Completion queues, channels and queue pairs: limits, and who needs whom. */
#include "probe.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

static void queues_cq_depths(const struct probe *probe)
{
    static const int depths[] = { -1, 0, 1, 3, 4, 5, 1000, 32767, 32768,
                                  32769, 65536, 1 << 30 };
    struct ibv_cq *cq;
    unsigned i;

    for (i = 0; i < sizeof(depths) / sizeof(depths[0]); ++i) {
        cq = ibv_create_cq(probe->ctx, depths[i], NULL, NULL, 0);
        probe_say(probe_pointer(cq), "CQ of depth %d", depths[i]);
        if (cq != NULL) {
            probe_number(cq->cqe, "its entries");
            ibv_destroy_cq(cq);
        }
    }
}

static void queues_cq_vectors(const struct probe *probe)
{
    struct ibv_comp_channel *channel = ibv_create_comp_channel(probe->ctx);
    int vectors[] = { -1, 0, probe->ctx->num_comp_vectors - 1,
                      probe->ctx->num_comp_vectors, 1000 };
    static const char *const names[] = { "-1", "0", "last", "last + 1",
                                         "1000" };
    unsigned i;

    for (i = 0; i < sizeof(vectors) / sizeof(vectors[0]); ++i) {
        PROBE_TRY(ibv_create_cq(probe->ctx, 16, NULL, channel, vectors[i]),
                  ibv_destroy_cq, "CQ on vector %s", names[i]);
    }
    probe_say(probe_result(ibv_destroy_comp_channel(channel)),
              "channel destroyed");
}

static void queues_cq_ex(const struct probe *probe)
{
    struct ibv_cq_init_attr_ex attr = { .cqe = 16 };
    struct efadv_cq_init_attr efa   = { 0 };
    unsigned bit;

    for (bit = 0; bit < 17; ++bit) {
        attr.wc_flags = (bit < 14) ? 1ull << bit : 0;
        efa.wc_flags  = (bit < 14) ? 0 : 1ull << (bit - 14);
        PROBE_TRY(ibv_cq_ex_to_cq(efadv_create_cq(probe->ctx, &attr, &efa,
                                                  sizeof(efa))),
                  ibv_destroy_cq, "CQ with %swc_flags bit %u",
                  (bit < 14) ? "" : "efa ", (bit < 14) ? bit : bit - 14);
    }
}

static void queues_full(unsigned num, unsigned max, const char *what)
{
    probe_say((num < max) ? probe_result(-1) : "ok", "one %s too many", what);
    probe_number(num, "%ss", what);
}

/* How many there can be */
static void queues_limits(const struct probe *probe)
{
    static struct ibv_cq *cq[600];
    static struct ibv_qp *qp[300];
    static struct ibv_pd *pd[300];
    unsigned num;

    num = PROBE_FILL(cq, ibv_create_cq(probe->ctx, 1, NULL, NULL, 0));
    queues_full(num, 600, "CQ");
    while (num > 1) {
        ibv_destroy_cq(cq[--num]);
    }
    num = PROBE_FILL(qp, probe_qp(probe, cq[0], IBV_QPT_DRIVER, 1));
    queues_full(num, 300, "QP");
    probe_say(probe_result(ibv_destroy_cq(cq[0])), "CQ before its QPs");
    probe_say(probe_result(ibv_dealloc_pd(probe->pd)), "PD before its QPs");
    while (num > 0) {
        ibv_destroy_qp(qp[--num]);
    }
    probe_say(probe_result(ibv_destroy_cq(cq[0])), "CQ after its QPs");
    num = PROBE_FILL(pd, ibv_alloc_pd(probe->ctx));
    queues_full(num, 300, "PD");
    while (num > 0) {
        ibv_dealloc_pd(pd[--num]);
    }
}

/* A QP of these capabilities, straight from the library */
static void queues_qp_try(const struct probe *probe, struct ibv_cq *cq,
                          const struct ibv_qp_cap *cap, const char *name)
{
    struct ibv_qp_init_attr_ex attr = {
        .cap = *cap, .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_DRIVER,
        .sq_sig_all = 1, .comp_mask = IBV_QP_INIT_ATTR_PD, .pd = probe->pd,
    };
    struct efadv_qp_init_attr efa = { .driver_qp_type =
                                              EFADV_QP_DRIVER_TYPE_SRD };
    struct ibv_qp *qp = efadv_create_qp_ex(probe->ctx, &attr, &efa,
                                           sizeof(efa));

    probe_say(probe_pointer(qp), "QP with %s", name);
    if (qp != NULL) {
        probe_number(attr.cap.max_send_wr, "%s: max_send_wr", name);
        probe_number(attr.cap.max_recv_wr, "%s: max_recv_wr", name);
        probe_number(attr.cap.max_inline_data, "%s: max_inline_data", name);
        ibv_destroy_qp(qp);
    }
}

static void queues_qp_caps(const struct probe *probe, struct ibv_cq *cq)
{
    static const struct { const char *name; struct ibv_qp_cap cap; } all[] = {
        { "33 sends", { 33, 1, 1, 1, 0 } },
        { "4096 sends", { 4096, 1, 1, 1, 0 } },
        { "4097 sends", { 4097, 1, 1, 1, 0 } },
        { "32768 receives", { 1, 32768, 1, 1, 0 } },
        { "32769 receives", { 1, 32769, 1, 1, 0 } },
        { "2 send SGEs", { 1, 1, 2, 1, 0 } },
        { "3 send SGEs", { 1, 1, 3, 1, 0 } },
        { "3 receive SGEs", { 1, 1, 1, 3, 0 } },
        { "4 receive SGEs", { 1, 1, 1, 4, 0 } },
        { "32 inline bytes", { 1, 1, 1, 1, 32 } },
        { "33 inline bytes", { 1, 1, 1, 1, 33 } },
        { "80 inline bytes", { 1, 1, 1, 1, 80 } },
        { "81 inline bytes", { 1, 1, 1, 1, 81 } },
    };
    unsigned i;

    for (i = 0; i < sizeof(all) / sizeof(all[0]); ++i) {
        queues_qp_try(probe, cq, &all[i].cap, all[i].name);
    }
}

static void queues_qp_types(const struct probe *probe, struct ibv_cq *cq)
{
    static const int types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
                                 IBV_QPT_RAW_PACKET, IBV_QPT_XRC_SEND,
                                 IBV_QPT_DRIVER };
    struct ibv_qp_init_attr attr = {
        .send_cq = cq, .recv_cq = cq,
        .cap = { 1, 1, 1, 1, 0 },
    };
    unsigned i;

    for (i = 0; i < sizeof(types) / sizeof(types[0]); ++i) {
        attr.qp_type = types[i];
        PROBE_TRY(ibv_create_qp(probe->pd, &attr), ibv_destroy_qp,
                  "QP of type %d", types[i]);
    }
}

static void queues_other(const struct probe *probe, struct ibv_cq *cq)
{
    struct ibv_srq_init_attr srq = { .attr = { 1, 1, 0 } };
    struct ibv_modify_cq_attr modify = { .attr_mask = IBV_CQ_ATTR_MODERATE };

    probe_say(probe_pointer(ibv_create_srq(probe->pd, &srq)), "SRQ");
    probe_say(probe_result(ibv_resize_cq(cq, 32)), "CQ resized");
    probe_say(probe_result(ibv_modify_cq(cq, &modify)), "CQ moderated");
    probe_say(probe_pointer(ibv_alloc_mw(probe->pd, IBV_MW_TYPE_1)),
              "memory window");
}

static void queues_events(const struct probe *probe)
{
    struct ibv_comp_channel *channel = ibv_create_comp_channel(probe->ctx);
    struct ibv_cq *cq = ibv_create_cq(probe->ctx, 16, NULL, channel, 0);
    struct pollfd fd  = { .fd = channel->fd, .events = POLLIN };
    struct ibv_cq *from;
    void *arg;

    fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
    probe_say(probe_result(ibv_get_cq_event(channel, &from, &arg)),
              "event of a quiet channel");
    probe_number(poll(&fd, 1, 0), "quiet channel is readable");
    probe_say(probe_result(ibv_req_notify_cq(cq, 0)), "CQ armed");
    probe_say(probe_result(ibv_req_notify_cq(cq, 0)), "CQ armed again");
    probe_number(poll(&fd, 1, 10), "armed channel is readable");
    probe_say(probe_result(ibv_req_notify_cq(cq, 1)), "CQ armed, solicited");
    probe_say(probe_result(ibv_destroy_comp_channel(channel)),
              "channel before its CQ");
    probe_say(probe_result(ibv_destroy_cq(cq)), "CQ destroyed");
    probe_say(probe_result(ibv_destroy_comp_channel(channel)),
              "channel after its CQ");
    fcntl(probe->ctx->async_fd, F_SETFL,
          fcntl(probe->ctx->async_fd, F_GETFL) | O_NONBLOCK);
    fd.fd = probe->ctx->async_fd;
    probe_number(poll(&fd, 1, 0), "asynchronous events");
}

void probe_queues(const struct probe *probe)
{
    struct ibv_cq *cq;

    queues_cq_depths(probe);
    queues_cq_vectors(probe);
    queues_cq_ex(probe);
    queues_limits(probe);
    cq = ibv_create_cq(probe->ctx, 16, NULL, NULL, 0);
    queues_qp_caps(probe, cq);
    queues_qp_types(probe, cq);
    queues_other(probe, cq);
    probe_say(probe_result(ibv_destroy_cq(cq)), "last CQ destroyed");
    queues_events(probe);
}
