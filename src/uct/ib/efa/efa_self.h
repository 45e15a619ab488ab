/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_SELF_H_
#define EFA_SELF_H_

#include "efa_ah.h"
#include "efa_chunk.h"
#include "efa_queue.h"

/* A queue pair that talks to itself, with memory to send from and to receive
 * in: a device's abilities are tried out on it. */
typedef struct efa_self {
    efa_qp_t     qp;
    efa_chunk_t *memory;
    efa_ah_t    *ah;
    efa_dest_t   dest; /* the way to itself */
} efa_self_t;

/*
 * Opens it on the device of `md` with `size` bytes of memory; params->is_trial
 * is set. Nothing is posted.
 * UCS_OK; UCS_ERR_NO_MEMORY, UCS_ERR_NO_RESOURCE, UCS_ERR_IO_ERROR. Either way
 * efa_self_close() is to follow.
 */
ucs_status_t efa_self_open(efa_self_t *self, efa_md_t *md,
                           const efa_qp_params_t *params, size_t size);

/* Closes all of it that is open. */
void efa_self_close(efa_self_t *self, efa_md_t *md);

#endif
