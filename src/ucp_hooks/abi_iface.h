/*
 * Part of abi_glue.h: transports, and the private operations of an interface.
 */

static ucs_status_t abi_query_devices(unsigned index, uct_md_h uct_md,
                                      abi_tl_device_t **tl_devices_p,
                                      unsigned *num_tl_devices_p)
{
    ucx_md_t *md             = (ucx_md_t*)uct_md;
    ucx_device_t *devices    = NULL;
    abi_tl_device_t *results = NULL;
    unsigned i, count        = 0;
    ucs_status_t status;

    *tl_devices_p     = NULL;
    *num_tl_devices_p = 0;

    status = abi_provider(md)->transports[index]->query_devices(md, &devices,
                                                                &count);
    if (status == UCS_ERR_NO_DEVICE) {
        status = UCS_OK;
        count  = 0;
    }
    if ((status != UCS_OK) || (count == 0)) {
        free(devices);
        return status;
    }

    results = ucx_mem_alloc(md->host->calls, count * sizeof(*results),
                            "efa_devices");
    if (results == NULL) {
        free(devices);
        return UCS_ERR_NO_MEMORY;
    }
    memset(results, 0, count * sizeof(*results));
    for (i = 0; i < count; ++i) {
        memcpy(results[i].name, devices[i].name, UCT_DEVICE_NAME_MAX - 1);
        results[i].type       = devices[i].type;
        results[i].sys_device = devices[i].sys_device;
    }
    free(devices);
    *tl_devices_p     = results;
    *num_tl_devices_p = count;
    return UCS_OK;
}

static ucs_status_t abi_iface_open(unsigned index, uct_md_h uct_md,
                                   uct_worker_h worker,
                                   const uct_iface_params_t *params,
                                   const uct_iface_config_t *config,
                                   uct_iface_h *iface_p)
{
    ucx_md_t *md = (ucx_md_t*)uct_md;

    return abi_provider(md)->transports[index]->iface_open(md, worker, params,
                                                           config, iface_p);
}

#define ABI_TL_CALLBACKS(_i) \
    static ucs_status_t abi_query_devices_##_i(uct_md_h md, \
                                               abi_tl_device_t **devices_p, \
                                               unsigned *num_p) \
    { \
        return abi_query_devices(_i, md, devices_p, num_p); \
    } \
    static ucs_status_t abi_iface_open_##_i(uct_md_h md, uct_worker_h worker, \
                                            const uct_iface_params_t *params, \
                                            const uct_iface_config_t *config, \
                                            uct_iface_h *iface_p) \
    { \
        return abi_iface_open(_i, md, worker, params, config, iface_p); \
    }

ABI_TL_CALLBACKS(0)
ABI_TL_CALLBACKS(1)
ABI_TL_CALLBACKS(2)
ABI_TL_CALLBACKS(3)

static const struct {
    ucs_status_t (*query_devices)(uct_md_h md, abi_tl_device_t **devices_p,
                                  unsigned *num_p);
    ucs_status_t (*iface_open)(uct_md_h md, uct_worker_h worker,
                               const uct_iface_params_t *params,
                               const uct_iface_config_t *config,
                               uct_iface_h *iface_p);
} abi_tl_callbacks[ABI_TL_MAX] = {
    {abi_query_devices_0, abi_iface_open_0},
    {abi_query_devices_1, abi_iface_open_1},
    {abi_query_devices_2, abi_iface_open_2},
    {abi_query_devices_3, abi_iface_open_3},
};

/* ---- internal operations ---- */

