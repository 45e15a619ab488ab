/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages about a function, to standard error, limited in number: a guest that
 * provokes many must not fill a disk. */
#ifndef EFASIM_PCI_LOG_H
#define EFASIM_PCI_LOG_H

#include "func.h"

enum { PCI_LOG_LINES = 10 }; /* per function and second, at most */

/* Print a line; beyond the limit, only count it. */
void pci_log(struct pci_func *func, const char *line);

/* After the end of the second: print how many lines were left out. */
void pci_log_flush(struct pci_func *func);

#endif
