/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations on registered memory, and those that find the send queue full. */
#include "instr.h"

#include <ucp_hooks/provider.h>

static bench_memory_t local, remote;
static uct_iov_t      iov;     /* of local */
static int            has_put; /* the device has puts */

/* A list of puts or gets: 16 bytes each, all between the same places. */
static struct {
    void      *buffers[BENCH_LIST];
    size_t     lengths[BENCH_LIST];
    uct_mem_h  memhs[BENCH_LIST];
    uint64_t   remote_addrs[BENCH_LIST];
    uct_rkey_t rkeys[BENCH_LIST];
} list;
static ucx_sgl_t sgl = {
    .count        = BENCH_LIST,
    .buffers      = list.buffers,
    .lengths      = list.lengths,
    .memhs        = list.memhs,
    .remote_addrs = list.remote_addrs,
    .rkeys        = list.rkeys
};

#define BENCH_REMOTE (uintptr_t)remote.address, remote.rkey.rkey

static void bench_unpack(void *arg, const void *data, size_t length)
{
}

static const ucx_iface_vops_t *bench_vops(const bench_side_t *side)
{
    return ((ucx_iface_base_t*)side->iface)->vops;
}

/* A put of 8 bytes where the device has them, else a get. Without a completion,
 * as UCP's. */
static ucs_status_t bench_rma_post(bench_side_t *side)
{
    return has_put ? uct_ep_put_short(side->ep, iov.buffer, sizeof(uint64_t),
                                      BENCH_REMOTE) :
                     uct_ep_get_zcopy(side->ep, &iov, 1, BENCH_REMOTE, NULL);
}

BENCH_POST(bench_post_zcopy, UCS_INPROGRESS,
           uct_ep_am_zcopy(side->ep, BENCH_AM, NULL, 0, &iov, 1, 0, comp))
BENCH_POST(bench_post_get_bcopy, UCS_INPROGRESS,
           uct_ep_get_bcopy(side->ep, bench_unpack, NULL, BENCH_BCOPY,
                            BENCH_REMOTE, comp))
BENCH_POST(bench_post_get_zcopy, UCS_INPROGRESS,
           uct_ep_get_zcopy(side->ep, &iov, 1, BENCH_REMOTE, comp))
BENCH_POST(bench_post_put_short, UCS_OK, bench_rma_post(side))
/* as UCX 1.22 and 1.23 post lists */
BENCH_POST(bench_post_get_list, UCS_INPROGRESS,
           bench_vops(side)->ep_get_sgl(side->ep, &sgl, comp))
BENCH_POST(bench_post_put_list, UCS_INPROGRESS,
           bench_vops(side)->ep_put_sgl(side->ep, &sgl, comp))

BENCH_POLL(bench_complete_list)
BENCH_POLL(bench_complete_get)
BENCH_POLL(bench_complete_copy)
BENCH_POLL(bench_complete_put)
BENCH_POLL(bench_serve) /* operations complete, and those that wait are posted */

/* No operation is free, and nothing waits for one. */
BENCH_PHASE void bench_refuse(bench_side_t *side)
{
    bench_expect(bench_rma_post(side), UCS_ERR_NO_RESOURCE, "a full queue");
}

typedef struct bench_request {
    uct_pending_req_t super;
    bench_side_t     *side;
} bench_request_t;

/* The same, and it waits for one. */
BENCH_PHASE void bench_queue(bench_request_t *request)
{
    bench_expect(bench_rma_post(request->side), UCS_ERR_NO_RESOURCE, "queue");
    bench_check(uct_ep_pending_add(request->side->ep, &request->super, 0),
                "pending");
}

static void bench_completed(uct_completion_t *self)
{
    bench_check(self->status, "an operation");
}

/* Operations, each with a completion of its own. A list is one operation of
 * `pieces`, which complete in full polls. */
