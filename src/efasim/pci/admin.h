/* SPDX-License-Identifier: BSD-3-Clause */
/* The admin queue: the kernel driver's commands. */
#ifndef EFASIM_PCI_ADMIN_H
#define EFASIM_PCI_ADMIN_H

#include "func.h"

enum {
    PCI_ADMIN_NS = 200000, /* of one guest's commands; then others' turn */
    PCI_ST_AGAIN = 0xff,   /* no status: the command is not yet done */
};

/* The driver has written commands up to this count. A queue that is not set up
 * breaks the device. */
void pci_admin_ring(struct pci_func *func, uint32_t producer);

/* Do some of them, answer, and raise the admin's interrupt. The number of
 * things done. A queue that is not in the guest's memory breaks the device. */
unsigned pci_admin_progress(struct pci_func *func);

/* Whether there are some. */
int pci_admin_is_busy(const struct pci_func *func);

/* Do one command: an enum pci_admin_status, and what is answered; PCI_ST_AGAIN:
 * only a part of it. */
uint8_t pci_admin_run(struct pci_func *func, const struct pci_admin_cmd *cmd,
                      struct pci_admin_resp *resp);

#endif
