/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The symbols we use of one libuct, its libucs and its libucm. Names and
 * signatures below are the same from UCX 1.13 on; differences between
 * minors are in abi_layout.h.
 */
#ifndef UCX_EFA_CALLS_H
#define UCX_EFA_CALLS_H

#include <stdarg.h>
#include <ucm/api/ucm.h>
#include <ucs/datastruct/list.h>
#include <ucs/type/class.h>

#include "global.h"
#include "host.h"

/* UCX's ucs_log_component_config_t. */
typedef struct ucx_log_component {
    int        level;
    char       name[16];
    const char *file_filter;
} ucx_log_component_t;

/* UCX's ucs_log_func_t; 1: the next handler shall see the line, too. */
typedef int (*ucx_log_handler_t)(const char *file, unsigned line,
                                 const char *function, ucs_log_level_t level,
                                 const void *component, const char *format,
                                 va_list ap);

/*
 * Constructor of uct_base_iface_t. The last two arguments exist in builds with
 * statistics only; callers always pass them, and where the callee does not
 * look at them no harm is done: on x86-64 and aarch64 the caller owns the
 * argument area.
 */
typedef ucs_status_t (*ucx_iface_init_func_t)(
        void *self, ucs_class_t *cls, int *init_count,
        const uct_iface_ops_t *ops, void *internal_ops, uct_md_h md,
        uct_worker_h worker, const uct_iface_params_t *params,
        const void *config, void *stats_parent, const char *stats_name);

typedef struct ucx_calls {
    /* libuct */
    ucs_status_t (*query_components)(uct_component_h **components_p,
                                     unsigned *num_p);
    void         (*release_component_list)(uct_component_h *components);
    void         (*component_register)(void *component);
    void         (*tl_register)(void *component, void *tl);
    ucs_list_link_t *components_list;
    void         *iface_config_table;
    ucx_iface_init_func_t iface_init;
    ucs_class_t  *iface_class;
    ucs_status_t (*ep_init)(void *self, ucs_class_t *cls, int *init_count,
                            void *iface);
    ucs_class_t  *ep_class;
    void         (*iface_query)(void *iface, uct_iface_attr_t *attr);
    void         (*iface_progress_enable)(uct_iface_h iface, unsigned flags);
    void         (*iface_progress_disable)(uct_iface_h iface, unsigned flags);
    ucs_status_t (*iface_handle_ep_err)(uct_iface_h iface, uct_ep_h ep,
                                        ucs_status_t status);
    ucs_status_t (*iface_estimate_perf)(uct_iface_h iface, void *attr);
    ucs_status_t (*mkey_pack)(void *md, void *memh, void *address,
                              size_t length, void *params, void *key);
                                 /* optional; before 1.16 without address and
                                    length, which counters.c has as NULL, 0 */
    ucs_status_t (*iface_query_v2)(uct_iface_h iface, void *attr);
                                       /* optional: 1.20, 1.22 and later */
    void (*mem_elem_release)(uct_md_h md, void *handle);
                                       /* optional: 1.22.1 and later */

    /* libucs */
    void (*log_dispatch)(const char *file, unsigned line, const char *function,
                         ucs_log_level_t level, ucx_log_component_t *comp,
                         const char *format, ...);
    void (*log_push_handler)(ucx_log_handler_t handler); /* optional */
    ucx_log_component_t *global_opts;  /* its first member */
    void (*class_cleanup_chain)(ucs_class_t *cls, void *object, int limit);
    ucs_list_link_t *config_global_list;
    void *config_fill_opts; /* changes its arguments: see abi_layout.h */
    void (*config_release_opts)(void *opts, void *fields);
    ucs_status_t (*topo_find)(const ucs_sys_bus_id_t *bus_id,
                              ucs_sys_device_t *dev_p);
    /* optional; the third argument came with 1.15 */
    ucs_status_t (*topo_set_name)(ucs_sys_device_t dev, const char *name,
                                  unsigned priority);
    void *(*mem_alloc)(size_t size, const char *name); /* optional: else libc */
    void (*mem_free)(void *ptr);                       /* optional: else libc */
    ucs_status_t (*vfs_add_file)(void *object, ucx_vfs_read_cb_t read,
                                 void *arg, uint64_t number,
                                 const char *path, ...); /* optional */
    void (*text_append)(struct ucs_string_buffer *text, const char *format,
                        ...);                            /* optional */
    void (*iface_dump_am)(void *iface, uct_am_trace_type_t type, uint8_t id,
                          const void *data, size_t length, char *buffer,
                          size_t max);                   /* optional */
    ucs_status_t (*stats_alloc)(void **node_p, ucx_stats_class_t *cls,
                                void *parent, const char *name,
                                ...);                    /* optional */
    void (*stats_free)(void *node);                      /* optional */
    int (*read_bandwidth)(const char *text, void *value,
                          const void *arg);              /* optional */
    int (*cpu_vendor)(void);                             /* optional */
    double (*cpu_copy_rate)(void);                       /* until 1.17 */

    /* libucm, optional */
    ucs_status_t (*ucm_set_handler)(int events, int priority,
                                    ucm_event_callback_t cb, void *arg);
    void (*ucm_unset_handler)(int events, ucm_event_callback_t cb, void *arg);

    void *uct;  /* handle that pins libuct, what it needs, and resolves names */
    const struct ucx_abi *abi;
    ucx_global_t global;
    const void *component; /* ours, in UCX's list */
} ucx_calls_t;

/* Where a node of statistics (ucs_stats_node_t) has its counters, in all UCX */
enum { UCX_STATS_NODE_COUNTERS = 128 };

/*
 * Look everything up in @uct, a dlopen() handle of a libuct, and its needed
 * libraries. Fills @calls and the looked-up members of @host.
 * Returns NULL, or the name of a required symbol that is missing.
 */
const char *ucx_calls_resolve(ucx_calls_t *calls, ucx_host_t *host, void *uct);

/* Memory that UCX will release with its own ucs_free(). NULL: out of memory */
void *ucx_mem_alloc(const ucx_calls_t *calls, size_t size, const char *name);

#endif
