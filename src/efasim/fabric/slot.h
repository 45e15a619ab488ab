/* SPDX-License-Identifier: BSD-3-Clause */
/* Places in the directory, for fabric.c; all with the fabric's lock held. */
#ifndef EFASIM_FABRIC_SLOT_H
#define EFASIM_FABRIC_SLOT_H

#include "fabric.h"

void fabric_slot_free(struct fabric *fabric, struct dir_slot *slot);

/* Whether this process took it, also before it executed this program. */
int fabric_slot_is_own(const struct dir_slot *slot);

/* Take back what dead processes hold. The number of live ones. */
unsigned fabric_reap(struct fabric *fabric);

/* As fabric_attach(). */
int fabric_attach_locked(struct fabric *fabric, unsigned nic, int is_device);

#endif
