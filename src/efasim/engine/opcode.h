/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of work requests. Each has a number (efa_io.h), a line in opcode.c
 * with its differences from the others, and its code (send.c, rdma.c).
 */
#ifndef EFASIM_ENGINE_OPCODE_H
#define EFASIM_ENGINE_OPCODE_H

#include "objects.h"

struct sim_opcode {
    uint8_t            exists;
    uint8_t            is_rdma;      /* on SRD alone, by sim_rdma_step() */
    uint32_t           caps;         /* that the device must have, SIM_CAP_ */
    uint32_t           local_access; /* to the sender's buffers, SIM_ACCESS_ */
    uint32_t           remote_access;
    enum sim_inject_op inject;
    enum sim_cntr_op   cntr;
    enum sim_late_op   late;
    enum dir_counter   requests, bytes; /* that went well */
    enum dir_counter   errors;          /* requests of RDMA that did not */
    enum dir_counter   peer_bytes;      /* of RDMA, at the responder */
};

/* Indexed by the four bits of a work request; not all of them exist. */
extern const struct sim_opcode sim_opcodes[16];

/* The number of this request's operation. */
static inline enum io_tx_op sim_opcode_of(const struct sim_op *op)
{
    return IO_TX_OP(&op->wqe.meta);
}

/* The line of this request's operation. */
static inline const struct sim_opcode *sim_opcode(const struct sim_op *op)
{
    return &sim_opcodes[sim_opcode_of(op)];
}

#endif
