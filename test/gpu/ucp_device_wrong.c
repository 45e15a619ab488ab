/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ucp_device_wrong: what kernels and peers must not be able to break, by the
 * device API as ucp_device has it. The client does wrong; both go on.
 *
 * --do late: the server unmaps and frees memory, which UCP's cache keeps
 * registered; the client, who does not know, increments counters there.
 * --do beside: the server unmaps memory beside counters, or tries in vain to
 * unmap theirs: they count on.
 * --do anew: other memory comes to where a counter was, and stays as it is; or
 * its file is cut off, and the server lives.
 * --do capture: the server captures a CUDA graph, and the client increments a
 * counter in its GPU's memory, for the first time.
 * --do beyond: a counter is not wholly in its GPU memory, which is registered
 * all the same; others beside it are.
 * --do pinned: there is too little pinned memory for rings.
 * --do key: a kernel of the client's writes from memory with a key that no
 * memory can have. That endpoint fails; another one of the same interface, to
 * the client itself, does not.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mremap, memfd_create */
#endif
#include "device_list.h"
#include "test/apps/args.h"
#include "test/apps/watchdog.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FEATURE_DEVICE (1ul << 8) /* UCP_FEATURE_DEVICE */
#define SIZE           (1ul << 20) /* of memory: malloc would unmap it, too */
#define LATE           100
#define PAGE           4096ul
#define COUNTER        (12 * PAGE) /* in the memory of do_beside() */

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

/* 64 pages, of which the first 30 are registered. NULL: ready. */
static const char *beside_outer(char *base)
{
    return (munmap(base, 8 * PAGE) || munmap(base + 22 * PAGE, 42 * PAGE)) ?
                   "munmap" :
                   NULL;
}

static const char *beside_purge(char *base)
{
    return (madvise(base + 9 * PAGE, PAGE, MADV_DONTNEED) ||
            madvise(base + 20 * PAGE, PAGE, MADV_DONTNEED)) ? "madvise" : NULL;
}

static const char *beside_grow(char *base)
{
    return (munmap(base + 30 * PAGE, 34 * PAGE) ||
            (mremap(base, 30 * PAGE, 31 * PAGE, 0) != base)) ? "mremap" : NULL;
}

static const char *beside_shrink(char *base)
{
    return (mremap(base, 30 * PAGE, 16 * PAGE, 0) != base) ? "mremap" : NULL;
}

