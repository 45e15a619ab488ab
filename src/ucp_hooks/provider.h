/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transports' side of the module: one component with its memory domains and
 * transports, in no UCX version's layout. src/ucp_hooks fills from it the
 * tables of the UCX minor in the process, once per libuct instance.
 *
 * Every function gets the host it works for, directly or through the object's
 * own ->host, and must keep state per host (two libuct in one process each
 * open their own domains). All pointers inside these tables have static life.
 */
#ifndef UCX_EFA_PROVIDER_H
#define UCX_EFA_PROVIDER_H

#include "host.h"

BEGIN_C_DECLS


/* ---- configuration ---------------------------------------------------- */

typedef enum {
    UCX_CONFIG_STRING,   /* char*      freed by UCX                      */
    UCX_CONFIG_UINT,     /* unsigned   min and max are enforced          */
    UCX_CONFIG_BOOL,     /* int        0 or 1                            */
    UCX_CONFIG_TERNARY,  /* int        ucs_ternary_auto_value_t: n y try */
    UCX_CONFIG_MEMUNITS, /* size_t     UCS_MEMUNITS_INF, _AUTO possible  */
    UCX_CONFIG_TIME,     /* double     seconds; min and max enforced     */
    UCX_CONFIG_LAST
} ucx_config_type_t;

/* The types above, as the compiler knows them. */
#define UCX_CONFIG_STRING_TYPE   char*
#define UCX_CONFIG_UINT_TYPE     unsigned
#define UCX_CONFIG_BOOL_TYPE     int
#define UCX_CONFIG_TERNARY_TYPE  int
#define UCX_CONFIG_MEMUNITS_TYPE size_t
#define UCX_CONFIG_TIME_TYPE     double

/* Offset and type of a variable; a member of another type than its parser
 * writes does not compile. */
