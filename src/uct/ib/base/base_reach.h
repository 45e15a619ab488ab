/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_REACH_H_
#define BASE_REACH_H_

#include "base_types.h"

/* iface_get_device_address, iface_get_address, iface_is_reachable,
 * ep_is_connected of UCT. */
ucs_status_t
base_iface_get_device_address(uct_iface_h tl_iface, uct_device_addr_t *addr);
ucs_status_t
base_iface_get_address(uct_iface_h tl_iface, uct_iface_addr_t *addr);
int base_iface_is_reachable(uct_iface_h tl_iface,
                            const uct_device_addr_t *dev_addr,
                            const uct_iface_addr_t *iface_addr);
int base_ep_is_connected(uct_ep_h tl_ep, const uct_device_addr_t *dev_addr,
                         const uct_iface_addr_t *iface_addr);

#endif
