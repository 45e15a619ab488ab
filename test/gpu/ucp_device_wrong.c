/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ucp_device_wrong: what kernels and peers must not be able to break, by the
 * device API as ucp_device has it. The client does wrong; both go on.
 *
 * --do late: the server unmaps and frees memory, which UCP's cache keeps
 * registered; the client, who does not know, increments counters there.
 * --do capture: the server captures a CUDA graph, and the client increments a
 * counter in its GPU's memory, for the first time.
 * --do beyond: a counter is not wholly in its GPU memory, which is registered
 * all the same; others beside it are.
 * --do pinned: there is too little pinned memory for rings.
 * --do key: a kernel of the client's writes from memory with a key that no
 * memory can have. That endpoint fails; another one of the same interface, to
 * the client itself, does not.
 */
#include "device_list.h"
#include "test/apps/args.h"
#include "test/apps/watchdog.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define FEATURE_DEVICE (1ul << 8) /* UCP_FEATURE_DEVICE */
#define SIZE           (1ul << 20) /* of memory: malloc would unmap it, too */
#define LATE           100

/* Memory for the peer, an endpoint to it, and what kernels have of both. */
typedef struct way {
    void        *memory;
    int          is_device;
    region_t     region;
    device_ep_t  ep;
    device_key_t key;
} way_t;

static _Atomic int failed; /* endpoint */

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    (void)arg;
    (void)ep;
    printf("the endpoint failed: %s\n", ucs_status_string(status));
    failed = 1;
}

static int way_list(node_t *node, way_t *way, ucp_ep_h ep)
{
    const device_elem_t remote = {
        .ep          = ep,
        .rkey        = way->region.rkey,
        .remote_addr = way->region.remote
    };

    return device_list_read(node, remote, &way->key, &way->ep);
}

/* With so many bytes less than are registered. */
static int way_open_less(node_t *node, way_t *way, int is_device, size_t less)
{
    memset(way, 0, sizeof(*way));
    way->is_device = is_device;
    way->memory    = is_device ? gpu_malloc(SIZE - less) :
                                 mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return (way->memory == NULL) || (way->memory == MAP_FAILED) ||
           node_region_open(node, way->memory, SIZE, way->memory,
                            &way->region) ||
           way_list(node, way, node->ep);
}

static int way_open(node_t *node, way_t *way, int is_device)
{
    return way_open_less(node, way, is_device, 0);
}

static int way_free(way_t *way)
{
    return way->is_device ? gpu_free(way->memory) : munmap(way->memory, SIZE);
}

/* A kernel increments the counter with that number. */
static void increment(node_t *node, const way_t *way, unsigned counter)
{
    const srd_gpu_desc_t what = {
        .opcode = SRD_GPU_OP_ADD,
        .length = sizeof(uint64_t),
        .rkey   = way->key.rkey,
        .raddr  = way->region.remote + counter * sizeof(uint64_t),
        .add    = 1
    };

    while (!device_post(&way->ep, 0, &what, way->ep.id)) {
        node_progress(node);
    }
}

static void counter_wait(node_t *node, const way_t *way)
{
    while (__atomic_load_n((uint64_t*)way->memory, __ATOMIC_ACQUIRE) == 0) {
        node_progress(node);
    }
}

/* The witness's counter comes behind all others of the endpoint. */
static int do_late(node_t *node, int is_device)
{
    way_t    memory, witness;
    unsigned i;

    if (way_open(node, &memory, is_device) || way_open(node, &witness, 0) ||
        (ucp_mem_unmap(node->ctx, memory.region.memh) != UCS_OK) ||
        (!node->client && way_free(&memory)) || node_barrier(node)) {
        return -1;
    }
    for (i = 0; node->client && (i < LATE); ++i) {
        increment(node, &memory, i);
    }
    increment(node, &witness, 0);
    counter_wait(node, &witness);
    ucp_rkey_destroy(memory.region.rkey);
    return node_barrier(node) || node_region_close(node, &witness.region);
}

/* An endpoint to ourselves, and memory of ours. */
static int self_open(node_t *node, const ucp_ep_params_t *error, way_t *self)
{
    ucp_ep_params_t param = *error;
    ucp_address_t  *address;
    void           *packed;
    size_t          length;
    ucp_ep_h        ep;
    int             ret;

    if (ucp_worker_get_address(node->worker, &address, &length) != UCS_OK) {
        return -1;
    }
    param.field_mask |= UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    param.address     = address;
    ret               = ucp_ep_create(node->worker, &param, &ep) != UCS_OK;
    ucp_worker_release_address(node->worker, address);
    if (ret || (ucp_rkey_pack(node->ctx, self->region.memh, &packed,
                              &length) != UCS_OK)) {
        return -1;
    }
    ucp_rkey_destroy(self->region.rkey);
    ret = ucp_ep_rkey_unpack(ep, packed, &self->region.rkey) != UCS_OK;
    ucp_rkey_buffer_release(packed);
    self->region.remote = (uintptr_t)self->memory;
    return ret || way_list(node, self, ep);
}

