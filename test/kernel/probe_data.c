/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of a queue pair to itself: events, statuses, what outlives what. */
#include "probe.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct data {
    const struct probe      *probe;
    struct ibv_comp_channel *channel;
    struct ibv_cq           *cq;
    struct ibv_qp           *qp;
    struct ibv_mr           *mr;
    struct ibv_ah           *ah;
};

static int data_open(struct data *data, const struct probe *probe,
                     enum ibv_qp_type type)
{
    struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };

    attr.grh.dgid = probe->gid;
    data->probe   = probe;
    data->channel = ibv_create_comp_channel(probe->ctx);
    data->cq      = ibv_create_cq(probe->ctx, 64, NULL, data->channel, 0);
    data->qp      = probe_qp(probe, data->cq, type, 16);
    data->mr      = ibv_reg_mr(probe->pd, probe->page, PROBE_BYTES,
                               IBV_ACCESS_LOCAL_WRITE);
    data->ah      = ibv_create_ah(probe->pd, &attr);
    return (data->qp == NULL) || (data->mr == NULL) || (data->ah == NULL) ||
           (device_qp_ready(data->qp, 7) != 0);
}

static void data_close(struct data *data)
{
    probe_say(probe_result(ibv_destroy_qp(data->qp)), "data: QP destroyed");
    ibv_destroy_ah(data->ah);
    ibv_dereg_mr(data->mr);
    probe_say(probe_result(ibv_destroy_cq(data->cq)), "data: CQ destroyed");
    ibv_destroy_comp_channel(data->channel);
}

static int data_receive(const struct data *data, uint32_t length,
                        uint32_t lkey)
{
    struct ibv_sge sge    = { (uintptr_t)data->probe->page, length, lkey };
    struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };
    struct ibv_recv_wr *bad;

    return ibv_post_recv(data->qp, &wr, &bad);
}

struct data_send {
    uint32_t length, lkey, qkey, qpn;
};

static int data_send(const struct data *data, const struct data_send *send)
{
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(data->qp);

    ibv_wr_start(qp);
    qp->wr_id    = 2;
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_send(qp);
    ibv_wr_set_ud_addr(qp, data->ah, send->qpn, send->qkey);
    ibv_wr_set_sge(qp, send->lkey, (uintptr_t)data->probe->page + 16384,
                   send->length);
    return ibv_wr_complete(qp);
}

