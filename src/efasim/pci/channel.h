/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A machine's connection. Nothing here waits for it: a message comes in pieces,
 * and goes in pieces. While an answer has not gone, no other message is taken.
 */
#ifndef EFASIM_PCI_CHANNEL_H
#define EFASIM_PCI_CHANNEL_H

#include "message.h"

struct pci_channel {
    int               fd;       /* not blocking; -1: none */
    uint32_t          got;      /* bytes of the message that comes */
    uint32_t          to_send;  /* of the answer, 0: none is under way */
    uint32_t          sent;
    uint8_t           spilled;  /* more descriptors came than are allowed */
    struct server_msg msg;
};

/* Begin with a connection, which is the channel's from now on. */
void pci_channel_open(struct pci_channel *channel, int fd);

/* Close it, and the descriptors that came and nobody took. */
void pci_channel_close(struct pci_channel *channel);

/* Take what has come. 1: channel->msg is whole; 0: not yet; -1: the machine has
 * left, or does not speak the protocol. */
int pci_channel_receive(struct pci_channel *channel);

/* The message has been dealt with: its descriptors that nobody took are closed,
 * and channel->msg is sent as the answer (err: 0 or -errno), unless none is
 * wanted. 0, or -1: the machine has left. */
int pci_channel_answer(struct pci_channel *channel, int err);

/* Send on. 0, or -1 (so). */
int pci_channel_send(struct pci_channel *channel);

#endif
