/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines about a function, to standard error: a guest that makes the device say
 * much fills no disk. */
#ifndef EFASIM_PCI_LOG_H
#define EFASIM_PCI_LOG_H

#include "func.h"

enum { PCI_LOG_LINES = 10 }; /* of a function, in a second */

/* A line; what is too many is only counted. */
void pci_log(struct pci_func *func, const char *line);

/* When the second is over: say how many were not. */
void pci_log_flush(struct pci_func *func);

#endif
