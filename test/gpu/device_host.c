/* SPDX-License-Identifier: BSD-3-Clause */
#include "device_host.h"
#include "test/apps/fill.h"
#include "test/apps/watchdog.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------ memory */

static int shared_open(gpu_t *gpu, shared_t *shared, size_t size, int device)
{
    static const uint8_t zeros[65536];
    size_t               i;

    shared->size      = (size + sizeof(zeros) - 1) & ~(sizeof(zeros) - 1);
    shared->is_device = device;
    shared->data = device ? gpu_malloc(shared->size) : calloc(1, shared->size);
    if (shared->data == NULL) {
        return -1;
    }
    for (i = 0; device && (i < shared->size); i += sizeof(zeros)) {
        if (gpu_memcpy(shared->data + i, zeros, sizeof(zeros))) {
            return -1;
        }
    }
    return node_region_open(&gpu->node, shared->data, shared->size,
                            shared->data, &shared->region);
}

static int shared_close(gpu_t *gpu, shared_t *shared)
{
    int ret = node_region_close(&gpu->node, &shared->region);

    if (shared->is_device) {
        return gpu_free(shared->data) || ret;
    }
    free(shared->data);
    return ret;
}

/* Keys with which kernels read it (UCP gives them for device memory alone), or
 * write the peer's; and the endpoint. NULL: it is not asked for. */
static int shared_keys(gpu_t *gpu, const shared_t *shared, device_key_t *local,
                       device_key_t *remote)
{
    const device_elem_t here = {
        .memh       = shared->region.memh,
        .local_addr = shared->data
    };
    const device_elem_t there = {
        .ep          = gpu->node.ep,
        .rkey        = shared->region.rkey,
        .remote_addr = shared->region.remote
    };

    return ((local != NULL) &&
            device_list_read(&gpu->node, here, local, NULL)) ||
           ((remote != NULL) &&
            device_list_read(&gpu->node, there, remote, &gpu->eps->device));
}

/* ------------------------------------------------------------ endpoints */

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    gpu_t *gpu = arg;

    (void)ep;
    printf("the endpoint failed: %s\n", ucs_status_string(status));
    if (gpu->killed) {
        gpu->broken = 1;
    } else {
        (void)gpu_fails(gpu, "an endpoint's error handler was called");
    }
}

/* Its id; was one that had the same place closed? */
static void ep_known(gpu_t *gpu, ep_t *ep)
{
    uint32_t low = ep->device.id;

    ep->has_dead = 0;
    if (low < sizeof(gpu->ids) / sizeof(gpu->ids[0])) {
        ep->has_dead  = gpu->ids[low] > 0;
        ep->dead      = gpu->ids[low] - 1;
        gpu->ids[low] = ep->device.id + 1;
    }
}

/* One more to the peer, and what kernels have of it. */
static int ep_open(gpu_t *gpu, ep_t *ep)
{
    ucp_ep_params_t param = {
        .field_mask      = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                           UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                           UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address         = gpu->address,
        .err_mode        = (gpu->episodes > 0) ? UCP_ERR_HANDLING_MODE_PEER :
                                                 UCP_ERR_HANDLING_MODE_NONE,
        .err_handler.cb  = on_error,
        .err_handler.arg = gpu
    };
    device_elem_t   elem  = {.remote_addr = gpu->target.region.remote};
    device_key_t    key;

    if ((ucp_ep_create(gpu->node.worker, &param, &elem.ep) != UCS_OK) ||
        (ucp_ep_rkey_unpack(elem.ep, gpu->rkey, &elem.rkey) != UCS_OK) ||
        device_list_read(&gpu->node, elem, &key, &ep->device)) {
        return gpu_fails(gpu, "one endpoint more cannot be had");
    }
    ucp_rkey_destroy(elem.rkey);
    ep->ucp = elem.ep;
    ep_known(gpu, ep);
    return 0;
}

static int ep_close(gpu_t *gpu, ep_t *ep, uint32_t flags)
{
    node_t one = gpu->node;

    one.ep = ep->ucp;
    if (node_ep_close(&one, flags) != UCS_OK) {
        return gpu_fails(gpu, "an endpoint cannot be closed");
    }
    ++gpu->closed;
    return 0;
}

