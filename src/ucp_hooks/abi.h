/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One ucx_abi_t for each UCX minor of minors.h: its numbers, and the functions
 * that speak its private structures. abi.c implements them, compiled once for
 * each minor against the declarations of abi_layout.h. Tests compare the
 * layouts with the private headers of all these minors (hooks_layout.cc), and
 * run the callbacks that UCT's API calls under real ones (suites uct, matrix).
 */
#ifndef UCX_EFA_ABI_H
#define UCX_EFA_ABI_H

#include <string.h>

#include "calls.h"
#include "components.h"
#include "minors.h"
#include "provider.h"

/* UCX's tables for one host, all in one block of memory: built once, linked
 * into UCX's lists, never freed. */
typedef struct ucx_tables ucx_tables_t;

/* How each ucs_config_field_t begins, whatever its config_field_size. */
typedef struct ucx_abi_field {
    const char *name; /* NULL ends a table */
    const char *dfl_value;
    const char *doc;
    size_t     offset;
} ucx_abi_field_t;

typedef struct ucx_abi {
    unsigned minor;

    /* Sizes of exported objects, compared to the libuct at hand. */
    size_t   tl_size;            /* uct_tcp_tl */
    size_t   component_size;     /* uct_tcp_component */
    size_t   config_field_size;  /* uct_md_config_table: the end mark alone */

    /* Call @visit for every component in UCX's list but @ours, and then for
     * each of its transports. */
    void         (*list_visit)(const ucx_calls_t *calls, const void *ours,
                               ucx_visit_func_t visit, void *arg);

    /* Calls dlsym. NULL: a parser of UCX is missing and *missing_p is its
     * name, or it is NULL and memory is out. */
    ucx_tables_t *(*tables_build)(ucx_host_t *host, const char **missing_p);

    /* If not registered; with what tables_parse read into @global. */
    void         (*tables_free)(ucx_tables_t *tables, ucx_global_t *global);

    /* Link the configuration tables; with @declined nothing else, otherwise
     * also the component and its transports. No dl* call, no log line. */
    void         (*tables_register)(ucx_host_t *host, ucx_tables_t *tables,
                                    int declined);

    /* Parse all variables once, so that UCX does not call them unknown, the
     * process-wide ones into @global, where they stay. */
    void         (*tables_parse)(ucx_host_t *host, ucx_tables_t *tables,
                                 ucx_global_t *global);

    /* uct_iface_internal_ops_t of this minor. */
    void         *iface_internal_ops;
    size_t       internal_ops_size;

    /* Offset in it of ep_connect_to_ep_v2, 0: there is none. */
    size_t       connect_to_ep_v2;

    /* Interface flags that the minor wants of every network transport. */
    uint64_t     iface_flags;
} ucx_abi_t;

/* ucx_abi_1_13 and so on, one for each of minors.h */
#define UCX_ABI_NAME_(_minor) ucx_abi_1_##_minor
#define UCX_ABI_NAME(_minor)  UCX_ABI_NAME_(_minor)

#define UCX_ABI_DECLARE(_minor, _symbol, _stays) \
    extern const ucx_abi_t UCX_ABI_NAME(_minor);
UCX_MINORS(UCX_ABI_DECLARE)
#undef UCX_ABI_DECLARE

/* Row @n of the variables that UCX itself gives each transport; 0: the end. */
static inline int ucx_abi_iface_field(const ucx_calls_t *calls, unsigned n,
                                      ucx_abi_field_t *field)
{
    memcpy(field, (const char*)calls->iface_config_table +
                          n * calls->abi->config_field_size, sizeof(*field));
    return field->name != NULL;
}

#endif
