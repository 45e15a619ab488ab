/* SPDX-License-Identifier: BSD-3-Clause */
#include "device_list.h"

#include <stdio.h>
#include <string.h>

typedef struct list_params {
    uint64_t             field_mask;
    size_t               element_size, num_elements;
    ucp_worker_h         worker;
    const device_elem_t *elements;
} list_params_t;

/* A list of one element and one lane; of a local one the last member is not
 * there. */
typedef struct list {
    uint16_t version, lanes;
    uint32_t length;
    uint64_t address;
    uint64_t lane[2]; /* a key; or an endpoint, and a key */
} list_t;

/* (weak: the UCX that this program is built with is older) */
#define WEAK __attribute__((weak))
typedef ucs_status_t list_create_t(const list_params_t *params, void **list_p);
extern WEAK list_create_t ucp_device_local_mem_list_create;
extern WEAK list_create_t ucp_device_remote_mem_list_create;
extern WEAK void ucp_device_mem_list_release(void *list);

/* By the version, as kernels are compiled for one. */
static void ep_read(const srd_gpu_d2p_any_ep_t *from, device_ep_t *ep)
{
    unsigned major, minor, release;

    ucp_get_version(&major, &minor, &release);
    if ((minor == 22) && (release == 0)) {
        ep->id           = from->old.ep_id;
        ep->log_depth    = from->old.log_depth;
        ep->channel_mask = 0;
        ep->channels     = (srd_gpu_d2p_channel_t*)&from->old.channel;
    } else {
        ep->id           = from->now.ep_id;
        ep->log_depth    = from->now.iface->log_depth;
        ep->channel_mask = from->now.iface->channel_mask;
        ep->channels     = from->now.iface->channels;
    }
}

int device_list_read(node_t *node, device_elem_t elem, device_key_t *key,
                     device_ep_t *ep)
{
    list_create_t *create = (ep != NULL) ? ucp_device_remote_mem_list_create :
                                             ucp_device_local_mem_list_create;
    const list_params_t params = {
        .field_mask   = 15, /* all of them */
        .element_size = sizeof(elem),
        .num_elements = 1,
        .worker       = node->worker,
        .elements     = &elem
    };
    list_t       list   = {0};
    ucs_status_t status = UCS_ERR_UNSUPPORTED;
    void        *device_list;
    int          ret;

    /* memh and local_addr; or rkey, remote_addr and ep */
    elem.field_mask = (ep == NULL) ? 0x5 : 0x2a;
    if (create != NULL) {
        while ((status = create(&params, &device_list)) ==
               UCS_ERR_NOT_CONNECTED) {
            node_progress(node);
        }
    }
    if (status != UCS_OK) {
        fprintf(stderr, "FAIL: no list: %s\n", ucs_status_string(status));
        return -1;
    }
    ret = gpu_memcpy(&list, device_list,
                     sizeof(list) - ((ep == NULL) ? sizeof(uint64_t) : 0));
    ucp_device_mem_list_release(device_list);
    if ((ret != 0) || (list.lanes != 1) || (list.length != 1)) {
        fprintf(stderr, "FAIL: the list has %u lanes and %u elements\n",
                list.lanes, list.length);
        return -1;
    }
    if (ep != NULL) {
        ep_read((const srd_gpu_d2p_any_ep_t*)list.lane[0], ep);
    }
    memcpy(key, &list.lane[ep != NULL], sizeof(*key));
    return 0;
}

int device_post(const device_ep_t *ep, unsigned channel_id,
                const srd_gpu_desc_t *what, uint64_t ep_id)
{
    srd_gpu_d2p_channel_t *channel;
    uint64_t               pi, depth = 1ul << ep->log_depth;
    srd_gpu_desc_t        *desc;

    channel = &ep->channels[channel_id & ep->channel_mask];
    pi      = __atomic_load_n(channel->pi, __ATOMIC_RELAXED);
    do {
        if (pi - __atomic_load_n(channel->ci, __ATOMIC_ACQUIRE) >= depth) {
            return 0;
        }
    } while (!__atomic_compare_exchange_n(channel->pi, &pi, pi + 1, 0,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    desc         = &channel->queue[pi & (depth - 1)];
    desc->opcode = what->opcode;
    desc->flags  = what->flags;
    desc->length = what->length;
    desc->ep_id  = ep_id;
    desc->lkey   = what->lkey;
    desc->rkey   = what->rkey;
    desc->laddr  = what->laddr;
    desc->raddr  = what->raddr;
    desc->add    = what->add;
    __atomic_store_n(&desc->owner, (pi >> ep->log_depth) & 1,
                     __ATOMIC_RELEASE);
    return 1;
}
