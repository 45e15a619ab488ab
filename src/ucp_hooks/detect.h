/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which UCX minor is this libuct? Its symbols say it one way, the sizes of its
 * exported data another, and a libucp on top of it a third; they must agree. A
 * module built for one minor and loaded in another crashes, so a libuct whose
 * signs do not agree is refused. UCX_EFA_ABI overrides one thing only: that a
 * libucp newer than all we know is refused although libuct looks like the
 * newest.
 */
#ifndef UCX_EFA_DETECT_H
#define UCX_EFA_DETECT_H

#include "abi.h"
#include "find.h"

typedef struct ucx_detected {
    const ucx_abi_t *abi;  /* NULL: refused */
    char            why[512]; /* then: what was found and what to do */
} ucx_detected_t;

/* Calls dl*. Fills @detected. */
void ucx_detect(const ucx_found_t *uct, ucx_detected_t *detected);

#endif
