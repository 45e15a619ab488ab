/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A vfio-user server for one function: the machine (QEMU's vfio-user-pci)
 * connects to a UNIX socket and asks there for what it would ask of the kernel
 * of an assigned PCI device. One machine at a time; when it leaves, the
 * function is reset and waits for the next.
 *
 * Neither the guest is trusted nor the machine: a message that is not one is
 * refused, or ends that connection; one that does not end makes nobody else
 * wait.
 */
#ifndef EFASIM_PCI_SERVER_H
#define EFASIM_PCI_SERVER_H

#include "bars.h"
#include "channel.h"

#include <poll.h>

struct pci_server {
    struct pci_func *func;
    const char      *path;
    int              listen_fd;
    uint8_t          config[PCI_CONFIG_BYTES];
    struct pci_channel channel;  /* of the machine */
};

/* Listen on a socket at `path`, which is made anew. 0 or -errno; -EEXIST: there
 * is something else than a socket. */
int pci_server_open(struct pci_server *server, struct pci_func *func,
                    const char *path);
void pci_server_close(struct pci_server *server);

/* Fill in the descriptor and the events that the server waits for. */
void pci_server_wait(const struct pci_server *server, struct pollfd *wait);

/* It is there: a machine connects, asks one thing, takes an answer, leaves. */
void pci_server_serve(struct pci_server *server);

#endif
