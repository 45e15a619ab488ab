/* SPDX-License-Identifier: BSD-3-Clause */
#include "objects.h"

#include <errno.h>
#include <string.h>

#define OBJECT_CQ_EVENTS   0x20 /* pci_cmd_create_cq.caps1 */
#define OBJECT_CQ_VIRTUAL  0x40
#define OBJECT_CQ_SRC_ADDR 0x20 /* pci_cmd_create_cq.caps2 */
#define OBJECT_CQ_HAS_DB   1u

PCI_HANDLER(pci_object_pd_alloc)
{
    struct sim_pd *pd;
    int ret = sim_pd_create(func->sim, &pd);

    if (ret == 0) {
        resp->number.number = pd->index;
    }
    return ret;
}

PCI_HANDLER(pci_object_pd_dealloc)
{
    struct sim_pd *pd = pci_object_pd(func, cmd->number.number);

    return (pd == NULL) ? -EINVAL : sim_pd_destroy(func->sim, pd);
}

PCI_HANDLER(pci_object_uar_alloc)
{
    unsigned i;

    for (i = 0; (i < PCI_UARS) && func->uar[i]; ++i) {
    }
    if (i == PCI_UARS) {
        return -ENOMEM;
    }

    func->uar[i]        = 1;
    resp->number.number = i;
    return 0;
}

PCI_HANDLER(pci_object_uar_dealloc)
{
    if (!pci_object_is_uar(func, cmd->number.number)) {
        return -EINVAL;
    }

    func->uar[cmd->number.number] = 0;
    return 0;
}

PCI_HANDLER(pci_object_ah_create)
{
    struct sim_pd *pd = pci_object_pd(func, cmd->create_ah.pd);

    return (pd == NULL) ? -EINVAL :
           sim_ah_create(func->sim, pd, cmd->create_ah.gid,
                         &resp->number.number);
}

PCI_HANDLER(pci_object_ah_destroy)
{
    uint16_t number   = cmd->destroy_ah.ah;
    struct sim_pd *pd = pci_object_pd(func, cmd->destroy_ah.pd);

    return ((pd == NULL) || (number >= func->knobs.max_ah) ||
            ((func->sim->ah[number].pd != NULL) &&
             (func->sim->ah[number].pd != pd))) ?
           -EINVAL : sim_ah_destroy(func->sim, number);
}

/* A number for a registration, under which the engine's address finds its
 * pages; -1: none is free. */
static int object_mr_number(const struct pci_func *func)
{
    unsigned i;

    for (i = 0; i < SIM_MAX_MR; ++i) {
        if (func->mr[i] == NULL) {
            return i;
        }
    }
    return -1;
}

PCI_HANDLER(pci_object_mr_register)
{
    struct sim_pd *pd       = pci_object_pd(func, cmd->reg_mr.pd);
    struct sim_mr_attr attr = { .length = cmd->reg_mr.length,
                                .iova   = cmd->reg_mr.iova,
                                .access = cmd->reg_mr.access,
                                .page_shift = cmd->reg_mr.flags & PCI_MR_PAGE };
    struct pci_mr *mr;
    int number, ret;

    if (pd == NULL) {
        return -EINVAL;
    }
    number = object_mr_number(func);
    if (number < 0) {
        return -ENOMEM;
    }
    attr.addr = (uint64_t)number << PCI_MR_SHIFT;
    ret       = sim_mr_check(func->sim, &attr);
    if (ret != 0) {
        return ret;
    }

    if (func->reader == NULL) { /* else it has begun */
        ret = pci_mr_open(&func->guest, cmd, PCI_MR_RUNS - func->mr_runs,
                          &func->reader);
        if (ret != 0) {
            return ret;
        }
    }
    ret = pci_mr_read(func->reader);
    if (ret == -EAGAIN) {
        return ret;
    }
    mr           = pci_mr_take(func->reader);
    func->reader = NULL;
    if (ret != 0) {
        pci_mr_close(mr);
        return ret;
    }
    ret = sim_mr_register(func->sim, pd, &attr);
    if (ret != 0) {
        pci_mr_close(mr);
        return ret;
    }

    func->mr[number]   = mr;
    func->mr_runs     += mr->num;
    resp->reg_mr.lkey  = attr.key;
    resp->reg_mr.rkey  = attr.key;
    if (func->knobs.ic_id != 0) {
        resp->reg_mr.validity     = 7;
        resp->reg_mr.recv_ic      = func->knobs.ic_id;
        resp->reg_mr.read_ic      = func->knobs.ic_id;
        resp->reg_mr.rdma_recv_ic = func->knobs.ic_id;
    }
    return 0;
}

PCI_HANDLER(pci_object_mr_deregister)
{
    uint64_t addr;
    uint32_t number;
    int ret;

    ret = sim_mr_deregister_key(func->sim, cmd->handle.handle, &addr);
    if (ret != 0) {
        return ret;
    }

    number         = addr >> PCI_MR_SHIFT;
    func->mr_runs -= func->mr[number]->num;
    pci_mr_close(func->mr[number]);
    func->mr[number] = NULL;
    return 0;
}

