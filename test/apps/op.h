/* SPDX-License-Identifier: BSD-3-Clause */
/* One operation of UCP in flight. The watchdog counts them. */
#ifndef TEST_APPS_OP_H
#define TEST_APPS_OP_H

#include <stddef.h>
#include <ucp/api/ucp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* op->done is set once, by its callback or start; one that completes again ends
 * the process with a line. */
typedef struct op {
    ucs_status_ptr_t request;
    int              done;
    ucs_status_t     status;
    size_t           got;        /* receives: bytes that came */
    ucp_tag_t        sender_tag; /* tagged receives */
} op_t;

/* Parameters of a request that reports to @op, for each kind of callback. */
ucp_request_param_t op_param_send(op_t *op);
ucp_request_param_t op_param_tag_recv(op_t *op);
ucp_request_param_t op_param_stream_recv(op_t *op);
ucp_request_param_t op_param_am_recv(op_t *op);

/* Record what a ucp_*_nbx call returned. */
void op_started(op_t *op, ucs_status_ptr_t request);

#ifdef __cplusplus
}
#endif

#endif
