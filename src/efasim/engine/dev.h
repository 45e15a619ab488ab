/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_ENGINE_DEV_H
#define EFASIM_ENGINE_DEV_H

#include "objects.h"

/*
 * Open a device on directory slot `slot` (claimed and live) of `nic`.
 * Returns NULL when memory is short. The directory, ops and env must outlive
 * the device.
 */
struct sim_dev *sim_dev_open(struct dir *dir, uint32_t slot, uint32_t nic,
                             const struct sim_env_ops *ops, void *env,
                             const struct sim_knobs *knobs);

/* Destroys what is left on it. The directory slot stays the caller's. */
void sim_dev_close(struct sim_dev *dev);

/*
 * Let the device work: take new requests, packets and answers, run timers.
 * Bounded work per call. Returns the number of things done, 0 when idle.
 */
unsigned sim_dev_progress(struct sim_dev *dev);

/* The program rings doorbells itself. Needs no serialising. */
static inline void sim_dev_rung(struct sim_dev *dev)
{
    if (!atomic_load(&dev->told)) {
        atomic_store(&dev->self_rung, 1);
    }
}

/* Count something of this device. */
static inline void sim_dev_count(struct sim_dev *dev, enum dir_counter counter,
                                 uint64_t n)
{
    dir_own_count(&dev->own->counter[counter], n);
}

/* Something is under way that needs progress calls (requests outstanding,
 * packets not yet taken, doorbells not yet seen). */
int sim_dev_is_busy(struct sim_dev *dev);

#endif
