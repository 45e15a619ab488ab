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
#include <time.h>
#include <unistd.h>

/* A sleep that lasts as long as this missed its event, or nothing came. */
#define NODE_SLEEP_MS 1000

/* Rounds of progress in which nothing came, after which to look for the peer. */
#define NODE_IDLE 1024

#define NODE_FEATURES \
    (UCP_FEATURE_TAG | UCP_FEATURE_STREAM | UCP_FEATURE_AM | \
     UCP_FEATURE_RMA | UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64)

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

static void node_close_ctx(node_t *node)
{
    if (node->owns_ctx) {
        ucp_cleanup(node->ctx);
    }
}

static int node_open_worker(node_t *node, const node_params_t *params)
{
    uint64_t features = NODE_FEATURES | params->features |
                        (params->wakeup ? UCP_FEATURE_WAKEUP : 0);

    node->ctx      = params->ctx;
    node->owns_ctx = params->ctx == NULL;
    if (node->owns_ctx &&
        ucp_check(ucp_open(features, &node->ctx), "ucp_init")) {
        return -1;
    }
    if (ucp_check(ucp_open_worker(node->ctx, UCS_THREAD_MODE_SINGLE,
                                  &node->worker), "ucp_worker_create")) {
        node_close_ctx(node);
        return -1;
    }
    node->wakeup_fd = -1;
    if (params->wakeup) {
        return ucp_check(ucp_worker_get_efd(node->worker, &node->wakeup_fd),
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
        .err_mode        = params->peer_err || params->sockaddr ?
                                   UCP_ERR_HANDLING_MODE_PEER :
                                   UCP_ERR_HANDLING_MODE_NONE,
        .err_handler.cb  = params->err_cb ? params->err_cb : node_on_error,
        .err_handler.arg = params->err_cb ? params->err_arg : node
    };

    if (params->sockaddr) {
        return node_sockaddr_open(node, &ep);
    }
    if (ucp_check(ucp_worker_get_address(node->worker, &mine, &mine_len),
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
    ret            = ucp_check(ucp_ep_create(node->worker, &ep, &node->ep),
                               "ucp_ep_create");
    free(theirs);
    return ret;
}

int node_open(node_t *node, const node_params_t *params)
{
    memset(node, 0, sizeof(*node));
    node->client   = params->client;
    node->sockaddr = params->sockaddr;
    node->alone_ends = !params->peer_err && !params->sockaddr;
    watchdog_init();
    watchdog_kick("open");
    node->fd = params->client ? oob_connect(params->port) :
                                oob_accept(params->port);
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
    node_close_ctx(node);
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
    ret = ucp_check(node_flush(node), "flush before close");
    ret = node_barrier(node) || ret;
    /* One of two sides connected by socket address learns that the other left;
     * its close then ends with that. */
    node->closing = node->sockaddr;
    status        = node_ep_close(node, 0);
    if (!node->sockaddr) {
        ret = ucp_check(status, "ucp_ep_close_nbx") || ret;
    }
    /* The peer may still be closing: its goodbye needs our progress. */
    ret = node_barrier(node) || ret;
    ucp_worker_destroy(node->worker);
    node_close_ctx(node);
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
        ucp_check(status, "FAIL: ucp_worker_arm");
        exit(1);
    }
    pfd[0].fd     = node->wakeup_fd;
    pfd[0].events = POLLIN;
    pfd[1].fd     = node->fd;
    pfd[1].events = POLLIN;
    if (poll(pfd, 2, NODE_SLEEP_MS) == 0 &&
        ucp_worker_progress(node->worker) && poll(pfd, 2, 0) == 0) {
        /* Slept the whole time; of what waits the descriptor does not tell. */
        ++node->lost;
    }
}

static int node_peer_left(void)
{
    fprintf(stderr, "the peer left (its own message tells why) in %s\n",
            watchdog.place);
    return -1;
}

void node_progress(node_t *node)
{
    if (ucp_worker_progress(node->worker) != 0) {
        return;
    }
    if (node->alone_ends && (++node->idle % NODE_IDLE == 0) &&
        oob_left(node->fd)) {
        (void)node_peer_left();
        exit(1);
    }
    if (node->wakeup_fd >= 0) {
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
    return (ret < 0) ? node_peer_left() : 0;
}

int node_swap(node_t *node, const void *mine, size_t len, void **theirs,
              size_t *theirs_len)
{
    if (oob_swap(node->fd, mine, len, theirs, theirs_len)) {
        return node_peer_left();
    }
    return 0;
}

int node_region_open(node_t *node, void *base, size_t len, const void *data,
                     region_t *region)
{
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address    = base,
        .length     = len
    };
    uint64_t addr = (uintptr_t)data;
    void *rkey, *theirs, *theirs_addr;
    size_t rkey_len;
    int ret;

    if (ucp_check(ucp_mem_map(node->ctx, &params, &region->memh),
                  "FAIL: ucp_mem_map") ||
        ucp_check(ucp_rkey_pack(node->ctx, region->memh, &rkey, &rkey_len),
                  "FAIL: ucp_rkey_pack")) {
        return -1;
    }
    ret = node_swap(node, rkey, rkey_len, &theirs, &rkey_len);
    ucp_rkey_buffer_release(rkey);
    if (ret || node_swap(node, &addr, sizeof(addr), &theirs_addr, &rkey_len)) {
        return -1;
    }
    memcpy(&region->remote, theirs_addr, sizeof(region->remote));
    ret = ucp_check(ucp_ep_rkey_unpack(node->ep, theirs, &region->rkey),
                    "FAIL: ucp_ep_rkey_unpack");
    free(theirs_addr);
    free(theirs);
    return ret;
}

int node_region_close(node_t *node, region_t *region)
{
    ucp_rkey_destroy(region->rkey);
    return ucp_check(ucp_mem_unmap(node->ctx, region->memh),
                     "FAIL: ucp_mem_unmap");
}

double node_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

ucs_status_t node_flush(node_t *node)
{
    op_t op                   = {0};
    ucp_request_param_t param = op_param_send(&op);

    op_started(&op, ucp_worker_flush_nbx(node->worker, &param));
    return op_wait(node, &op);
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
    return op->status;
}
