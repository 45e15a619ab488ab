/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_WIREUP_H_
#define BASE_WIREUP_H_

#include "base_types.h"

/* A message of UCP's wire-up was posted. */
void base_wireup_sent(base_ep_t *ep);

/* A fence was among requests that UCP took back from us to hold them. */
void base_wireup_took_fence(base_ep_t *ep);

/* Out of line part of base_wireup_ep_is_replayed. */
int base_wireup_is_replayed(base_ep_t *ep);

/* RMA was posted, or a request queued: may a fence stand right behind it that
 * we were not told of at this place? */
static inline int base_wireup_ep_is_replayed(base_ep_t *ep)
{
    return __builtin_expect(ep->wireup != BASE_WIREUP_NONE, 0) &&
           base_wireup_is_replayed(ep);
}

#endif
