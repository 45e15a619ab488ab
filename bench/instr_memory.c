/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations on registered memory, and those that find the send queue full. */
#include "instr_memory.h"

#include <string.h>

BENCH_PHASE void bench_post_zcopy(bench_side_t *side, const uct_iov_t *iov,
                                  uct_completion_t *comp)
{
    bench_expect(uct_ep_am_zcopy(side->ep, BENCH_AM, NULL, 0, iov, 1, 0, comp),
                 UCS_INPROGRESS, "zcopy");
    bench_device_works();
}

BENCH_PHASE int bench_post_get_list(bench_side_t *side,
                                    const bench_list_t *list,
                                    uct_completion_t *comp)
{
    int posted = bench_list_get(side, list, comp);

    bench_device_works();
    return posted;
}

BENCH_PHASE int bench_post_put_list(bench_side_t *side,
                                    const bench_list_t *list,
                                    uct_completion_t *comp)
{
    int posted = bench_list_put(side, list, comp);

    bench_device_works();
    return posted;
}

BENCH_PHASE unsigned bench_complete_list(bench_side_t *side)
{
    return bench_progress(side);
}

static void bench_unpack(void *arg, const void *data, size_t length)
{
    (void)arg;
    (void)data;
    (void)length;
}

static inline void bench_get_bcopy(bench_side_t *side,
                                   const bench_memory_t *from,
                                   uct_completion_t *comp)
{
    bench_expect(uct_ep_get_bcopy(side->ep, bench_unpack, NULL, BENCH_BCOPY,
                                  (uintptr_t)from->address, from->rkey.rkey,
                                  comp),
                 UCS_INPROGRESS, "get_bcopy");
    bench_device_works();
}

BENCH_PHASE void bench_post_get_bcopy(bench_side_t *side,
                                      const bench_memory_t *from,
                                      uct_completion_t *comp)
{
    bench_get_bcopy(side, from, comp);
}

BENCH_PHASE void bench_post_get_zcopy(bench_side_t *side, const uct_iov_t *iov,
                                      const bench_memory_t *from,
                                      uct_completion_t *comp)
{
    bench_expect(uct_ep_get_zcopy(side->ep, iov, 1, (uintptr_t)from->address,
                                  from->rkey.rkey, comp),
                 UCS_INPROGRESS, "get_zcopy");
    bench_device_works();
}

/* Puts of 8 bytes where the device has them, else gets. Without a completion,
 * as UCP's. */
typedef struct bench_rma {
    bench_side_t         *side;
    const uct_iov_t      *iov;
    const bench_memory_t *remote;
    int                   has_put;
} bench_rma_t;

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

BENCH_PHASE void bench_post_put_short(const bench_rma_t *rma)
{
    bench_expect(bench_rma_post(rma), UCS_OK, "put_short");
    bench_device_works();
}

BENCH_PHASE unsigned bench_complete_get(bench_side_t *side)
{
    return bench_progress(side);
}

BENCH_PHASE unsigned bench_complete_copy(bench_side_t *side)
{
    return bench_progress(side);
}

BENCH_PHASE unsigned bench_complete_put(bench_side_t *side)
{
    return bench_progress(side);
}

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
BENCH_PHASE unsigned bench_serve(bench_side_t *side)
{
    return bench_progress(side);
}

static void bench_completed(uct_completion_t *self)
{
    bench_check(self->status, "an operation");
}

/* A list, and its completions, a full poll of them each time. */
static void bench_list(bench_side_t *a, bench_side_t *b,
                       bench_list_post_t post, const bench_list_t *list)
{
    uct_completion_t comp = {.func = bench_completed, .count = 1};
    unsigned         done;

    if (post(a, list, &comp)) {
        for (done = 0; done < BENCH_LIST; done += BENCH_BATCH) {
            bench_expect(bench_complete_list(a), BENCH_BATCH, "pieces");
        }
        bench_expect(comp.count, 0, "lists that are not done");
    }
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

/* 16 gets, each with a completion of its own, and as many puts. */
static void bench_each(bench_side_t *b, const bench_rma_t *rma)
{
    uct_completion_t comps[BENCH_BATCH];
    unsigned         i;

    for (i = 0; i < BENCH_BATCH; ++i) {
        comps[i] = (uct_completion_t){.func = bench_completed, .count = 1};
        bench_post_get_zcopy(rma->side, rma->iov, rma->remote, &comps[i]);
    }
    bench_expect(bench_complete_get(rma->side), BENCH_BATCH, "gets");
    bench_settle(rma->side, b);
    if (rma->has_put) {
        for (i = 0; i < BENCH_BATCH; ++i) {
            bench_post_put_short(rma);
        }
        bench_expect(bench_complete_put(rma->side), BENCH_BATCH, "puts");
        bench_settle(rma->side, b);
    }
}

/* 16 gets into buffers of ours, each with a completion of its own. */
static void bench_unpacked(bench_side_t *b, const bench_rma_t *rma)
{
    uct_completion_t comps[BENCH_BATCH];
    unsigned         i;

    for (i = 0; i < BENCH_BATCH; ++i) {
        comps[i] = (uct_completion_t){.func = bench_completed, .count = 1};
        bench_get_bcopy(rma->side, rma->remote, &comps[i]);
    }
    bench_expect(bench_complete_copy(rma->side), BENCH_BATCH, "copies");
    bench_settle(rma->side, b);
}

static int bench_has_put(const bench_side_t *side)
{
    uct_iface_attr_t attr;

    bench_check(uct_iface_query(side->iface, &attr), "attributes");
    return (attr.cap.flags & UCT_IFACE_FLAG_PUT_SHORT) != 0;
}

static void bench_copies(bench_side_t *a, bench_side_t *b,
                         const bench_rma_t *rma)
{
    uct_completion_t comp = {.func = bench_completed, .status = UCS_OK};
    unsigned         i;

    comp.count = 2 * BENCH_BATCH + 1;
    for (i = 0; i < BENCH_BATCH; ++i) {
        bench_post_zcopy(a, rma->iov, &comp);
    }
    bench_settle(a, b);
    for (i = 0; i < BENCH_BATCH; ++i) {
        bench_post_get_bcopy(a, rma->remote, &comp);
    }
    bench_settle(a, b);
    bench_expect(comp.count, 1, "operations that are not done, and one");
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
        bench_copies(a, b, &rma);
        bench_each(b, &rma);
    }
    bench_list_fill(&list, &local, &remote);
    for (n = 0; n < rounds; ++n) {
        bench_list(a, b, bench_post_get_list, &list);
        bench_list(a, b, bench_post_put_list, &list);
    }
    bench_full(b, &rma, rounds); /* when the reserve opens is a matter of time */
    for (n = 0; n < rounds; ++n) {
        bench_unpacked(b, &rma);
    }
    bench_memory_close(&remote);
    bench_memory_close(&local);
}
