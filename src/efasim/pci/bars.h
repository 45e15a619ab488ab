/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a function that a guest reads and writes: configuration space,
 * registers (BAR 0), doorbells (BAR 4). */
#ifndef EFASIM_PCI_BARS_H
#define EFASIM_PCI_BARS_H

#include "func.h"

enum { PCI_CONFIG_BYTES = 256 };

/* Fill in the configuration space of a function after reset. */
void pci_bars_config_init(const struct pci_func *func,
                          uint8_t config[PCI_CONFIG_BYTES]);

/* Write to the configuration space; read-only bits keep their values. */
void pci_bars_config_write(uint8_t config[PCI_CONFIG_BYTES], uint64_t offset,
                           const uint8_t *src, uint32_t length);

/* A read of BAR 0: 0 where there is no register. (The driver reads registers
 * through PCI_REG_MMIO_READ only.) */
uint32_t pci_bars_read(const struct pci_func *func, uint64_t offset);

/* A write of 4 bytes to BAR 0. */
void pci_bars_write(struct pci_func *func, uint64_t offset, uint32_t value);

/* A write of 4 bytes to BAR 4. */
void pci_bars_doorbell(struct pci_func *func, uint64_t offset, uint32_t value);

#endif
