/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fabric that connects all functions of this process, whichever guests use
 * them: the engine's directory and the rings between functions, in private
 * memory. Function N is device 0 of host N.
 */
#ifndef EFASIM_PCI_WORLD_H
#define EFASIM_PCI_WORLD_H

#include "efasim/engine/dir.h"
#include "efasim/engine/env_ops.h"

#include <stdint.h>

struct pci_func;
struct pci_link;

struct pci_world {
    struct dir      *dir;
    struct pci_func *func[SIM_HOSTS];
    struct pci_link *links;
    int              trace_fd;  /* open for appending; -1: no trace */
    int              is_cut;    /* the trace: not all could be written */
};

/* The engine's table of functions for its environment; `env` is the struct
 * pci_func. */
extern const struct sim_env_ops pci_world_ops;

/* 0 or -errno. */
int pci_world_open(struct pci_world *world);
void pci_world_close(struct pci_world *world);

/* Take the directory's slot of a function before its device is opened. Returns
 * the owner's number. */
uint32_t pci_world_attach(struct pci_world *world, unsigned index);

/* Give back the slot, after its device has been closed. */
void pci_world_leave(struct pci_world *world, unsigned index);

#endif
