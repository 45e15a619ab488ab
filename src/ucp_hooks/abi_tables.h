/*
 * Part of abi_glue.h: building UCX's tables for one host and linking
 * them into UCX's lists.
 */

/* UCX's own interface variables as parent table of a transport's. */
static const char *abi_parent_field(abi_config_field_t *field,
                                    const ucx_calls_t *calls)
{
    static const char *const names[] = {
        "ucs_config_sscanf_table", "ucs_config_clone_table",
        "ucs_config_release_table", "ucs_config_help_table"
    };
    void *functions[4];
    unsigned i;

    for (i = 0; i < 4; ++i) {
        functions[i] = dlsym(calls->uct, names[i]);
        if (functions[i] == NULL) {
            return names[i];
        }
    }
    field->name       = "";
    field->dfl_value  = "";
#if UCX_MINOR >= 17
    field->parser.doc = ucx_config_doc;
#endif
    field->parser.arg = calls->iface_config_table;
    memcpy(&field->parser.read, &functions[0], sizeof(void*));
    memcpy(&field->parser.clone, &functions[1], sizeof(void*));
    memcpy(&field->parser.release, &functions[2], sizeof(void*));
    memcpy(&field->parser.help, &functions[3], sizeof(void*));
    return NULL;
}

/* The provider's fields, UCX's end mark, and for an interface UCX's own table
 * in front. 0, or -1 with *missing_p as tables_build() has it. */
static int abi_table_build(abi_table_t *table, const ucx_config_table_t *from,
                           const ucx_calls_t *calls, int is_iface,
                           const char **missing_p)
{
    abi_config_field_t *field;
    unsigned i;

    *missing_p    = NULL;
    table->count  = from->count;
    table->fields = calloc(from->count + 2, sizeof(*table->fields));
    table->args   = calloc(from->count + 1, sizeof(*table->args));
    if ((table->fields == NULL) || (table->args == NULL)) {
        return -1;
    }

    field = table->fields;
    if (is_iface) {
        *missing_p = abi_parent_field(field++, calls);
    }
    for (i = 0; (i < from->count) && (*missing_p == NULL); ++i, ++field) {
        *missing_p = ucx_config_arg_init(&table->args[i], calls,
                                         &from->fields[i], from->prefix);
        field->name           = from->fields[i].name;
        field->dfl_value      = from->fields[i].dflt;
        field->doc            = from->fields[i].doc;
        field->offset         = from->fields[i].offset;
        field->parser.read    = ucx_config_read;
        field->parser.write   = ucx_config_write;
        field->parser.clone   = ucx_config_clone;
        field->parser.release = ucx_config_release;
        field->parser.help    = ucx_config_help;
#if UCX_MINOR >= 17
        field->parser.doc     = ucx_config_doc;
#endif
        field->parser.arg     = &table->args[i];
    }
    return (*missing_p == NULL) ? 0 : -1;
}

static void abi_entry_build(abi_config_entry_t *entry,
                            const ucx_config_table_t *from,
                            const abi_table_t *table)
{
    entry->name   = from->title;
    entry->prefix = from->prefix;
    entry->table  = table->fields;
    entry->size   = from->size;
}

static void abi_component_build(ucx_tables_t *tables,
                                const ucx_component_t *provider)
{
    abi_component_t *component = &tables->component;

    strncpy(component->name, provider->name, UCT_COMPONENT_NAME_MAX - 1);
    component->query_md_resources = abi_query_md_resources;
    component->md_open            = abi_md_open;
    component->cm_open            = abi_cm_open;
    component->rkey_unpack        = abi_rkey_unpack;
    component->rkey_ptr           = abi_rkey_ptr;
    component->rkey_release       = abi_rkey_release;
#if UCX_MINOR >= 16
    component->rkey_compare       = abi_rkey_compare;
#endif
    component->md_vfs_init        = abi_md_vfs_init;
    component->cm_config.name     = "";
    component->cm_config.prefix   = "";
    ucs_list_head_init(&component->tl_list);
    abi_entry_build(&component->md_config, &provider->md_config,
                    &tables->md_table);
}

static void abi_tl_build(ucx_tables_t *tables, unsigned index,
                         const ucx_transport_t *transport)
{
    abi_tl_t *tl = &tables->tls[index];

    strncpy(tl->name, transport->name, UCT_TL_NAME_MAX - 1);
    tl->query_devices = abi_tl_callbacks[index].query_devices;
    tl->iface_open    = abi_tl_callbacks[index].iface_open;
    abi_entry_build(&tl->config, &transport->config,
                    &tables->tl_tables[index]);
}

