/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls by fuzz_pci.cc of two functions, whose headers are C's alone. */
#ifndef FUZZ_PCI_H_
#define FUZZ_PCI_H_

#include <stddef.h>
#include <stdint.h>

void fuzz_pci_open(void);
void fuzz_pci_close(void);

/* A write to a register, by the guest. */
void fuzz_pci_register(unsigned func, uint32_t offset, uint32_t value);

/* A write to a doorbell: of a UAR's page, so many words into it. */
void fuzz_pci_doorbell(unsigned func, unsigned uar, unsigned word,
                       uint32_t value);

/* Bytes into the guest's memory, or into BAR 2. */
void fuzz_pci_poke(unsigned func, int llq, unsigned at, const uint8_t *bytes,
                   size_t length);

/* Take memory away from the function, and give it back. */
void fuzz_pci_unmap(unsigned func, unsigned page);

/* An admin command with these 60 bytes behind its head. With bit 7 of `op` the
 * fields that name objects and memory are made to name some that exist. */
void fuzz_pci_command(unsigned func, uint8_t op, const uint8_t *bytes);

#endif
