/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_ENGINE_PD_H
#define EFASIM_ENGINE_PD_H

#include "objects.h"

/* Protection domains. -ENOMEM at the limit; -EBUSY while in use. */
int sim_pd_create(struct sim_dev *dev, struct sim_pd **pd_p);
int sim_pd_destroy(struct sim_dev *dev, struct sim_pd *pd);

#endif
