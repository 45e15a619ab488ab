/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UCX's private structures, as far as we build or read them, in the layout of
 * the minor UCX_MINOR (13 for 1.13). Included once per translation unit, by
 * abi.c and by the layout check of the tests, which compiles it against
 * UCX's own private headers.
 */
#ifndef UCX_MINOR
#error "UCX_MINOR tells whose layout is wanted"
#endif

#include <assert.h>
#include <stdint.h>
#include <uct/api/uct.h>
#include <ucs/datastruct/list.h>

/* not UCS_BIT, which is another expression in each release */
#define ABI_BIT(_n) (1ul << (_n))

/* ---- ucs/config/parser.h ---- */

typedef struct abi_config_parser {
    int          (*read)(const char *buf, void *dest, const void *arg);
    int          (*write)(char *buf, size_t max, const void *src,
                          const void *arg);
    ucs_status_t (*clone)(const void *src, void *dest, const void *arg);
    void         (*release)(void *ptr, const void *arg);
    void         (*help)(char *buf, size_t max, const void *arg);
#if UCX_MINOR >= 17
    void         (*doc)(void *strb, const void *arg);
#endif
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
#if UCX_MINOR >= 15
    uint8_t            flags;
#endif
} abi_config_entry_t;

/* ucs_config_parser_fill_opts() */
#if UCX_MINOR >= 15
typedef ucs_status_t (*abi_fill_opts_t)(void *opts, abi_config_entry_t *entry,
                                        const char *env_prefix,
                                        int ignore_errors);
#else
typedef ucs_status_t (*abi_fill_opts_t)(void *opts, abi_config_field_t *fields,
                                        const char *env_prefix,
                                        const char *table_prefix,
                                        int ignore_errors);
#endif

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
                                const void *rkey_buffer,
#if UCX_MINOR >= 19
                                const void *params,
#endif
                                uct_rkey_t *rkey_p, void **handle_p);
    ucs_status_t (*rkey_ptr)(abi_component_t *component, uct_rkey_t rkey,
                             void *handle, uint64_t remote_addr,
                             void **local_addr_p);
    ucs_status_t (*rkey_release)(abi_component_t *component, uct_rkey_t rkey,
                                 void *handle);
#if UCX_MINOR >= 16
    ucs_status_t (*rkey_compare)(abi_component_t *component, uct_rkey_t rkey1,
                                 uct_rkey_t rkey2, const void *params,
                                 int *result);
#endif
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

#if UCX_MINOR >= 15
typedef struct abi_is_reachable_params {
    uint64_t                field_mask;
    const uct_device_addr_t *device_addr;
    const uct_iface_addr_t  *iface_addr;
    char                    *info_string;
    size_t                  info_string_length;
    int                     scope;
#if UCX_MINOR >= 18
    size_t                  device_addr_length;
    size_t                  iface_addr_length;
#endif
} abi_is_reachable_params_t;

enum {
    ABI_IS_REACHABLE_DEVICE_ADDR = ABI_BIT(0),
    ABI_IS_REACHABLE_IFACE_ADDR  = ABI_BIT(1),
    ABI_IS_REACHABLE_INFO        = ABI_BIT(2),
    ABI_IS_REACHABLE_INFO_LENGTH = ABI_BIT(3),
    ABI_IS_REACHABLE_SCOPE       = ABI_BIT(4),
    ABI_SCOPE_DEVICE             = 0
};
#endif

#if UCX_MINOR >= 16
typedef struct abi_is_connected_params {
    uint64_t                field_mask;
    const uct_device_addr_t *device_addr;
    const uct_iface_addr_t  *iface_addr;
    const uct_ep_addr_t     *ep_addr;
} abi_is_connected_params_t;

enum {
    ABI_IS_CONNECTED_DEVICE_ADDR = ABI_BIT(0),
    ABI_IS_CONNECTED_IFACE_ADDR  = ABI_BIT(1)
};
#endif

/* As much as we read and fill in; behind it are members that we never do. */
typedef struct abi_perf_attr {
    uint64_t            field_mask;
    unsigned            operation;
    unsigned            local_memory_type;
    unsigned            remote_memory_type;
    ucs_sys_device_t    local_sys_device;
    ucs_sys_device_t    remote_sys_device;
    double              send_pre_overhead;
    double              send_post_overhead;
    double              recv_overhead;
    uct_ppn_bandwidth_t bandwidth;
#if UCX_MINOR >= 19
    uct_ppn_bandwidth_t path_bandwidth;
#endif
    ucs_linear_func_t   latency;
} abi_perf_attr_t;