/* The next completion within 2 s: 1 if it came. */
static int data_poll(const struct data *data, struct ibv_wc *wc)
{
    struct timespec pause = { 0, 1000000 };
    unsigned i;

    for (i = 0; i < 2000; ++i) {
        if (ibv_poll_cq(data->cq, 1, wc) == 1) {
            return 1;
        }
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* `num` completions, whichever comes first: the receive's (1), the send's */
static void data_completions(const struct data *data, unsigned num,
                             const char *what)
{
    struct ibv_wc wc[2] = { { 0 } }, other;
    unsigned i;
    char answer[80];

    for (i = 0; i < num; ++i) {
        if (!data_poll(data, &wc[i])) {
            probe_say("no completion", "%s", what);
            return;
        }
    }
    if ((num == 2) && (wc[0].wr_id > wc[1].wr_id)) {
        other = wc[0];
        wc[0] = wc[1];
        wc[1] = other;
    }
    for (i = 0; i < num; ++i) {
        snprintf(answer, sizeof(answer), "status %d, %u", wc[i].status,
                 (wc[i].status == 0) ? 0 : wc[i].vendor_err);
        probe_say(answer, "%s: the %s", what,
                  (wc[i].wr_id == 2) ? "send" : "receive");
    }
}

static int data_event(const struct data *data, int ms)
{
    struct pollfd fd = { .fd = data->channel->fd, .events = POLLIN };
    struct ibv_cq *cq;
    void *arg;

    if (poll(&fd, 1, ms) != 1) {
        return 0;
    }
    ibv_get_cq_event(data->channel, &cq, &arg);
    ibv_ack_cq_events(cq, 1);
    return 1;
}

static void data_events(const struct data *data, const struct data_send *send)
{
    char *in = data->probe->page, *out = in + 16384;
    unsigned i;

    for (i = 0; i < 2; ++i) {
        memset(in, 0, send->length);
        memset(out, 7 + i, send->length);
        data_receive(data, 4096, data->mr->lkey);
        ibv_req_notify_cq(data->cq, 0);
        data_send(data, send);
        probe_number(data_event(data, 2000), "an armed CQ gives an event");
        data_completions(data, 2, "with an event");
        probe_number(memcmp(in, out, send->length) == 0, "its bytes arrived");
    }
    probe_number(data_event(data, 50), "an event without arming");
    data_receive(data, 4096, data->mr->lkey);
    data_send(data, send);
    probe_number(data_event(data, 300), "an event of a CQ never armed anew");
    data_completions(data, 2, "without an event");
}

static void data_statuses(const struct data *data,
                          const struct data_send *good)
{
    struct data_send send = *good;

    send.lkey ^= 1;
    probe_say(probe_result(data_send(data, &send)), "a bad lkey is posted");
    data_completions(data, 1, "a bad lkey");
    send       = *good;
    send.qpn   = 255;
    probe_say(probe_result(data_send(data, &send)), "to no QP is posted");
    data_completions(data, 1, "to no QP");
    send        = *good;
    send.length = 8928;
    probe_say(probe_result(data_receive(data, 16, data->mr->lkey)),
              "a small receive");
    data_send(data, &send);
    data_completions(data, 2, "into a small receive");
    send.length = 8929;
    probe_say(probe_result(data_send(data, &send)), "8929 bytes are posted");
    data_completions(data, 1, "8929 bytes");
    probe_say(probe_result(data_receive(data, 16, data->mr->lkey ^ 1)),
              "a receive with a bad lkey");
    send.length = 8;
    data_send(data, &send);
    data_completions(data, 2, "into a bad lkey");
}

static void data_full(const struct data *data)
{
    unsigned num;
    int ret = 0;

    for (num = 0; (num < 100) && (ret == 0); ++num) {
        ret = data_receive(data, 16, data->mr->lkey);
    }
    probe_say(probe_result(ret), "one receive too many");
    probe_number(num - 1, "receives");
}

static void data_error(const struct data *data, const struct data_send *send)
{
    struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
    struct ibv_qp_init_attr init;
    struct ibv_wc wc;
    unsigned num = 0;

    probe_say(probe_result(ibv_modify_qp(data->qp, &attr, IBV_QP_STATE)),
              "QP put in error");
    while (ibv_poll_cq(data->cq, 1, &wc) == 1) {
        num += (wc.status == IBV_WC_WR_FLUSH_ERR);
    }
    probe_number(num, "receives flushed");
    probe_say(probe_result(data_receive(data, 16, data->mr->lkey)),
              "a receive in error");
    probe_say(probe_result(data_send(data, send)), "a send in error");
    attr.qp_state = IBV_QPS_RESET;
    probe_say(probe_result(ibv_modify_qp(data->qp, &attr, IBV_QP_STATE)),
              "QP reset");
    ibv_query_qp(data->qp, &attr, IBV_QP_STATE, &init);
    probe_number(attr.qp_state, "its state");
    probe_say(probe_result(data_receive(data, 16, data->mr->lkey)),
              "a receive in reset");
}

void probe_data(const struct probe *probe)
{
    struct data data      = { 0 };
    struct data_send send = { .length = 64, .qkey = 7 };

    if (data_open(&data, probe, IBV_QPT_DRIVER) != 0) {
        probe_say(probe_result(-1), "data: a queue pair");
        return;
    }
    send.lkey = data.mr->lkey;
    send.qpn  = data.qp->qp_num;
    data_events(&data, &send);
    data_statuses(&data, &send);
    data_full(&data);
    data_error(&data, &send);
    data_close(&data);
}