static void abi_perf_answer(abi_perf_attr_t *attr, const abi_perf_attr_t *full)
{
    if (attr->field_mask & ABI_PERF_SEND_PRE_OVERHEAD) {
        attr->send_pre_overhead = full->send_pre_overhead;
    }
    if (attr->field_mask & ABI_PERF_SEND_POST_OVERHEAD) {
        attr->send_post_overhead = full->send_post_overhead;
    }
    if (attr->field_mask & ABI_PERF_RECV_OVERHEAD) {
        attr->recv_overhead = full->recv_overhead;
    }
    if (attr->field_mask & ABI_PERF_BANDWIDTH) {
        attr->bandwidth = full->bandwidth;
    }
#if UCX_MINOR >= 19
    if (attr->field_mask & ABI_PERF_PATH_BANDWIDTH) {
        attr->path_bandwidth = full->path_bandwidth;
    }
#endif
#if UCX_MINOR >= 17
    if (attr->field_mask & ABI_PERF_FLAGS) {
        attr->flags = full->flags;
    }
#endif
    if (attr->field_mask & ABI_PERF_LATENCY) {
        attr->latency = full->latency;
    }
    if (attr->field_mask & ABI_PERF_MAX_INFLIGHT_EPS) {
        attr->max_inflight_eps = full->max_inflight_eps;
    }
}

/* What UCX did not tell: a host-to-host bcopy message. */
static void abi_perf_question(ucx_perf_t *perf, const abi_perf_attr_t *attr)
{
    perf->operation          = UCX_OP_AM_BCOPY;
    perf->local_memory_type  = UCS_MEMORY_TYPE_HOST;
    perf->remote_memory_type = UCS_MEMORY_TYPE_HOST;
    perf->local_sys_device   = UCS_SYS_DEVICE_ID_UNKNOWN;
    perf->remote_sys_device  = UCS_SYS_DEVICE_ID_UNKNOWN;

    if (attr->field_mask & ABI_PERF_OPERATION) {
        perf->operation = ((unsigned)attr->operation < UCX_OP_OTHER) ?
                          (ucx_operation_t)attr->operation : UCX_OP_OTHER;
    }
    if (attr->field_mask & ABI_PERF_LOCAL_MEMORY_TYPE) {
        perf->local_memory_type = attr->local_memory_type;
    }
    if (attr->field_mask & ABI_PERF_REMOTE_MEMORY_TYPE) {
        perf->remote_memory_type = attr->remote_memory_type;
    }
    if (attr->field_mask & ABI_PERF_LOCAL_SYS_DEVICE) {
        perf->local_sys_device = attr->local_sys_device;
    }
    if (attr->field_mask & ABI_PERF_REMOTE_SYS_DEVICE) {
        perf->remote_sys_device = attr->remote_sys_device;
    }
}

static ucs_status_t abi_estimate_perf(uct_iface_h iface, abi_perf_attr_t *attr)
{
    ucx_iface_base_t *self = (ucx_iface_base_t*)iface;
    abi_perf_attr_t full   = {
        .field_mask = ABI_PERF_SEND_PRE_OVERHEAD | ABI_PERF_SEND_POST_OVERHEAD |
                      ABI_PERF_RECV_OVERHEAD | ABI_PERF_BANDWIDTH |
#if UCX_MINOR >= 17
                      ABI_PERF_FLAGS |
#endif
#if UCX_MINOR >= 19
                      ABI_PERF_PATH_BANDWIDTH |
#endif
                      ABI_PERF_LATENCY | ABI_PERF_MAX_INFLIGHT_EPS
    };
    ucs_status_t (*base)(uct_iface_h iface, abi_perf_attr_t *attr);
    ucx_perf_t perf = {0};
    ucs_status_t status;

    memcpy(&base, &self->host->calls->iface_estimate_perf, sizeof(base));
    if (self->vops->estimate_perf == NULL) {
        return base(iface, attr);
    }

    status = base(iface, &full);
    if (status != UCS_OK) {
        return status;
    }

    abi_perf_question(&perf, attr);
    perf.send_pre_overhead  = full.send_pre_overhead;
    perf.send_post_overhead = full.send_post_overhead;
    perf.recv_overhead      = full.recv_overhead;
    perf.bandwidth          = full.bandwidth;
    perf.path_bandwidth     = full.bandwidth;
    perf.latency            = full.latency;
    perf.max_inflight_eps   = full.max_inflight_eps;
    self->vops->estimate_perf(iface, &perf);

    full.send_pre_overhead  = perf.send_pre_overhead;
    full.send_post_overhead = perf.send_post_overhead;
    full.recv_overhead      = perf.recv_overhead;
    full.bandwidth          = perf.bandwidth;
#if UCX_MINOR >= 19
    full.path_bandwidth     = perf.path_bandwidth;
#endif
    full.latency            = perf.latency;
    full.max_inflight_eps   = perf.max_inflight_eps;
    abi_perf_answer(attr, &full);
    return UCS_OK;
}

