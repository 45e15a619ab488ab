/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* sched_getcpu */
#include "efa_qp.h"
#include "efa_promise.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>

static ucs_status_t efa_qp_report(efa_qp_t *qp, const char *what, int err)
{
    char limit[64];

    if (err == ENOMEM) {
        efa_report_absent(qp->md->super.host,
                          "%s: no %s: the device has none left, or locked "
                          "memory is out (the limit is %s): close other "
                          "programs on the device, or raise that limit with "
                          "'ulimit -l unlimited'",
                          qp->md->device->name, what,
                          efa_memlock_text(limit, sizeof(limit)));
        return UCS_ERR_NO_MEMORY;
    }
    efa_report_absent(qp->md->super.host,
                      "%s: no %s: %s; the kernel's log (dmesg) may say why; "
                      "load the driver anew (modprobe -r efa, modprobe efa)",
                      qp->md->device->name, what, strerror(err));
    return UCS_ERR_IO_ERROR;
}

/* The depths that were asked for, beside those that the device says it has */
static ucs_status_t
efa_qp_report_cqs(efa_qp_t *qp, const efa_qp_params_t *params, int err)
{
    const efa_device_t *device = qp->md->device;

    if (err != EINVAL) {
        return efa_qp_report(qp, "completion queue", err);
    }
    efa_report_absent(qp->md->super.host,
                      "%s: no completion queue of %u or %u entries: %s; the "
                      "device says that it takes %u (max_cqe): ask for fewer "
                      "(UCX_SRD_TX_QUEUE_LEN, UCX_SRD_RX_QUEUE_LEN)",
                      device->name, params->tx_depth, params->rx_depth,
                      strerror(err), device->max_cqe);
    return UCS_ERR_IO_ERROR;
}

/*
 * Which of the device's interrupts wakes this queue pair: each has another CPU,
 * the first ones by number (kernel driver: efa_setup_comp_irq). A rank's is
 * therefore on the CPU that it runs on, and those of its further queue pairs
 * elsewhere.
 */
static int efa_qp_vector(efa_md_t *md)
{
    int      count = md->device->context->num_comp_vectors;
    int      cpu   = sched_getcpu();
    unsigned at    = atomic_fetch_add(&md->vectors, 1);

    at += (cpu > 0) ? cpu : 0;
    return (count > 1) ? (int)(at % (unsigned)count) : 0;
}

/* Completion queues with events, or without where the device has none (older
 * EFA devices refuse a channel) or none were asked for. */
static ucs_status_t
efa_qp_create_cqs(efa_qp_t *qp, const efa_qp_params_t *params)
{
    const efa_verbs_t  *verbs   = qp->md->device->verbs;
    struct ibv_context *context = qp->md->device->context;
    int                 vector;

    if (params->events) {
        qp->channel = verbs->create_comp_channel(context);
    }
    if ((qp->channel != NULL) &&
        (fcntl(qp->channel->fd, F_SETFL, O_NONBLOCK) == 0)) {
        vector    = efa_qp_vector(qp->md);
        qp->tx_cq = verbs->create_cq(context, params->tx_depth, NULL,
                                     qp->channel, vector);
        qp->rx_cq = verbs->create_cq(context, params->rx_depth, NULL,
                                     qp->channel, vector);
        if ((qp->tx_cq != NULL) && (qp->rx_cq != NULL)) {
            return UCS_OK;
        }
        efa_qp_close(qp);
    }

    errno     = 0;
    qp->tx_cq = verbs->create_cq(context, params->tx_depth, NULL, NULL, 0);
    if (qp->tx_cq != NULL) {
        qp->rx_cq = verbs->create_cq(context, params->rx_depth, NULL, NULL, 0);
    }
    return (qp->rx_cq != NULL) ? UCS_OK :
                                 efa_qp_report_cqs(qp, params, errno);
}

