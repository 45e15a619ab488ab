/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_EP_H_
#define BASE_EP_H_

#include "base_types.h"

/* ep_create and ep_destroy of UCT, and ep_invalidate of ours
 * (ucp_hooks/provider.h). */
ucs_status_t base_ep_create(const uct_ep_params_t *params, uct_ep_h *ep_p);
void         base_ep_destroy(uct_ep_h tl_ep);
ucs_status_t base_ep_invalidate(uct_ep_h tl_ep);

#endif
