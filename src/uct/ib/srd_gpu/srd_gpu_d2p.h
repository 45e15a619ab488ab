/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels of a GPU know of us what is here: the structures by which the
 * functions of UCX's device API, compiled into those kernels, hand operations
 * to a proxy ("D2P"). Numbers and places are those of UCX's branch 1.22.x and
 * of 1.23, and of 1.22.0 where that is told (uct/ib/mlx5/gdaki/d2p.h,
 * d2p_proto.h). All of it lies in memory that the GPU reaches.
 */
#ifndef SRD_GPU_D2P_H_
#define SRD_GPU_D2P_H_

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define SRD_GPU_D2P 2 /* tl_id: by it the functions branch */

enum {
    SRD_GPU_OP_WRITE = 0,
    SRD_GPU_OP_ADD   = 1
};

/* One operation. */
typedef struct srd_gpu_desc {
    uint8_t  owner;  /* written last: the lowest bit of the lap */
    uint8_t  opcode; /* SRD_GPU_OP_ */
    uint16_t flags;
    uint32_t length;
    uint64_t ep_id;
    uint32_t lkey;
    uint32_t rkey;
    uint64_t laddr;
    uint64_t raddr;
    uint64_t add;
    uint8_t  pad[16];
} __attribute__((aligned(64))) srd_gpu_desc_t;

/* A ring of them. A kernel takes place *pi by compare-and-swap, as long as that
 * is less than the ring's depth ahead of *ci. */
typedef struct srd_gpu_d2p_channel {
    uint64_t       *pi;
    uint64_t       *ci;
    srd_gpu_desc_t *queue;
} srd_gpu_d2p_channel_t;

typedef struct srd_gpu_d2p_iface {
    uint8_t               channel_mask; /* channels - 1, a power of two */
    uint8_t               log_depth;    /* of each ring */
    uint8_t               pad[2];
    uint32_t              atomic_result_lkey; /* for devices with atomics */
    uint64_t              atomic_result_va;
    srd_gpu_d2p_channel_t channels[];
} srd_gpu_d2p_iface_t;

typedef struct srd_gpu_d2p_ep {
    uint8_t              tl_id; /* SRD_GPU_D2P */
    srd_gpu_d2p_iface_t *iface;
    uint64_t             ep_id; /* in each descriptor */
    uint8_t              pad[8];
} srd_gpu_d2p_ep_t;

/* The same in UCX 1.22.0. */
typedef struct srd_gpu_d2p_ep_1_22_0 {
    uint8_t               tl_id;
    srd_gpu_d2p_channel_t channel;
    uint64_t              ep_id;
    uint64_t              atomic_result_va;
    uint32_t              atomic_result_lkey;
    uint8_t               log_depth;
    uint8_t               pad[3];
} srd_gpu_d2p_ep_1_22_0_t;

/* Memory of an endpoint. */
typedef union srd_gpu_d2p_any_ep {
    srd_gpu_d2p_ep_t          now;
    srd_gpu_d2p_ep_1_22_0_t   old;
    union srd_gpu_d2p_any_ep *next; /* of the free ones */
} srd_gpu_d2p_any_ep_t;

static_assert(offsetof(srd_gpu_d2p_ep_1_22_0_t, ep_id) == 32, "endpoint");
static_assert(offsetof(srd_gpu_d2p_ep_1_22_0_t, log_depth) == 52, "endpoint");
static_assert(sizeof(srd_gpu_desc_t) == 64, "descriptor");
static_assert(offsetof(srd_gpu_desc_t, raddr) == 32, "descriptor");
static_assert(offsetof(srd_gpu_d2p_iface_t, channels) == 16, "interface");
static_assert(offsetof(srd_gpu_d2p_ep_t, ep_id) == 16, "endpoint");

#endif