static int eps_open(gpu_t *gpu)
{
    size_t   length;
    void    *packed;
    unsigned i;
    int      ret;

    if (ucp_rkey_pack(gpu->node.ctx, gpu->target.region.memh, &packed,
                      &length) != UCS_OK) {
        return gpu_fails(gpu, "no key");
    }
    ret = node_swap(&gpu->node, packed, length, &gpu->rkey, &length);
    ucp_rkey_buffer_release(packed);
    while ((ret == 0) && (gpu->eps_open < gpu->ep_count)) {
        watchdog_kick("seed %lu, endpoint %u", (unsigned long)gpu->seed,
                      gpu->eps_open);
        ret = ep_open(gpu, &gpu->eps[gpu->eps_open++]);
    }
    for (i = 0; (gpu->episodes == 0) && (i < 100 * gpu->ep_count); ++i) {
        node_progress(&gpu->node); /* most of them connect */
    }
    return ret;
}

int host_eps_shrink(gpu_t *gpu, unsigned count)
{
    while (gpu->eps_open > count) {
        if (ep_close(gpu, &gpu->eps[--gpu->eps_open], 0)) {
            return -1;
        }
    }
    return 0;
}

/* Closes one that no block's rounds need, and opens it anew. */
static int ep_renew(gpu_t *gpu, uint64_t rand)
{
    ep_t *ep = &gpu->eps[1 + rand % (gpu->ep_count - 1)];

    ep->closing = 1;
    while (ep->users > 0) {
        if (gpu->failed) {
            return -1;
        }
        node_progress(&gpu->node);
    }
    if (ep_close(gpu, ep, (rand >> 32) % 2 ? UCP_EP_CLOSE_FLAG_FORCE : 0) ||
        ep_open(gpu, ep)) {
        return -1;
    }
    ep->closing = 0;
    return 0;
}

/* Memory that no kernel uses is registered, made a list of, and is none again. */
static int memory_renew(gpu_t *gpu, uint64_t rand)
{
    size_t       size   = 1 + rand % (1 << 20);
    int          device = (rand >> 32) % 2, ret;
    shared_t     other  = {.data = device ? gpu_malloc(size) : malloc(size)};
    device_key_t key;
    const ucp_mem_map_params_t map = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address    = other.data,
        .length     = size
    };
    device_elem_t elem = {.local_addr = other.data};

    if ((other.data == NULL) ||
        (ucp_mem_map(gpu->node.ctx, &map, &elem.memh) != UCS_OK)) {
        return gpu_fails(gpu, "memory cannot be registered");
    }
    ret = (device && device_list_read(&gpu->node, elem, &key, NULL)) ||
          (ucp_mem_unmap(gpu->node.ctx, elem.memh) != UCS_OK);
    if (device) {
        return gpu_free(other.data) || ret;
    }
    free(other.data);
    return ret;
}

/* ------------------------------------------------------------ the host */

int host_open(gpu_t *gpu, const node_params_t *params)
{
    node_params_t  ours = *params;
    ucp_address_t *mine;
    size_t         length;
    int            ret;
    uint8_t        sent[sizeof(((noise_t*)0)->sent)];

    gpu->eps_open  = 1;
    gpu->eps       = calloc(gpu->ep_count + EPISODE_EPS, sizeof(*gpu->eps));
    ours.peer_err |= gpu->killed || (gpu->episodes > 0);
    ours.err_cb    = on_error;
    ours.err_arg   = gpu;
    if (gpu_open(gpu->device) || node_open(&gpu->node, &ours) ||
        (ucp_worker_get_address(gpu->node.worker, &mine, &length) != UCS_OK)) {
        return -1;
    }
    ret = node_swap(&gpu->node, mine, length, &gpu->address, &length);
    ucp_worker_release_address(gpu->node.worker, mine);
    if ((ret != 0) || (gpu->episodes == 0)) {
        return ret;
    }
    if (shared_open(gpu, &gpu->noise, sizeof(noise_t), 1) ||
        shared_keys(gpu, &gpu->noise, &gpu->noise_lkey, &gpu->noise_rkey)) {
        return gpu_fails(gpu, "no memory for noise");
    }
    fill_bytes(sent, sizeof(sent), 1, 0);
    if (gpu_memcpy(gpu->noise.data, sent, sizeof(sent))) {
        return -1;
    }
    ep_known(gpu, gpu->eps);
    gpu->eps->has_dead = 0;
    return node_barrier(&gpu->node);
}

