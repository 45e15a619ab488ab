/* SPDX-License-Identifier: BSD-3-Clause */
/* The pages of a registration, in runs that adjoin in the guest. */
#ifndef EFASIM_PCI_MR_H
#define EFASIM_PCI_MR_H

#include "efa_regs.h"
#include "guest.h"

/* Runs of all registrations of a function: a guest could ask for as many as it
 * has pages, over and over (ours) */
enum { PCI_MR_RUNS = 1 << 22 };

struct pci_run {
    uint64_t at;      /* offset in the registration's pages */
    uint64_t iova;
};

struct pci_mr {
    uint64_t        bytes;  /* of all pages */
    uint64_t        skip;   /* before the first byte */
    uint32_t        num;    /* runs */
    struct pci_run *run;
};

struct pci_mr_reader;

/* Pages that one call reads: a list may have millions, and others wait */
enum { PCI_MR_PAGES = 4096 };

/*
 * Begin to read the page list of a command. `budget` is the number of runs that
 * it may have. 0, -EINVAL (a page size out of range, pages that do not begin
 * where pages begin or are not mapped, more bytes than the guest has, physical
 * ones), -ENOMEM.
 */
int pci_mr_open(const struct pci_guest *guest, const struct pci_admin_cmd *cmd,
                uint32_t budget, struct pci_mr_reader **reader_p);

/* Read on. 0: all is read; -EAGAIN: call again; -EINVAL (as above, or the list
 * is too short or not mapped), -ENOMEM. */
int pci_mr_read(struct pci_mr_reader *reader);

/* End reading (NULL: nothing was), whether all is read or not: the
 * registration, which is the caller's. */
struct pci_mr *pci_mr_take(struct pci_mr_reader *reader);
void pci_mr_close(struct pci_mr *mr);

/* Where byte `at` of the registration is in the guest; *length is cut to what
 * adjoins. NULL: beyond its end, or not mapped (so). */
uint8_t *pci_mr_at(const struct pci_mr *mr, const struct pci_guest *guest,
                   uint64_t at, size_t *length, int is_write);

#endif
