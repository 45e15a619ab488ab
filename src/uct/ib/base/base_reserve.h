/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_RESERVE_H_
#define BASE_RESERVE_H_

#include "base_types.h"

/* An operation of the reserve, if the endpoint may take one now, else NULL. */
base_op_t *base_op_from_reserve(base_iface_t *iface, base_ep_t *ep);

/* An operation for the endpoint, to be taken by base_op_take_any, or NULL. */
static inline base_op_t *base_op_first(base_iface_t *iface, base_ep_t *ep)
{
    base_op_t *op = iface->ops.free;

    return __builtin_expect(op != NULL, 1) ? op :
                                             base_op_from_reserve(iface, ep);
}

#endif
