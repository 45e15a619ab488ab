/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_FLUSH_H_
#define BASE_FLUSH_H_

#include "base_types.h"

/* ep_flush, ep_fence, iface_flush, iface_fence of UCT. */
ucs_status_t
base_flush_ep(uct_ep_h tl_ep, unsigned flags, uct_completion_t *comp);
ucs_status_t base_flush_ep_fence(uct_ep_h tl_ep, unsigned flags);
ucs_status_t base_flush_iface(uct_iface_h tl_iface, unsigned flags,
                              uct_completion_t *comp);
ucs_status_t base_flush_iface_fence(uct_iface_h tl_iface, unsigned flags);

#endif
