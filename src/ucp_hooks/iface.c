/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UCX's base classes for interfaces and endpoints, behind host.h.
 */
#include "abi.h"
#include "calls.h"
#include "fallback.h"
#include "provider.h"

#include <string.h>

static int iface_is_reachable(const uct_iface_h iface,
                              const uct_device_addr_t *dev_addr,
                              const uct_iface_addr_t *iface_addr)
{
    ucx_iface_base_t *self = (ucx_iface_base_t*)iface;

    return self->vops->is_reachable(iface, dev_addr, iface_addr);
}

/* The transport's answer, and the flags that this minor wants beside. */
static ucs_status_t iface_query(uct_iface_h iface, uct_iface_attr_t *attr)
{
    ucx_iface_base_t *self = (ucx_iface_base_t*)iface;
    ucs_status_t status    = self->query(iface, attr);

    if (status == UCS_OK) {
        attr->cap.flags |= self->host->calls->abi->iface_flags;
    }
    return status;
}

/* The value of UCX_*_FAILURE in UCX's part of a transport's configuration: the
 * variable is found by its name, since its place is UCX's own. */
static ucs_log_level_t iface_failure_level(const ucx_calls_t *calls,
                                           const void *config)
{
    ucx_abi_field_t field;
    unsigned n;

    for (n = 0; ucx_abi_iface_field(calls, n, &field); ++n) {
        if (!strcmp(field.name, "FAILURE") &&
            (field.offset + sizeof(int) <= sizeof(ucx_iface_config_t))) {
            return (ucs_log_level_t)*(const int*)((const char*)config +
                                                  field.offset);
        }
    }
    return UCS_LOG_LEVEL_DIAG; /* UCX's default */
}

ucs_status_t ucx_iface_init(ucx_iface_base_t *self, const uct_iface_ops_t *ops,
                            const ucx_iface_vops_t *vops, ucx_md_t *md,
                            uct_worker_h worker,
                            const uct_iface_params_t *params,
                            const void *config)
{
    ucx_host_t *host         = md->host;
    const ucx_calls_t *calls = host->calls;
    uct_iface_ops_t all      = *ops;
    int init_count           = 1;
    void *stats_parent       = NULL;
    ucs_status_t status;

    if (all.iface_is_reachable == NULL) {
        all.iface_is_reachable = iface_is_reachable;
    }
    if (params->field_mask & UCT_IFACE_PARAM_FIELD_STATS_ROOT) {
        stats_parent = params->stats_root;
    }

    self->host  = host;
    self->vops  = vops;
    self->query = ops->iface_query;
    if (calls->abi->iface_flags != 0) {
        all.iface_query = iface_query;
    }
    status = calls->iface_init(self, calls->iface_class, &init_count, &all,
                               calls->abi->iface_internal_ops, (uct_md_h)md,
                               worker, params, config, stats_parent, "efa");
    if (status != UCS_OK) {
        calls->class_cleanup_chain(calls->iface_class, self, init_count);
        return status;
    }
    self->failure_level = iface_failure_level(calls, config);
    self->use           = ucx_use_begin(sizeof(*self->use), &self->super,
                                        worker, USE_EFA);
    return UCS_OK;
}

void ucx_iface_cleanup(ucx_iface_base_t *self)
{
    const ucx_calls_t *calls = self->host->calls;

    ucx_use_end(self->use);
    calls->class_cleanup_chain(calls->iface_class, self, -1);
}

void ucx_iface_progress_enable(uct_iface_h iface, unsigned flags)
{
    ((ucx_iface_base_t*)iface)->host->calls->iface_progress_enable(iface,
                                                                   flags);
}

void ucx_iface_progress_disable(uct_iface_h iface, unsigned flags)
{
    ((ucx_iface_base_t*)iface)->host->calls->iface_progress_disable(iface,
                                                                    flags);
}

void ucx_iface_attr_init(ucx_iface_base_t *self, uct_iface_attr_t *attr)
{
    self->host->calls->iface_query(self, attr);
}

ucx_device_api_t ucx_host_device_api(const ucx_host_t *host)
{
    return (host->calls->mem_elem_release != NULL) ? UCX_DEVICE_API_IFACE :
           (host->minor == 22)                     ? UCX_DEVICE_API_EP :
                                                     UCX_DEVICE_API_NONE;
}

void ucx_iface_attr_device(const ucx_iface_base_t *self, uct_iface_attr_t *attr)
{
    /* UCT_IFACE_FLAG_DEVICE_EP, UCT_IFACE_FLAG_DEVICE_LKEY; and the member
     * ctl_device, in what is padding in the header that we are built with */
    size_t ctl_device = offsetof(uct_iface_attr_t, dev_num_paths) +
                        sizeof(attr->dev_num_paths);

    if (ucx_host_device_api(self->host) != UCX_DEVICE_API_NONE) {
        attr->cap.flags |= (1ul << 55) | (1ul << 56);
        ((uint8_t*)attr)[ctl_device] = UCS_SYS_DEVICE_ID_UNKNOWN;
    }
}

ucs_status_t ucx_iface_handle_ep_err(ucx_iface_base_t *self, uct_ep_h ep,
                                     ucs_status_t status)
{
    return self->host->calls->iface_handle_ep_err(&self->super, ep, status);
}

ucs_log_level_t ucx_iface_failure_level(const ucx_iface_base_t *self,
                                        ucs_status_t handled,
                                        ucs_status_t status)
{
    if (handled != UCS_OK) {
        return UCS_LOG_LEVEL_FATAL;
    }
    return ((status == UCS_ERR_ENDPOINT_TIMEOUT) ||
            (status == UCS_ERR_CONNECTION_RESET)) ? self->failure_level :
                                                    UCS_LOG_LEVEL_ERROR;
}

int ucx_host_hides_unhandled(const ucx_host_t *host)
{
    return host->minor >= 21;
}

ucs_status_t ucx_ep_init(ucx_ep_base_t *ep, ucx_iface_base_t *iface)
{
    const ucx_calls_t *calls = iface->host->calls;
    int init_count           = 1;
    ucs_status_t status;

    status = calls->ep_init(ep, calls->ep_class, &init_count, iface);
    if (status != UCS_OK) {
        calls->class_cleanup_chain(calls->ep_class, ep, init_count);
        return status;
    }
    ucx_use_add_ep(iface->use);
    return UCS_OK;
}

void ucx_ep_cleanup(ucx_ep_base_t *ep)
{
    const ucx_calls_t *calls =
            ((ucx_iface_base_t*)ep->super.iface)->host->calls;

    calls->class_cleanup_chain(calls->ep_class, ep, -1);
}
