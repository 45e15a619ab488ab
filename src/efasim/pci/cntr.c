/* SPDX-License-Identifier: BSD-3-Clause */
/* Event counters: the driver makes a completion counter of two. */
#include "objects.h"

#include <errno.h>

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

PCI_HANDLER(pci_cntr_create)
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

PCI_HANDLER(pci_cntr_destroy)
{
    struct sim_cntr *cntr = cntr_of(func, cmd->handle.handle);

    return (cntr == NULL) ? -EINVAL : sim_cntr_destroy(cntr);
}

PCI_HANDLER(pci_cntr_attach)
{
    struct sim_cntr *cntr = cntr_of(func, cmd->attach_cntr.handle);
    struct sim_qp *qp     = cntr_qp(func, &cmd->attach_cntr);

    return ((cntr == NULL) || (qp == NULL)) ? -EINVAL :
           sim_cntr_attach(qp, cntr, cmd->attach_cntr.events);
}

PCI_HANDLER(pci_cntr_detach)
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

PCI_HANDLER(pci_cntr_modify)
{
    const struct pci_cmd_modify_cntr *req = &cmd->modify_cntr;
    struct sim_cntr *cntr                 = cntr_of(func, req->handle);

    if ((cntr == NULL) || (req->op > 1)) {
        return -EINVAL;
    }
    sim_cntr_set(cntr, req->value + (req->op ? cntr->value : 0));
    return 0;
}
