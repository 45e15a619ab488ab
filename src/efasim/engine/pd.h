/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_ENGINE_PD_H
#define EFASIM_ENGINE_PD_H

#include "objects.h"

/* Protection domains. -ENOMEM at the limit; -EBUSY while in use. */
int sim_pd_create(struct sim_dev *dev, struct sim_pd **pd_p);
int sim_pd_destroy(struct sim_dev *dev, struct sim_pd *pd);

/*
 * Address handles: one number per (PD, GID). The first to destroy it ends it
 * for all, as the driver does not count its users; without the knob strict_ah
 * the last. Requests under way with it are then flushed. -EINVAL: the GID is
 * zero or a multicast one, or there is no such handle; -ENOMEM: knobs.max_ah
 * are in use.
 */
int sim_ah_create(struct sim_dev *dev, struct sim_pd *pd,
                  const uint8_t gid[16], uint16_t *number_p);
int sim_ah_destroy(struct sim_dev *dev, uint16_t number);

#endif
