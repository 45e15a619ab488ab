/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands that create and destroy the driver's objects. Each returns 0 or
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

PCI_HANDLER(pci_object_pd_alloc);
PCI_HANDLER(pci_object_pd_dealloc);
PCI_HANDLER(pci_object_uar_alloc);
PCI_HANDLER(pci_object_uar_dealloc);
PCI_HANDLER(pci_object_ah_create);
PCI_HANDLER(pci_object_ah_destroy);
PCI_HANDLER(pci_object_mr_register);
PCI_HANDLER(pci_object_mr_deregister);
PCI_HANDLER(pci_object_cq_create);
PCI_HANDLER(pci_object_cq_destroy);

/* Queue pairs are in qp.c. */
PCI_HANDLER(pci_qp_create);
PCI_HANDLER(pci_qp_modify);
PCI_HANDLER(pci_qp_query);
PCI_HANDLER(pci_qp_destroy);

/* Event queues are in event.c. */
PCI_HANDLER(pci_event_queue_create);
PCI_HANDLER(pci_event_queue_destroy);

/* Answers of the device about itself are in feature.c. */
PCI_HANDLER(pci_feature_get);
PCI_HANDLER(pci_feature_set);
PCI_HANDLER(pci_feature_stats);

/* Event counters are in cntr.c. */
PCI_HANDLER(pci_cntr_create);
PCI_HANDLER(pci_cntr_destroy);
PCI_HANDLER(pci_cntr_attach);
PCI_HANDLER(pci_cntr_detach);
PCI_HANDLER(pci_cntr_modify);

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