enum {
    ABI_PERF_OPERATION          = ABI_BIT(0),
    ABI_PERF_SEND_PRE_OVERHEAD  = ABI_BIT(5),
    ABI_PERF_SEND_POST_OVERHEAD = ABI_BIT(6),
    ABI_PERF_RECV_OVERHEAD      = ABI_BIT(7),
    ABI_PERF_BANDWIDTH          = ABI_BIT(8),
#if UCX_MINOR >= 19
    ABI_PERF_PATH_BANDWIDTH     = ABI_BIT(9),
    ABI_PERF_LATENCY            = ABI_BIT(10)
#else
    ABI_PERF_LATENCY            = ABI_BIT(9)
#endif
};

#if UCX_MINOR >= 22
/* As much as we fill in; behind it are members that we never do. */
typedef struct abi_iface_attr_v2 {
    uint64_t field_mask;
    size_t   max_put_sgl_zcopy_count;
#if UCX_MINOR >= 23
    size_t   max_get_sgl_zcopy_count;
#endif
    uint64_t cap_flags;
} abi_iface_attr_v2_t;

enum {
    ABI_IFACE_ATTR_MAX_PUT_SGL = ABI_BIT(0),
#if UCX_MINOR >= 23
    ABI_IFACE_ATTR_MAX_GET_SGL = ABI_BIT(1),
    ABI_IFACE_ATTR_CAP_FLAGS   = ABI_BIT(2),
    ABI_IFACE_CAP_GET_SGL      = ABI_BIT(1),
#else
    ABI_IFACE_ATTR_CAP_FLAGS   = ABI_BIT(1),
#endif
    ABI_IFACE_CAP_PUT_SGL      = ABI_BIT(0)
};
#endif

/* One entry per element, all arrays of the caller's. */
typedef ucs_status_t (*abi_sgl_zcopy_t)(uct_ep_h ep, void *const *buffers,
                                        const size_t *lengths,
                                        uct_mem_h const *memhs,
                                        const uint64_t *remote_addrs,
                                        uct_rkey_t const *rkeys,
                                        const size_t *counts,
                                        const size_t *strides, size_t count,
                                        uct_completion_t *comp);

typedef struct abi_internal_ops {
#if UCX_MINOR == 20 || UCX_MINOR >= 22
    ucs_status_t (*iface_query_v2)(uct_iface_h iface, void *iface_attr);
#endif
    ucs_status_t (*iface_estimate_perf)(uct_iface_h iface, void *perf_attr);
    void         (*iface_vfs_refresh)(uct_iface_h iface);
#if UCX_MINOR == 20
    ucs_status_t (*iface_mem_element_pack)(const uct_iface_h iface,
                                           uct_mem_h memh, uct_rkey_t rkey,
                                           void *mem_element);
#endif
    ucs_status_t (*ep_query)(uct_ep_h ep, uct_ep_attr_t *ep_attr);
#if UCX_MINOR >= 21
    ucs_status_t (*ep_invalidate)(uct_ep_h ep, const void *params);
#else
    ucs_status_t (*ep_invalidate)(uct_ep_h ep, unsigned flags);
#endif
#if UCX_MINOR >= 14
    ucs_status_t (*ep_connect_to_ep_v2)(uct_ep_h ep,
                                        const uct_device_addr_t *device_addr,
                                        const uct_ep_addr_t *ep_addr,
                                        const void *params);
#endif
#if UCX_MINOR >= 15
    int          (*iface_is_reachable_v2)(
                                const uct_iface_h iface,
                                const abi_is_reachable_params_t *params);
#endif
#if UCX_MINOR >= 16
    int          (*ep_is_connected)(uct_ep_h ep,
                                    const abi_is_connected_params_t *params);
#endif
#if UCX_MINOR >= 20
    ucs_status_t (*ep_get_device_ep)(uct_ep_h ep, void **device_ep_p);
#endif
#if UCX_MINOR >= 22
    abi_sgl_zcopy_t ep_put_sgl_zcopy;
#endif
#if UCX_MINOR >= 23
    abi_sgl_zcopy_t ep_get_sgl_zcopy;
    ucs_status_t    (*ep_outstanding_purge)(uct_ep_h ep, const void *params);
#endif
} abi_internal_ops_t;

/* ---- uct/base/uct_md.h ---- */

typedef struct abi_md {
    const void      *ops;
    abi_component_t *component;
} abi_md_t;

