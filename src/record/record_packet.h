/* SPDX-License-Identifier: BSD-3-Clause */
/* A packet as text, in the words of docs/PROTOCOL.md. */
#ifndef RECORD_PACKET_H_
#define RECORD_PACKET_H_

#include <stddef.h>

/*
 * Writes the contents of a packet of `length` bytes as text: kind, numbers,
 * payload's length. Trusts nothing in it, and looks only at its headers and at
 * control packets. `line` has `size` bytes, at least 1.
 */
void record_packet_text(char *line, size_t size, const void *packet,
                        size_t length);

#endif
