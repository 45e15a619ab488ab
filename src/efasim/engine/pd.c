/* SPDX-License-Identifier: BSD-3-Clause */
#include "pd.h"

#include <errno.h>
#include <stdlib.h>

static void pd_forget_handles(struct sim_dev *dev, unsigned pd)
{
    unsigned i;

    for (i = 0; i < SIM_NICS; i += 64) {
        atomic_store(dir_ah_word(dev->dir, dev->slot, pd, i), 0);
    }
}

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

    pd_forget_handles(dev, i);
    dev->pd[i] = pd;
    *pd_p      = pd;
    return 0;
}

int sim_pd_destroy(struct sim_dev *dev, struct sim_pd *pd)
{
    if (pd->refs != 0) {
        return -EBUSY;
    }

    pd_forget_handles(dev, pd->index);
    dev->pd[pd->index] = NULL;
    free(pd);
    return 0;
}
