/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A vfio-user server for one function: the machine (QEMU's vfio-user-pci)
 * connects to a UNIX socket and asks there for what it would ask of the kernel
 * of an assigned PCI device. One machine at a time; when it leaves, the
 * function is reset and waits for the next.
 *
 * The machine is trusted to speak the protocol (a message that it does not end
 * stops the server until it does); what the guest does through it is not.
 */
#ifndef EFASIM_PCI_SERVER_H
#define EFASIM_PCI_SERVER_H

#include "bars.h"

struct pci_server {
    struct pci_func *func;
    const char      *path;
    int              listen_fd;
    int              fd;         /* of the machine; -1: none */
    uint8_t          config[PCI_CONFIG_BYTES];
};

/* Listen on a socket at `path`, which is made anew. 0 or -errno. */
int pci_server_open(struct pci_server *server, struct pci_func *func,
                    const char *path);
void pci_server_close(struct pci_server *server);

/* The descriptor to wait on. */
int pci_server_fd(const struct pci_server *server);

/* It is readable: a machine connects, asks one thing, or leaves. */
void pci_server_serve(struct pci_server *server);

#endif
