/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EFA_CONFIG_H_
#define EFA_CONFIG_H_

#include <ucp_hooks/provider.h>

/* Configuration of the memory domain, UCX_EFA_*; efa_config.c has the table. */
typedef struct efa_md_config {
    int      reg_cache;        /* ucs_ternary_auto_value_t */
    unsigned reg_cache_max;    /* regions kept unused and used */
    size_t   reg_cache_bytes;  /* or UCS_MEMUNITS_INF */
    int      fork_init;        /* ucs_ternary_auto_value_t */
    int      direct;           /* ucs_ternary_auto_value_t */
    int      huge_pages;       /* ucs_ternary_auto_value_t */
    int      dmabuf;           /* 0 or 1 */
    int      device_api;       /* ucs_ternary_auto_value_t */
    char    *record;           /* DIR[:SIZE]; may be empty */
    int      top;              /* 0 or 1 */
} efa_md_config_t;

#define EFA_MD_CONFIG_COUNT 10
extern const ucx_config_field_t efa_md_config_fields[];

#endif
