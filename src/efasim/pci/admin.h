/* SPDX-License-Identifier: BSD-3-Clause */
/* The admin queue: the kernel driver's commands. */
#ifndef EFASIM_PCI_ADMIN_H
#define EFASIM_PCI_ADMIN_H

#include "func.h"

/* The driver has written commands up to this count: do them, answer, and raise
 * the admin's interrupt. A queue that is not set up, or not in the guest's
 * memory, breaks the device. */
void pci_admin_ring(struct pci_func *func, uint32_t producer);

/* Do one command: an enum pci_admin_status, and what is answered. */
uint8_t pci_admin_run(struct pci_func *func, const struct pci_admin_cmd *cmd,
                      struct pci_admin_resp *resp);

#endif
