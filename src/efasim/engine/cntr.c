/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Event counters: a word in the program's memory each, for the completions that
 * a QP was attached for. The device knows the value and stores it; a program
 * that writes the word itself is overwritten.
 */
#include "cntr.h"

#include <errno.h>
#include <stdlib.h>

int sim_cntr_create(struct sim_dev *dev, uint64_t addr,
                    struct sim_cntr **cntr_p)
{
    struct sim_cntr *cntr;
    unsigned i;

    for (i = 0; (i < SIM_MAX_CNTR) && (dev->cntr[i] != NULL); ++i) {
    }
    cntr = (i < SIM_MAX_CNTR) ? calloc(1, sizeof(*cntr)) : NULL;
    if (cntr == NULL) {
        return -ENOMEM;
    }

    cntr->dev    = dev;
    cntr->index  = i;
    cntr->addr   = addr;
    dev->cntr[i] = cntr;
    *cntr_p      = cntr;
    sim_cntr_set(cntr, 0);
    return 0;
}

int sim_cntr_destroy(struct sim_cntr *cntr)
{
    if (cntr->refs != 0) {
        return -EBUSY;
    }

    cntr->dev->cntr[cntr->index] = NULL;
    free(cntr);
    return 0;
}

void sim_cntr_set(struct sim_cntr *cntr, uint64_t value)
{
    cntr->value = value & SIM_MAX_CNTR_VALUE;
    cntr->dev->ops->mem_write(cntr->dev->env, cntr->addr, &cntr->value,
                              sizeof(cntr->value));
}

int sim_cntr_attach(struct sim_qp *qp, struct sim_cntr *cntr, uint32_t events)
{
    unsigned i;

    if ((events == 0) || (events & ~SIM_CNTR_KNOWN)) {
        return -EINVAL;
    }
    for (i = 0; i < SIM_CNTR_EVENTS; ++i) {
        if ((events & (1u << i)) && (qp->cntr[i] != NULL)) {
            return -EBUSY;
        }
    }

    for (i = 0; i < SIM_CNTR_EVENTS; ++i) {
        if (events & (1u << i)) {
            qp->cntr[i] = cntr;
            ++cntr->refs;
        }
    }
    return 0;
}

uint32_t sim_cntr_attached(const struct sim_qp *qp,
                           const struct sim_cntr *cntr)
{
    uint32_t events = 0;
    unsigned i;

    for (i = 0; i < SIM_CNTR_EVENTS; ++i) {
        events |= (qp->cntr[i] == cntr) ? 1u << i : 0;
    }
    return events;
}

void sim_cntr_detach(struct sim_qp *qp, uint32_t events)
{
    unsigned i;

    for (i = 0; i < SIM_CNTR_EVENTS; ++i) {
        if ((events & (1u << i)) && (qp->cntr[i] != NULL)) {
            --qp->cntr[i]->refs;
            qp->cntr[i] = NULL;
        }
    }
}

void sim_cntr_count(struct sim_qp *qp, enum sim_cntr_op op, uint8_t status)
{
    struct sim_cntr *cntr = qp->cntr[op + (status != EFA_STATUS_OK)];

    if (cntr != NULL) {
        sim_cntr_set(cntr, cntr->value + 1);
    }
}