#if UCX_MINOR >= 14
enum { ABI_MD_GLOBAL_ID_MAX = 256 };

typedef struct abi_md_attr {
    uint64_t          field_mask; /* the caller's */
    uint64_t          max_alloc;
    size_t            max_reg;
    uint64_t          flags;
    uint64_t          reg_mem_types;
#if UCX_MINOR >= 15
    uint64_t          reg_nonblock_mem_types;
#endif
    uint64_t          cache_mem_types;
#if UCX_MINOR >= 18
    uint64_t          gva_mem_types;
#endif
    uint64_t          detect_mem_types;
    uint64_t          alloc_mem_types;
    uint64_t          access_mem_types;
    uint64_t          dmabuf_mem_types;
    ucs_linear_func_t reg_cost;
    char              component_name[UCT_COMPONENT_NAME_MAX];
    size_t            rkey_packed_size;
    ucs_cpu_set_t     local_cpus;
    size_t            exported_mkey_packed_size;
    char              global_id[ABI_MD_GLOBAL_ID_MAX];
#if UCX_MINOR >= 16
    size_t            reg_alignment;
#endif
#if UCX_MINOR >= 22
    uint8_t           required_mem_flags;
#endif
} abi_md_attr_t;

typedef struct abi_mem_reg_params {
    uint64_t          field_mask;
    uint64_t          flags;
    int               dmabuf_fd;
    size_t            dmabuf_offset;
#if UCX_MINOR >= 22
    ucs_memory_type_t mem_type;
#endif
} abi_mem_reg_params_t;

enum {
    ABI_MEM_REG_FLAGS         = ABI_BIT(0),
    ABI_MEM_REG_DMABUF_FD     = ABI_BIT(1),
    ABI_MEM_REG_DMABUF_OFFSET = ABI_BIT(2),
    ABI_MEM_REG_MEM_TYPE      = ABI_BIT(3) /* from 1.22 on */
};
#else
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
#endif

enum {
    ABI_MD_FLAG_REG        = ABI_BIT(1),
    ABI_MD_FLAG_NEED_MEMH  = ABI_BIT(2),
    ABI_MD_FLAG_NEED_RKEY  = ABI_BIT(3),
    ABI_MD_FLAG_ADVISE     = ABI_BIT(4),
#if UCX_MINOR >= 15
    ABI_MD_FLAG_INVALIDATE = ABI_BIT(8) | ABI_BIT(11) | ABI_BIT(12), /* by the
                                name of old; RMA; atomics: UCP asks for RMA,
                                programs may ask for either */
#else
    ABI_MD_FLAG_INVALIDATE = ABI_BIT(8),
#endif
#if UCX_MINOR >= 14
    ABI_MD_FLAG_REG_DMABUF = ABI_BIT(10)
#else
    ABI_MD_FLAG_REG_DMABUF = 0
#endif
};

typedef struct abi_mem_dereg_params {
    uint64_t         field_mask;
    unsigned         flags;
    uct_mem_h        memh;
    uct_completion_t *comp;
} abi_mem_dereg_params_t;

enum {
    ABI_MEM_DEREG_FIELD_MEMH       = ABI_BIT(0),
    ABI_MEM_DEREG_FIELD_FLAGS      = ABI_BIT(1),
    ABI_MEM_DEREG_FIELD_COMPLETION = ABI_BIT(2),
    ABI_MEM_DEREG_INVALIDATE       = ABI_BIT(0)
};

typedef struct abi_mkey_pack_params {
    uint64_t field_mask;
    unsigned flags;
} abi_mkey_pack_params_t;

enum {
    ABI_MKEY_PACK_FIELD_FLAGS = ABI_BIT(0),
#if UCX_MINOR >= 15
    ABI_MKEY_PACK_INVALIDATE  = ABI_BIT(0) | ABI_BIT(1) /* RMA, atomics */
#else
    ABI_MKEY_PACK_INVALIDATE  = ABI_BIT(0)
#endif
};

