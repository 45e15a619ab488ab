/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_CTL_H_
#define BASE_CTL_H_

#include "base_types.h"

/* Posts the control packets that are due, as far as there are slots. */
unsigned base_ctl_post_all(base_iface_t *iface);

#endif
