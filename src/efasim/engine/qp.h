/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFASIM_ENGINE_QP_H
#define EFASIM_ENGINE_QP_H

#include "objects.h"

enum sim_qp_state { /* the kernel's numbers */
    SIM_QPS_RESET,
    SIM_QPS_INIT,
    SIM_QPS_RTR,
    SIM_QPS_RTS,
    SIM_QPS_SQD,
    SIM_QPS_SQE,
    SIM_QPS_ERR,
    SIM_QPS_LAST
};

enum { /* attributes that modify_qp can name, the kernel's numbers */
    SIM_QPA_STATE       = 1 << 0,
    SIM_QPA_CUR_STATE   = 1 << 1,
    SIM_QPA_EN_SQD      = 1 << 2,
    SIM_QPA_PKEY_INDEX  = 1 << 4,
    SIM_QPA_PORT        = 1 << 5,
    SIM_QPA_QKEY        = 1 << 6,
    SIM_QPA_RNR_RETRY   = 1 << 11,
    SIM_QPA_SQ_PSN      = 1 << 16,
    SIM_QPA_CAP         = 1 << 19, /* can be asked for, not set */
};

/*
 * Queue pairs. -ENOMEM at the limit. Destroying one completes its requests with
 * status 1; packets that it sent may still arrive.
 */
int sim_qp_create(struct sim_dev *dev, const struct sim_qp_attr *attr,
                  struct sim_qp **qp_p);
void sim_qp_destroy(struct sim_qp *qp);

/* Bytes of a work request, which follow from those of the ring and from the
 * number of requests that a program asks for. */
static inline uint16_t sim_qp_stride(const struct sim_profile *profile,
                                     uint32_t ring_bytes, uint32_t requests)
{
    return ((profile->inline_bytes > IO_TX_INLINE_SMALL) && (requests > 0) &&
            (ring_bytes / requests >= IO_TX_WQE_LARGE)) ?
           IO_TX_WQE_LARGE : IO_TX_WQE_SMALL;
}

/* The program posts by libefa, which keeps to max_tx_batch, and rings more than
 * once between two looks of ours. Needs no serialising. */
static inline void sim_qp_by_library(struct sim_qp *qp)
{
    atomic_store_explicit(&qp->by_library, 1, memory_order_relaxed);
}

/* May a QP send that was never posted to, as far as the device saw? */
int sim_qp_any_is_unused(const struct sim_dev *dev);

struct sim_qp_mod {
    uint32_t mask;                  /* SIM_QPA_ */
    uint32_t state, cur_state;
    uint32_t qkey, sq_psn;
    uint32_t port, pkey_index, rnr_retry;
};

/* -EINVAL: a state that does not follow the QP's, or another than it is said
 * to be in; an RNR retry of UD, or above 7. Attributes other than the states,
 * QKEY, SQ_PSN and RNR_RETRY mean nothing to the device. */
int sim_qp_modify(struct sim_qp *qp, const struct sim_qp_mod *mod);

/* Engine-internal: a mistake of a program that writes the queues itself. The
 * device stops the QP, and says why. */
void sim_qp_set_error(struct sim_qp *qp, const char *what, uint32_t value);

#endif
