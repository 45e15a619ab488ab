/* SPDX-License-Identifier: BSD-3-Clause */
#include "node.h"
#include "ucp_open.h"
#include "node_sockaddr.h"
#include "oob.h"
#include "watchdog.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A sleep that lasts as long as this missed its event, or nothing came. */
#define NODE_SLEEP_MS 1000

#define NODE_FEATURES \
    (UCP_FEATURE_TAG | UCP_FEATURE_STREAM | UCP_FEATURE_AM | \
     UCP_FEATURE_RMA | UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64)

static int node_check(ucs_status_t status, const char *what)
{
    if (status != UCS_OK) {
        fprintf(stderr, "%s: %s\n", what, ucs_status_string(status));
        return -1;
    }
    return 0;
}

static void node_on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    node_t *node = arg;

    (void)ep;
    if (node->closing) {
        return;
    }
    node->ep_status = status;
    fprintf(stderr, "FAIL: the endpoint's error callback was called: %s\n",
            ucs_status_string(status));
}

static int node_open_worker(node_t *node, const node_params_t *params)
{
    uint64_t features = NODE_FEATURES |
                        (params->wakeup ? UCP_FEATURE_WAKEUP : 0);

    if (node_check(ucp_open(features, &node->ctx), "ucp_init")) {
        return -1;
    }
    if (node_check(ucp_open_worker(node->ctx, UCS_THREAD_MODE_SINGLE,
                                   &node->worker), "ucp_worker_create")) {
        ucp_cleanup(node->ctx);
        return -1;
    }
    node->wakeup_fd = -1;
    if (params->wakeup) {
        return node_check(ucp_worker_get_efd(node->worker, &node->wakeup_fd),
                          "ucp_worker_get_efd");
    }
    return 0;
}

static int node_open_ep(node_t *node, const node_params_t *params)
{
    ucp_address_t *mine;
    size_t mine_len, len;
    void *theirs;
    int ret;
    ucp_ep_params_t ep = {
        .field_mask      = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                           UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .err_mode        = params->peer_err ? UCP_ERR_HANDLING_MODE_PEER :
                                              UCP_ERR_HANDLING_MODE_NONE,
        .err_handler.cb  = params->err_cb ? params->err_cb : node_on_error,
        .err_handler.arg = params->err_cb ? params->err_arg : node
    };

    if (params->sockaddr) {
        return node_sockaddr_open(node, &ep);
    }
    if (node_check(ucp_worker_get_address(node->worker, &mine, &mine_len),
                   "ucp_worker_get_address")) {
        return -1;
    }
    ret = oob_swap(node->fd, mine, mine_len, &theirs, &len);
    ucp_worker_release_address(node->worker, mine);
    if (ret) {
        fprintf(stderr, "the peer left during address exchange\n");
        return -1;
    }
    ep.field_mask |= UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    ep.address     = theirs;
    ret            = node_check(ucp_ep_create(node->worker, &ep, &node->ep),
                                "ucp_ep_create");
    free(theirs);
    return ret;
}

int node_open(node_t *node, const node_params_t *params)
{
    memset(node, 0, sizeof(*node));
    node->client   = params->client;
    node->sockaddr = params->sockaddr;
    watchdog_init(params->timeout);
    watchdog_kick("open");
    node->fd = params->client ? oob_connect(params->port, params->timeout) :
                                oob_accept(params->port, params->timeout);
    if (node->fd < 0) {
        return -1;
    }
    if (node_open_worker(node, params)) {
        goto err_fd;
    }
    if (node_open_ep(node, params)) {
        goto err_worker;
    }
    return 0;

err_worker:
    ucp_worker_destroy(node->worker);
    ucp_cleanup(node->ctx);
err_fd:
    close(node->fd);
    return -1;
}

ucs_status_t node_ep_close(node_t *node, uint32_t flags)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
        .flags        = flags
    };
    ucs_status_ptr_t request  = ucp_ep_close_nbx(node->ep, &param);
    ucs_status_t status;

    if (!UCS_PTR_IS_PTR(request)) {
        return UCS_PTR_STATUS(request);
    }
    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) {
        node_progress(node);
    }
    ucp_request_free(request);
    return status;
}

