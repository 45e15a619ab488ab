/* SPDX-License-Identifier: BSD-3-Clause */
/* UCP: which transport is UCX_TLS's choice. */
#include "pair.h"

#include "apps/ucp_open.h"

#include <stdlib.h>
#include <string.h>

typedef struct pair_ucp_slot {
    void        *request;
    volatile int done;
} pair_ucp_slot_t;

static ucp_context_h   context;
static ucp_worker_h    worker;
static ucp_ep_h        ep;
static pair_ucp_slot_t slots[2][PAIR_SLOTS];

static void pair_ucp_check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        pair_fail(what, ucs_status_string(status));
    }
}

static void pair_ucp_complete(void *request, ucs_status_t status, void *slot)
{
    pair_ucp_check(status, "operation");
    ((pair_ucp_slot_t*)slot)->done = 1;
    ucp_request_free(request);
}

static void pair_ucp_received(void *request, ucs_status_t status,
                              const ucp_tag_recv_info_t *info, void *slot)
{
    pair_ucp_complete(request, status, slot);
}

void pair_open(void)
{
    pair_ucp_check(ucp_open(UCP_FEATURE_TAG, &context), "context");
    pair_ucp_check(ucp_open_worker(context, UCS_THREAD_MODE_SINGLE, &worker),
                   "worker");
}

void pair_address(void *buffer)
{
    ucp_address_t *address;
    size_t         length;

    pair_ucp_check(ucp_worker_get_address(worker, &address, &length),
                   "address");
    if (length > PAIR_ADDRESS) {
        pair_fail("address", "too long");
    }
    memcpy(buffer, address, length);
    ucp_worker_release_address(worker, address);
}

void pair_connect(const void *address)
{
    ucp_ep_params_t params = {0};

    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address    = address;
    pair_ucp_check(ucp_ep_create(worker, &params, &ep), "endpoint");
}

/* UCP registers. */
void pair_memory(pair_side_t side, void *data, size_t length)
{
}

/* NULL: it is complete already. */
static void pair_ucp_started(void *request, pair_ucp_slot_t *slot,
                             const char *what)
{
    if (request == NULL) {
        slot->done = 1;
    } else if (UCS_PTR_IS_ERR(request)) {
        pair_ucp_check(UCS_PTR_STATUS(request), what);
    }
}

static ucp_request_param_t pair_ucp_param(pair_ucp_slot_t *slot)
{
    ucp_request_param_t param;

    slot->done         = 0;
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                         UCP_OP_ATTR_FIELD_USER_DATA;
    param.user_data    = slot;
    return param;
}

void pair_send(unsigned index, const void *data, size_t length,
                          uint32_t tag)
{
    pair_ucp_slot_t    *slot  = &slots[PAIR_SEND][index];
    ucp_request_param_t param = pair_ucp_param(slot);

    param.cb.send = pair_ucp_complete;
    pair_ucp_started(ucp_tag_send_nbx(ep, data, length, tag, &param), slot,
                     "send");
}

void pair_recv(unsigned index, void *data, size_t length,
                          uint32_t tag)
{
    pair_ucp_slot_t    *slot  = &slots[PAIR_RECV][index];
    ucp_request_param_t param = pair_ucp_param(slot);

    param.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    param.cb.recv       = pair_ucp_received;
    pair_ucp_started(ucp_tag_recv_nbx(worker, data, length, tag, UINT64_MAX,
                                      &param), slot, "receive");
}

int pair_done(pair_side_t side, unsigned slot)
{
    return slots[side][slot].done;
}

void pair_progress(void)
{
    ucp_worker_progress(worker);
}

void pair_close(void)
{
    ucp_request_param_t param   = {0};
    void               *request = ucp_ep_close_nbx(ep, &param);

    while (UCS_PTR_IS_PTR(request) &&
           (ucp_request_check_status(request) == UCS_INPROGRESS)) {
        ucp_worker_progress(worker);
    }
    if (UCS_PTR_IS_PTR(request)) {
        ucp_request_free(request);
    }
    pair_oob_barrier();
    ucp_worker_destroy(worker);
    ucp_cleanup(context);
}
