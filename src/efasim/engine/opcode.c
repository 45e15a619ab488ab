/* SPDX-License-Identifier: BSD-3-Clause */
#include "opcode.h"
#include "mr.h"

const struct sim_opcode sim_opcodes[16] = {
    [IO_OP_SEND] = {
        .exists   = 1,
        .inject   = SIM_INJECT_SEND,
        .cntr     = SIM_CNTR_SEND,
        .late     = SIM_LATE_SEND,
        .requests = DIR_SEND_WRS,
        .bytes    = DIR_SEND_BYTES,
    },
    [IO_OP_READ] = {
        .exists        = 1,
        .is_rdma       = 1,
        .caps          = SIM_CAP_RDMA_READ,
        .local_access  = SIM_ACCESS_LOCAL_WRITE,
        .remote_access = SIM_ACCESS_REMOTE_READ,
        .inject        = SIM_INJECT_READ,
        .cntr          = SIM_CNTR_READ,
        .late          = SIM_LATE_READ,
        .requests      = DIR_RDMA_READ_WRS,
        .bytes         = DIR_RDMA_READ_BYTES,
        .errors        = DIR_RDMA_READ_WR_ERR,
        .peer_bytes    = DIR_RDMA_READ_RESP_BYTES,
    },
    [IO_OP_WRITE] = {
        .exists        = 1,
        .is_rdma       = 1,
        .caps          = SIM_CAP_RDMA_WRITE,
        .remote_access = SIM_ACCESS_REMOTE_WRITE,
        .inject        = SIM_INJECT_WRITE,
        .cntr          = SIM_CNTR_WRITE,
        .late          = SIM_LATE_WRITE,
        .requests      = DIR_RDMA_WRITE_WRS,
        .bytes         = DIR_RDMA_WRITE_BYTES,
        .errors        = DIR_RDMA_WRITE_WR_ERR,
        .peer_bytes    = DIR_RDMA_WRITE_RECV_BYTES,
    },
    [IO_OP_WRITE + 1 ... 15] = { /* what a broken program writes */
        .is_rdma = 1,
        .cntr    = SIM_CNTR_SEND,
        .errors  = DIR_RDMA_WRITE_WR_ERR,
    },
};
