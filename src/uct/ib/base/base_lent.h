/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_LENT_H_
#define BASE_LENT_H_

#include "base_types.h"

/* The endpoint is being destroyed: completes what can be of what is outstanding
 * and takes back what the user lent the device, as far as that goes. */
void base_ep_take_back(base_ep_t *ep);

#endif
