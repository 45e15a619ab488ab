/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The connection to a machine (QEMU). No call here blocks: messages are
 * received and answers are sent in pieces. The next message is read only after
 * the last answer has been sent.
 */
#ifndef EFASIM_PCI_CHANNEL_H
#define EFASIM_PCI_CHANNEL_H

#include "message.h"

/* No more is received from a machine while so many of its are to be closed */
enum { PCI_CLOSER_MOST = 64 };

/*
 * Descriptors that a machine sent and that are not taken. close() may wait for
 * as long as their maker likes (a socket that lingers, a file system that the
 * machine serves itself), so a thread of each function does it.
 */
struct pci_closer {
    int              queue;  /* to the thread, which starts with the first */
    _Atomic unsigned left;   /* descriptors to be closed */
};

struct pci_channel {
    int               fd;       /* non-blocking; -1: no connection */
    uint32_t          got;      /* bytes received of the message */
    uint32_t          to_send;  /* bytes of the answer; 0: there is none */
    uint32_t          sent;     /* bytes of it that are sent */
    uint8_t           spilled;  /* more descriptors came than are allowed */
    struct pci_closer closer;   /* also of the connections before */
    struct server_msg msg;
};

/* Take over a new connection. */
void pci_channel_open(struct pci_channel *channel, int fd);

/* Close the connection, and received descriptors that were not taken. */
void pci_channel_close(struct pci_channel *channel);

/* Receive. 1: channel->msg is complete; 0: not yet; -1: the machine has
 * disconnected, or violates the protocol. */
int pci_channel_receive(struct pci_channel *channel);

/* Answer the message: close its descriptors that were not taken, and send
 * channel->msg with `err` (0 or -errno), unless the machine wants no answer. 0,
 * or -1: the machine has disconnected. */
int pci_channel_answer(struct pci_channel *channel, int err);

/* Send more of the answer. 0, or -1: the machine has disconnected. */
int pci_channel_send(struct pci_channel *channel);

/* Whether the machine has to wait until some descriptors are closed. */
static inline int pci_channel_is_full(const struct pci_channel *channel)
{
    return channel->closer.left > PCI_CLOSER_MOST;
}

#endif
