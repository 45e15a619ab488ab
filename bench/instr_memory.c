/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations on registered memory, and those that find the send queue full. */
#include "instr.h"

#include <ucp_hooks/provider.h>

/* Between local and remote memory. `has_put`: the device has puts. */
typedef struct bench_rma {
    bench_side_t         *side;
    const uct_iov_t      *iov;
    const bench_memory_t *remote;
    int                   has_put;
} bench_rma_t;

BENCH_PHASE void bench_post_zcopy(const bench_rma_t *rma,
                                  uct_completion_t *comp)
{
    bench_expect(uct_ep_am_zcopy(rma->side->ep, BENCH_AM, NULL, 0, rma->iov, 1,
                                 0, comp),
                 UCS_INPROGRESS, "zcopy");
    bench_device_works();
}

/* A list of puts or gets: 16 bytes each, all between the same places. */
typedef struct bench_list {
    void      *buffers[BENCH_LIST];
    size_t     lengths[BENCH_LIST];
    uct_mem_h  memhs[BENCH_LIST];
    uint64_t   remote_addrs[BENCH_LIST];
    uct_rkey_t rkeys[BENCH_LIST];
    ucx_sgl_t  sgl;
} bench_list_t;

static void bench_list_fill(bench_list_t *list, const bench_memory_t *local,
                            const bench_memory_t *remote)
{
    int i;

    for (i = 0; i < BENCH_LIST; ++i) {
        list->buffers[i]      = local->address;
        list->lengths[i]      = 16;
        list->memhs[i]        = local->memh;
        list->remote_addrs[i] = (uintptr_t)remote->address;
        list->rkeys[i]        = remote->rkey.rkey;
    }
    list->sgl = (ucx_sgl_t){
        .count        = BENCH_LIST,
        .buffers      = list->buffers,
        .lengths      = list->lengths,
        .memhs        = list->memhs,
        .remote_addrs = list->remote_addrs,
        .rkeys        = list->rkeys
    };
}

static const ucx_iface_vops_t *bench_vops(const bench_side_t *side)
{
    return ((ucx_iface_base_t*)side->iface)->vops;
}

/* As UCX 1.22 and 1.23 post lists. */
BENCH_PHASE void bench_post_get_list(bench_side_t *side, bench_list_t *list,
                                     uct_completion_t *comp)
{
    bench_expect(bench_vops(side)->ep_get_sgl(side->ep, &list->sgl, comp),
                 UCS_INPROGRESS, "get of a list");
    bench_device_works();
}

BENCH_PHASE void bench_post_put_list(bench_side_t *side, bench_list_t *list,
                                     uct_completion_t *comp)
{
    bench_expect(bench_vops(side)->ep_put_sgl(side->ep, &list->sgl, comp),
                 UCS_INPROGRESS, "put of a list");
    bench_device_works();
}

BENCH_POLL(bench_complete_list)

static void bench_unpack(void *arg, const void *data, size_t length)
{
    (void)arg;
    (void)data;
    (void)length;
}

static inline void bench_get_bcopy(const bench_rma_t *rma,
                                   uct_completion_t *comp)
{
    bench_expect(uct_ep_get_bcopy(rma->side->ep, bench_unpack, NULL,
                                  BENCH_BCOPY, (uintptr_t)rma->remote->address,
                                  rma->remote->rkey.rkey, comp),
                 UCS_INPROGRESS, "get_bcopy");
    bench_device_works();
}

BENCH_PHASE void bench_post_get_bcopy(const bench_rma_t *rma,
                                      uct_completion_t *comp)
{
    bench_get_bcopy(rma, comp);
}

static void bench_copy(const bench_rma_t *rma, uct_completion_t *comp)
{
    bench_get_bcopy(rma, comp);
}

BENCH_PHASE void bench_post_get_zcopy(const bench_rma_t *rma,
                                      uct_completion_t *comp)
{
    bench_expect(uct_ep_get_zcopy(rma->side->ep, rma->iov, 1,
                                  (uintptr_t)rma->remote->address,
                                  rma->remote->rkey.rkey, comp),
                 UCS_INPROGRESS, "get_zcopy");
    bench_device_works();
}

/* A put of 8 bytes where the device has them, else a get. Without a completion,
 * as UCP's. */
static ucs_status_t bench_rma_post(const bench_rma_t *rma)
{
    if (rma->has_put) {
        return uct_ep_put_short(rma->side->ep, rma->iov->buffer,
                                sizeof(uint64_t),
                                (uintptr_t)rma->remote->address,
                                rma->remote->rkey.rkey);
    }
    return uct_ep_get_zcopy(rma->side->ep, rma->iov, 1,
                            (uintptr_t)rma->remote->address,
                            rma->remote->rkey.rkey, NULL);
}

BENCH_PHASE void bench_post_put_short(const bench_rma_t *rma,
                                      uct_completion_t *comp)
{
    bench_expect(bench_rma_post(rma), UCS_OK, "put_short");
    comp->count = 0;
    bench_device_works();
}

BENCH_POLL(bench_complete_get)
BENCH_POLL(bench_complete_copy)
BENCH_POLL(bench_complete_put)

/* No operation is free, and nothing waits for one. */
BENCH_PHASE void bench_refuse(const bench_rma_t *rma)
{
    bench_expect(bench_rma_post(rma), UCS_ERR_NO_RESOURCE, "a full queue");
}

