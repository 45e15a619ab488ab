/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int pair_socket = -1;

void pair_fail(const char *what, const char *why)
{
    fprintf(stderr, "pair-%s: %s: %s\n", pair_ops.name, what, why);
    exit(1);
}

static void pair_oob_accept(struct sockaddr_in *address)
{
    int one = 1, listener;

    listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(listener, (struct sockaddr*)address, sizeof(*address)) ||
        listen(listener, 1)) {
        pair_fail("listen", "no such port");
    }
    pair_socket = accept(listener, NULL, NULL);
    close(listener);
}

void pair_oob_open(const char *server, unsigned port)
{
    struct sockaddr_in address = {
        .sin_family      = AF_INET,
        .sin_port        = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
    };
    int one = 1, tries;

    if (server == NULL) {
        pair_oob_accept(&address);
    } else {
        inet_pton(AF_INET, server, &address.sin_addr);
        for (tries = 0; tries < 600; ++tries) {
            pair_socket = socket(AF_INET, SOCK_STREAM, 0);
            if (!connect(pair_socket, (struct sockaddr*)&address,
                         sizeof(address))) {
                break;
            }
            close(pair_socket);
            pair_socket = -1;
            usleep(50000);
        }
    }
    if (pair_socket < 0) {
        pair_fail("connect", "nobody is there");
    }
    setsockopt(pair_socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

void pair_oob_send(const void *data, size_t length)
{
    if (send(pair_socket, data, length, MSG_NOSIGNAL) != (ssize_t)length) {
        pair_fail("the other side", "it is gone");
    }
}

/* The library goes on meanwhile: what the peer waits for may be in its hands. */
void pair_oob_recv(void *data, size_t length)
{
    size_t  got = 0;
    ssize_t count;

    while (got < length) {
        count = recv(pair_socket, (char*)data + got, length - got,
                     MSG_DONTWAIT);
        if (count == 0) {
            pair_fail("the other side", "it is gone");
        }
        got += (count > 0) ? count : 0;
        pair_ops.progress();
    }
}

void pair_oob_barrier(void)
{
    char byte = 0;

    pair_oob_send(&byte, 1);
    pair_oob_recv(&byte, 1);
}

void pair_oob_close(void)
{
    close(pair_socket);
}