static void abi_vfs_refresh(uct_iface_h iface)
{
    (void)iface;
}

static ucs_status_t abi_ep_query(uct_ep_h ep, uct_ep_attr_t *attr)
{
    (void)ep, (void)attr;
    return UCS_ERR_UNSUPPORTED; /* socket addresses only, and we have none */
}

#if UCX_MINOR >= 21
static ucs_status_t abi_ep_invalidate(uct_ep_h ep, const void *how)
#else
static ucs_status_t abi_ep_invalidate(uct_ep_h ep, unsigned how)
#endif
{
    ucx_iface_base_t *iface = (ucx_iface_base_t*)ep->iface;

    (void)how;
    return (iface->vops->ep_invalidate == NULL) ?
           UCS_ERR_UNSUPPORTED : iface->vops->ep_invalidate(ep);
}

#if UCX_MINOR >= 14
static ucs_status_t
abi_ep_connect_to_ep_v2(uct_ep_h ep, const uct_device_addr_t *device_addr,
                        const uct_ep_addr_t *ep_addr, const void *params)
{
    (void)ep, (void)device_addr, (void)ep_addr, (void)params;
    return UCS_ERR_UNSUPPORTED; /* endpoints connect to interfaces */
}
#endif

#if UCX_MINOR >= 15
/* Is @addr this interface's own device? */
static int abi_is_own_device(uct_iface_h iface, const uct_device_addr_t *addr)
{
    uint8_t own[UINT8_MAX];
    uct_iface_attr_t attr;

    return (iface->ops.iface_query(iface, &attr) == UCS_OK) &&
           (attr.device_addr_len <= sizeof(own)) &&
           (iface->ops.iface_get_device_address(
                    iface, (uct_device_addr_t*)own) == UCS_OK) &&
           !memcmp(own, addr, attr.device_addr_len);
}

static void abi_unreachable_why(const abi_is_reachable_params_t *params,
                                const char *why)
{
    if ((params->field_mask & ABI_IS_REACHABLE_INFO) &&
        (params->field_mask & ABI_IS_REACHABLE_INFO_LENGTH) &&
        (params->info_string != NULL) && (params->info_string_length > 0)) {
        params->info_string[0] = '\0';
        strncat(params->info_string, why, params->info_string_length - 1);
    }
}

static int abi_is_reachable_v2(const uct_iface_h iface,
                               const abi_is_reachable_params_t *params)
{
    ucx_iface_base_t *self             = (ucx_iface_base_t*)iface;
    const uct_iface_addr_t *iface_addr = NULL;

    if (!(params->field_mask & ABI_IS_REACHABLE_DEVICE_ADDR)) {
        abi_unreachable_why(params, "no device address given");
        return 0;
    }
    if (params->field_mask & ABI_IS_REACHABLE_IFACE_ADDR) {
        iface_addr = params->iface_addr;
    }
    if (!self->vops->is_reachable(iface, params->device_addr, iface_addr)) {
        abi_unreachable_why(params, "not an address of this transport, or of "
                            "another version of its wire format");
        return 0;
    }
    if ((params->field_mask & ABI_IS_REACHABLE_SCOPE) &&
        (params->scope == ABI_SCOPE_DEVICE) &&
        !abi_is_own_device(iface, params->device_addr)) {
        abi_unreachable_why(params, "another device");
        return 0;
    }
    abi_unreachable_why(params, "");
    return 1;
}
#endif

