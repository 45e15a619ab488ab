/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A UCT program that asks an srd interface about peers of other kinds.
 *
 *   hooks_peer KIND     own | other | newer | older
 *
 * Prints "KIND: reachable" or "KIND: unreachable".
 */
#include <stdio.h>
#include <string.h>
#include <ucs/async/async_fwd.h>

#include "../../apps/uct_open.h"

static ucs_status_t iface_open(uct_md_h md, uct_worker_h worker,
                               uct_iface_h *iface_p)
{
    uct_iface_params_t params = {
        .field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE |
                      UCT_IFACE_PARAM_FIELD_DEVICE,
        .open_mode  = UCT_IFACE_OPEN_MODE_DEVICE
    };
    uct_tl_resource_desc_t *tls;
    uct_iface_config_t *config;
    ucs_status_t status;
    unsigned count;

    status = uct_md_query_tl_resources(md, &tls, &count);
    if ((status != UCS_OK) || (count == 0)) {
        return UCS_ERR_NO_DEVICE;
    }
    params.mode.device.tl_name  = tls[0].tl_name;
    params.mode.device.dev_name = tls[0].dev_name;
    status = uct_md_iface_config_read(md, tls[0].tl_name, NULL, NULL, &config);
    if (status == UCS_OK) {
        status = uct_iface_open(md, worker, &params, config, iface_p);
        uct_config_release(config);
    }
    uct_release_tl_resource_list(tls);
    return status;
}

/* Device address: 3 bytes of magic, version, GID. */
static void address_change(unsigned char *addr, const char *kind)
{
    if (!strcmp(kind, "other")) {
        addr[0] ^= 0xff;
    } else if (!strcmp(kind, "newer")) {
        addr[3] += 1;
    } else if (!strcmp(kind, "older")) {
        addr[3] -= 1;
    }
}

int main(int argc, char **argv)
{
    const char *kind = (argc > 1) ? argv[1] : "own";
    unsigned char dev_addr[64], iface_addr[64];
    ucs_async_context_t *async;
    uct_worker_h worker;
    uct_iface_h iface;
    uct_efa_t efa;

    if ((ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async) !=
         UCS_OK) ||
        (uct_worker_create(async, UCS_THREAD_MODE_SINGLE, &worker) != UCS_OK) ||
        (uct_open_efa(&efa) != UCS_OK) ||
        (iface_open(efa.md, worker, &iface) != UCS_OK) ||
        (uct_iface_get_device_address(iface, (void*)dev_addr) != UCS_OK) ||
        (uct_iface_get_address(iface, (void*)iface_addr) != UCS_OK)) {
        fprintf(stderr, "hooks_peer: no srd interface\n");
        return 1;
    }
    address_change(dev_addr, kind);
    printf("%s: %s\n", kind,
           uct_iface_is_reachable(iface, (void*)dev_addr, (void*)iface_addr) ?
           "reachable" : "unreachable");
    uct_iface_close(iface);
    uct_md_close(efa.md);
    uct_worker_destroy(worker);
    ucs_async_context_destroy(async);
    return 0;
}
