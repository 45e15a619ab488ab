/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables that UCX calls, filled from a provider: the translation between
 * provider.h and the private structures of the minor UCX_MINOR. Compiled once
 * for each minor of minors.h, with that number (local.mk); everything here is
 * static, except UCX_ABI. The parts (.inc) are no headers: they stand on these
 * declarations.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "abi_layout.h"
#include "components.h"
#include "config.h"
#include "fallback.h"
#include "message.h"
#include "tls.h"

#define UCX_ABI UCX_ABI_NAME(UCX_MINOR)

/* UCX's callbacks have parameters that we do not need. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* An operation that we do not offer, and that UCX may call all the same. */
#define ABI_UNSUPPORTED(_name, ...) \
    static ucs_status_t _name(__VA_ARGS__) \
    { \
        return UCS_ERR_UNSUPPORTED; \
    }

static_assert(offsetof(abi_config_field_t, offset) ==
                      offsetof(ucx_abi_field_t, offset), "a field's head");

/* UCX's tl callbacks do not say which tl they are called for. */
enum { ABI_TL_MAX = 4 };

typedef struct abi_table {
    abi_config_field_t *fields;
    ucx_config_arg_t   *args;
    unsigned           count; /* of args */
} abi_table_t;

struct ucx_tables {
    abi_component_t    component; /* first: UCX's pointer is ours */
    ucx_host_t         *host;
    unsigned           tl_count;
    abi_table_t        md_table, global_table;
    abi_config_entry_t global;
    abi_table_t        tl_tables[ABI_TL_MAX];
    abi_tl_t           tls[ABI_TL_MAX];
};

#include "abi_md.inc"
#include "abi_iface.inc"
#include "abi_tables.inc"
