/*
 * Part of abi_glue.h: the memory domain and the component.
 */

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
        {UCX_MD_CAP_REG_DMABUF, ABI_MD_FLAG_REG_DMABUF},
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

#if UCX_MINOR >= 14
    /* all is wanted, field_mask says so; what we do not set is zeroed */
    memset(&attr->max_alloc, 0,
           sizeof(*attr) - offsetof(abi_md_attr_t, max_alloc));
    attr->cache_mem_types  = from.cache_mem_types;
    attr->dmabuf_mem_types = from.dmabuf_mem_types;
#else
    memset(attr, 0, sizeof(*attr));
#endif
#if UCX_MINOR >= 16
    attr->reg_alignment = (from.reg_alignment != 0) ? from.reg_alignment : 1;
#endif
    attr->max_reg          = from.max_reg;
    attr->flags            = abi_md_flags(from.caps);
    attr->reg_mem_types    = from.reg_mem_types;
    attr->access_mem_types = from.access_mem_types;
    attr->reg_cost         = from.reg_cost;
    attr->rkey_packed_size = from.rkey_packed_size;
    attr->local_cpus       = from.local_cpus;
    return UCS_OK;
}

#if UCX_MINOR >= 14
static ucs_status_t abi_mem_reg(uct_md_h md, void *address, size_t length,
                                const abi_mem_reg_params_t *params,
                                uct_mem_h *memh_p)
{
    ucx_md_t *self    = (ucx_md_t*)md;
    ucx_mem_reg_t reg = {
        .address   = address,
        .length    = length,
        .mem_type  = UCS_MEMORY_TYPE_HOST,
        .dmabuf_fd = -1
    };

    if (params->field_mask & ABI_MEM_REG_FLAGS) {
        reg.flags = (unsigned)params->flags;
    }
    if (params->field_mask & ABI_MEM_REG_DMABUF_FD) {
        reg.dmabuf_fd = params->dmabuf_fd;
    }
    if (params->field_mask & ABI_MEM_REG_DMABUF_OFFSET) {
        reg.dmabuf_offset = params->dmabuf_offset;
    }
#if UCX_MINOR >= 22
    if (params->field_mask & ABI_MEM_REG_MEM_TYPE) {
        reg.mem_type = params->mem_type;
    }
#endif
    return abi_provider(self)->mem_reg(self, &reg, memh_p);
}
#else
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
#endif

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
#if UCX_MINOR >= 16
                                  void *address, size_t length,
#endif
                                  const abi_mkey_pack_params_t *params,
                                  void *buffer)
{
    ucx_md_t *self = (ucx_md_t*)md;
    int invalidate = (params != NULL) &&
                     (params->field_mask & ABI_MKEY_PACK_FIELD_FLAGS) &&
                     (params->flags & ABI_MKEY_PACK_INVALIDATE);

#if UCX_MINOR >= 16
    (void)address, (void)length;
#endif
    return abi_provider(self)->mkey_pack(self, memh, invalidate, buffer);
}

/* What we do not offer, and UCX may call all the same. */
static ucs_status_t
abi_mem_alloc(uct_md_h md, size_t *length_p, void **address_p,
              ucs_memory_type_t mem_type,
#if UCX_MINOR >= 19
              ucs_sys_device_t sys_dev,
#endif
              unsigned flags, const char *name, uct_mem_h *memh_p)
{
    (void)md, (void)length_p, (void)address_p, (void)mem_type, (void)flags;
    (void)name, (void)memh_p;
#if UCX_MINOR >= 19
    (void)sys_dev;
#endif
    return UCS_ERR_UNSUPPORTED;
}

static ucs_status_t abi_mem_free(uct_md_h md, uct_mem_h memh)
{
    (void)md, (void)memh;
    return UCS_ERR_UNSUPPORTED;
}

static ucs_status_t abi_mem_query(uct_md_h md, const void *address,
                                  size_t length, void *attr)
{
    (void)md, (void)address, (void)length, (void)attr;
    return UCS_ERR_UNSUPPORTED;
}

#if UCX_MINOR >= 14
static ucs_status_t abi_mem_attach(uct_md_h md, const void *mkey_buffer,
                                   void *params, uct_mem_h *memh_p)
{
    (void)md, (void)mkey_buffer, (void)params, (void)memh_p;
    return UCS_ERR_UNSUPPORTED;
}
#endif

#if UCX_MINOR <= 15
static int abi_is_sockaddr_accessible(uct_md_h md,
                                      const ucs_sock_addr_t *sockaddr,
                                      unsigned mode)
{
    (void)md, (void)sockaddr, (void)mode;
    return 0;
}
#endif

#if UCX_MINOR >= 21
static ucs_status_t abi_mem_elem_pack(uct_md_h md, uct_mem_h memh,
                                      uct_rkey_t rkey, void *mem_elem
#if UCX_MINOR >= 23
                                      , void **release_handle_p
#endif
                                      )
{
    (void)md, (void)memh, (void)rkey, (void)mem_elem;
#if UCX_MINOR >= 23
    (void)release_handle_p;
#endif
    return UCS_ERR_UNSUPPORTED;
}
#endif

#if UCX_MINOR >= 23
static void abi_mem_elem_release(uct_md_h md, void *release_handle)
{
    (void)md, (void)release_handle;
}
#endif

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
#if UCX_MINOR >= 14
    .mem_attach             = abi_mem_attach,
#endif
#if UCX_MINOR <= 15
    .is_sockaddr_accessible = abi_is_sockaddr_accessible,
#endif
#if UCX_MINOR >= 21
    .mem_elem_pack          = abi_mem_elem_pack,
#endif
#if UCX_MINOR >= 23
    .mem_elem_release       = abi_mem_elem_release,
#endif
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
#if UCX_MINOR >= 19
                const void *params,
#endif
                uct_rkey_t *rkey_p, void **handle_p)
{
    ucx_tables_t *tables = (ucx_tables_t*)component;

#if UCX_MINOR >= 19
    (void)params;
#endif
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

#if UCX_MINOR >= 16
static ucs_status_t abi_rkey_compare(abi_component_t *component,
                                     uct_rkey_t rkey1, uct_rkey_t rkey2,
                                     const void *params, int *result)
{
    ucx_tables_t *tables = (ucx_tables_t*)component;

    /* the parameters' only member is a mask of fields yet to come */
    if ((result == NULL) || (*(const uint64_t*)params != 0)) {
        return UCS_ERR_INVALID_PARAM;
    }
    *result = (tables->provider->rkey_compare != NULL) ?
              tables->provider->rkey_compare(tables->host, rkey1, rkey2) :
              (rkey1 > rkey2) - (rkey1 < rkey2);
    return UCS_OK;
}
#endif

static void abi_md_vfs_init(uct_md_h md)
{
    (void)md;
}
