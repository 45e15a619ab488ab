/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UCX gives up a whole worker when one of its interfaces cannot be opened, also
 * where other transports would do. So what would stop ours, little locked
 * memory first of all, is found out before, and the device is not offered:
 * then UCX goes on without it, and says so (ucp_hooks/fallback.h).
 */
#include "efa_trial.h"
#include "efa_chunk.h"
#include "efa_qp.h"

#include <stdio.h>
#include <stdlib.h>

#define EFA_TRIAL_BYTES 0x400000 /* an interface begins with 3 MB, and grows */
#define EFA_TRIAL_DEPTH 64
#define EFA_TRIAL_QKEY  1

ucs_status_t efa_md_try(efa_md_t *md)
{
    const efa_qp_params_t params = {
        .tx_depth = EFA_TRIAL_DEPTH,
        .rx_depth = EFA_TRIAL_DEPTH,
        .qkey     = EFA_TRIAL_QKEY
    };
    efa_chunk_t *list = NULL;
    efa_qp_t     qp;
    ucs_status_t status;

    status = efa_chunk_add(md, &list, EFA_TRIAL_BYTES);
    if (status != UCS_OK) {
        return status;
    }
    status = efa_qp_open(&qp, md, &params);
    if (status == UCS_OK) {
        efa_qp_close(&qp);
    }
    efa_chunk_list_free(md, &list);
    return status;
}

void efa_md_try_left_out(ucx_host_t *host)
{
    static const efa_md_config_t config = {
        .reg_cache = UCS_NO,
        .fork_init = UCS_NO
    };
    char         (*names)[UCT_MD_NAME_MAX];
    unsigned     i, count;
    ucx_md_t     *md;

    if (efa_md_list(host, &names, &count) != UCS_OK) {
        return;
    }
    for (i = 0; i < count; ++i) {
        if (efa_md_open(host, names[i], &config, &md) == UCS_OK) {
            (void)efa_md_try((efa_md_t*)md);
            efa_md_close(md);
        }
    }
    free(names);
}

ucs_status_t efa_md_query_devices(ucx_md_t *super, const char *transport,
                                  ucx_device_t **devices_p, unsigned *count_p)
{
    efa_md_t     *md = (efa_md_t*)super;
    ucx_device_t *device;

    if (!ucx_user_left_out(transport) && (efa_md_try(md) != UCS_OK)) {
        return UCS_ERR_NO_DEVICE;
    }
    device = calloc(1, sizeof(*device));
    if (device == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    snprintf(device->name, sizeof(device->name), "%.*s:%d",
             (int)sizeof(device->name) - 4, md->device->name, EFA_PORT);
    device->type       = UCT_DEVICE_TYPE_NET;
    device->sys_device = ucx_host_sys_device(
            super->host, (md->device->bdf[0] != '\0') ? md->device->bdf : NULL,
            md->device->name);
    *devices_p = device;
    *count_p   = 1;
    return UCS_OK;
}
