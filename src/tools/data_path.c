/* SPDX-License-Identifier: BSD-3-Clause */
/* Which way messages take to a device, found out as the module does: by its own
 * trial, on a memory domain with no more than that needs. */
#include "info.h"

#include <uct/ib/efa/efa_ah.h>
#include <uct/ib/efa/efa_direct_test.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* Whether a wish (NULL: there is none), as UCX reads it, is one of these. */
static int data_path_is(const char *wish, const char *const words[])
{
    unsigned i;

    for (i = 0; (wish != NULL) && (words[i] != NULL); ++i) {
        if (strcasecmp(wish, words[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

void data_path_describe(info_t *info, efa_device_t *device, char *text,
                        size_t size)
{
    static const char *const no[]  = {"n", "no", "0", "off", NULL};
    static const char *const yes[] = {"y", "yes", "1", "on", NULL};
    const char              *wish  = getenv("UCX_EFA_DIRECT"), *why;

    if (data_path_is(wish, no)) {
        snprintf(text, size, "by libefa: UCX_EFA_DIRECT=%s", wish);
        return;
    }
    why = data_path_try(info, device);
    if (why == NULL) {
        snprintf(text, size, "direct, without libefa");
    } else if (data_path_is(wish, yes)) {
        snprintf(text, size, "none: UCX_EFA_DIRECT=%s, but %s", wish, why);
    } else {
        snprintf(text, size, "by libefa: %s", why);
    }
}
