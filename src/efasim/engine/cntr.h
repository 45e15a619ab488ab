/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_ENGINE_CNTR_H
#define EFASIM_ENGINE_CNTR_H

#include "objects.h"

#define SIM_CNTR_KNOWN \
    (1u << SIM_CNTR_SEND | 1u << SIM_CNTR_RECV | 1u << SIM_CNTR_READ | \
     1u << SIM_CNTR_WRITE)

/*
 * Completion counters. `addr`: two words of 8 bytes in the program's memory.
 * -ENOMEM at the limit; -EBUSY: a QP uses it. Attaching lets the QP count the
 * kinds of requests in `ops` (bits of enum sim_cntr_op) there; -EINVAL: no
 * kind, or one that is not counted; -EBUSY: the QP counts one of them
 * elsewhere.
 */
int sim_cntr_create(struct sim_dev *dev, const uint64_t addr[2],
                    struct sim_cntr **cntr_p);
int sim_cntr_destroy(struct sim_cntr *cntr);
void sim_cntr_set(struct sim_cntr *cntr, int is_error, uint64_t value);
int sim_cntr_attach(struct sim_qp *qp, struct sim_cntr *cntr, uint32_t ops);

/* Engine-internal: a QP goes; one of its requests is complete. */
void sim_cntr_detach(struct sim_qp *qp);
void sim_cntr_count(struct sim_qp *qp, enum sim_cntr_op op, uint8_t status);

#endif