#if UCX_MINOR >= 16
static int abi_ep_is_connected(uct_ep_h ep,
                               const abi_is_connected_params_t *params)
{
    ucx_iface_base_t *iface = (ucx_iface_base_t*)ep->iface;

    if (!(params->field_mask & ABI_IS_CONNECTED_DEVICE_ADDR)) {
        return 0;
    }
    return iface->vops->ep_is_connected(
            ep, params->device_addr,
            (params->field_mask & ABI_IS_CONNECTED_IFACE_ADDR) ?
            params->iface_addr : NULL);
}
#endif

#if UCX_MINOR == 20 || UCX_MINOR >= 22
/* UCX's own answer: none of what it asks for. Looked up for each host, since
 * this table serves all of the minor. */
static ucs_status_t abi_iface_query_v2(uct_iface_h iface, void *attr)
{
    ucx_iface_base_t *self = (ucx_iface_base_t*)iface;
    ucs_status_t (*base)(uct_iface_h iface, void *attr);

    memcpy(&base, &self->host->calls->iface_query_v2, sizeof(base));
    return (base != NULL) ? base(iface, attr) : UCS_ERR_UNSUPPORTED;
}
#endif

#if UCX_MINOR == 20
static ucs_status_t abi_mem_element_pack(const uct_iface_h iface,
                                         uct_mem_h memh, uct_rkey_t rkey,
                                         void *mem_element)
{
    (void)iface, (void)memh, (void)rkey, (void)mem_element;
    return UCS_ERR_UNSUPPORTED;
}
#endif

#if UCX_MINOR >= 20
static ucs_status_t abi_ep_get_device_ep(uct_ep_h ep, void **device_ep_p)
{
    (void)ep, (void)device_ep_p;
    return UCS_ERR_UNSUPPORTED;
}
#endif

#if UCX_MINOR >= 22
static ucs_status_t
abi_sgl_zcopy(uct_ep_h ep, void *const *buffers, const size_t *lengths,
              uct_mem_h const *memhs, const uint64_t *remote_addrs,
              uct_rkey_t const *rkeys, const size_t *counts,
              const size_t *strides, size_t count, uct_completion_t *comp)
{
    (void)ep, (void)buffers, (void)lengths, (void)memhs, (void)remote_addrs;
    (void)rkeys, (void)counts, (void)strides, (void)count, (void)comp;
    return UCS_ERR_UNSUPPORTED;
}
#endif

#if UCX_MINOR >= 23
static ucs_status_t abi_ep_outstanding_purge(uct_ep_h ep, const void *params)
{
    (void)ep, (void)params;
    return UCS_ERR_UNSUPPORTED;
}
#endif

static abi_internal_ops_t abi_internal_ops = {
#if UCX_MINOR == 20 || UCX_MINOR >= 22
    .iface_query_v2         = abi_iface_query_v2,
#endif
    .iface_estimate_perf    = abi_estimate_perf,
    .iface_vfs_refresh      = abi_vfs_refresh,
    .ep_query               = abi_ep_query,
    .ep_invalidate          = abi_ep_invalidate,
#if UCX_MINOR >= 14
    .ep_connect_to_ep_v2    = abi_ep_connect_to_ep_v2,
#endif
#if UCX_MINOR >= 15
    .iface_is_reachable_v2  = abi_is_reachable_v2,
#endif
#if UCX_MINOR >= 16
    .ep_is_connected        = abi_ep_is_connected,
#endif
#if UCX_MINOR == 20
    .iface_mem_element_pack = abi_mem_element_pack,
#endif
#if UCX_MINOR >= 20
    .ep_get_device_ep       = abi_ep_get_device_ep,
#endif
#if UCX_MINOR >= 22
    .ep_put_sgl_zcopy       = abi_sgl_zcopy,
#endif
#if UCX_MINOR >= 23
    .ep_get_sgl_zcopy       = abi_sgl_zcopy,
    .ep_outstanding_purge   = abi_ep_outstanding_purge,
#endif
};
