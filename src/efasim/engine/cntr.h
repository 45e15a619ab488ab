/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_ENGINE_CNTR_H
#define EFASIM_ENGINE_CNTR_H

#include "objects.h"

/* All events, as bits */
#define SIM_CNTR_KNOWN ((1u << SIM_CNTR_EVENTS) - 1)

/*
 * Event counters. `addr`: a word of 8 bytes in the program's memory, which is
 * set to 0. -ENOMEM at the limit; -EBUSY: a QP uses it. Attaching lets the QP
 * count the events in `events` (bits of enum sim_cntr_op) there; -EINVAL: none,
 * or one that is not counted; -EBUSY: the QP counts one of them elsewhere.
 */
int sim_cntr_create(struct sim_dev *dev, uint64_t addr,
                    struct sim_cntr **cntr_p);
int sim_cntr_destroy(struct sim_cntr *cntr);
void sim_cntr_set(struct sim_cntr *cntr, uint64_t value);
int sim_cntr_attach(struct sim_qp *qp, struct sim_cntr *cntr, uint32_t events);

/* The events that the QP counts there. */
uint32_t sim_cntr_attached(const struct sim_qp *qp,
                           const struct sim_cntr *cntr);

/* The QP counts these events no more. */
void sim_cntr_detach(struct sim_qp *qp, uint32_t events);

/* Engine-internal: one of a QP's requests is complete. */
void sim_cntr_count(struct sim_qp *qp, enum sim_cntr_op op, uint8_t status);

#endif
