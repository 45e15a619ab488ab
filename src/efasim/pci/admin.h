/* SPDX-License-Identifier: BSD-3-Clause */
/* The admin queue: the kernel driver's commands. */
#ifndef EFASIM_PCI_ADMIN_H
#define EFASIM_PCI_ADMIN_H

#include "func.h"

enum {
    PCI_ADMIN_NS = 200000, /* time for one guest's commands in a turn */
    PCI_ST_AGAIN = 0xff,   /* not a status: the command is not finished yet */
};

/* The driver rings the doorbell: commands up to this producer count are there.
 * A ring for a queue that is not set up breaks the device. */
void pci_admin_ring(struct pci_func *func, uint32_t producer);

/* Execute some commands, write the answers, and raise the admin interrupt.
 * Returns the number of steps done. A queue that is not in the guest's memory
 * breaks the device. */
unsigned pci_admin_progress(struct pci_func *func);

/* Whether commands wait to be executed. */
int pci_admin_is_busy(const struct pci_func *func);

/* Execute one command, or a part of a long one. Returns an enum
 * pci_admin_status and fills in `resp`; PCI_ST_AGAIN: call again. */
uint8_t pci_admin_run(struct pci_func *func, const struct pci_admin_cmd *cmd,
                      struct pci_admin_resp *resp);

#endif