typedef struct bench_request {
    uct_pending_req_t  super;
    const bench_rma_t *rma;
} bench_request_t;

/* The same, and it waits for one. */
BENCH_PHASE void bench_queue(bench_request_t *request)
{
    bench_expect(bench_rma_post(request->rma), UCS_ERR_NO_RESOURCE, "queue");
    bench_check(uct_ep_pending_add(request->rma->side->ep, &request->super, 0),
                "pending");
}

/* Operations complete, and those that wait are posted. */
BENCH_POLL(bench_serve)

static void bench_completed(uct_completion_t *self)
{
    bench_check(self->status, "an operation");
}

/* A list, and its completions, a full poll of them each time. */
static void bench_list(bench_side_t *a, bench_side_t *b,
                       void (*post)(bench_side_t *side, bench_list_t *list,
                                    uct_completion_t *comp),
                       bench_list_t *list)
{
    uct_completion_t comp = {.func = bench_completed, .count = 1};
    unsigned         done;

    post(a, list, &comp);
    for (done = 0; done < BENCH_LIST; done += BENCH_BATCH) {
        bench_expect(bench_complete_list(a), BENCH_BATCH, "pieces");
    }
    bench_expect(comp.count, 0, "lists that are not done");
    bench_settle(a, b);
}

static ucs_status_t bench_request_go(uct_pending_req_t *self)
{
    const bench_rma_t *rma    = ((bench_request_t*)self)->rma;
    ucs_status_t       status = bench_rma_post(rma);

    if (status == UCS_ERR_NO_RESOURCE) {
        return status;
    }
    bench_expect(status, rma->has_put ? UCS_OK : UCS_INPROGRESS, "a request");
    self->func = NULL; /* it is done */
    return UCS_OK;
}

/* Requests that wait at a full queue, 16 at a time. */
static void bench_full(bench_side_t *b, const bench_rma_t *rma,
                       unsigned long rounds)
{
    bench_request_t requests[BENCH_BATCH];
    unsigned long   n;
    unsigned        i;

    while (bench_rma_post(rma) != UCS_ERR_NO_RESOURCE) {
        bench_device_works();
    }
    for (i = 0; i < BENCH_BATCH; ++i) {
        requests[i].rma = rma;
        bench_refuse(rma);
    }
    for (n = 0; n < rounds; ++n) {
        for (i = 0; i < BENCH_BATCH; ++i) {
            requests[i].super.func = bench_request_go;
            bench_queue(&requests[i]);
        }
        while (requests[BENCH_BATCH - 1].super.func != NULL) {
            bench_serve(rma->side);
        }
    }
    bench_settle(rma->side, b);
}

/* 16 operations, each with a completion of its own. */
static void bench_batch(bench_side_t *b, const bench_rma_t *rma,
                        void (*post)(const bench_rma_t *rma,
                                     uct_completion_t *comp),
                        unsigned (*complete)(bench_side_t *side))
{
    uct_completion_t comps[BENCH_BATCH];
    unsigned         i;

    for (i = 0; i < BENCH_BATCH; ++i) {
        comps[i] = (uct_completion_t){.func = bench_completed, .count = 1};
        post(rma, &comps[i]);
    }
    if (complete != NULL) {
        bench_expect(complete(rma->side), BENCH_BATCH, "operations in a poll");
    }
    bench_settle(rma->side, b);
    for (i = 0; i < BENCH_BATCH; ++i) {
        bench_expect(comps[i].count, 0, "operations that are not done");
    }
}

static int bench_has_put(const bench_side_t *side)
{
    uct_iface_attr_t attr;

    bench_check(uct_iface_query(side->iface, &attr), "attributes");
    return (attr.cap.flags & UCT_IFACE_FLAG_PUT_SHORT) != 0;
}

/* Never as many at once as the window has. */
void bench_memory_path(bench_side_t *a, bench_side_t *b, unsigned long rounds)
{
    bench_memory_t local, remote;
    bench_list_t   list;
    uct_iov_t      iov = {0};
    bench_rma_t    rma = {a, &iov, &remote, bench_has_put(a)};
    unsigned long  n;

    bench_memory_open(&local);
    bench_memory_open(&remote);
    iov.buffer = local.address;
    iov.length = BENCH_BCOPY;
    iov.memh   = local.memh;
    iov.count  = 1;
    for (n = 0; n < rounds; ++n) {
        bench_batch(b, &rma, bench_post_zcopy, NULL);
        bench_batch(b, &rma, bench_post_get_bcopy, NULL);
        bench_batch(b, &rma, bench_post_get_zcopy, bench_complete_get);
        if (rma.has_put) {
            bench_batch(b, &rma, bench_post_put_short, bench_complete_put);
        }
    }
    bench_list_fill(&list, &local, &remote);
    for (n = 0; n < rounds; ++n) {
        bench_list(a, b, bench_post_get_list, &list);
        if (rma.has_put) {
            bench_list(a, b, bench_post_put_list, &list);
        }
    }
    bench_full(b, &rma, rounds); /* when the reserve opens is a matter of time */
    for (n = 0; n < rounds; ++n) {
        bench_batch(b, &rma, bench_copy, bench_complete_copy);
    }
    bench_memory_close(&remote);
    bench_memory_close(&local);
}
