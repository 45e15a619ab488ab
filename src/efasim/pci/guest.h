/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guest's memory, as far as the function may reach it: what the machine
 * maps by DMA_MAP. Addresses come from the guest and are not trusted; what lies
 * outside the mapped regions is neither read nor written.
 */
#ifndef EFASIM_PCI_GUEST_H
#define EFASIM_PCI_GUEST_H

#include "region.h"

#include <stddef.h>
#include <stdint.h>

enum { PCI_GUEST_REGIONS = 256 };

struct pci_guest {
    struct pci_region *region[PCI_GUEST_REGIONS];
    unsigned           num;
};

/* Map `size` bytes of a file at guest address `iova`. The descriptor stays the
 * caller's; without one (-1) the range stays out of reach. 0, -EINVAL (empty,
 * wraps, overlaps, not of whole pages, see pci_region_open()), -ENOSPC (too
 * many, or more than PCI_REGION_TOTAL in all), or mmap's error. */
int pci_guest_map(struct pci_guest *guest, uint64_t iova, uint64_t size, int fd,
                  uint64_t offset, int writable);

/* Unmap the regions that lie within the range. A region with queues in it stays
 * mapped here until they are destroyed. 0, or -EINVAL: the range is empty,
 * wraps, or has a part of a region, and nothing is unmapped. */
int pci_guest_unmap(struct pci_guest *guest, uint64_t iova, uint64_t size);

/* Bytes that are mapped. */
uint64_t pci_guest_bytes(const struct pci_guest *guest);

/* Whether a region is lost (region.h). */
int pci_guest_is_lost(const struct pci_guest *guest);

/* Unmap all. */
void pci_guest_clear(struct pci_guest *guest);

/* Copy from or to guest memory, over regions that adjoin. 0, or -EFAULT: not
 * all of it is mapped (so). Part may have been copied. */
int pci_guest_read(const struct pci_guest *guest, uint64_t iova, void *dst,
                   size_t length);
int pci_guest_write(const struct pci_guest *guest, uint64_t iova,
                    const void *src, size_t length);

/* Where the byte at `iova` is; *length is cut to what adjoins there. NULL: not
 * mapped (so). Valid until the next unmapping. */
uint8_t *pci_guest_at(const struct pci_guest *guest, uint64_t iova,
                      size_t *length, int is_write);

/* The same for a whole range of one region, which stays mapped here until
 * pci_guest_release(). NULL: not mapped for writing. */
uint8_t *pci_guest_hold(struct pci_guest *guest, uint64_t iova, size_t length,
                        struct pci_region **region);
void pci_guest_release(struct pci_region *region);

#endif
