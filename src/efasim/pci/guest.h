/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guest memory that the function may access: the regions that the machine
 * maps by DMA_MAP. Addresses come from the guest and are not trusted: memory
 * outside these regions is neither read nor written.
 *
 * A region is of a file of the machine, mapped here. If the file is truncated
 * while it is mapped, or its file system is full, an access raises SIGBUS. The
 * handler replaces the whole region by zeros, marks it as lost, and the process
 * goes on.
 */
#ifndef EFASIM_PCI_GUEST_H
#define EFASIM_PCI_GUEST_H

#include <stddef.h>
#include <stdint.h>

#define PCI_REGION_TOTAL (1ull << 40) /* bytes of a machine, at most (ours) */

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

enum { PCI_GUEST_REGIONS = 256 };

struct pci_guest {
    struct pci_region *region[PCI_GUEST_REGIONS];
    unsigned           num;
    unsigned           kept;        /* these, and those that queues keep */
    uint64_t           kept_bytes;
};

/* Install the handler of SIGBUS; to be called before pci_guest_map(). */
void pci_guest_catch(void);

/* Map `size` bytes of a file at guest address `iova`. The caller keeps the
 * descriptor; without one (-1) the range is not accessible. 0; -EINVAL: the
 * range is empty, wraps, overlaps another or is not of whole pages, or the
 * file is too short, or not on tmpfs or huge pages; -ENOSPC: too many regions,
 * or more than PCI_REGION_TOTAL bytes in all, with those that queues keep; or
 * mmap's error. */
int pci_guest_map(struct pci_guest *guest, uint64_t iova, uint64_t size, int fd,
                  uint64_t offset, int writable);

/* Unmap the regions that lie within the range. A region with queues in it stays
 * mapped here until they are destroyed. 0, or -EINVAL, and nothing is unmapped:
 * the range is empty, wraps, or contains only part of a region. */
int pci_guest_unmap(struct pci_guest *guest, uint64_t iova, uint64_t size);

/* The number of bytes that are mapped. */
uint64_t pci_guest_bytes(const struct pci_guest *guest);

/* Whether a region is lost. */
int pci_guest_is_lost(const struct pci_guest *guest);

/* Unmap all. */
void pci_guest_clear(struct pci_guest *guest);

/* Copy from or to guest memory, also across adjacent regions. 0, or -EFAULT: a
 * part is not mapped, or not writable; the rest may have been copied. */
int pci_guest_read(const struct pci_guest *guest, uint64_t iova, void *dst,
                   size_t length);
int pci_guest_write(const struct pci_guest *guest, uint64_t iova,
                    const void *src, size_t length);

/* A pointer to the byte at this address of something; *length is cut to the end
 * of what lies there side by side. NULL: not mapped, or not writable. */
typedef uint8_t *(*pci_guest_place)(const void *of, uint64_t addr,
                                    size_t *length, int is_write);

/* That of guest memory, a struct pci_guest, valid until the next unmapping. */
uint8_t *pci_guest_at(const void *of, uint64_t iova, size_t *length,
                      int is_write);

/* Copy to (`is_write`) or from such addresses. Returns the number of bytes that
 * are left, as nothing is mapped there. */
size_t pci_guest_copy(pci_guest_place place, const void *of, uint64_t addr,
                      void *bytes, size_t length, int is_write);

/* The same for a whole range, for writing, within one region. The region stays
 * mapped here until pci_guest_release(). NULL: there is no such region. */
uint8_t *pci_guest_hold(struct pci_guest *guest, uint64_t iova, size_t length,
                        struct pci_region **region);
void pci_guest_release(struct pci_region *region);

#endif
