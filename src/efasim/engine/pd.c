/* SPDX-License-Identifier: BSD-3-Clause */
#include "pd.h"

#include <errno.h>
#include <stdlib.h>

int sim_pd_create(struct sim_dev *dev, struct sim_pd **pd_p)
{
    struct sim_pd *pd;
    unsigned i, nic;

    for (i = 0; (i < SIM_MAX_PD) && (dev->pd[i] != NULL); ++i) {
    }
    if (i == SIM_MAX_PD) {
        return -ENOMEM;
    }

    pd = calloc(1, sizeof(*pd));
    if (pd == NULL) {
        return -ENOMEM;
    }

    pd->index = i;
    for (nic = 0; nic < SIM_NICS; ++nic) {
        pd->ah_of_nic[nic] = IO_AH_UNKNOWN;
    }

    atomic_store(&dev->dir->slot[dev->slot].ah[i], 0);
    dev->pd[i] = pd;
    *pd_p      = pd;
    return 0;
}

int sim_pd_destroy(struct sim_dev *dev, struct sim_pd *pd)
{
    if (pd->refs != 0) {
        return -EBUSY;
    }

    atomic_store(&dev->dir->slot[dev->slot].ah[pd->index], 0);
    dev->pd[pd->index] = NULL;
    free(pd);
    return 0;
}