/* Work requests of 128 B hold more bytes, those of writes too, but the send
 * queue takes half as many of them. Those of UD are of one width. */
static int
efa_qp_may_be_wide(const efa_device_t *device, const efa_qp_params_t *params)
{
    return (params->kind == EFA_QP_SRD) &&
           (params->inline_max > device->inline_size) &&
           (device->inline_size_wide > device->inline_size) &&
           (params->tx_depth <= device->max_sq_wr / 2);
}

struct ibv_qp *
efa_qp_make(const efa_device_t *device, struct ibv_qp_init_attr_ex *attr,
            efa_adv_qp_attr_t *srd)
{
    attr->sq_sig_all = 1; /* the device signals every request */
    errno            = 0;
    if (srd == NULL) {
        attr->qp_type = IBV_QPT_UD;
        return device->verbs->create_qp(attr->pd,
                                        (struct ibv_qp_init_attr*)attr);
    }
    attr->qp_type        = IBV_QPT_DRIVER;
    attr->comp_mask      = IBV_QP_INIT_ATTR_PD |
                           IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attr->send_ops_flags = IBV_QP_EX_WITH_SEND |
                           ((device->caps & EFA_DEVICE_CAP_RDMA_READ) ?
                            IBV_QP_EX_WITH_RDMA_READ : 0) |
                           ((device->caps & EFA_DEVICE_CAP_RDMA_WRITE) ?
                            IBV_QP_EX_WITH_RDMA_WRITE : 0);
    srd->driver_qp_type  = EFADV_QP_DRIVER_TYPE_SRD;
    return device->verbs->efa_create_qp_ex(device->context, attr,
                                           (struct efadv_qp_init_attr*)srd,
                                           sizeof(*srd));
}

static struct ibv_qp *
efa_qp_try(efa_qp_t *qp, const efa_qp_params_t *params, int wide,
           unsigned sl)
{
    const efa_device_t        *device = qp->md->device;
    efa_adv_qp_attr_t          srd    = {.sl = sl};
    struct ibv_qp_init_attr_ex attr   = {
        .send_cq = qp->tx_cq,
        .recv_cq = qp->rx_cq,
        .pd      = qp->md->pd,
        .cap     = {.max_send_wr  = params->tx_depth,
                    .max_recv_wr  = params->rx_depth,
                    .max_send_sge = (device->max_sq_sge < 2) ? 1 : 2,
                    .max_recv_sge = 1}
    };

    qp->inline_size  = efa_at_most(params->inline_max,
                                   wide ? device->inline_size_wide :
                                          device->inline_size);
    qp->inline_write = 0;
    if (wide && (device->caps & EFA_DEVICE_CAP_RDMA_WRITE)) {
        srd.flags        = EFA_ADV_QP_INLINE_WRITE;
        qp->inline_write = qp->inline_size;
    }
    attr.cap.max_inline_data = qp->inline_size;
    return efa_qp_make(device, &attr,
                       (params->kind == EFA_QP_SRD) ? &srd : NULL);
}

/* Wide work requests where they are wanted and can be had. */
static struct ibv_qp *
efa_qp_try_widths(efa_qp_t *qp, const efa_qp_params_t *params, unsigned sl)
{
    struct ibv_qp *created = NULL;

    if (efa_qp_may_be_wide(qp->md->device, params)) {
        created = efa_qp_try(qp, params, 1, sl);
    }
    return (created != NULL) ? created : efa_qp_try(qp, params, 0, sl);
}

/* Nothing but its latency hangs on the service level: without it, then. */
static struct ibv_qp *
efa_qp_try_usual(efa_qp_t *qp, const efa_qp_params_t *params)
{
    struct ibv_qp *created;
    int            err = errno;

    created = efa_qp_try_widths(qp, params, 0);
    if (created != NULL) {
        host_warn(qp->md->super.host,
                  "%s: no queue pair of service level %u (UCX_SRD_SL): %s; "
                  "the usual level is used; libefa knows levels since "
                  "rdma-core 55, and the driver and the device say which "
                  "there are",
                  qp->md->device->name, params->sl, strerror(err));
    }
    return created;
}

