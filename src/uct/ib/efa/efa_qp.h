/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_QP_H_
#define EFA_QP_H_

#include "efa_direct.h"
#include "efa_md.h"

typedef enum efa_qp_kind {
    EFA_QP_SRD,
    EFA_QP_UD,
    EFA_QP_KINDS
} efa_qp_kind_t;

/* Bytes that the device puts ahead of a datagram's payload (EFA-FACTS). */
#define EFA_UD_PREFIX 40

/* Parameters of a queue pair of ours. */
typedef struct efa_qp_params {
    efa_qp_kind_t kind;
    unsigned      tx_depth, rx_depth; /* work requests */
    uint32_t      qkey;       /* below 0x80000000, not 0 */
    unsigned      rnr_retry;  /* SRD: 0..6; 7 is without end */
    unsigned      sl;         /* SRD: service level; 0: the device's usual */
    unsigned      inline_max; /* bytes inside a work request, wished for */
    int           events;     /* try completion events */
    int           is_trial;   /* not an interface's (efa_promise.h) */
    int           direct;     /* wanted, if it works (efa_direct.h) */
} efa_qp_params_t;

/* A queue pair, ready to send, with a completion queue per direction. */
typedef struct efa_qp {
    efa_md_t                *md;
    struct ibv_qp           *qp;
    struct ibv_qp_ex        *qpx; /* for RDMA; NULL on UD */
    struct ibv_cq           *tx_cq, *rx_cq;
    struct ibv_comp_channel *channel; /* NULL: no completion events */
    unsigned                 inline_size;  /* bytes a message may have inline */
    unsigned                 inline_write; /* an RDMA WRITE; 0: none */
    unsigned                 tx_depth, rx_depth;
    int                      is_direct; /* else `direct` is not used */
    const char              *why_not;   /* then, if it was wanted */
    efa_direct_t             direct;
} efa_qp_t;

/* Creates a queue pair, SRD or (srd NULL) UD, with what of @attr and @srd the
 * caller sets: completion queues, pd, cap; flags, sl. NULL, and errno. */
struct ibv_qp *
efa_qp_make(const efa_device_t *device, struct ibv_qp_init_attr_ex *attr,
            efa_adv_qp_attr_t *srd);

/* Makes it ready to send. @rnr_retry: below 0: UD. 0, or an errno. */
int efa_qp_start(const efa_device_t *device, struct ibv_qp *qp, uint32_t qkey,
                 int rnr_retry);

/*
 * Creates everything or nothing; a failure is logged with cause and remedy.
 * UCS_OK, UCS_ERR_NO_MEMORY, UCS_ERR_IO_ERROR.
 */
ucs_status_t
efa_qp_open(efa_qp_t *qp, efa_md_t *md, const efa_qp_params_t *params);

/* Destroys the queue pair: from then on the device touches no memory for it.
 * Completion queues stay for reading (direct: they are empty). Idempotent. */
void efa_qp_stop(efa_qp_t *qp);

void efa_qp_close(efa_qp_t *qp);

#endif
