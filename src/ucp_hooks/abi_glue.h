/*
 * The tables that UCX calls, filled from a provider: the translation between
 * provider.h and the private structures of the minor UCX_MINOR. Included once
 * by each abi_1_NN.c; everything here is static there, except UCX_ABI.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "abi_layout.h"
#include "config.h"

/* UCX's tl callbacks do not say which tl they are called for. */
enum { ABI_TL_MAX = 4 };

typedef struct abi_table {
    abi_config_field_t *fields;
    ucx_config_arg_t   *args;
    unsigned           count; /* of args */
} abi_table_t;

struct ucx_tables {
    abi_component_t       component; /* first: UCX's pointer is ours */
    ucx_host_t            *host;
    const ucx_component_t *provider;
    unsigned              tl_count;
    abi_table_t           md_table;
    abi_table_t           tl_tables[ABI_TL_MAX];
    abi_tl_t              tls[ABI_TL_MAX];
};

static const ucx_component_t *abi_provider(ucx_md_t *md)
{
    return ((ucx_tables_t*)md->component)->provider;
}

/* ---- memory domain ---- */

static void abi_md_close(uct_md_h md)
{
    ucx_md_t *self = (ucx_md_t*)md;

    abi_provider(self)->md_close(self);
}

static uint64_t abi_md_flags(unsigned caps)
{
    static const struct {
        unsigned cap;
        uint64_t flag;
    } map[] = {
        {UCX_MD_CAP_REG, ABI_MD_FLAG_REG},
        {UCX_MD_CAP_NEED_MEMH, ABI_MD_FLAG_NEED_MEMH},
        {UCX_MD_CAP_NEED_RKEY, ABI_MD_FLAG_NEED_RKEY},
        {UCX_MD_CAP_ADVISE, ABI_MD_FLAG_ADVISE},
        {UCX_MD_CAP_INVALIDATE, ABI_MD_FLAG_INVALIDATE},
    };
    uint64_t flags = 0;
    unsigned i;

    for (i = 0; i < sizeof(map) / sizeof(map[0]); ++i) {
        flags |= (caps & map[i].cap) ? map[i].flag : 0;
    }
    return flags;
}

static ucs_status_t abi_md_query(uct_md_h md, abi_md_attr_t *attr)
{
    ucx_md_t *self     = (ucx_md_t*)md;
    ucx_md_attr_t from = {0};
    ucs_status_t status;

    status = abi_provider(self)->md_query(self, &from);
    if (status != UCS_OK) {
        return status;
    }

    memset(attr, 0, sizeof(*attr));
    attr->max_reg          = from.max_reg;
    attr->flags            = abi_md_flags(from.caps);
    attr->reg_mem_types    = from.reg_mem_types;
    attr->access_mem_types = from.access_mem_types;
    attr->reg_cost         = from.reg_cost;
    attr->rkey_packed_size = from.rkey_packed_size;
    attr->local_cpus       = from.local_cpus;
    return UCS_OK;
}

static ucs_status_t abi_mem_reg(uct_md_h md, void *address, size_t length,
                                unsigned flags, uct_mem_h *memh_p)
{
    ucx_md_t *self    = (ucx_md_t*)md;
    ucx_mem_reg_t reg = {
        .address   = address,
        .length    = length,
        .flags     = flags,
        .mem_type  = UCS_MEMORY_TYPE_HOST,
        .dmabuf_fd = -1
    };

    return abi_provider(self)->mem_reg(self, &reg, memh_p);
}

static ucs_status_t abi_mem_dereg(uct_md_h md,
                                  const abi_mem_dereg_params_t *params)
{
    ucx_md_t *self         = (ucx_md_t*)md;
    uct_completion_t *comp = NULL;
    int invalidate;

    if (!(params->field_mask & ABI_MEM_DEREG_FIELD_MEMH) ||
        (params->memh == NULL)) {
        return UCS_ERR_INVALID_PARAM;
    }

    invalidate = (params->field_mask & ABI_MEM_DEREG_FIELD_FLAGS) &&
                 (params->flags & ABI_MEM_DEREG_INVALIDATE);
    if (invalidate) {
        if (!(params->field_mask & ABI_MEM_DEREG_FIELD_COMPLETION) ||
            (params->comp == NULL)) {
            return UCS_ERR_INVALID_PARAM;
        }
        comp = params->comp;
    }
    return abi_provider(self)->mem_dereg(self, params->memh, invalidate, comp);
}

static ucs_status_t abi_mem_advise(uct_md_h md, uct_mem_h memh, void *address,
                                   size_t length, unsigned advice)
{
    ucx_md_t *self = (ucx_md_t*)md;

    if (abi_provider(self)->mem_advise == NULL) {
        return UCS_ERR_UNSUPPORTED;
    }
    return abi_provider(self)->mem_advise(self, memh, address, length, advice);
}

static ucs_status_t abi_mkey_pack(uct_md_h md, uct_mem_h memh,
                                  const abi_mkey_pack_params_t *params,
                                  void *buffer)
{
    ucx_md_t *self = (ucx_md_t*)md;
    int invalidate = (params != NULL) &&
                     (params->field_mask & ABI_MKEY_PACK_FIELD_FLAGS) &&
                     (params->flags & ABI_MKEY_PACK_INVALIDATE);

    return abi_provider(self)->mkey_pack(self, memh, invalidate, buffer);
}

/* What we do not offer, and UCX may call all the same. */
static ucs_status_t
abi_mem_alloc(uct_md_h md, size_t *length_p, void **address_p,
              ucs_memory_type_t mem_type, unsigned flags, const char *name,
              uct_mem_h *memh_p)
{
    (void)md, (void)length_p, (void)address_p, (void)mem_type, (void)flags;
    (void)name, (void)memh_p;
    return UCS_ERR_UNSUPPORTED;
}

