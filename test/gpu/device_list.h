/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of UCX's device API (ucp/api/device/ucp_host.h, since 1.22), which the
 * UCX that the tests are built with has not. */
#ifndef TEST_GPU_DEVICE_LIST_H
#define TEST_GPU_DEVICE_LIST_H

#include "device.h"
#include "test/apps/node.h"
#include "uct/ib/srd_gpu/srd_gpu_d2p.h"

typedef struct device_elem {
    uint64_t   field_mask; /* device_list_read() sets it */
    ucp_mem_h  memh;
    void      *local_addr;
    size_t     length;
    uint64_t   remote_addr;
    ucp_rkey_h rkey;
    ucp_ep_h   ep;
} device_elem_t;

/* Keys as kernels have them. */
typedef struct device_key {
    uint32_t lkey, rkey;
} device_key_t;

/* An endpoint as kernels have it, of either form. */
typedef struct device_ep {
    uint64_t               id;
    unsigned               log_depth, channel_mask;
    srd_gpu_d2p_channel_t *channels;
} device_ep_t;

/* Have UCP make a list of one element, read what kernels read of it, and release
 * it. *ep: of a remote one; NULL for a local one. @return 0; -1, after a line. */
int device_list_read(node_t *node, device_elem_t elem, device_key_t *key,
                     device_ep_t *ep);

/* One descriptor, as the device API's kernels write it. 0: the ring is full. */
int device_post(const device_ep_t *ep, unsigned channel_id,
                const srd_gpu_desc_t *what, uint64_t ep_id);

#endif