int device_open(gpu_t *gpu)
{
    size_t size = gpu->blocks * gpu->slots * gpu->slot;

    if (shared_open(gpu, &gpu->source, size, 1) ||
        shared_open(gpu, &gpu->target, size, gpu->memory[0] == 'd') ||
        shared_open(gpu, &gpu->counters, 2 * gpu->blocks * sizeof(uint64_t),
                    gpu->memory[1] == 'd') ||
        shared_keys(gpu, &gpu->source, &gpu->source_key, NULL) ||
        shared_keys(gpu, &gpu->target, NULL, &gpu->target_key) ||
        shared_keys(gpu, &gpu->counters, NULL, &gpu->counters_key) ||
        eps_open(gpu)) {
        return gpu_fails(gpu, "no memory that the peer writes");
    }
    return node_barrier(&gpu->node);
}

int device_close(gpu_t *gpu)
{
    free(gpu->rkey);
    return (shared_close(gpu, &gpu->source) |
            shared_close(gpu, &gpu->target) |
            shared_close(gpu, &gpu->counters)) ? -1 : 0;
}

/* Some rounds were checked: endpoints are renewed as often as they are to be. */
static int host_step(gpu_t *gpu, uint64_t checked, unsigned *churns)
{
    uint64_t all  = gpu->rounds * gpu->blocks;
    uint64_t rand = fill_key(gpu->seed, gpu->node.client, *churns);

    if ((*churns == gpu->churns) ||
        (checked < *churns * all / gpu->churns)) {
        return 0;
    }
    ++*churns;
    return memory_renew(gpu, rand) || ep_renew(gpu, fill_mix(rand));
}

/* Until all blocks are done, or were told to give up. */
static void host_run(gpu_t *gpu)
{
    uint64_t sum, last = 0;
    unsigned churns = 0, i;

    do {
        if (gpu->still) {
            usleep(1000);
        } else {
            node_progress(&gpu->node);
        }
        for (sum = 0, i = 0; i < gpu->blocks; ++i) {
            sum += gpu->block[i].checked;
        }
        if (sum != last) {
            if (gpu->die && (sum >= 10 * gpu->blocks)) {
                (void)raise(SIGKILL);
            }
            last = sum;
            watchdog_kick("seed %lu, %lu rounds checked",
                          (unsigned long)gpu->seed, (unsigned long)sum);
        }
        if (host_step(gpu, sum, &churns)) {
            gpu->failed = 1;
        }
    } while ((gpu->running > 0) || ((churns < gpu->churns) && !gpu->failed));
}

int blocks_run(gpu_t *gpu)
{
    unsigned i;

    if (gpu->idle) {
        usleep(1000000);
    }
    for (i = 0; i < gpu->blocks; ++i) {
        gpu->block[i] = (block_t){.gpu = gpu, .id = i};
        ++gpu->running;
        if (pthread_create(&gpu->block[i].thread, NULL, block_main,
                           &gpu->block[i]) != 0) {
            return gpu_fails(gpu, "no thread");
        }
    }
    host_run(gpu);
    for (i = 0; i < gpu->blocks; ++i) {
        pthread_join(gpu->block[i].thread, NULL);
        gpu->full       += gpu->block[i].full;
        gpu->all_rounds += gpu->block[i].rounds;
    }
    if (gpu->broken) {
        (void)node_ep_close(&gpu->node, UCP_EP_CLOSE_FLAG_FORCE);
    }
    return gpu->failed ? -1 : gpu->broken ? 0 : node_barrier(&gpu->node);
}

int host_close(gpu_t *gpu)
{
    if (host_eps_shrink(gpu, 1) ||
        ((gpu->episodes > 0) && (node_barrier(&gpu->node) ||
                                 shared_close(gpu, &gpu->noise)))) {
        return -1;
    }
    free(gpu->address);
    free(gpu->eps);
    return node_close(&gpu->node);
}
