/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_DIRECT_TEST_H_
#define EFA_DIRECT_TEST_H_

#include "efa_md.h"

/*
 * Whether the direct data path may be used on this domain's device: a queue
 * pair sends itself messages inside the request, of one piece and of two,
 * several times round each ring, and every byte, length and request must be
 * right. Tried once, and where that went well for all devices of the kind; it
 * takes less than a millisecond on hardware.
 *
 * Returns NULL, or why not: a text for users that stays as it is.
 */
const char *efa_direct_why_not(efa_md_t *md);

#endif
