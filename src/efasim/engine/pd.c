/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection domains, and the address handles in them. */
#include "pd.h"
#include "steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static int ah_gid_is_valid(const uint8_t gid[16])
{
    static const uint8_t zero[16];

    return (gid[0] != 0xff) && memcmp(gid, zero, sizeof(zero));
}

static unsigned ah_count(const struct sim_dev *dev)
{
    unsigned i, count = 0;

    for (i = 0; i < dev->ah_end; ++i) {
        count += (dev->ah[i].pd != NULL);
    }
    return count;
}

int sim_ah_create(struct sim_dev *dev, struct sim_pd *pd,
                  const uint8_t gid[16], uint16_t *number_p)
{
    unsigned i, free_ah = dev->knobs.max_ah;
    struct sim_ah *ah;

    if (!ah_gid_is_valid(gid)) {
        return -EINVAL;
    }

    free_ah = (dev->ah_end < free_ah) ? dev->ah_end : free_ah;
    for (i = dev->ah_end; i-- > 0;) {
        ah = &dev->ah[i];
        if (ah->pd == NULL) {
            free_ah = i;
        } else if ((ah->pd == pd) && !memcmp(ah->gid, gid, 16)) {
            ++ah->refs;
            *number_p = i;
            return 0;
        }
    }

    if ((free_ah == dev->knobs.max_ah) ||
        !sim_accepts(&dev->knobs, SIM_ACCEPT_HANDLES, ah_count(dev) + 1)) {
        return -ENOMEM;
    }

    for (; dev->ah_end <= free_ah; ++dev->ah_end) {
        list_init(&dev->ah[dev->ah_end].ops);
    }
    ah       = &dev->ah[free_ah];
    ah->pd   = pd;
    ah->refs = 1;
    ah->user = 0;
    ah->nic  = dir_gid_nic(dev->dir, gid);
    memcpy(ah->gid, gid, 16);
    if (ah->nic >= 0) {
        pd->ah_of_nic[ah->nic] = free_ah;
        atomic_fetch_or(dir_ah_word(dev->dir, dev->slot, pd->index, ah->nic),
                        dir_ah_bit(ah->nic));
    }

    ++pd->refs;
    *number_p = free_ah;
    return 0;
}

/* Packets under way with a handle that is destroyed end in error (SRD.txt of
 * the driver names status 1); they may have arrived all the same. */
static void ah_flush(struct sim_ah *ah)
{
    struct sim_list *link, *next;
    struct sim_op *op;

    for (link = ah->ops.next; link != &ah->ops; link = next) {
        next = link->next;
        op   = list_entry(link, struct sim_op, ah_link);
        if ((op->qp->attr.pd == ah->pd) && (op->state != SIM_OP_DONE)) {
            sim_complete(op, EFA_STATUS_FLUSHED);
        }
    }
}

int sim_ah_destroy(struct sim_dev *dev, uint16_t number)
{
    struct sim_ah *ah = &dev->ah[number];

    if (number >= dev->knobs.max_ah) {
        return -EINVAL;
    }
    if (ah->pd == NULL) {
        /* by another of its users? */
        return dev->knobs.strict_ah ? 0 : -EINVAL;
    }
    if ((--ah->refs > 0) && !dev->knobs.strict_ah) {
        return 0;
    }

    ah_flush(ah);
    if (ah->nic >= 0) {
        ah->pd->ah_of_nic[ah->nic] = IO_AH_UNKNOWN;
        atomic_fetch_and(dir_ah_word(dev->dir, dev->slot, ah->pd->index,
                                     ah->nic),
                         ~dir_ah_bit(ah->nic));
    }

    --ah->pd->refs;
    ah->pd = NULL;
    return 0;
}
