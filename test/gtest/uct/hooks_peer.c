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
#include <uct/api/uct.h>

enum { NAME_MAX_LEN = UCT_COMPONENT_NAME_MAX };

static ucs_status_t md_open(uct_component_h component, uct_md_h *md_p)
{
    uct_component_attr_t attr = {
        .field_mask = UCT_COMPONENT_ATTR_FIELD_NAME |
                      UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT
    };
    uct_md_resource_desc_t mds[8];
    uct_md_config_t *config;
    ucs_status_t status;

    status = uct_component_query(component, &attr);
    if ((status != UCS_OK) || strncmp(attr.name, "efa", NAME_MAX_LEN) ||
        (attr.md_resource_count == 0) || (attr.md_resource_count > 8)) {
        return UCS_ERR_NO_DEVICE;
    }
    attr.field_mask   = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
    attr.md_resources = mds;
    status = uct_component_query(component, &attr);
    if (status == UCS_OK) {
        status = uct_md_config_read(component, NULL, NULL, &config);
    }
    if (status == UCS_OK) {
        status = uct_md_open(component, mds[0].md_name, config, md_p);
        uct_config_release(config);
    }
    return status;
}

static ucs_status_t md_find(uct_md_h *md_p)
{
    uct_component_h *components;
    ucs_status_t status;
    unsigned i, count;

    status = uct_query_components(&components, &count);
    if (status != UCS_OK) {
        return status;
    }
    status = UCS_ERR_NO_DEVICE;
    for (i = 0; (i < count) && (status != UCS_OK); ++i) {
        status = md_open(components[i], md_p);
    }
    uct_release_component_list(components);
    return status;
}

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
    uct_md_h md;

    if ((ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async) !=
         UCS_OK) ||
        (uct_worker_create(async, UCS_THREAD_MODE_SINGLE, &worker) != UCS_OK) ||
        (md_find(&md) != UCS_OK) ||
        (iface_open(md, worker, &iface) != UCS_OK) ||
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
    uct_md_close(md);
    uct_worker_destroy(worker);
    ucs_async_context_destroy(async);
    return 0;
}