static ucs_status_t
efa_qp_create(efa_qp_t *qp, const efa_qp_params_t *params)
{
    int is_srd = params->kind == EFA_QP_SRD;

    qp->qp = efa_qp_try_widths(qp, params, params->sl);
    if ((qp->qp == NULL) && is_srd && (params->sl != 0)) {
        qp->qp = efa_qp_try_usual(qp, params);
    }
    if (qp->qp == NULL) {
        return efa_qp_report(qp, is_srd ? "SRD queue pair" : "UD queue pair",
                             errno);
    }
    qp->qpx = is_srd ? qp->md->device->verbs->qp_to_qp_ex(qp->qp) : NULL;
    return UCS_OK;
}

int efa_qp_start(const efa_device_t *device, struct ibv_qp *qp, uint32_t qkey,
                 int rnr_retry)
{
    int mask = IBV_QP_STATE | IBV_QP_SQ_PSN, err;
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT,
        .port_num = EFA_PORT,
        .qkey     = qkey
    };

    err = device->verbs->modify_qp(qp, &attr,
                                   IBV_QP_STATE | IBV_QP_PKEY_INDEX |
                                           IBV_QP_PORT | IBV_QP_QKEY);
    if (err == 0) {
        attr.qp_state = IBV_QPS_RTR;
        err           = device->verbs->modify_qp(qp, &attr, IBV_QP_STATE);
    }
    attr.qp_state = IBV_QPS_RTS;
    if ((rnr_retry >= 0) && (device->caps & EFA_DEVICE_CAP_RNR_RETRY)) {
        attr.rnr_retry = (uint8_t)rnr_retry;
        mask          |= IBV_QP_RNR_RETRY;
    }
    return err ? err : device->verbs->modify_qp(qp, &attr, mask);
}

ucs_status_t
efa_qp_open(efa_qp_t *qp, efa_md_t *md, const efa_qp_params_t *params)
{
    ucs_status_t status;
    int          err;

    memset(qp, 0, sizeof(*qp));
    qp->md       = md;
    qp->tx_depth = params->tx_depth;
    qp->rx_depth = params->rx_depth;
    status = efa_qp_create_cqs(qp, params);
    if (status == UCS_OK) {
        status = efa_qp_create(qp, params);
    }
    if (status == UCS_OK) {
        err    = efa_qp_start(md->device, qp->qp, params->qkey,
                              (params->kind == EFA_QP_SRD) ?
                              (int)params->rnr_retry : -1);
        status = (err == 0) ? UCS_OK :
                 efa_qp_report(qp, "queue pair ready to send", err);
    }
    if ((status == UCS_OK) && params->direct) {
        qp->why_not = efa_direct_open(qp);
    }
    if (status != UCS_OK) {
        efa_qp_close(qp);
    } else if (!params->is_trial) {
        efa_promise_end(md, params->kind);
    }
    return status;
}

void efa_qp_stop(efa_qp_t *qp)
{
    if (qp->qp != NULL) {
        qp->md->device->verbs->destroy_qp(qp->qp);
        efa_direct_stop(qp);
        qp->qp  = NULL;
        qp->qpx = NULL;
    }
}

void efa_qp_close(efa_qp_t *qp)
{
    const efa_verbs_t *verbs = qp->md->device->verbs;

    efa_qp_stop(qp);
    if (qp->tx_cq != NULL) {
        verbs->destroy_cq(qp->tx_cq);
        qp->tx_cq = NULL;
    }
    if (qp->rx_cq != NULL) {
        verbs->destroy_cq(qp->rx_cq);
        qp->rx_cq = NULL;
    }
    if (qp->channel != NULL) {
        verbs->destroy_comp_channel(qp->channel);
        qp->channel = NULL;
    }
}
