/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Out-of-band channel between the two processes of a test: one TCP socket on
 * loopback, for addresses, keys and barriers. Never carries test payload.
 */
#ifndef TEST_APPS_OOB_H
#define TEST_APPS_OOB_H

#include <stddef.h>
#include <stdint.h>

/* Server: wait at 127.0.0.1:@port for a client. @return a socket, or -1 with a line
 * on stderr. */
int oob_accept(uint16_t port);

/* Client: connect to 127.0.0.1:@port, as soon as there is a server. */
int oob_connect(uint16_t port);

/* Send or receive exactly @len bytes. @return 0, or -1 (closed or error). */
int oob_send(int fd, const void *buf, size_t len);
int oob_recv(int fd, void *buf, size_t len);

/* Both sides send one blob and get the other's; *theirs is malloc'ed. */
int oob_swap(int fd, const void *mine, size_t mine_len, void **theirs,
             size_t *theirs_len);

/* @return 1: a byte was read into *byte, 0: none is there, -1: closed. */
int oob_try_byte(int fd, uint8_t *byte);

/* 1: the peer has closed its end, or ended, and nothing is to be read any more. */
int oob_left(int fd);

#endif
