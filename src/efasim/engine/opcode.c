/* SPDX-License-Identifier: BSD-3-Clause */
#include "op.h"
#include "mr.h"

/* The line of an RDMA operation, all of it by the name: none lacks a part. */
#define OPCODE_RDMA(_name, _local_access, _peer_bytes) \
    { \
        .exists        = 1, \
        .is_rdma       = 1, \
        .caps          = SIM_CAP_RDMA_##_name, \
        .local_access  = _local_access, \
        .remote_access = SIM_ACCESS_REMOTE_##_name, \
        .inject        = SIM_INJECT_##_name, \
        .cntr          = SIM_CNTR_##_name, \
        .late          = SIM_LATE_##_name, \
        .requests      = DIR_RDMA_##_name##_WRS, \
        .bytes         = DIR_RDMA_##_name##_BYTES, \
        .errors        = DIR_RDMA_##_name##_WR_ERR, \
        .peer_bytes    = _peer_bytes, \
    }

const struct sim_opcode sim_opcodes[16] = {
    [IO_OP_SEND] = {
        .exists   = 1,
        .inject   = SIM_INJECT_SEND,
        .cntr     = SIM_CNTR_SEND,
        .late     = SIM_LATE_SEND,
        .requests = DIR_SEND_WRS,
        .bytes    = DIR_SEND_BYTES,
    },
    [IO_OP_READ]  = OPCODE_RDMA(READ, SIM_ACCESS_LOCAL_WRITE,
                                DIR_RDMA_READ_RESP_BYTES),
    [IO_OP_WRITE] = OPCODE_RDMA(WRITE, 0, DIR_RDMA_WRITE_RECV_BYTES),
    [IO_OP_WRITE + 1 ... 15] = { /* what a broken program writes */
        .is_rdma = 1,
        .cntr    = SIM_CNTR_SEND,
        .errors  = DIR_RDMA_WRITE_WR_ERR,
    },
};
