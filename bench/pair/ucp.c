/* SPDX-License-Identifier: BSD-3-Clause */
/* UCP: which transport is UCX_TLS's choice. */
#include "pair.h"

#include "apps/ucp_open.h"

#include <stdlib.h>
#include <string.h>

static ucp_context_h context;
static ucp_worker_h  worker;
static ucp_ep_h      ep;

static void pair_ucp_check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        pair_fail(what, ucs_status_string(status));
    }
}

static void pair_ucp_complete(void *request, ucs_status_t status, void *is_done)
{
    pair_ucp_check(status, "operation");
    *(volatile int*)is_done = 1;
    ucp_request_free(request);
}

static void pair_ucp_received(void *request, ucs_status_t status,
                              const ucp_tag_recv_info_t *info,
                              void *is_done)
{
    pair_ucp_complete(request, status, is_done);
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
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
        .address    = address
    };

    pair_ucp_check(ucp_ep_create(worker, &params, &ep), "endpoint");
}

void pair_post(pair_side_t side, unsigned slot, size_t length)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA,
        .user_data    = (void*)&pair_done[side][slot]
    };
    void *request;

    pair_done[side][slot] = 0;
    if (side == PAIR_SEND) {
        param.cb.send = pair_ucp_complete;
        request       = ucp_tag_send_nbx(ep, pair_data[side], length, PAIR_TAG,
                                         &param);
    } else {
        param.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
        param.cb.recv       = pair_ucp_received;
        request = ucp_tag_recv_nbx(worker, pair_data[side], length, PAIR_TAG,
                                   UINT64_MAX, &param);
    }
    if (request == NULL) { /* it is complete already */
        pair_done[side][slot] = 1;
    } else if (UCS_PTR_IS_ERR(request)) {
        pair_ucp_check(UCS_PTR_STATUS(request), "a message");
    }
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
