/* SPDX-License-Identifier: BSD-3-Clause */
/* A recorded call as a line, packets in the words of docs/PROTOCOL.md. */
#ifndef REPLAY_TEXT_H_
#define REPLAY_TEXT_H_

#include <record/record_format.h>

#include <stdio.h>

/* Prints a call, without a newline. */
void text_call(FILE *out, const record_call_t *call);

/* A packet of `length` bytes, of which `kept` were recorded. `line` has `size`
 * bytes, at least 1. */
void text_packet(char *line, size_t size, const uint8_t *packet, size_t kept,
                 size_t length);

/* An interface's address, as "GID QPN N"; 64 bytes will do. */
void text_addr(char *line, size_t size, const flow_addr_t *addr);

/* Why a flow ended, as flow_end_t. */
const char *text_end(uint64_t why);

#endif