int node_close(node_t *node)
{
    ucs_status_t status;
    int ret;

    watchdog_kick("close");
    ret = node_check(node_flush(node), "flush before close");
    ret = node_barrier(node) || ret;
    /* One of two sides connected by socket address learns that the other left;
     * its close then ends with that. */
    node->closing = node->sockaddr;
    status        = node_ep_close(node, 0);
    if (!node->sockaddr) {
        ret = node_check(status, "ucp_ep_close_nbx") || ret;
    }
    /* The peer may still be closing: its goodbye needs our progress. */
    ret = node_barrier(node) || ret;
    ucp_worker_destroy(node->worker);
    ucp_cleanup(node->ctx);
    close(node->fd);
    return ret ? -1 : 0;
}

static void node_sleep(node_t *node)
{
    ucs_status_t status = ucp_worker_arm(node->worker);
    struct pollfd pfd[2];

    if (status == UCS_ERR_BUSY) {
        return;
    }
    if (status != UCS_OK) {
        node_check(status, "FAIL: ucp_worker_arm");
        exit(1);
    }
    pfd[0].fd     = node->wakeup_fd;
    pfd[0].events = POLLIN;
    pfd[1].fd     = node->fd;
    pfd[1].events = POLLIN;
    if (poll(pfd, 2, NODE_SLEEP_MS) == 0 && ucp_worker_progress(node->worker)) {
        /* Slept the whole time although something waited. */
        ++node->lost;
    }
}

void node_progress(node_t *node)
{
    if (ucp_worker_progress(node->worker) == 0 && node->wakeup_fd >= 0) {
        node_sleep(node);
    }
}

int node_barrier(node_t *node)
{
    uint8_t byte = 'b';
    int ret;

    if (oob_send(node->fd, &byte, 1)) {
        ret = -1;
    } else {
        while ((ret = oob_try_byte(node->fd, &byte)) == 0) {
            node_progress(node);
        }
    }
    if (ret < 0) {
        fprintf(stderr, "the peer left (its own message tells why) in %s\n",
                watchdog.place);
        return -1;
    }
    return 0;
}

int node_swap(node_t *node, const void *mine, size_t len, void **theirs,
              size_t *theirs_len)
{
    if (oob_swap(node->fd, mine, len, theirs, theirs_len)) {
        fprintf(stderr, "the peer left in %s\n", watchdog.place);
        return -1;
    }
    return 0;
}

ucs_status_t node_flush(node_t *node)
{
    op_t op                   = {0};
    ucp_request_param_t param = op_param_send(&op);

    op_started(&op, ucp_worker_flush_nbx(node->worker, &param));
    return op_wait(node, &op);
}

static void op_finish(op_t *op, ucs_status_t status)
{
    op->status = status;
    ++op->done;
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

ucp_request_param_t op_param_stream_recv(op_t *op)
{
    ucp_request_param_t param = op_param(op);

    param.op_attr_mask        |= UCP_OP_ATTR_FIELD_RECV_INFO;
    param.recv_info.length     = &op->got;
    param.cb.recv_stream       = op_length_cb;
    return param;
}

ucp_request_param_t op_param_am_recv(op_t *op)
{
    ucp_request_param_t param = op_param(op);

    param.op_attr_mask    |= UCP_OP_ATTR_FIELD_RECV_INFO;
    param.recv_info.length = &op->got;
    param.cb.recv_am       = op_length_cb;
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

ucs_status_t op_wait(node_t *node, op_t *op)
{
    while (!op->done) {
        node_progress(node);
    }
    if (op->request != NULL) {
        ucp_request_free(op->request);
        op->request = NULL;
    }
    if (op->done > 1) {
        fprintf(stderr, "FAIL: an operation completed %d times\n", op->done);
        exit(1);
    }
    return op->status;
}
