/* SPDX-License-Identifier: BSD-3-Clause */
/* UCP's client/server connection, by socket address. */
#ifndef TEST_APPS_NODE_SOCKADDR_H
#define TEST_APPS_NODE_SOCKADDR_H

#include "node.h"

/*
 * Fills node->ep: the server listens on a free port of 127.0.0.1, tells it over
 * node->fd and waits for the request; the client connects there. `ep` has error
 * mode and handler. Worker and socket are open. @return 0, -1 after a line.
 */
int node_sockaddr_open(node_t *node, ucp_ep_params_t *ep);

#endif