typedef struct abi_md_ops {
    void         (*close)(uct_md_h md);
    ucs_status_t (*query)(uct_md_h md, abi_md_attr_t *md_attr);
    ucs_status_t (*mem_alloc)(uct_md_h md, size_t *length_p, void **address_p,
                              ucs_memory_type_t mem_type,
#if UCX_MINOR >= 19
                              ucs_sys_device_t sys_dev,
#endif
                              unsigned flags, const char *alloc_name,
                              uct_mem_h *memh_p);
    ucs_status_t (*mem_free)(uct_md_h md, uct_mem_h memh);
    ucs_status_t (*mem_advise)(uct_md_h md, uct_mem_h memh, void *addr,
                               size_t length, unsigned advice);
    ucs_status_t (*mem_reg)(uct_md_h md, void *address, size_t length,
#if UCX_MINOR >= 14
                            const abi_mem_reg_params_t *params,
#else
                            unsigned flags,
#endif
                            uct_mem_h *memh_p);
    ucs_status_t (*mem_dereg)(uct_md_h md,
                              const abi_mem_dereg_params_t *params);
    ucs_status_t (*mem_query)(uct_md_h md, const void *address, size_t length,
                              void *mem_attr);
    ucs_status_t (*mkey_pack)(uct_md_h md, uct_mem_h memh,
#if UCX_MINOR >= 16
                              void *address, size_t length,
#endif
                              const abi_mkey_pack_params_t *params,
                              void *rkey_buffer);
#if UCX_MINOR >= 14
    ucs_status_t (*mem_attach)(uct_md_h md, const void *mkey_buffer,
                               void *params, uct_mem_h *memh_p);
#endif
#if UCX_MINOR <= 15
    int          (*is_sockaddr_accessible)(uct_md_h md,
                                           const ucs_sock_addr_t *sockaddr,
                                           unsigned mode);
#endif
    ucs_status_t (*detect_memory_type)(uct_md_h md, const void *addr,
                                       size_t length,
                                       ucs_memory_type_t *mem_type_p);
#if UCX_MINOR >= 23
    ucs_status_t (*mem_elem_pack)(uct_md_h md, uct_mem_h memh, uct_rkey_t rkey,
                                  void *mem_elem, void **release_handle_p);
    void         (*mem_elem_release)(uct_md_h md, void *release_handle);
#elif UCX_MINOR >= 21
    ucs_status_t (*mem_elem_pack)(uct_md_h md, uct_mem_h memh, uct_rkey_t rkey,
                                  void *mem_elem);
#endif
} abi_md_ops_t;

/*
 * ---- sizes, measured on the releases' own binaries ----
 *
 * A second opinion beside the layout check, and what detection compares.
 */

#if UCX_MINOR == 13
#define ABI_SIZES 80, 48, 96, 208, 88, 32, 224
#elif UCX_MINOR == 14
#define ABI_SIZES 80, 48, 96, 208, 96, 40, 512
#elif UCX_MINOR == 15
#define ABI_SIZES 80, 56, 104, 224, 96, 48, 520
#elif UCX_MINOR == 16
#define ABI_SIZES 80, 56, 104, 232, 88, 56, 528
#elif UCX_MINOR == 17
#define ABI_SIZES 88, 56, 104, 232, 88, 56, 528
#elif UCX_MINOR == 18
#define ABI_SIZES 88, 56, 104, 232, 88, 56, 536
#elif UCX_MINOR == 19
#define ABI_SIZES 88, 56, 104, 232, 88, 56, 536
#elif UCX_MINOR == 20
#define ABI_SIZES 88, 56, 104, 232, 88, 80, 536
#elif UCX_MINOR == 21
#define ABI_SIZES 88, 56, 104, 232, 96, 64, 536
#elif UCX_MINOR == 22
#define ABI_SIZES 88, 56, 104, 232, 96, 80, 544
#elif UCX_MINOR == 23
#define ABI_SIZES 88, 56, 104, 232, 104, 96, 544
#else
#error "no layout of this UCX minor"
#endif

/* clang-format off */
#define ABI_SIZES_CHECK(_field, _entry, _tl, _component, _md_ops, _iops, \
                        _md_attr) \
    static_assert(sizeof(abi_config_field_t) == (_field), "field"); \
    static_assert(sizeof(abi_config_entry_t) == (_entry), "entry"); \
    static_assert(sizeof(abi_tl_t) == (_tl), "tl"); \
    static_assert(sizeof(abi_component_t) == (_component), "component"); \
    static_assert(sizeof(abi_md_ops_t) == (_md_ops), "md_ops"); \
    static_assert(sizeof(abi_internal_ops_t) == (_iops), "internal_ops"); \
    static_assert(sizeof(abi_md_attr_t) == (_md_attr), "md_attr")
#define ABI_SIZES_CHECK_ALL(...) ABI_SIZES_CHECK(__VA_ARGS__)
ABI_SIZES_CHECK_ALL(ABI_SIZES);
/* clang-format on */