/* Checks of the driver, repeated, as the guest may have no such driver. */
static int object_cq_check(const struct pci_func *func,
                           const struct pci_cmd_create_cq *cmd)
{
    unsigned words = cmd->caps2 & 0x1f;

    if ((cmd->caps1 & OBJECT_CQ_VIRTUAL) ||
        ((words != IO_CQE_SMALL / 4) && (words != IO_CQE_LARGE / 4)) ||
        ((cmd->caps2 & OBJECT_CQ_SRC_ADDR) && (words != IO_CQE_LARGE / 4)) ||
        (cmd->subs != sim_profile_sub_cqs(func->sim)) ||
        (cmd->depth > func->knobs.max_cqe) || (cmd->base_lo & 7) ||
        !pci_object_is_uar(func, cmd->uar)) {
        return -EINVAL;
    }
    return ((cmd->caps1 & OBJECT_CQ_EVENTS) &&
            ((cmd->eq >= PCI_EQS) || (func->eq[cmd->eq].region == NULL))) ?
           -EINVAL : 0;
}

PCI_HANDLER(pci_object_cq_create)
{
    const struct pci_cmd_create_cq *req = &cmd->create_cq;
    uint16_t size = (req->caps2 & 0x1f) * 4;
    struct pci_region *region;
    struct pci_cq *entry;
    struct sim_cq *cq;
    uint8_t *buf;
    int ret;

    ret = object_cq_check(func, req);
    if (ret != 0) {
        return ret;
    }
    buf = pci_guest_hold(&func->guest,
                         io_addr(req->base_lo, req->base_hi),
                         (size_t)req->depth * size * req->subs, &region);
    if (buf == NULL) {
        return -EINVAL;
    }
    ret = sim_cq_create(func->sim, req->depth, size, buf, NULL, &cq);
    if (ret != 0) {
        pci_guest_release(region);
        return ret;
    }

    entry         = &func->cq[cq->index];
    entry->cq     = cq;
    entry->region = region;
    entry->uar    = req->uar;
    entry->eq     = (req->caps1 & OBJECT_CQ_EVENTS) ? req->eq : -1;
    entry->db     = 0;
    cq->db        = &entry->db;
    cq->blind     = 1;
    cq->user      = entry;
    cq->with_sgid = !!(req->caps2 & OBJECT_CQ_SRC_ADDR);
    resp->create_cq.number = cq->index;
    resp->create_cq.depth  = req->depth;
    resp->create_cq.db     = req->uar * PCI_PAGE + PCI_DB_CQ + 4 * cq->index;
    resp->create_cq.flags  = OBJECT_CQ_HAS_DB;
    return 0;
}

PCI_HANDLER(pci_object_cq_destroy)
{
    uint16_t number = cmd->number.number;
    struct pci_cq *entry;
    int ret;

    if ((number >= SIM_MAX_CQ) || (func->cq[number].cq == NULL)) {
        return -EINVAL;
    }

    entry = &func->cq[number];
    ret   = sim_cq_destroy(entry->cq);
    if (ret == 0) {
        pci_guest_release(entry->region);
        memset((void*)entry, 0, sizeof(*entry));
    }
    return ret;
}

/* Event counters: the driver makes a completion counter of two. */
static struct sim_cntr *cntr_of(const struct pci_func *func, uint32_t handle)
{
    return (handle < SIM_MAX_CNTR) ? func->sim->cntr[handle] : NULL;
}

static struct sim_qp *cntr_qp(const struct pci_func *func,
                              const struct pci_cmd_attach_cntr *req)
{
    return ((req->type == 0) && (req->qp < SIM_MAX_QP)) ?
           func->qp[req->qp].qp : NULL;
}

PCI_HANDLER(pci_object_cntr_create)
{
    uint64_t addr = cmd->create_cntr.addr;
    size_t length = sizeof(uint64_t);
    struct sim_cntr *cntr;
    int ret;

    if (!(sim_profile_caps(func->sim) & SIM_CAP_COMP_CNTR)) {
        return -EOPNOTSUPP;
    }
    if ((addr & (PCI_ADDR_GUEST | 7)) ||
        !pci_object_is_uar(func, cmd->create_cntr.uar) ||
        (pci_guest_at(&func->guest, addr, &length, 1) == NULL)) {
        return -EINVAL;
    }
    ret = sim_cntr_create(func->sim, addr | PCI_ADDR_GUEST, &cntr);
    if (ret == 0) {
        resp->word[0] = cntr->index;
    }
    return ret;
}

PCI_HANDLER(pci_object_cntr_destroy)
{
    struct sim_cntr *cntr = cntr_of(func, cmd->handle.handle);

    return (cntr == NULL) ? -EINVAL : sim_cntr_destroy(cntr);
}

PCI_HANDLER(pci_object_cntr_attach)
{
    struct sim_cntr *cntr = cntr_of(func, cmd->attach_cntr.handle);
    struct sim_qp *qp     = cntr_qp(func, &cmd->attach_cntr);

    return ((cntr == NULL) || (qp == NULL)) ? -EINVAL :
           sim_cntr_attach(qp, cntr, cmd->attach_cntr.events);
}

PCI_HANDLER(pci_object_cntr_detach)
{
    struct sim_cntr *cntr = cntr_of(func, cmd->attach_cntr.handle);
    struct sim_qp *qp     = cntr_qp(func, &cmd->attach_cntr);
    uint32_t events       = cmd->attach_cntr.events;

    if ((cntr == NULL) || (qp == NULL) ||
        (events & ~sim_cntr_attached(qp, cntr))) {
        return -EINVAL;
    }
    sim_cntr_detach(qp, events);
    return 0;
}

PCI_HANDLER(pci_object_cntr_modify)
{
    const struct pci_cmd_modify_cntr *req = &cmd->modify_cntr;
    struct sim_cntr *cntr                 = cntr_of(func, req->handle);

    if ((cntr == NULL) || (req->op > 1)) {
        return -EINVAL;
    }
    sim_cntr_set(cntr, req->value + (req->op ? cntr->value : 0));
    return 0;
}
