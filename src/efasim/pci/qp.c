/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs. A handle is the place of its send queue in BAR 2. */
#include "objects.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum {
    QP_TYPE_UD         = 1,
    QP_TYPE_SRD        = 2,
    QP_FLAG_UNSOLICITED = 4,
    QP_FLAG_REQ_ID_64  = 8,
};

/* A free handle, as long unused as possible: a process may still have the
 * memory mapped whose queue pair is gone. */
static int qp_handle(struct pci_func *func)
{
    unsigned i, handle;

    for (i = 0; i < SIM_MAX_QP; ++i) {
        handle = (func->qp_next + i) % SIM_MAX_QP;
        if (func->qp[handle].qp == NULL) {
            func->qp_next = handle + 1;
            return handle;
        }
    }
    return -1;
}

static int qp_is_pow2_or_0(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

static int qp_check(const struct pci_func *func,
                    const struct pci_cmd_create_qp *req)
{
    uint32_t caps     = sim_profile_caps(func->sim), known = 0;
    uint32_t sq_depth = req->sq_bytes /
                        sim_qp_stride(func->sim->profile, req->sq_bytes,
                                      req->sq_depth);
    uint32_t rq_depth = req->rq_bytes / sizeof(struct io_rx_desc);

    known |= (caps & SIM_CAP_UNSOLICITED_WRITE) ? QP_FLAG_UNSOLICITED : 0;
    known |= (caps & SIM_CAP_REQ_ID_64) ? QP_FLAG_REQ_ID_64 : 0;
    return (((req->type != QP_TYPE_UD) && (req->type != QP_TYPE_SRD)) ||
            (req->flags & ~known) || (req->sq_bytes > PCI_LLQ_BYTES) ||
            (rq_depth > SIM_MAX_RQ_WR) || !qp_is_pow2_or_0(sq_depth) ||
            !qp_is_pow2_or_0(rq_depth) || (req->sq_depth > sq_depth) ||
            (req->rq_base & (sizeof(struct io_rx_desc) - 1)) ||
            (req->send_cq >= SIM_MAX_CQ) || (req->recv_cq >= SIM_MAX_CQ) ||
            (func->cq[req->send_cq].cq == NULL) ||
            (func->cq[req->recv_cq].cq == NULL) ||
            (pci_object_pd(func, req->pd) == NULL) ||
            !pci_object_is_uar(func, req->uar)) ? -EINVAL : 0;
}

static void qp_answer(const struct pci_func *func, unsigned handle,
                      struct pci_resp_create_qp *resp)
{
    uint32_t page = func->qp[handle].uar * PCI_PAGE;

    resp->handle      = handle;
    resp->number      = func->qp[handle].qp->qpn;
    resp->recv_sub_cq = sim_profile_sub_cqs(func->sim) - 1;
    resp->sq_db       = page + PCI_DB_SQ + 4 * handle;
    resp->rq_db       = page + PCI_DB_RQ + 4 * handle;
    resp->llq         = handle * PCI_LLQ_BYTES;
}

PCI_HANDLER(pci_qp_create)
{
    struct pci_cmd_create_qp req = cmd->create_qp;
    struct pci_resp_create_qp out = { 0 };
    struct sim_qp_attr attr      = { 0 };
    struct pci_region *rq        = NULL;
    struct pci_qp *entry;
    int handle, ret;

    ret    = qp_check(func, &req);
    handle = (ret == 0) ? qp_handle(func) : -1;
    if (handle < 0) {
        return ret ? ret : -ENOMEM;
    }

    entry            = &func->qp[handle];
    attr.pd          = pci_object_pd(func, req.pd);
    attr.send_cq     = func->cq[req.send_cq].cq;
    attr.recv_cq     = func->cq[req.recv_cq].cq;
    attr.sq_stride   = sim_qp_stride(func->sim->profile, req.sq_bytes,
                                     req.sq_depth);
    attr.sq_depth    = req.sq_bytes / attr.sq_stride;
    attr.rq_depth    = req.rq_bytes / sizeof(struct io_rx_desc);
    attr.sq_ring     = func->llq + (size_t)handle * PCI_LLQ_BYTES;
    attr.sq_db       = &entry->sq_db;
    attr.rq_db       = &entry->rq_db;
    attr.ud          = (req.type == QP_TYPE_UD);
    attr.unsolicited = !!(req.flags & QP_FLAG_UNSOLICITED);
    attr.req_id_64   = !!(req.flags & QP_FLAG_REQ_ID_64);
    if (attr.rq_depth > 0) {
        attr.rq_ring = pci_guest_hold(&func->guest, req.rq_base,
                                      (size_t)attr.rq_depth *
                                              sizeof(struct io_rx_desc), &rq);
        if (attr.rq_ring == NULL) {
            return -EINVAL;
        }
    }

    entry->sq_db = 0;
    entry->rq_db = 0;
    ret          = sim_qp_create(func->sim, &attr, &entry->qp);
    if (ret != 0) {
        pci_guest_release(rq);
        return ret;
    }

    entry->rq  = rq;
    entry->uar = req.uar;
    qp_answer(func, handle, &out);
    resp->create_qp = out;
    return 0;
}

static struct pci_qp *qp_get(struct pci_func *func, uint32_t handle)
{
    return ((handle < SIM_MAX_QP) && (func->qp[handle].qp != NULL)) ?
           &func->qp[handle] : NULL;
}

PCI_HANDLER(pci_qp_modify)
{
    static const struct { uint32_t bit, attr; } masks[] = {
        { PCI_QPM_STATE,     SIM_QPA_STATE },
        { PCI_QPM_CUR_STATE, SIM_QPA_CUR_STATE },
        { PCI_QPM_QKEY,      SIM_QPA_QKEY },
        { PCI_QPM_SQ_PSN,    SIM_QPA_SQ_PSN },
        { PCI_QPM_RNR_RETRY, SIM_QPA_RNR_RETRY },
    };
    const struct pci_cmd_modify_qp *req = &cmd->modify_qp;
    struct pci_qp *entry                = qp_get(func, req->handle);
    struct sim_qp_mod mod = {
        .state     = req->state,
        .cur_state = req->cur_state,
        .qkey      = req->qkey,
        .sq_psn    = req->sq_psn,
        .rnr_retry = req->rnr_retry,
    };
    unsigned i;

    for (i = 0; i < sizeof(masks) / sizeof(masks[0]); ++i) {
        mod.mask |= (req->mask & masks[i].bit) ? masks[i].attr : 0;
    }
    return (entry == NULL) ? -EINVAL : sim_qp_modify(entry->qp, &mod);
}

PCI_HANDLER(pci_qp_query)
{
    const struct pci_qp *entry = qp_get(func, cmd->handle.handle);

    if (entry == NULL) {
        return -EINVAL;
    }

    resp->query_qp = (struct pci_resp_query_qp){
        .state     = entry->qp->state,
        .qkey      = entry->qp->qkey,
        .sq_psn    = entry->qp->sq_psn,
        .rnr_retry = entry->qp->rnr_retry,
    };
    return 0;
}

PCI_HANDLER(pci_qp_destroy)
{
    uint32_t handle      = cmd->handle.handle;
    struct pci_qp *entry = qp_get(func, handle);

    if (entry == NULL) {
        return -EINVAL;
    }

    sim_qp_destroy(entry->qp);
    pci_guest_release(entry->rq);
    memset((void*)entry, 0, sizeof(*entry));
    /* the next process finds zeros there */
    if (fallocate(func->llq_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  (off_t)handle * PCI_LLQ_BYTES, PCI_LLQ_BYTES) != 0) {
        memset(func->llq + (size_t)handle * PCI_LLQ_BYTES, 0, PCI_LLQ_BYTES);
    }
    return 0;
}
