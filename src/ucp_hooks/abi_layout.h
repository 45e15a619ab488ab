/*
 * UCX's private structures, as far as we build or read them, in the layout of
 * the minor UCX_MINOR (13 for 1.13). Included once per translation unit, by
 * abi_glue.h and by the layout check of the tests, which compiles it against
 * UCX's own private headers.
 */
#ifndef UCX_MINOR
#error "UCX_MINOR tells whose layout is wanted"
#endif

#include <assert.h>
#include <stdint.h>
#include <uct/api/uct.h>
#include <ucs/datastruct/list.h>

/* ---- ucs/config/parser.h ---- */

typedef struct abi_config_parser {
    int          (*read)(const char *buf, void *dest, const void *arg);
    int          (*write)(char *buf, size_t max, const void *src,
                          const void *arg);
    ucs_status_t (*clone)(const void *src, void *dest, const void *arg);
    void         (*release)(void *ptr, const void *arg);
    void         (*help)(char *buf, size_t max, const void *arg);
    const void   *arg;
} abi_config_parser_t;

typedef struct abi_config_field {
    const char          *name;
    const char          *dfl_value;
    const char          *doc;
    size_t              offset;
    abi_config_parser_t parser;
} abi_config_field_t;

typedef struct abi_config_entry {
    const char         *name;
    const char         *prefix;
    abi_config_field_t *table;
    size_t             size;
    ucs_list_link_t    list;
} abi_config_entry_t;

/* ---- uct/base/uct_component.h ---- */

typedef struct abi_component abi_component_t;

struct abi_component {
    char         name[UCT_COMPONENT_NAME_MAX];
    ucs_status_t (*query_md_resources)(abi_component_t *component,
                                       uct_md_resource_desc_t **resources_p,
                                       unsigned *num_resources_p);
    ucs_status_t (*md_open)(abi_component_t *component, const char *md_name,
                            const uct_md_config_t *config, uct_md_h *md_p);
    ucs_status_t (*cm_open)(abi_component_t *component, uct_worker_h worker,
                            const uct_cm_config_t *config, uct_cm_h *cm_p);
    ucs_status_t (*rkey_unpack)(abi_component_t *component,
                                const void *rkey_buffer, uct_rkey_t *rkey_p,
                                void **handle_p);
    ucs_status_t (*rkey_ptr)(abi_component_t *component, uct_rkey_t rkey,
                             void *handle, uint64_t remote_addr,
                             void **local_addr_p);
    ucs_status_t (*rkey_release)(abi_component_t *component, uct_rkey_t rkey,
                                 void *handle);
    abi_config_entry_t md_config;
    abi_config_entry_t cm_config;
    ucs_list_link_t    tl_list;
    ucs_list_link_t    list;
    uint64_t           flags;
    void               (*md_vfs_init)(uct_md_h md);
};

/* ---- uct/base/uct_iface.h ---- */

typedef struct abi_tl_device {
    char              name[UCT_DEVICE_NAME_MAX];
    uct_device_type_t type;
    ucs_sys_device_t  sys_device;
} abi_tl_device_t;

typedef struct abi_tl {
    char               name[UCT_TL_NAME_MAX];
    ucs_status_t       (*query_devices)(uct_md_h md,
                                        abi_tl_device_t **tl_devices_p,
                                        unsigned *num_tl_devices_p);
    ucs_status_t       (*iface_open)(uct_md_h md, uct_worker_h worker,
                                     const uct_iface_params_t *params,
                                     const uct_iface_config_t *config,
                                     uct_iface_h *iface_p);
    abi_config_entry_t config;
    ucs_list_link_t    list;
} abi_tl_t;

typedef struct abi_perf_attr {
    uint64_t            field_mask;
    int                 operation;
    ucs_memory_type_t   local_memory_type;
    ucs_memory_type_t   remote_memory_type;
    ucs_sys_device_t    local_sys_device;
    ucs_sys_device_t    remote_sys_device;
    double              send_pre_overhead;
    double              send_post_overhead;
    double              recv_overhead;
    uct_ppn_bandwidth_t bandwidth;
    ucs_linear_func_t   latency;
    size_t              max_inflight_eps;
} abi_perf_attr_t;

enum {
    ABI_PERF_OPERATION          = UCS_BIT(0),
    ABI_PERF_LOCAL_MEMORY_TYPE  = UCS_BIT(1),
    ABI_PERF_REMOTE_MEMORY_TYPE = UCS_BIT(2),
    ABI_PERF_LOCAL_SYS_DEVICE   = UCS_BIT(3),
    ABI_PERF_REMOTE_SYS_DEVICE  = UCS_BIT(4),
    ABI_PERF_SEND_PRE_OVERHEAD  = UCS_BIT(5),
    ABI_PERF_SEND_POST_OVERHEAD = UCS_BIT(6),
    ABI_PERF_RECV_OVERHEAD      = UCS_BIT(7),
    ABI_PERF_BANDWIDTH          = UCS_BIT(8),
    ABI_PERF_LATENCY            = UCS_BIT(9),
    ABI_PERF_MAX_INFLIGHT_EPS   = UCS_BIT(10)
};

