/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "twins.h"

#include "apps/ucp_open.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Memory begins at a page of this size, and is of such pages if the system has
 * some: else how many it has differs from run to run, and with it what copying
 * costs. */
enum {
    TWINS_HUGE = 2 << 20
};

static ucp_context_h context;

/* The device of the direct data path, which then works when it is called here;
 * NULL: verbs calls drive it. */
static int (*twins_device)(void);

void twins_check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
                ucs_status_string(status));
        exit(1);
    }
}

void twins_done(void *request, ucs_status_t status, unsigned long *complete)
{
    twins_check(status, "operation");
    ++*complete;
    ucp_request_free(request);
}

void twins_started(void *request, unsigned long *complete, const char *what)
{
    if (request == NULL) {
        ++*complete;
    } else if (UCS_PTR_IS_ERR(request)) {
        twins_check(UCS_PTR_STATUS(request), what);
    }
}

unsigned twin_progress(twin_t *twin)
{
    if (twins_device != NULL) {
        twins_device();
    }
    return ucp_worker_progress(twin->worker);
}

/* A knob of the device, by efasim_control(). */
static void twins_knob(const char *name, const char *value)
{
    int (*control)(const char *knob, const char *value);

    *(void**)&control = dlsym(RTLD_DEFAULT, "efasim_control");
    if ((control == NULL) || control(name, value)) {
        twins_check(UCS_ERR_NO_DEVICE, "no emulated device");
    }
}

static void twin_worker(twin_t *twin)
{
    twins_check(ucp_open_worker(context, UCS_THREAD_MODE_SINGLE,
                                &twin->worker), "worker");
}

static void twin_memory(twin_t *twin, size_t length)
{
    ucp_mem_map_params_t map = {0};

    if (posix_memalign((void**)&twin->memory, TWINS_HUGE, length)) {
        twins_check(UCS_ERR_NO_MEMORY, "memory");
    }
    (void)madvise(twin->memory, length, MADV_HUGEPAGE); /* or not */
    memset(twin->memory, 1, length);
    map.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                     UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    map.address    = twin->memory;
    map.length     = length;
    twins_check(ucp_mem_map(context, &map, &twin->memh), "map");
}

static void twins_workers(twin_t *a, twin_t *b)
{
    const char *direct = getenv("UCX_EFA_DIRECT");
    twin_t      trial;

    if ((direct == NULL) || strcmp(direct, "y")) {
        twin_worker(a);
        twin_worker(b);
        return;
    }
    twin_worker(&trial); /* for the trial that the direct path takes */
    twins_knob("eager", "1");
    twin_worker(a);
    twin_worker(b);
    twins_knob("eager", "0");
    *(void**)&twins_device = dlsym(RTLD_DEFAULT, "efasim_progress");
    ucp_worker_destroy(trial.worker);
}

static void twin_connect(twin_t *from, twin_t *to)
{
    ucp_ep_params_t params = {0};
    ucp_address_t  *address;
    size_t          length;
    void           *packed;

    twins_check(ucp_worker_get_address(to->worker, &address, &length),
                "address");
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address    = address;
    twins_check(ucp_ep_create(from->worker, &params, &from->ep), "endpoint");
    ucp_worker_release_address(to->worker, address);
    twins_check(ucp_rkey_pack(context, to->memh, &packed, &length), "pack");
    twins_check(ucp_ep_rkey_unpack(from->ep, packed, &from->rkey), "unpack");
    ucp_rkey_buffer_release(packed);
}

void twins_open(uint64_t features, size_t length, twin_t *a, twin_t *b)
{
    twins_check(ucp_open(features, &context), "context");
    twins_workers(a, b);
    twin_memory(a, length);
    twin_memory(b, length);
    twin_connect(a, b);
    twin_connect(b, a);
}