static void abi_tables_free(ucx_tables_t *tables)
{
    unsigned i;

    free(tables->md_table.fields);
    free(tables->md_table.args);
    for (i = 0; i < ABI_TL_MAX; ++i) {
        free(tables->tl_tables[i].fields);
        free(tables->tl_tables[i].args);
    }
    free(tables);
}

static ucx_tables_t *abi_tables_build(ucx_host_t *host,
                                      const ucx_component_t *provider,
                                      const char **missing_p)
{
    ucx_tables_t *tables = calloc(1, sizeof(*tables));
    unsigned i;

    *missing_p = NULL;
    if (tables == NULL) {
        return NULL;
    }
    tables->host     = host;
    tables->provider = provider;
    tables->tl_count = (provider->transport_count < ABI_TL_MAX) ?
                       provider->transport_count : ABI_TL_MAX;

    if (abi_table_build(&tables->md_table, &provider->md_config, host->calls,
                        0, missing_p)) {
        goto err;
    }
    abi_component_build(tables, provider);
    for (i = 0; i < tables->tl_count; ++i) {
        if (abi_table_build(&tables->tl_tables[i],
                            &provider->transports[i]->config, host->calls, 1,
                            missing_p)) {
            goto err;
        }
        abi_tl_build(tables, i, provider->transports[i]);
    }
    return tables;

err:
    abi_tables_free(tables);
    return NULL;
}

static void abi_tables_register(ucx_host_t *host, ucx_tables_t *tables,
                                int declined)
{
    const ucx_calls_t *calls = host->calls;
    unsigned i;

    if (declined) {
        ucs_list_add_tail(calls->config_global_list,
                          &tables->component.md_config.list);
    } else {
        calls->component_register(&tables->component);
    }
    for (i = 0; i < tables->tl_count; ++i) {
        if (declined) {
            ucs_list_add_tail(calls->config_global_list,
                              &tables->tls[i].config.list);
        } else {
            calls->tl_register(&tables->component, &tables->tls[i]);
        }
    }
}

static ucs_status_t abi_fill_opts(const ucx_calls_t *calls, void *opts,
                                  abi_config_entry_t *entry)
{
    abi_fill_opts_t fill_opts;

    memcpy(&fill_opts, &calls->config_fill_opts, sizeof(fill_opts));
#if UCX_MINOR >= 15
    return fill_opts(opts, entry, "UCX_", 1);
#else
    return fill_opts(opts, entry->table, "UCX_", entry->prefix, 1);
#endif
}

static void abi_table_parse(const ucx_calls_t *calls, abi_table_t *table,
                            abi_config_entry_t *entry)
{
    void *opts = calloc(1, entry->size);
    unsigned i;

    for (i = 0; i < table->count; ++i) {
        table->args[i].quiet = 1;
    }
    if ((opts != NULL) && (abi_fill_opts(calls, opts, entry) == UCS_OK)) {
        calls->config_release_opts(opts, table->fields);
    }
    for (i = 0; i < table->count; ++i) {
        table->args[i].quiet = 0;
    }
    free(opts);
}

static void abi_tables_parse(ucx_host_t *host, ucx_tables_t *tables)
{
    unsigned i;

    abi_table_parse(host->calls, &tables->md_table,
                    &tables->component.md_config);
    for (i = 0; i < tables->tl_count; ++i) {
        abi_table_parse(host->calls, &tables->tl_tables[i],
                        &tables->tls[i].config);
    }
}

static int abi_tl_is_registered(const ucx_calls_t *calls, const char *name)
{
    abi_component_t *component;
    abi_tl_t *tl;

    ucs_list_for_each(component, calls->components_list, list) {
        ucs_list_for_each(tl, &component->tl_list, list) {
            if (strncmp(tl->name, name, UCT_TL_NAME_MAX) == 0) {
                return 1;
            }
        }
    }
    return 0;
}

const ucx_abi_t UCX_ABI = {
    .minor              = UCX_MINOR,
    .tl_size            = sizeof(abi_tl_t),
    .component_size     = sizeof(abi_component_t),
    .config_field_size  = sizeof(abi_config_field_t),
    .tl_is_registered   = abi_tl_is_registered,
    .tables_build       = abi_tables_build,
    .tables_free        = abi_tables_free,
    .tables_register    = abi_tables_register,
    .tables_parse       = abi_tables_parse,
    .iface_internal_ops = &abi_internal_ops,
#if UCX_MINOR >= 18
    .iface_flags        = ABI_BIT(54), /* UCT_IFACE_FLAG_INTER_NODE */
#endif
    .worker_async       = ABI_WORKER_ASYNC
};
