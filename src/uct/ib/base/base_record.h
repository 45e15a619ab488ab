/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_RECORD_H_
#define BASE_RECORD_H_

#include "base_types.h"

/*
 * UCX_EFA_RECORD: the calls of an interface's protocol core, and its answers,
 * in a file (src/record). Such an interface goes the ways that a traced one
 * goes (BASE_TRACED_RECORD; most packets a shorter one, base_rx_traced), and
 * its messages are BASE_OUT_AM_OTHER, so that others pay nothing.
 */

/* Begins, where the user wants it, before anything is called that changes the
 * core. Where it is not possible a line says why. */
void base_record_open(base_iface_t *iface);

/* The core goes. */
void base_record_close(base_iface_t *iface);

#endif