static const char *beside_cannot_grow(char *base)
{
    if (mmap(base + 30 * PAGE, PAGE, PROT_READ,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
        return "mmap";
    }
    return (mremap(base, 30 * PAGE, 60 * PAGE, 0) != MAP_FAILED) ?
                   "mremap that cannot be" : NULL;
}

static const char *beside_no_file(char *base)
{
    errno = 0;
    return ((mmap(base, 30 * PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, 9999,
                  0) != MAP_FAILED) || (errno != EBADF)) ?
                   "mmap of no file" : NULL;
}

static int beside_file;

/* The counter's page is none of the file's any more, and then is again. */
static const char *anew_cut(char *base)
{
    (void)base;
    return ftruncate(beside_file, PAGE) ? "ftruncate" : NULL;
}

static const char *anew_mapped(char *base)
{
    return ((munmap(base + COUNTER, PAGE) != 0) ||
            (mmap(base + COUNTER, PAGE, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                  0) == MAP_FAILED)) ? "munmap" : NULL;
}

static const char *anew_over(char *base)
{
    return (mmap(base, 30 * PAGE, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                 0) == MAP_FAILED) ? "mmap" : NULL;
}

static const char *anew_moved(char *base)
{
    char *away = mremap(base, 30 * PAGE, 65 * PAGE, MREMAP_MAYMOVE);

    return ((away == MAP_FAILED) || (away == base)) ? "mremap" :
                                                      anew_over(base);
}

typedef struct beside {
    const char *(*act)(char *base);
    uint64_t     counted;
    int          again; /* and again, while the peer counts */
} beside_t;

static const beside_t beside_ways[] = {
    {beside_outer, LATE, 0},       {beside_grow, LATE, 0},
    {beside_shrink, LATE, 0},      {beside_purge, LATE, 1},
    {beside_cannot_grow, LATE, 1}, {beside_no_file, LATE, 1},
    {anew_mapped, 0, 0},           {anew_over, 0, 0},
    {anew_moved, 0, 0},            {anew_cut, 0, 0}
};

/* UCP has the handles of parts that overlap as one. */
static int beside_open(node_t *node, char *base, way_t *way)
{
    region_t before = {0}, after = {0};

    memset(way, 0, sizeof(*way));
    way->memory = base + 8 * PAGE;
    return node_region_open(node, base, 12 * PAGE, base, &before) ||
           node_region_open(node, base + 18 * PAGE, 12 * PAGE, base + 18 * PAGE,
                            &after) ||
           node_region_open(node, way->memory, 14 * PAGE, way->memory,
                            &way->region) ||
           way_list(node, way, node->ep) || node_region_close(node, &before) ||
           node_region_close(node, &after);
}

static char *beside_map(const beside_t *way)
{
    const int prot = PROT_READ | PROT_WRITE;

    if (way->act != anew_cut) {
        return mmap(NULL, 64 * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    beside_file = memfd_create("counters", 0);
    return (ftruncate(beside_file, 64 * PAGE) != 0) ?
                   MAP_FAILED :
                   mmap(NULL, 64 * PAGE, prot, MAP_SHARED, beside_file, 0);
}

static int beside_act(const node_t *node, const beside_t *way, char *base)
{
    const char *failed = node->client ? NULL : way->act(base);

    if (failed != NULL) {
        fprintf(stderr, "FAIL: %s\n", failed);
    }
    return (failed == NULL) ? 0 : -1;
}

static int beside_one(node_t *node, const beside_t *way)
{
    char     *base  = beside_map(way);
    uint64_t *count = (uint64_t*)(base + COUNTER);
    way_t     memory, witness;
    unsigned  i;

    if ((base == MAP_FAILED) || beside_open(node, base, &memory) ||
        way_open(node, &witness, 0) || beside_act(node, way, base) ||
        node_barrier(node)) {
        return -1;
    }
    for (i = 0; node->client && (i < LATE); ++i) {
        increment(node, &memory, (COUNTER - 8 * PAGE) / sizeof(*count));
    }
    increment(node, &witness, 0);
    while (__atomic_load_n((uint64_t*)witness.memory, __ATOMIC_ACQUIRE) == 0) {
        node_progress(node);
        if (way->again && beside_act(node, way, base)) {
            return -1;
        }
    }
    if ((way->act == anew_cut) && ftruncate(beside_file, 64 * PAGE)) {
        return -1;
    }
    if (!node->client && (*count != way->counted)) {
        fprintf(stderr, "FAIL: the counter is %lu\n", (unsigned long)*count);
        return -1;
    }
    return node_barrier(node) || node_region_close(node, &memory.region) ||
           node_region_close(node, &witness.region);
}

static int do_beside(node_t *node, int is_anew)
{
    unsigned i;

    for (i = 0; i < sizeof(beside_ways) / sizeof(*beside_ways); ++i) {
        if ((beside_ways[i].counted == 0) == is_anew) {
            printf("way %u\n", i);
            fflush(stdout);
            if (beside_one(node, &beside_ways[i])) {
                return -1;
            }
        }
    }
    return 0;
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
              "[--memory h|d]\n"
              "       [--do late|beside|anew|capture|beyond|pinned|key]\n",
              args);
    if (strcmp(what, "key") == 0) {
        params.peer_err = 1;
        params.err_cb   = on_error;
    }
    if (gpu_open(0) || node_open(&node, &params) ||
        (params.peer_err                  ? do_key(&node) :
         (strcmp(what, "beside") == 0)  ? do_beside(&node, 0) :
         (strcmp(what, "anew") == 0)    ? do_beside(&node, 1) :
         (strcmp(what, "capture") == 0) ? do_count(&node, !params.client, 0) :
         (strcmp(what, "beyond") == 0)  ? do_count(&node, 0, 4) :
         (strcmp(what, "pinned") == 0)  ? do_pinned(&node) :
                                          do_late(&node, memory[0] == 'd'))) {
        return 1;
    }
    printf("ok %s\n", what);
    return (!params.peer_err && node_close(&node)) ? 1 : 0;
}
