/* SPDX-License-Identifier: BSD-3-Clause */
/* Places in the directory, for fabric.c; all with the fabric's lock held. */
#ifndef EFASIM_FABRIC_SLOT_H
#define EFASIM_FABRIC_SLOT_H

#include "fabric.h"

void fabric_slot_free(struct fabric *fabric, struct dir_slot *slot);

/* A place that this process took, also before it executed this program: of a
 * device, or without one on the host of fabric->nic. NULL: there is none. */
struct dir_slot *fabric_slot_own(const struct fabric *fabric, int is_device);

/* Take back what dead processes hold. The number of live ones. */
unsigned fabric_reap(struct fabric *fabric);

/* As fabric_attach(). */
int fabric_attach_locked(struct fabric *fabric, unsigned nic, int is_device);

#endif
