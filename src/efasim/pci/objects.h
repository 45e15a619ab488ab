/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver's commands, most of which make and end its objects: each is 0 or
 * -errno: -EINVAL (no such object, a field out of range, a queue that is not in
 * the guest's memory), -ENOMEM, -EBUSY, -EOPNOTSUPP; -EAGAIN: not finished yet,
 * call again with the same command.
 */
#ifndef EFASIM_PCI_OBJECTS_H
#define EFASIM_PCI_OBJECTS_H

#include "func.h"

/* Not all of them read their command, or answer more than the status. */
#define PCI_HANDLER(_name) \
    int _name(struct pci_func *func, \
              const struct pci_admin_cmd *cmd __attribute__((unused)), \
              struct pci_admin_resp *resp __attribute__((unused)))

#define PCI_HANDLER_DECLARE(_op, _number, _handler) PCI_HANDLER(_handler);

PCI_OP_LIST(PCI_HANDLER_DECLARE)

/* The PD of this number, or NULL. */
static inline struct sim_pd *pci_object_pd(const struct pci_func *func,
                                           uint16_t number)
{
    return (number < SIM_MAX_PD) ? func->sim->pd[number] : NULL;
}

static inline int pci_object_is_uar(const struct pci_func *func,
                                    uint16_t number)
{
    return (number < PCI_UARS) && func->uar[number];
}

#endif
