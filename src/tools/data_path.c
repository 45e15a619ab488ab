/* SPDX-License-Identifier: BSD-3-Clause */
/* Which way messages take to a device, found out as the module does: by its own
 * trial, on a memory domain with no more than that needs. */
#include "info.h"

#include <uct/ib/efa/efa_ah.h>
#include <uct/ib/efa/efa_direct_test.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *data_path_try(info_t *info, efa_device_t *device)
{
    efa_md_t    md  = {.super = {.host = &info->host}, .device = device};
    const char *why = "no protection domain";

    md.pd = device->verbs->alloc_pd(device->context);
    if (md.pd == NULL) {
        return why;
    }
    why = "out of memory";
    if (efa_ah_table_open(&md) == UCS_OK) {
        why = efa_direct_why_not(&md);
        efa_ah_table_close(&md);
    }
    device->verbs->dealloc_pd(md.pd);
    return why;
}

void data_path_describe(info_t *info, efa_device_t *device, char *text,
                        size_t size)
{
    const char *wish = getenv("UCX_EFA_DIRECT"), *why;

    if (info_wishes("UCX_EFA_DIRECT", 0)) {
        snprintf(text, size, "by libefa: UCX_EFA_DIRECT=%s", wish);
        return;
    }
    why = data_path_try(info, device);
    if (why == NULL) {
        snprintf(text, size, "direct, without libefa");
    } else if (info_wishes("UCX_EFA_DIRECT", 1)) {
        snprintf(text, size, "none: UCX_EFA_DIRECT=%s, but %s", wish, why);
    } else {
        snprintf(text, size, "by libefa: %s", why);
    }
}