typedef struct abi_internal_ops {
    ucs_status_t (*iface_estimate_perf)(uct_iface_h iface,
                                        abi_perf_attr_t *perf_attr);
    void         (*iface_vfs_refresh)(uct_iface_h iface);
    ucs_status_t (*ep_query)(uct_ep_h ep, uct_ep_attr_t *ep_attr);
    ucs_status_t (*ep_invalidate)(uct_ep_h ep, unsigned flags);
} abi_internal_ops_t;

/* ---- uct/base/uct_md.h ---- */

typedef struct abi_md {
    const void      *ops;
    abi_component_t *component;
} abi_md_t;

/* uct_md_attr_t of 1.13 */
typedef struct abi_md_attr {
    uint64_t          max_alloc;
    size_t            max_reg;
    uint64_t          flags;
    uint64_t          reg_mem_types;
    uint64_t          detect_mem_types;
    uint64_t          alloc_mem_types;
    uint64_t          access_mem_types;
    ucs_linear_func_t reg_cost;
    char              component_name[UCT_COMPONENT_NAME_MAX];
    size_t            rkey_packed_size;
    ucs_cpu_set_t     local_cpus;
} abi_md_attr_t;

enum {
    ABI_MD_FLAG_REG        = UCS_BIT(1),
    ABI_MD_FLAG_NEED_MEMH  = UCS_BIT(2),
    ABI_MD_FLAG_NEED_RKEY  = UCS_BIT(3),
    ABI_MD_FLAG_ADVISE     = UCS_BIT(4),
    ABI_MD_FLAG_INVALIDATE = UCS_BIT(8)
};

typedef struct abi_mem_dereg_params {
    uint64_t         field_mask;
    unsigned         flags;
    uct_mem_h        memh;
    uct_completion_t *comp;
} abi_mem_dereg_params_t;

enum {
    ABI_MEM_DEREG_FIELD_MEMH       = UCS_BIT(0),
    ABI_MEM_DEREG_FIELD_FLAGS      = UCS_BIT(1),
    ABI_MEM_DEREG_FIELD_COMPLETION = UCS_BIT(2),
    ABI_MEM_DEREG_INVALIDATE       = UCS_BIT(0)
};

typedef struct abi_mkey_pack_params {
    uint64_t field_mask;
    unsigned flags;
} abi_mkey_pack_params_t;

enum {
    ABI_MKEY_PACK_FIELD_FLAGS = UCS_BIT(0),
    ABI_MKEY_PACK_INVALIDATE  = UCS_BIT(0)
};

typedef struct abi_md_ops {
    void         (*close)(uct_md_h md);
    ucs_status_t (*query)(uct_md_h md, abi_md_attr_t *md_attr);
    ucs_status_t (*mem_alloc)(uct_md_h md, size_t *length_p, void **address_p,
                              ucs_memory_type_t mem_type, unsigned flags,
                              const char *alloc_name, uct_mem_h *memh_p);
    ucs_status_t (*mem_free)(uct_md_h md, uct_mem_h memh);
    ucs_status_t (*mem_advise)(uct_md_h md, uct_mem_h memh, void *addr,
                               size_t length, unsigned advice);
    ucs_status_t (*mem_reg)(uct_md_h md, void *address, size_t length,
                            unsigned flags, uct_mem_h *memh_p);
    ucs_status_t (*mem_dereg)(uct_md_h md,
                              const abi_mem_dereg_params_t *params);
    ucs_status_t (*mem_query)(uct_md_h md, const void *address, size_t length,
                              uct_md_mem_attr_t *mem_attr);
    ucs_status_t (*mkey_pack)(uct_md_h md, uct_mem_h memh,
                              const abi_mkey_pack_params_t *params,
                              void *rkey_buffer);
    int          (*is_sockaddr_accessible)(uct_md_h md,
                                           const ucs_sock_addr_t *sockaddr,
                                           uct_sockaddr_accessibility_t mode);
    ucs_status_t (*detect_memory_type)(uct_md_h md, const void *addr,
                                       size_t length,
                                       ucs_memory_type_t *mem_type_p);
} abi_md_ops_t;

/* ---- uct/base/uct_worker.h ---- */

enum { ABI_WORKER_ASYNC = 264 }; /* offset of uct_priv_worker_t::async */

/* ---- sizes of the release, measured on its binaries ---- */

#if UCX_MINOR == 13
static_assert(sizeof(abi_config_field_t) == 80, "1.13");
static_assert(sizeof(abi_config_entry_t) == 48, "1.13");
static_assert(sizeof(abi_tl_t) == 96, "1.13");
static_assert(sizeof(abi_component_t) == 208, "1.13");
static_assert(sizeof(abi_md_ops_t) == 88, "1.13");
static_assert(sizeof(abi_internal_ops_t) == 32, "1.13");
static_assert(sizeof(abi_md_attr_t) == 224, "1.13");
static_assert(sizeof(abi_perf_attr_t) == 88, "1.13");
#else
#error "no layout of this UCX minor"
#endif
