/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion counters: two words in the program's memory, completions without
 * and with an error, of the kinds of requests that a QP was attached for. The
 * device knows the values and stores them; a program that writes the words
 * itself is overwritten.
 */
#include "cntr.h"

#include <errno.h>
#include <stdlib.h>

_Static_assert(SIM_CNTR_KNOWN < 1u << SIM_CNTR_OPS,
               "SIM_CNTR_OPS: one more than the last, and sim_qp.cntr has as "
               "many");

int sim_cntr_create(struct sim_dev *dev, const uint64_t addr[2],
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

    cntr->dev     = dev;
    cntr->index   = i;
    cntr->addr[0] = addr[0];
    cntr->addr[1] = addr[1];
    dev->cntr[i]  = cntr;
    *cntr_p       = cntr;
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

void sim_cntr_set(struct sim_cntr *cntr, int is_error, uint64_t value)
{
    value                &= SIM_MAX_CNTR_VALUE;
    cntr->value[is_error] = value;
    cntr->dev->ops->mem_write(cntr->dev->env, cntr->addr[is_error], &value,
                              sizeof(value));
}

int sim_cntr_attach(struct sim_qp *qp, struct sim_cntr *cntr, uint32_t ops)
{
    unsigned i;

    if ((ops == 0) || (ops & ~SIM_CNTR_KNOWN)) {
        return -EINVAL;
    }
    for (i = 0; i < SIM_CNTR_OPS; ++i) {
        if ((ops & (1u << i)) && (qp->cntr[i] != NULL)) {
            return -EBUSY;
        }
    }

    for (i = 0; i < SIM_CNTR_OPS; ++i) {
        if (ops & (1u << i)) {
            qp->cntr[i] = cntr;
            ++cntr->refs;
        }
    }
    return 0;
}

void sim_cntr_detach(struct sim_qp *qp)
{
    unsigned i;

    for (i = 0; i < SIM_CNTR_OPS; ++i) {
        if (qp->cntr[i] != NULL) {
            --qp->cntr[i]->refs;
            qp->cntr[i] = NULL;
        }
    }
}

void sim_cntr_count(struct sim_qp *qp, enum sim_cntr_op op, uint8_t status)
{
    struct sim_cntr *cntr = qp->cntr[op];
    int is_error          = (status != EFA_STATUS_OK);

    if (cntr != NULL) {
        sim_cntr_set(cntr, is_error, cntr->value[is_error] + 1);
    }
}
