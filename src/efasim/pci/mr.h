/* SPDX-License-Identifier: BSD-3-Clause */
/* The pages of a registration, as runs of adjacent pages of the guest. */
#ifndef EFASIM_PCI_MR_H
#define EFASIM_PCI_MR_H

#include "efa_regs.h"
#include "guest.h"

/* Runs of all registrations of a function, at most (ours): a guest can register
 * each page any number of times */
enum { PCI_MR_RUNS = 1 << 22 };

struct pci_run {
    uint64_t at;      /* offset in the registration's pages */
    uint64_t iova;    /* in the guest */
};

struct pci_mr {
    uint64_t        bytes;  /* of all pages */
    uint64_t        skip;   /* offset of its first byte in the first page */
    uint32_t        num;    /* number of runs */
    struct pci_run *run;
};

struct pci_mr_reader;

/* Pages that one call reads, at most: a list may have millions, and other
 * guests wait meanwhile */
enum { PCI_MR_PAGES = 4096 };

/*
 * Begin to read the page list of a command, which may have up to `budget` runs.
 * 0; -EINVAL: the page size is out of range, pages are misaligned, not mapped
 * or physical, or the guest has fewer bytes; -ENOMEM.
 */
int pci_mr_open(const struct pci_guest *guest, const struct pci_admin_cmd *cmd,
                uint32_t budget, struct pci_mr_reader **reader_p);

/* Read more of the list. 0: it is complete; -EAGAIN: call again; -EINVAL: as
 * above, or the list is too short or not mapped; -ENOMEM. */
int pci_mr_read(struct pci_mr_reader *reader);

/* Free the reader (may be NULL), and return the pages read so far, which the
 * caller frees by pci_mr_close(). */
struct pci_mr *pci_mr_take(struct pci_mr_reader *reader);
void pci_mr_close(struct pci_mr *mr);

/* A pointer to byte `at` of the registration, in the guest's memory; *length is
 * cut to the bytes that follow there. NULL: beyond its end, not mapped, or not
 * writable. */
uint8_t *pci_mr_at(const struct pci_mr *mr, const struct pci_guest *guest,
                   uint64_t at, size_t *length, int is_write);

#endif
