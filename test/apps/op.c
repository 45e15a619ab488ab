/* SPDX-License-Identifier: BSD-3-Clause */
#include "op.h"
#include "watchdog.h"

#include <stdio.h>
#include <unistd.h>

static void op_finish(op_t *op, ucs_status_t status)
{
    op->status = status;
    if (++op->done > 1) {
        fprintf(stderr, "FAIL: an operation completed twice in %s\n",
                watchdog.place);
        _exit(1);
    }
    ++watchdog.completed;
}

static void op_send_cb(void *request, ucs_status_t status, void *user_data)
{
    (void)request;
    op_finish(user_data, status);
}

static void op_tag_recv_cb(void *request, ucs_status_t status,
                           const ucp_tag_recv_info_t *info, void *user_data)
{
    op_t *op = user_data;

    (void)request;
    if (status == UCS_OK) {
        op->got        = info->length;
        op->sender_tag = info->sender_tag;
    }
    op_finish(op, status);
}

static void op_length_cb(void *request, ucs_status_t status, size_t length,
                         void *user_data)
{
    op_t *op = user_data;

    (void)request;
    op->got = length;
    op_finish(op, status);
}

/* NO_IMM_CMPL is not set: immediate completion is part of what is tested. */
static ucp_request_param_t op_param(op_t *op)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA,
        .user_data    = op
    };

    return param;
}

ucp_request_param_t op_param_send(op_t *op)
{
    ucp_request_param_t param = op_param(op);

    param.cb.send = op_send_cb;
    return param;
}

/* Receives never complete at once, so that length and tag always come. */
ucp_request_param_t op_param_tag_recv(op_t *op)
{
    ucp_request_param_t param = op_param(op);

    param.op_attr_mask |= UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    param.cb.recv       = op_tag_recv_cb;
    return param;
}

/* A receive whose length comes with the parameters. */
static ucp_request_param_t op_param_length(op_t *op)
{
    ucp_request_param_t param = op_param(op);

    param.op_attr_mask    |= UCP_OP_ATTR_FIELD_RECV_INFO;
    param.recv_info.length = &op->got;
    return param;
}

ucp_request_param_t op_param_stream_recv(op_t *op)
{
    ucp_request_param_t param = op_param_length(op);

    param.cb.recv_stream = op_length_cb;
    return param;
}

ucp_request_param_t op_param_am_recv(op_t *op)
{
    ucp_request_param_t param = op_param_length(op);

    param.cb.recv_am = op_length_cb;
    return param;
}

void op_started(op_t *op, ucs_status_ptr_t request)
{
    ++watchdog.posted;
    op->request = NULL;
    if (UCS_PTR_IS_PTR(request)) {
        op->request = request;
    } else {
        op_finish(op, UCS_PTR_RAW_STATUS(request));
    }
}
