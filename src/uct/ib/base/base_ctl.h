/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_CTL_H_
#define BASE_CTL_H_

#include "base_types.h"

/* Posts the control packets that are due, as far as there are slots. */
unsigned base_ctl_post_all(base_iface_t *iface);

/* A control packet was sent, or ended with an error: its operation is free. */
void base_ctl_finish(base_iface_t *iface, base_op_t *op,
                     flow_send_status_t status);

#endif
