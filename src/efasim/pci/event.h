/* SPDX-License-Identifier: BSD-3-Clause */
/* Interrupts, event queues and the queue of asynchronous events. */
#ifndef EFASIM_PCI_EVENT_H
#define EFASIM_PCI_EVENT_H

#include "func.h"

enum {
    PCI_KEEP_ALIVE_NS = 1000000000, /* between two (ours) */
    PCI_BEAT_NS       = 100000000,  /* between tries of an interrupt */
};

/* From now on interrupts from `first` on are these descriptors, which are kept
 * (NULL: none). 0, or -EINVAL: one is no eventfd, and all stays as it is. */
int pci_event_attach(struct pci_func *func, unsigned first, unsigned num,
                     const int *fds);

/* None has one, and none waits. */
void pci_event_clear(struct pci_func *func);

/* Interrupt number `vector`. Where the guest has not set it up, or has not
 * taken so many that it can hold no more, pci_event_beat() gives it later. */
void pci_event_raise(struct pci_func *func, unsigned vector);

/* There are answers in the admin queue: its interrupt, unless that is masked;
 * then later. */
void pci_event_admin(struct pci_func *func);

/* Try again, each PCI_BEAT_NS, what could not be given. */
void pci_event_beat(struct pci_func *func);

/* A completion arrived in an armed CQ: an entry in its event queue. */
void pci_event_completion(struct pci_func *func, struct sim_cq *cq);

/* The driver has seen the queue's entries and wants an interrupt for the
 * next. */
void pci_event_arm(struct pci_func *func, uint32_t number);

/* An asynchronous event, if the driver wants such and has room for it. */
void pci_event_async(struct pci_func *func, unsigned group);

/* Tell the driver from time to time that the device lives. */
void pci_event_keep_alive(struct pci_func *func);

/* The device has broken, and says so. */
void pci_event_fatal(struct pci_func *func);

/* Create and destroy event queues: 0 or -errno. */
int pci_event_queue_create(struct pci_func *func,
                           const struct pci_cmd_create_eq *cmd,
                           uint16_t *number);
int pci_event_queue_destroy(struct pci_func *func, uint16_t number);

#endif
