/* SPDX-License-Identifier: BSD-3-Clause */
/* Interrupts, event queues (objects.h) and the queue of asynchronous events. */
#ifndef EFASIM_PCI_EVENT_H
#define EFASIM_PCI_EVENT_H

#include "func.h"

enum {
    PCI_KEEP_ALIVE_NS = 1000000000, /* between two keep-alive events (ours) */
    PCI_BEAT_NS       = 100000000,  /* until an interrupt is tried again */
};

/* Take over `fds` as the eventfds of `num` interrupts, from `first` on (NULL:
 * remove theirs). 0, or -EINVAL: a descriptor is not an eventfd, and nothing is
 * changed. */
int pci_event_attach(struct pci_func *func, unsigned first, unsigned num,
                     const int *fds);

/* Remove all eventfds and all interrupts that wait. */
void pci_event_clear(struct pci_func *func);

/* Raise interrupt number `vector`. If it has no eventfd, or a full one,
 * pci_event_beat() raises it later. */
void pci_event_raise(struct pci_func *func, unsigned vector);

/* Raise the admin interrupt, as there are answers; while the interrupt is
 * masked it waits. */
void pci_event_admin(struct pci_func *func);

/* Raise, at most once per PCI_BEAT_NS, the interrupts that wait. */
void pci_event_beat(struct pci_func *func);

/* A completion arrived in an armed CQ: write an entry to its event queue. */
void pci_event_completion(struct pci_func *func, struct sim_cq *cq);

/* The driver arms event queue `number`: it has seen all entries, and wants an
 * interrupt for the next one. */
void pci_event_arm(struct pci_func *func, uint32_t number);

/* Report an asynchronous event, if the driver has enabled its group and the
 * queue has room. */
void pci_event_async(struct pci_func *func, unsigned group);

/* Send the driver a keep-alive event when one is due. */
void pci_event_keep_alive(struct pci_func *func);

/* Put the device in the fatal state, and tell the driver. */
void pci_event_fatal(struct pci_func *func);

#endif