static ucs_status_t abi_mem_free(uct_md_h md, uct_mem_h memh)
{
    (void)md, (void)memh;
    return UCS_ERR_UNSUPPORTED;
}

static ucs_status_t abi_mem_query(uct_md_h md, const void *address,
                                  size_t length, uct_md_mem_attr_t *attr)
{
    (void)md, (void)address, (void)length, (void)attr;
    return UCS_ERR_UNSUPPORTED;
}

static int abi_is_sockaddr_accessible(uct_md_h md,
                                      const ucs_sock_addr_t *sockaddr,
                                      uct_sockaddr_accessibility_t mode)
{
    (void)md, (void)sockaddr, (void)mode;
    return 0;
}

static ucs_status_t
abi_detect_memory_type(uct_md_h md, const void *address, size_t length,
                       ucs_memory_type_t *mem_type_p)
{
    (void)md, (void)address, (void)length, (void)mem_type_p;
    return UCS_ERR_UNSUPPORTED;
}

static const abi_md_ops_t abi_md_ops = {
    .close                  = abi_md_close,
    .query                  = abi_md_query,
    .mem_alloc              = abi_mem_alloc,
    .mem_free               = abi_mem_free,
    .mem_advise             = abi_mem_advise,
    .mem_reg                = abi_mem_reg,
    .mem_dereg              = abi_mem_dereg,
    .mem_query              = abi_mem_query,
    .mkey_pack              = abi_mkey_pack,
    .is_sockaddr_accessible = abi_is_sockaddr_accessible,
    .detect_memory_type     = abi_detect_memory_type
};

/* ---- component ---- */

static ucs_status_t
abi_query_md_resources(abi_component_t *component,
                       uct_md_resource_desc_t **resources_p,
                       unsigned *num_resources_p)
{
    ucx_tables_t *tables              = (ucx_tables_t*)component;
    char (*names)[UCT_MD_NAME_MAX]    = NULL;
    uct_md_resource_desc_t *resources = NULL;
    unsigned i, count                 = 0;
    ucs_status_t status;

    *resources_p     = NULL;
    *num_resources_p = 0;

    status = tables->provider->query_mds(tables->host, &names, &count);
    if (status == UCS_ERR_NO_DEVICE) {
        status = UCS_OK;
        count  = 0;
    }
    if ((status != UCS_OK) || (count == 0)) {
        free(names);
        return status;
    }

    resources = ucx_mem_alloc(tables->host->calls, count * sizeof(*resources),
                              "efa_md_resources");
    if (resources == NULL) {
        free(names);
        return UCS_ERR_NO_MEMORY;
    }
    memset(resources, 0, count * sizeof(*resources));
    for (i = 0; i < count; ++i) {
        memcpy(resources[i].md_name, names[i], UCT_MD_NAME_MAX - 1);
    }
    free(names);
    *resources_p     = resources;
    *num_resources_p = count;
    return UCS_OK;
}

static ucs_status_t
abi_md_open(abi_component_t *component, const char *md_name,
            const uct_md_config_t *config, uct_md_h *md_p)
{
    ucx_tables_t *tables = (ucx_tables_t*)component;
    ucx_md_t *md         = NULL;
    ucs_status_t status;

    status = tables->provider->md_open(tables->host, md_name, config, &md);
    if (status != UCS_OK) {
        return status;
    }
    md->ops       = &abi_md_ops;
    md->component = component;
    md->host      = tables->host;
    *md_p         = (uct_md_h)md;
    return UCS_OK;
}

static ucs_status_t abi_cm_open(abi_component_t *component, uct_worker_h worker,
                                const uct_cm_config_t *config, uct_cm_h *cm_p)
{
    (void)component, (void)worker, (void)config, (void)cm_p;
    return UCS_ERR_UNSUPPORTED;
}

static ucs_status_t
abi_rkey_unpack(abi_component_t *component, const void *buffer,
                uct_rkey_t *rkey_p, void **handle_p)
{
    ucx_tables_t *tables = (ucx_tables_t*)component;

    return tables->provider->rkey_unpack(tables->host, buffer, rkey_p,
                                         handle_p);
}

static ucs_status_t abi_rkey_ptr(abi_component_t *component, uct_rkey_t rkey,
                                 void *handle, uint64_t remote_addr,
                                 void **local_addr_p)
{
    (void)component, (void)rkey, (void)handle, (void)remote_addr;
    (void)local_addr_p;
    return UCS_ERR_UNSUPPORTED;
}

static ucs_status_t abi_rkey_release(abi_component_t *component,
                                     uct_rkey_t rkey, void *handle)
{
    ucx_tables_t *tables = (ucx_tables_t*)component;

    return tables->provider->rkey_release(tables->host, rkey, handle);
}

static void abi_md_vfs_init(uct_md_h md)
{
    (void)md;
}

/* ---- transports ---- */

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

static ucs_status_t abi_ep_invalidate(uct_ep_h ep, unsigned flags)
{
    ucx_iface_base_t *iface = (ucx_iface_base_t*)ep->iface;

    (void)flags;
    return (iface->vops->ep_invalidate == NULL) ?
           UCS_ERR_UNSUPPORTED : iface->vops->ep_invalidate(ep);
}

static abi_internal_ops_t abi_internal_ops = {
    .iface_estimate_perf = abi_estimate_perf,
    .iface_vfs_refresh   = abi_vfs_refresh,
    .ep_query            = abi_ep_query,
    .ep_invalidate       = abi_ep_invalidate
};

#include "abi_tables.h"
