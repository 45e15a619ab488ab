/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a request. */
#ifndef EFASIM_ENGINE_COMPLETE_H
#define EFASIM_ENGINE_COMPLETE_H

#include "objects.h"

/* Complete it with this status, now or after others. */
void sim_complete(struct sim_op *op, uint8_t status);

/* The same for what the peer's device answered, when the answer has come. */
void sim_complete_answered(struct sim_op *op, uint8_t status);

/* Complete it with op->status, now. */
void sim_complete_now(struct sim_op *op);

/* The completion of a work request, beside that of a struct sim_op. */
void sim_complete_cqe(struct sim_qp *qp, const struct io_tx_meta *meta,
                      uint8_t status);

#endif
