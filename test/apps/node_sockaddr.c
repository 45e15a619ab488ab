/* SPDX-License-Identifier: BSD-3-Clause */
#include "node_sockaddr.h"
#include "ucp_open.h"
#include "watchdog.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

static void sockaddr_on_request(ucp_conn_request_h request, void *arg)
{
    ucp_conn_request_h *slot = arg;

    *slot = request;
}

static int sockaddr_accept(node_t *node, ucp_ep_params_t *ep)
{
    ucp_conn_request_h request    = NULL;
    struct sockaddr_in addr       = {.sin_family = AF_INET};
    ucp_listener_params_t params  = {
        .field_mask       = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR |
                            UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
        .sockaddr.addr    = (const struct sockaddr*)&addr,
        .sockaddr.addrlen = sizeof(addr),
        .conn_handler.cb  = sockaddr_on_request,
        .conn_handler.arg = &request
    };
    ucp_listener_attr_t attr      = {
        .field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR
    };
    ucp_listener_h listener;
    void *theirs;
    size_t len;
    int ret;

    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (ucp_check(ucp_listener_create(node->worker, &params, &listener),
                  "ucp_listener_create") ||
        ucp_check(ucp_listener_query(listener, &attr), "ucp_listener_query") ||
        node_swap(node, &attr.sockaddr, sizeof(attr.sockaddr), &theirs, &len)) {
        return -1;
    }
    free(theirs);
    watchdog_kick("waiting for the client's connection request");
    while (request == NULL) {
        node_progress(node);
    }

    ep->field_mask  |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
    ep->conn_request = request;
    ret              = ucp_check(ucp_ep_create(node->worker, ep, &node->ep),
                                 "ucp_ep_create of a connection request");
    ucp_listener_destroy(listener);
    return ret;
}

static int sockaddr_connect(node_t *node, ucp_ep_params_t *ep)
{
    uint8_t nothing = 0;
    void *theirs;
    size_t len;
    int ret;

    if (node_swap(node, &nothing, sizeof(nothing), &theirs, &len)) {
        return -1;
    }
    ep->field_mask      |= UCP_EP_PARAM_FIELD_FLAGS |
                           UCP_EP_PARAM_FIELD_SOCK_ADDR;
    ep->flags            = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
    ep->sockaddr.addr    = theirs;
    ep->sockaddr.addrlen = sizeof(struct sockaddr_in);
    ret                  = ucp_check(ucp_ep_create(node->worker, ep, &node->ep),
                                     "ucp_ep_create to a socket address");
    free(theirs);
    return ret;
}

/*
 * UCP 1.13 chooses how to send by the lane that the endpoint starts with (tcp),
 * and asserts when what waited is replayed on the lane it gets: a message there
 * and back, and the lanes are final.
 */
static int sockaddr_greet(node_t *node)
{
    uint8_t out = 'g', in = 0;
    op_t sent = {0}, got = {0};
    ucp_request_param_t param = op_param_tag_recv(&got);

    watchdog_kick("first message of a client/server endpoint");
    op_started(&got, ucp_tag_recv_nbx(node->worker, &in, 1, ~(ucp_tag_t)0,
                                      ~(ucp_tag_t)0, &param));
    param = op_param_send(&sent);
    op_started(&sent, ucp_tag_send_nbx(node->ep, &out, 1, ~(ucp_tag_t)0,
                                       &param));
    if (op_wait(node, &sent) != UCS_OK || op_wait(node, &got) != UCS_OK ||
        in != out || node_flush(node) != UCS_OK) {
        fprintf(stderr, "FAIL: the first message of a client/server endpoint "
                "got lost\n");
        return -1;
    }
    return node_barrier(node);
}

int node_sockaddr_open(node_t *node, ucp_ep_params_t *ep)
{
    int ret = node->client ? sockaddr_connect(node, ep) :
                             sockaddr_accept(node, ep);

    return ret ? ret : sockaddr_greet(node);
}
