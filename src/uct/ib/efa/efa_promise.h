/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_PROMISE_H_
#define EFA_PROMISE_H_

#include "efa_qp.h"

/*
 * Interfaces that UCX was offered and has not opened: a transport's, on an open
 * memory domain. UCX opens all of them, then needs the room of all, and of those
 * that are to be offered on further devices. Any thread.
 */

/* UCX is offered the transport of this kind. Repeated: nothing more. */
void efa_promise_make(efa_md_t *md, efa_qp_kind_t kind);

/* It has opened one, whose room is counted by the kernel from now on; or the
 * domain is closed. Where there is no promise: nothing. */
void efa_promise_end(efa_md_t *md, efa_qp_kind_t kind);

/* Nonzero if there is this promise. */
int efa_promise_is(const efa_md_t *md, efa_qp_kind_t kind);

/* How many there are of a kind in this process. */
unsigned efa_promise_count(efa_qp_kind_t kind);

#endif
