/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A machine's memory: files of the machine, mapped here. If a file is truncated
 * while it is mapped, or its file system is full, an access raises SIGBUS. The
 * handler replaces the whole region by zeros, marks it as lost, and the process
 * goes on.
 */
#ifndef EFASIM_PCI_REGION_H
#define EFASIM_PCI_REGION_H

#include <stddef.h>
#include <stdint.h>

#define PCI_REGION_TOTAL (1ull << 40) /* bytes of a machine, at most (ours) */

struct pci_guest;

struct pci_region {
    struct pci_region     *next;     /* in the list of all regions */
    struct pci_guest      *guest;
    uint64_t               iova, size;
    uint8_t               *ptr;
    uint8_t               *map;      /* the mapping, of whole pages */
    size_t                 map_size;
    unsigned               refs;     /* queues in it, plus 1 while the guest
                                        has it mapped */
    uint8_t                writable;
    volatile uint8_t       lost;
};

/* Install the handler of SIGBUS; to be called before pci_region_open(). */
void pci_region_catch(void);

/* Map region->size bytes of the file from `offset` on. 0; -EINVAL: the file is
 * too short, or not on tmpfs or huge pages; or mmap's error. */
int pci_region_open(struct pci_region *region, int fd, uint64_t offset);
void pci_region_close(struct pci_region *region);

#endif
