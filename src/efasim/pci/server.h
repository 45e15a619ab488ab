/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A vfio-user server for one function. The machine (QEMU's vfio-user-pci)
 * connects to a UNIX socket and sends the requests there that it would send to
 * the kernel's VFIO for an assigned PCI device. One machine at a time; when it
 * disconnects, the function is reset and waits for the next.
 *
 * Neither the guest nor the machine is trusted: a malformed message is refused,
 * or ends the connection; an incomplete one does not block other functions.
 */
#ifndef EFASIM_PCI_SERVER_H
#define EFASIM_PCI_SERVER_H

#include "bars.h"
#include "channel.h"

#include <poll.h>

struct pci_server {
    struct pci_func *func;
    int              folder;    /* of the socket */
    const char      *name;      /* in there */
    int              listen_fd;
    uint8_t          config[PCI_CONFIG_BYTES];
    struct pci_channel channel;  /* the connection */
};

/* Listen on a new socket at `path`; an old one is removed. 0 or -errno;
 * -EEXIST: there is a file that is not a socket; -EPERM: another user's link is
 * on the way. The path's text stays the caller's, until the close. */
int pci_server_open(struct pci_server *server, struct pci_func *func,
                    const char *path);
void pci_server_close(struct pci_server *server);

/* Fill in the descriptor and the events that the server waits for. */
void pci_server_wait(const struct pci_server *server, struct pollfd *wait);

/* Handle such an event: a machine connects or disconnects, sends a request, or
 * has room for an answer. */
void pci_server_serve(struct pci_server *server);

#endif
