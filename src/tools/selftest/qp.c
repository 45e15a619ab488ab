/* SPDX-License-Identifier: BSD-3-Clause */
#include "qp.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

int st_qp_access(const efa_device_t *device)
{
    return IBV_ACCESS_LOCAL_WRITE |
           ((device->caps & EFA_DEVICE_CAP_RDMA_READ) ?
            IBV_ACCESS_REMOTE_READ : 0) |
           ((device->caps & EFA_DEVICE_CAP_RDMA_WRITE) ?
            IBV_ACCESS_REMOTE_WRITE : 0);
}

int st_qp_mem_open(st_mem_t *mem, const efa_device_t *device, size_t size)
{
    int err;

    mem->mr   = NULL;
    mem->size = size;
    mem->base = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mem->base == MAP_FAILED) {
        return errno;
    }
    errno   = 0;
    mem->pd = device->verbs->alloc_pd(device->context);
    if (mem->pd != NULL) {
        mem->mr = device->verbs->reg_mr(mem->pd, mem->base, size,
                                        st_qp_access(device));
        if (mem->mr != NULL) {
            return 0;
        }
    }
    err = (errno != 0) ? errno : EIO;
    if (mem->pd != NULL) {
        device->verbs->dealloc_pd(mem->pd);
    }
    munmap(mem->base, size);
    return err;
}

void st_qp_mem_close(st_mem_t *mem, const efa_device_t *device)
{
    if (mem->mr != NULL) {
        device->verbs->dereg_mr(mem->mr);
        device->verbs->dealloc_pd(mem->pd);
        munmap(mem->base, mem->size);
        mem->mr = NULL;
    }
}

/* Ample: whatever a probe does, its completions have room. */
static unsigned st_qp_entries(const efa_device_t *device,
                              const st_qp_params_t *params, unsigned depth)
{
    return (params->entries != 0) ? params->entries :
                                    efa_at_most(4 * depth, device->max_cqe);
}

int st_qp_open(st_qp_t *qp, const efa_device_t *device, struct ibv_pd *pd,
               const st_qp_params_t *params)
{
    struct ibv_qp_init_attr_ex attr = {
        .pd  = pd,
        .cap = {
            .max_send_wr     = params->sends ? params->sends : 64,
            .max_recv_wr     = params->receives ? params->receives : 64,
            .max_send_sge    = params->send_sge ? params->send_sge : 1,
            .max_recv_sge    = params->receive_sge ? params->receive_sge : 1,
            .max_inline_data = params->inline_bytes
        }
    };
    efa_adv_qp_attr_t srd = {0};
    int err;

    memset(qp, 0, sizeof(*qp));
    qp->device  = device;
    errno       = 0;
    qp->send_cq = device->verbs->create_cq(
            device->context,
            st_qp_entries(device, params, attr.cap.max_send_wr), NULL, NULL, 0);
    qp->recv_cq = device->verbs->create_cq(
            device->context,
            st_qp_entries(device, params, attr.cap.max_recv_wr), NULL,
            params->channel, 0);
    if ((qp->send_cq != NULL) && (qp->recv_cq != NULL)) {
        attr.send_cq = qp->send_cq;
        attr.recv_cq = qp->recv_cq;
        qp->qp       = efa_qp_make(device, &attr, params->ud ? NULL : &srd);
    }
    if (qp->qp == NULL) {
        err = (errno != 0) ? errno : EIO;
    } else {
        qp->qpx = params->ud ? NULL : device->verbs->qp_to_qp_ex(qp->qp);
        err     = efa_qp_start(device, qp->qp,
                               params->qkey ? params->qkey : ST_QKEY,
                               params->ud ? -1 : (int)params->rnr_retry);
    }
    if (err != 0) {
        st_qp_close(qp);
    }
    return err;
}

void st_qp_close(st_qp_t *qp)
{
    if (qp->qp != NULL) {
        qp->device->verbs->destroy_qp(qp->qp);
    }
    if (qp->send_cq != NULL) {
        qp->device->verbs->destroy_cq(qp->send_cq);
    }
    if (qp->recv_cq != NULL) {
        qp->device->verbs->destroy_cq(qp->recv_cq);
    }
    qp->qp      = NULL;
    qp->send_cq = NULL;
    qp->recv_cq = NULL;
}

static struct ibv_sge st_sge(const st_piece_t *piece)
{
    return (struct ibv_sge){
        .addr   = (uintptr_t)piece->mem->base + piece->at,
        .length = piece->length,
        .lkey   = piece->mem->mr->lkey
    };
}

int st_qp_send(st_qp_t *qp, const st_dest_t *dest, const st_piece_t *piece,
               uint64_t id, int inside)
{
    struct ibv_sge sge    = st_sge(piece);
    struct ibv_send_wr wr = {
        .wr_id      = id,
        .sg_list    = &sge,
        .num_sge    = 1,
        .opcode     = IBV_WR_SEND,
        .send_flags = IBV_SEND_SIGNALED | (inside ? IBV_SEND_INLINE : 0),
        .wr.ud      = {.ah = dest->ah, .remote_qpn = dest->qpn,
                       .remote_qkey = dest->qkey}
    };
    struct ibv_send_wr *bad;

    return qp->qp->context->ops.post_send(qp->qp, &wr, &bad);
}

int st_qp_recv(st_qp_t *qp, const st_piece_t *piece, uint64_t id)
{
    struct ibv_sge sge    = st_sge(piece);
    struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad;

    return qp->qp->context->ops.post_recv(qp->qp, &wr, &bad);
}

int st_qp_rdma(st_qp_t *qp, const st_dest_t *dest, const st_piece_t *piece,
               int is_write, uint64_t addr, uint32_t rkey)
{
    struct ibv_sge sge    = st_sge(piece);
    struct ibv_qp_ex *qpx = qp->qpx;

    ibv_wr_start(qpx);
    qpx->wr_id    = 0;
    qpx->wr_flags = IBV_SEND_SIGNALED;
    if (is_write) {
        ibv_wr_rdma_write(qpx, rkey, addr);
    } else {
        ibv_wr_rdma_read(qpx, rkey, addr);
    }
    ibv_wr_set_sge_list(qpx, 1, &sge);
    ibv_wr_set_ud_addr(qpx, dest->ah, dest->qpn, dest->qkey);
    return ibv_wr_complete(qpx);
}

unsigned st_qp_status(const struct ibv_wc *wc)
{
    return (wc->status == IBV_WC_SUCCESS) ?
           0 : (wc->vendor_err != 0) ? wc->vendor_err & 255 : 255;
}
