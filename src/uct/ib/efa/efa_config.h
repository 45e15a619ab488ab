/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_CONFIG_H_
#define EFA_CONFIG_H_

#include <ucp_hooks/provider.h>

/* Configuration of the memory domain, UCX_EFA_*. TERNARY is UCX's
 * ucs_ternary_auto_value_t, and MEMUNITS may be UCS_MEMUNITS_INF. */
typedef struct efa_md_config {
#define MD_VARIABLE UCX_CONFIG_MEMBER
#include <uct/ib/variables.def>
} efa_md_config_t;

#endif
