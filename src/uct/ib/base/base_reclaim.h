/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_RECLAIM_H_
#define BASE_RECLAIM_H_

#include "base_types.h"

/* The endpoint is being destroyed: completes outstanding operations and takes
 * back memory that the user lent the device, as far as that goes. */
void base_reclaim_ep(base_ep_t *ep);

#endif