static int do_key(node_t *node)
{
    const ucp_ep_params_t error = {
        .field_mask     = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                          UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .err_mode       = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler.cb = on_error
    };
    srd_gpu_desc_t what = {
        .opcode = SRD_GPU_OP_WRITE,
        .length = sizeof(uint64_t),
        .lkey   = UINT32_MAX
    };
    way_t peer, self;

    if (way_open(node, &peer, 0) || way_open(node, &self, 0) ||
        self_open(node, &error, &self) || node_barrier(node)) {
        return -1;
    }
    if (node->client) {
        what.rkey  = peer.key.rkey;
        what.raddr = peer.region.remote;
        what.laddr = (uintptr_t)self.memory;
        (void)device_post(&peer.ep, 0, &what, peer.ep.id);
    }
    while (!failed) {
        node_progress(node);
    }
    increment(node, &self, 0);
    counter_wait(node, &self);
    (void)node_ep_close(node, UCP_EP_CLOSE_FLAG_FORCE);
    return node_barrier(node);
}

/* Increments in a GPU's memory, of the last counter and of another in turn, all
 * of which arrive but those of the last one, if `less` bytes of it are not
 * there. With `captures` the server captures a graph meanwhile. */
static int do_count(node_t *node, int captures, size_t less)
{
    uint64_t value = 0;
    way_t    memory, witness;
    unsigned i;

    if (way_open_less(node, &memory, 1, less) || way_open(node, &witness, 0) ||
        (captures && gpu_capture_begin()) || node_barrier(node)) {
        return -1;
    }
    for (i = 0; i < LATE; ++i) {
        increment(node, &memory, SIZE / sizeof(uint64_t) - 1);
        increment(node, &memory, 1);
    }
    increment(node, &witness, 0);
    counter_wait(node, &witness);
    if ((captures && gpu_capture_end()) ||
        gpu_memcpy(&value, (uint64_t*)memory.memory + 1, sizeof(value)) ||
        (value != LATE)) {
        fprintf(stderr, "FAIL: the counter is %lu\n", (unsigned long)value);
        return -1;
    }
    return node_barrier(node) || node_region_close(node, &memory.region) ||
           node_region_close(node, &witness.region);
}

/* No list can be had; what it took until then is there again. */
static int do_pinned(node_t *node)
{
    way_t    peer;
    unsigned i;

    for (i = 0; i < 3; ++i) {
        if (way_open(node, &peer, 0) == 0) {
            fprintf(stderr, "FAIL: there is a list\n");
            return -1;
        }
        if (node_region_close(node, &peer.region) || node_barrier(node)) {
            return -1;
        }
    }
    return (gpu_host_malloc(1) == NULL) ? -1 : 0;
}

int main(int argc, char **argv)
{
    node_params_t params = {.port = 23456,
                            .features = FEATURE_DEVICE};
    const char  *memory  = "h", *what = "late";
    node_t       node;
    const arg_t  args[]  = {
        ARG_FLAG("client", params.client),
        ARG_NUMBER("port", params.port, 1, 65535),
        ARG_TEXT("memory", memory),
        ARG_TEXT("do", what),
        {.name = NULL}
    };

    arg_parse(argc, argv, "usage: ucp_device_wrong [--client] [--port N] "
              "[--memory h|d] [--do late|capture|beyond|pinned|key]\n", args);
    if (strcmp(what, "key") == 0) {
        params.peer_err = 1;
        params.err_cb   = on_error;
    }
    if (gpu_open(0) || node_open(&node, &params) ||
        (params.peer_err                  ? do_key(&node) :
         (strcmp(what, "capture") == 0) ? do_count(&node, !params.client, 0) :
         (strcmp(what, "beyond") == 0)  ? do_count(&node, 0, 4) :
         (strcmp(what, "pinned") == 0)  ? do_pinned(&node) :
                                          do_late(&node, memory[0] == 'd'))) {
        return 1;
    }
    printf("ok %s\n", what);
    return (!params.peer_err && node_close(&node)) ? 1 : 0;
}
