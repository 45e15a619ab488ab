/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of a machine's memory, mapped here. A file may be made shorter while it
 * is mapped, or its file system may be full: what is touched there raises
 * SIGBUS. Then zeros take the place of the whole region, it is marked as lost,
 * and the process goes on.
 */
#ifndef EFASIM_PCI_REGION_H
#define EFASIM_PCI_REGION_H

#include <stddef.h>
#include <stdint.h>

#define PCI_REGION_TOTAL (1ull << 40) /* bytes of a machine, at most (ours) */

struct pci_region {
    struct pci_region     *next;     /* of all that are mapped */
    uint64_t               iova, size;
    uint8_t               *ptr;
    uint8_t               *map;      /* of whole pages of the file */
    size_t                 map_size;
    unsigned               refs;     /* queues that lie in it, and one while it
                                        is mapped */
    uint8_t                writable;
    volatile uint8_t       lost;
};

/* Answer SIGBUS as above; before the first region. */
void pci_region_catch(void);

/* Map `size` bytes of the file from `offset` on. 0, -EINVAL (not a file of
 * memory: tmpfs, ramfs or huge pages; or it is shorter), or mmap's error. */
int pci_region_open(struct pci_region *region, int fd, uint64_t offset);
void pci_region_close(struct pci_region *region);

#endif
