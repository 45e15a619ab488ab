/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "find.h"

enum { REQUIRED, OPTIONAL, DATA /* required too */ };

typedef struct symbol {
    const char *name;
    size_t     offset;
    int        kind;
} symbol_t;

#define CALL(_name, _member, _kind) \
    { _name, offsetof(ucx_calls_t, _member), _kind }
#define HOST(_name, _member) { _name, offsetof(ucx_host_t, _member), REQUIRED }

static const symbol_t calls_symbols[] = {
    CALL("uct_query_components", query_components, REQUIRED),
    CALL("uct_release_component_list", release_component_list, REQUIRED),
    CALL("uct_component_register", component_register, REQUIRED),
    CALL("uct_tl_register", tl_register, REQUIRED),
    CALL("uct_components_list", components_list, DATA),
    CALL("uct_iface_config_table", iface_config_table, DATA),
    CALL("uct_base_iface_t_init", iface_init, REQUIRED),
    CALL("uct_base_iface_t_class", iface_class, DATA),
    CALL("uct_base_ep_t_init", ep_init, REQUIRED),
    CALL("uct_base_ep_t_class", ep_class, DATA),
    CALL("uct_base_iface_query", iface_query, REQUIRED),
    CALL("uct_base_iface_progress_enable", iface_progress_enable, REQUIRED),
    CALL("uct_base_iface_progress_disable", iface_progress_disable, REQUIRED),
    CALL("uct_iface_handle_ep_err", iface_handle_ep_err, REQUIRED),
    CALL("uct_base_iface_estimate_perf", iface_estimate_perf, REQUIRED),
    CALL("uct_iface_base_query_v2", iface_query_v2, OPTIONAL),
    CALL("uct_md_mkey_pack_v2", mkey_pack, OPTIONAL),
    CALL("uct_md_mem_elem_release", mem_elem_release, OPTIONAL),
    CALL("uct_iface_dump_am", iface_dump_am, OPTIONAL),
    CALL("ucs_log_dispatch", log_dispatch, REQUIRED),
    CALL("ucs_log_push_handler", log_push_handler, OPTIONAL),
    CALL("ucs_global_opts", global_opts, DATA),
    CALL("ucs_class_call_cleanup_chain", class_cleanup_chain, REQUIRED),
    CALL("ucs_config_global_list", config_global_list, DATA),
    CALL("ucs_config_parser_fill_opts", config_fill_opts, REQUIRED),
    CALL("ucs_config_parser_release_opts", config_release_opts, REQUIRED),
    CALL("ucs_topo_find_device_by_bus_id", topo_find, REQUIRED),
    CALL("ucs_topo_sys_device_set_name", topo_set_name, OPTIONAL),
    CALL("ucs_malloc", mem_alloc, OPTIONAL),
    CALL("ucs_free", mem_free, OPTIONAL),
    CALL("ucs_vfs_obj_add_ro_file", vfs_add_file, OPTIONAL),
    CALL("ucs_string_buffer_appendf", text_append, OPTIONAL),
    CALL("ucs_stats_node_alloc", stats_alloc, OPTIONAL),
    CALL("ucs_stats_node_free", stats_free, OPTIONAL),
    CALL("ucs_config_sscanf_bw", read_bandwidth, OPTIONAL),
    CALL("ucs_arch_get_cpu_vendor", cpu_vendor, OPTIONAL),
    CALL("ucs_cpu_get_memcpy_bw", cpu_copy_rate, OPTIONAL),
    CALL("ucm_set_event_handler", ucm_set_handler, OPTIONAL),
    CALL("ucm_unset_event_handler", ucm_unset_handler, OPTIONAL),
};

static const symbol_t host_symbols[] = {
    HOST("ucs_status_string", status_string),
    HOST("ucs_async_set_event_handler", async_set_event_handler),
    HOST("ucs_async_remove_handler", async_remove_handler),
    HOST("uct_worker_progress_register_safe", worker_progress_register),
    HOST("uct_worker_progress_unregister_safe", worker_progress_unregister),
};

static const char *symbols_resolve(void *dest, const symbol_t *symbols,
                                   size_t count, void *handle)
{
    size_t i;

    for (i = 0; i < count; ++i) {
        void *address = (symbols[i].kind == DATA) ?
                        ucx_find_data(handle, symbols[i].name) :
                        dlsym(handle, symbols[i].name);

        if ((address == NULL) && (symbols[i].kind != OPTIONAL)) {
            return symbols[i].name;
        }
        memcpy((char*)dest + symbols[i].offset, &address, sizeof(address));
    }
    return NULL;
}

const char *ucx_calls_resolve(ucx_calls_t *calls, ucx_host_t *host, void *uct)
{
    const char *missing;

    calls->uct = uct;
    missing    = symbols_resolve(calls, calls_symbols,
                                 sizeof(calls_symbols) / sizeof(symbol_t), uct);
    if (missing == NULL) {
        missing = symbols_resolve(host, host_symbols,
                                  sizeof(host_symbols) / sizeof(symbol_t), uct);
    }
    if (missing != NULL) {
        return missing;
    }
    host->log_level = &calls->global_opts->level;
    host->calls     = calls;
    return NULL;
}

void *ucx_mem_alloc(const ucx_calls_t *calls, size_t size, const char *name)
{
    /* UCX built with memory tracking has functions, otherwise libc's macros */
    return ((calls->mem_alloc != NULL) && (calls->mem_free != NULL)) ?
           calls->mem_alloc(size, name) : malloc(size);
}