#define UCX_CONFIG_AT(_config, _member, _type)           \
    _Generic(((_config*)0)->_member,                     \
             _type##_TYPE: offsetof(_config, _member)), \
    _type

/*
 * One variable, UCX_<prefix><name>. A value that does not parse or lies outside
 * [min, max] is refused when UCX parses it, with UCX's one line that names
 * variable, value and allowed values; so a provider's values are in range.
 */
typedef struct ucx_config_field {
    const char        *name;
    const char        *dflt;     /* as text, as the user would write it */
    const char        *doc;
    size_t            offset;    /* in the table's config struct */
    ucx_config_type_t type;
    double            min, max;  /* both 0: no limits of ours. MEMUNITS'
                                    "inf" and "auto" are never refused */
} ucx_config_field_t;

/* A row of a table of variables, as such a field and as a member of _config. */
#define UCX_CONFIG_ROW(_config, _name, _dflt, _member, _type, _min, _max,    \
                       _doc)                                                 \
    {_name, _dflt, _doc, UCX_CONFIG_AT(_config, _member, UCX_CONFIG_##_type), \
     _min, _max},
#define UCX_CONFIG_MEMBER(_name, _dflt, _member, _type, ...) \
    UCX_CONFIG_##_type##_TYPE _member;

/* Room for UCX's uct_iface_config_t (32 B in 1.13), filled by UCX from its own
 * table: the first member of every transport's config struct. */
typedef struct ucx_iface_config {
    uint64_t room[16];
} ucx_iface_config_t;

typedef struct ucx_config_table {
    const char               *title;  /* heading in ucx_info -c */
    const char               *prefix; /* "SRD_": UCX_SRD_... */
    const ucx_config_field_t *fields;
    unsigned                 count;
    size_t                   size;    /* sizeof the config struct */
} ucx_config_table_t;


/* ---- memory domain ---------------------------------------------------- */

/* First member of the provider's memory domain; all is filled in by
 * src/ucp_hooks before md_open() returns to UCX. */
typedef struct ucx_md {
    const void *ops;       /* UCX's table of this minor */
    void       *component; /* UCX's component of this host */
    ucx_host_t *host;
} ucx_md_t;

/* Capabilities, mapped to the flags of the minor (or left out where it has no
 * such flag). */
enum {
    UCX_MD_CAP_REG        = 1 << 0,
    UCX_MD_CAP_NEED_MEMH  = 1 << 1, /* zcopy needs a local handle */
    UCX_MD_CAP_NEED_RKEY  = 1 << 2, /* RMA needs a remote key */
    UCX_MD_CAP_ADVISE     = 1 << 3,
    UCX_MD_CAP_INVALIDATE = 1 << 4, /* RMA by a peer ends at mem_dereg;
                                           needed for error mode PEER */
    UCX_MD_CAP_REG_DMABUF = 1 << 5
};

/* Zeroed by the caller. Memory types: bitmaps of UCS_BIT(UCS_MEMORY_TYPE_) */
typedef struct ucx_md_attr {
    unsigned          caps;             /* UCX_MD_CAP_ */
    uint64_t          reg_mem_types;    /* can be registered */
    uint64_t          cache_mem_types;  /* UCX's cache should serve (>= 1.14);
                                           before 1.16 not the kinds that
                                           the domain caches itself; of
                                           dma-bufs, all that UCX may hand us */
    uint64_t          access_mem_types; /* the CPU can load and store */
    size_t            max_reg;          /* longest registration, bytes */
    size_t            reg_alignment;    /* power of two, 1 = none */
    size_t            rkey_packed_size; /* bytes */
    ucs_linear_func_t reg_cost;         /* seconds; c + m * bytes */
    ucs_cpu_set_t     local_cpus;
} ucx_md_attr_t;

typedef struct ucx_mem_reg {
    void              *address;
    size_t            length;
    unsigned          flags;         /* UCT_MD_MEM_ACCESS_ and _FLAG_ bits */
    ucs_memory_type_t mem_type;      /* HOST where UCX does not tell */
    int               dmabuf_fd;     /* -1: none; open during the call */
    size_t            dmabuf_offset; /* of address in the dmabuf */
} ucx_mem_reg_t;


/* ---- transports ------------------------------------------------------- */

typedef struct ucx_device {
    char              name[UCT_DEVICE_NAME_MAX]; /* "rdmap0s6:1" */
    uct_device_type_t type;
    ucs_sys_device_t  sys_device;                /* ucx_host_sys_device() */
} ucx_device_t;

typedef struct ucx_transport {
    const char         *name; /* "srd" */
    const ucx_config_table_t *config; /* struct begins with
                                         ucx_iface_config_t */

    /*
     * Devices of @md this transport, whose name is @transport, can use:
     * *devices_p is an array from malloc() that the caller frees, or NULL with
     * *count_p = 0.
     *   UCS_OK             also when there are none
     *   UCS_ERR_NO_DEVICE  the same as none; UCX logs nothing
     *   UCS_ERR_NO_MEMORY
     */
    ucs_status_t (*query_devices)(ucx_md_t *md, const char *transport,
                                  ucx_device_t **devices_p, unsigned *count_p);

    /*
     * Open an interface on params->mode.device.dev_name (bounded by
     * UCT_DEVICE_NAME_MAX, not trusted to exist). @config is this transport's
     * parsed struct, valid during the call. On UCS_OK *iface_p begins with
     * ucx_iface_base_t, set up by ucx_iface_init(). Any error ends UCX's use
     * of this transport and is logged by the provider.
     */
    ucs_status_t (*iface_open)(ucx_md_t *md, uct_worker_h worker,
                               const uct_iface_params_t *params,
                               const void *config, uct_iface_h *iface_p);
} ucx_transport_t;

/*
 * A list for a put or get: element i is counts[i] blocks of lengths[i] bytes,
 * their beginnings strides[i] apart, from buffers[i] on here and from
 * remote_addrs[i] on there. counts NULL: one block each; strides NULL: 0.
 */
typedef struct ucx_sgl {
    size_t            count; /* of elements, in all arrays */
    void *const      *buffers;
    const size_t     *lengths;
    uct_mem_h const  *memhs;
    const uint64_t   *remote_addrs;
    uct_rkey_t const *rkeys;
    const size_t     *counts;
    const size_t     *strides;
} ucx_sgl_t;

/* Operations, in the order of UCX's uct_ep_operation_t (all minors). */
typedef enum ucx_op {
    UCX_OP_AM_SHORT,
    UCX_OP_AM_BCOPY,
    UCX_OP_AM_ZCOPY,
    UCX_OP_PUT_SHORT,
    UCX_OP_PUT_BCOPY,
    UCX_OP_PUT_ZCOPY,
    UCX_OP_GET_SHORT,
    UCX_OP_GET_BCOPY,
    UCX_OP_GET_ZCOPY,
    UCX_OP_LAST
} ucx_op_t;

/* Costs of one of them: seconds, apart from its bytes. */
typedef struct ucx_estimate {
    double post;     /* the sender's CPU, before the message is on its way */
    double complete; /* the sender's CPU, afterwards */
    double receive;  /* the receiver's CPU */
    double latency;  /* of one message among others */
    double rate;     /* bytes a second, however many processes share them */
} ucx_estimate_t;

/*
 * The operations that UCX keeps in its private, changing table.
 */
typedef struct ucx_iface_vops {
    /* Nonzero if a peer with these addresses can be reached. Both come from a
     * peer: check magic, version and everything else. @iface_addr may be NULL
     * (some minors ask by device only). Required. */
    int (*is_reachable)(uct_iface_h iface, const uct_device_addr_t *dev_addr,
                        const uct_iface_addr_t *iface_addr);

    /* Nonzero if @ep goes to exactly this peer. @iface_addr may be NULL.
     * Asked from 1.16 on. Required. */
    int (*ep_is_connected)(uct_ep_h ep, const uct_device_addr_t *dev_addr,
                           const uct_iface_addr_t *iface_addr);

    /* Fail @ep as if its peer had died: the error handler follows from
     * progress. UCS_OK or UCS_ERR_UNSUPPORTED. Required. */
    ucs_status_t (*ep_invalidate)(uct_ep_h ep);

    /* UCX shows this interface's files: ucx_vfs_add_file for each of them that
     * is the transport's own. Any thread, repeatedly; the interface stays
     * open meanwhile as far as UCX sees to it. Required. */
    void (*vfs_refresh)(uct_iface_h iface);

    /* Fills in *estimate for @op, which is less than UCX_OP_LAST. Optional: by
     * default what iface_query says, for all of them. */
    void (*estimate)(uct_iface_h iface, ucx_op_t op, ucx_estimate_t *estimate);

    /* Elements that a list of a put and of a get may have; 0: there is no such
     * operation. Asked from 1.22 on. Optional: 0 and 0. */
    void (*query_sgl)(uct_iface_h iface, size_t *max_put_p, size_t *max_get_p);

    /*
     * A put or get of a list, all or nothing: with UCS_INPROGRESS @comp, which
     * may be NULL, is told once, when all of it is done. The arrays are read
     * during the call only. Puts from 1.22, gets from 1.23 on. Required where
     * query_sgl does not say 0.
     */
    ucs_status_t (*ep_put_sgl)(uct_ep_h ep, const ucx_sgl_t *sgl,
                               uct_completion_t *comp);
    ucs_status_t (*ep_get_sgl)(uct_ep_h ep, const ucx_sgl_t *sgl,
                               uct_completion_t *comp);

    /* *device_ep_p: the endpoint for a GPU's kernels, as uct_device_ep_t has
     * it, in memory that they reach, until @ep is destroyed. Asked where
     * ucx_host_device_api() is one. UCS_OK, UCS_ERR_NO_MEMORY. Optional. */
    ucs_status_t (*ep_get_device_ep)(uct_ep_h ep, void **device_ep_p);
} ucx_iface_vops_t;


/* Memory as a GPU's kernels have it: uct_ib_md_device_mem_element_t. */
typedef struct ucx_device_mem {
    uint32_t lkey, rkey;
} ucx_device_mem_t;


/* ---- component -------------------------------------------------------- */

typedef struct ucx_component {
    const char             *name;      /* "efa", < UCT_COMPONENT_NAME_MAX */
    const ucx_config_table_t *md_config; /* prefix "EFA_" */
    const ucx_transport_t  *const *transports;
    unsigned               transport_count;
    unsigned               carrier_count; /* the first so many carry UCP's
                                             messages */

    /*
     * Names of the memory domains there are now. *names_p: from malloc(), the
     * caller frees it; NULL with *count_p = 0. Why there is none is said by
     * host_report_absent(), once per cause.
     *   UCS_OK, UCS_ERR_NO_DEVICE (as none), UCS_ERR_NO_MEMORY
     */
    ucs_status_t (*query_mds)(ucx_host_t *host,
                              char (**names_p)[UCT_MD_NAME_MAX],
                              unsigned *count_p);

    /* Nonzero if this machine has a device of ours, whether or not it can be
     * used. Cheap, opens no library, says nothing. */
    int (*device_is_present)(void);

    /* How many devices for RDMA this machine has, ours and others', usable or
     * not. Cheap, opens no library, says nothing. */
    unsigned (*count_rdma)(void);

    /* UCX is about to load modules of its own, which may open the libraries
     * that we need in a way that leaves them of no use to us. Opens them, if
     * there is a device, and says nothing. Safe to repeat. */
    void (*open_libraries)(void);

    /* UCX was told not to use our devices. Tries whether one of them could be
     * used, and if not, says why by host_report_absent(). */
    void (*try_left_out)(ucx_host_t *host);

    /* @config: parsed md_config, valid during the call. *md_p: zeroed ucx_md_t
     * and more; the caller fills the ucx_md_t. Any error: UCX goes on without
     * this domain. */
    ucs_status_t (*md_open)(ucx_host_t *host, const char *name,
                            const void *config, ucx_md_t **md_p);
    void         (*md_close)(ucx_md_t *md);
    ucs_status_t (*md_query)(ucx_md_t *md, ucx_md_attr_t *attr);

    /*
     * Register. Called by any thread. UCS_OK, UCS_ERR_NO_MEMORY,
     * UCS_ERR_INVALID_ADDR, UCS_ERR_UNSUPPORTED (memory type),
     * UCS_ERR_IO_ERROR; logged at host_reg_level(reg->flags).
     */
    ucs_status_t (*mem_reg)(ucx_md_t *md, const ucx_mem_reg_t *reg,
                            uct_mem_h *memh_p);

    /*
     * Deregister; the handle is dead on return. With @invalidate (only when
     * UCX_MD_CAP_INVALIDATE was announced) no peer may access the memory once
     * @comp, never NULL then, is done (ucx_completion_done(comp, UCS_OK), here
     * or later); otherwise @comp is NULL.
     */
    ucs_status_t (*mem_dereg)(ucx_md_t *md, uct_mem_h memh, int invalidate,
                              uct_completion_t *comp);

    /* With UCX_MD_CAP_ADVISE. @advice: uct_mem_advice_t */
    ucs_status_t (*mem_advise)(ucx_md_t *md, uct_mem_h memh, void *address,
                               size_t length, unsigned advice);

    /* Write rkey_packed_size bytes, a key of these bytes of the memory; of all
     * where @address is NULL. @invalidate: the key is to be revocable. */
    ucs_status_t (*mkey_pack)(ucx_md_t *md, uct_mem_h memh, const void *address,
                              size_t length, int invalidate, void *buffer);

    /* @buffer holds rkey_packed_size bytes of a peer (nothing in it may be
     * trusted). The results go to RMA operations and to rkey_release. */
    ucs_status_t (*rkey_unpack)(ucx_host_t *host, const void *buffer,
                                uct_rkey_t *rkey_p, void **handle_p);
    ucs_status_t (*rkey_release)(ucx_host_t *host, uct_rkey_t rkey,
                                 void *handle);

    /* Keys for a GPU's kernels: of @memh, or NULL, and of @rkey, or
     * UCT_INVALID_RKEY. They are as good as those two. UCS_OK,
     * UCS_ERR_UNSUPPORTED, UCS_ERR_INVALID_PARAM; logged. */
    ucs_status_t (*mem_elem_pack)(ucx_md_t *md, uct_mem_h memh, uct_rkey_t rkey,
                                  ucx_device_mem_t *elem);
} ucx_component_t;

/* The one component of this module, defined by the transports. */
extern const ucx_component_t ucx_provider;

END_C_DECLS

#endif