static void bench_batch(bench_side_t *a, bench_side_t *b, unsigned count,
                        bench_post_t post, bench_poll_t complete,
                        unsigned pieces)
{
    uct_completion_t comps[BENCH_BATCH];
    unsigned         i;

    for (i = 0; i < count; ++i) {
        comps[i] = (uct_completion_t){.func = bench_completed, .count = 1};
        post(a, &comps[i]);
    }
    for (i = 0; (complete != NULL) && (i < count * pieces); i += BENCH_BATCH) {
        bench_expect(complete(a), BENCH_BATCH, "operations in a poll");
    }
    bench_settle(a, b);
    for (i = 0; (i < count) && (post != bench_post_put_short); ++i) {
        bench_expect(comps[i].count, 0, "operations that are not done");
    }
}

static ucs_status_t bench_request_go(uct_pending_req_t *self)
{
    ucs_status_t status = bench_rma_post(((bench_request_t*)self)->side);

    if (status == UCS_ERR_NO_RESOURCE) {
        return status;
    }
    bench_expect(status, has_put ? UCS_OK : UCS_INPROGRESS, "a request");
    self->func = NULL; /* it is done */
    return UCS_OK;
}

static void bench_fill(bench_side_t *side)
{
    uct_iface_attr_t attr;
    int              i;

    bench_memory_open(&local);
    bench_memory_open(&remote);
    bench_check(uct_iface_query(side->iface, &attr), "attributes");
    has_put    = (attr.cap.flags & UCT_IFACE_FLAG_PUT_SHORT) != 0;
    iov.buffer = local.address;
    iov.length = BENCH_BCOPY;
    iov.memh   = local.memh;
    iov.count  = 1;
    for (i = 0; i < BENCH_LIST; ++i) {
        list.buffers[i]      = local.address;
        list.lengths[i]      = 16;
        list.memhs[i]        = local.memh;
        list.remote_addrs[i] = (uintptr_t)remote.address;
        list.rkeys[i]        = remote.rkey.rkey;
    }
}

/* Never as many at once as the window has. */
void bench_memory_path(bench_side_t *a, bench_side_t *b, unsigned long rounds)
{
    unsigned long n;

    bench_fill(a);
    for (n = 0; n < rounds; ++n) {
        bench_batch(a, b, BENCH_BATCH, bench_post_zcopy, NULL, 1);
        bench_batch(a, b, BENCH_BATCH, bench_post_get_bcopy,
                    bench_complete_copy, 1);
        bench_batch(a, b, BENCH_BATCH, bench_post_get_zcopy,
                    bench_complete_get, 1);
        if (has_put) {
            bench_batch(a, b, BENCH_BATCH, bench_post_put_short,
                        bench_complete_put, 1);
        }
    }
    for (n = 0; n < rounds; ++n) {
        bench_batch(a, b, 1, bench_post_get_list, bench_complete_list,
                    BENCH_LIST);
        if (has_put) {
            bench_batch(a, b, 1, bench_post_put_list, bench_complete_list,
                        BENCH_LIST);
        }
    }
}

/* Requests wait, 16 at a time. An operation or two may be left behind those served. */
void bench_memory_full(bench_side_t *a, bench_side_t *b, unsigned long rounds)
{
    bench_request_t requests[BENCH_BATCH];
    unsigned        i;

    bench_fill(a);
    for (; rounds > 0; --rounds) {
        while (bench_rma_post(a) != UCS_ERR_NO_RESOURCE) {
            bench_device_works();
        }
        for (i = 0; i < BENCH_BATCH; ++i) {
            requests[i].side       = a;
            requests[i].super.func = bench_request_go;
            bench_refuse(a);
        }
        for (i = 0; i < BENCH_BATCH; ++i) {
            bench_queue(&requests[i]);
        }
        while (requests[BENCH_BATCH - 1].super.func != NULL) {
            bench_serve(a);
        }
    }
    bench_settle(a, b);
}
