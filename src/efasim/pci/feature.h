/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers of the device about itself: features and statistics. */
#ifndef EFASIM_PCI_FEATURE_H
#define EFASIM_PCI_FEATURE_H

#include "objects.h"

PCI_HANDLER(pci_feature_get);
PCI_HANDLER(pci_feature_set);
PCI_HANDLER(pci_feature_stats);

#endif
