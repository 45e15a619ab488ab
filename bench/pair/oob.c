/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include "apps/oob.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAIR_OOB_SECONDS 30 /* until the other side has come */

static int pair_socket = -1;

void pair_fail(const char *what, const char *why)
{
    fprintf(stderr, "pair-%s: %s: %s\n", pair_ops.name, what, why);
    exit(1);
}

void pair_oob_open(int is_client, unsigned port)
{
    pair_socket = is_client ? oob_connect(port, PAIR_OOB_SECONDS) :
                              oob_accept(port, PAIR_OOB_SECONDS);
    if (pair_socket < 0) {
        pair_fail("connect", "nobody is there");
    }
}

void pair_oob_send(const void *data, size_t length)
{
    if (oob_send(pair_socket, data, length) != 0) {
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
