/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors that a machine sent and that are not taken. close() may wait for
 * as long as their maker likes (a socket that lingers, a file system that the
 * machine serves itself), so a thread of each function does it.
 */
#ifndef EFASIM_PCI_CLOSER_H
#define EFASIM_PCI_CLOSER_H

/* No more is received from a machine while so many of its are to be closed */
enum { PCI_CLOSER_MOST = 64 };

struct pci_closer {
    int              queue;  /* to the thread, which starts with the first */
    _Atomic unsigned left;   /* descriptors to be closed */
};

/* Have a descriptor closed. Without memory for a thread it is closed now. */
void pci_closer_add(struct pci_closer *closer, int fd);

/* Whether the machine has to wait until some are closed. */
static inline int pci_closer_is_full(const struct pci_closer *closer)
{
    return closer->left > PCI_CLOSER_MOST;
}

#endif
