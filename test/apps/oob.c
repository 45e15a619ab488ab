/* SPDX-License-Identifier: BSD-3-Clause */
#include "oob.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define OOB_BLOB_MAX (1u << 20)

static struct sockaddr_in oob_addr(uint16_t port)
{
    struct sockaddr_in addr;

    memset(&addr, 0, sizeof(addr));
    addr.sin_family      = AF_INET;
    addr.sin_port        = htons(port);
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return addr;
}

static int oob_ready(int fd)
{
    int one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

int oob_accept(uint16_t port)
{
    struct sockaddr_in addr = oob_addr(port);
    int listener            = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int fd                  = -1;
    int one                 = 1;

    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(listener, (struct sockaddr*)&addr, sizeof(addr)) ||
        listen(listener, 1)) {
        fprintf(stderr, "cannot listen on 127.0.0.1:%u: %s (give another "
                        "--port)\n", port, strerror(errno));
    } else {
        fd = accept(listener, NULL, NULL);
    }
    close(listener);
    return (fd < 0) ? -1 : oob_ready(fd);
}

int oob_connect(uint16_t port)
{
    struct sockaddr_in addr = oob_addr(port);
    int fd;

    for (;;) {
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (!connect(fd, (struct sockaddr*)&addr, sizeof(addr))) {
            return oob_ready(fd);
        }
        close(fd);
        usleep(20000);
    }
}

static int oob_move(int fd, char *buf, size_t len, int is_send)
{
    ssize_t n;

    while (len > 0) {
        n = is_send ? send(fd, buf, len, MSG_NOSIGNAL) : recv(fd, buf, len, 0);
        if (n > 0) {
            buf += n;
            len -= n;
        } else if ((n == 0) || (errno != EINTR)) {
            return -1;
        }
    }
    return 0;
}

int oob_send(int fd, const void *buf, size_t len)
{
    return oob_move(fd, (char*)buf, len, 1);
}

int oob_recv(int fd, void *buf, size_t len)
{
    return oob_move(fd, buf, len, 0);
}

int oob_swap(int fd, const void *mine, size_t mine_len, void **theirs,
             size_t *theirs_len)
{
    uint32_t out = mine_len;
    uint32_t in;

    if (oob_send(fd, &out, sizeof(out)) || oob_send(fd, mine, mine_len) ||
        oob_recv(fd, &in, sizeof(in)) || in > OOB_BLOB_MAX) {
        return -1;
    }
    *theirs = malloc(in ? in : 1);
    if (*theirs == NULL || oob_recv(fd, *theirs, in)) {
        return -1;
    }
    *theirs_len = in;
    return 0;
}

int oob_try_byte(int fd, uint8_t *byte)
{
    ssize_t n = recv(fd, byte, 1, MSG_DONTWAIT);

    if (n == 1) {
        return 1;
    }
    return (n < 0 && (errno == EAGAIN || errno == EINTR)) ? 0 : -1;
}

int oob_left(int fd)
{
    uint8_t byte;
    ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);

    return (n == 0) || ((n < 0) && (errno == ECONNRESET));
}
